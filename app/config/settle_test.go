package config

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name  string
		pokes []time.Duration // since the start
		want  []time.Duration // ends of bursts
	}{
		{"one", []time.Duration{0}, []time.Duration{quiet}},
		{"a burst is one", []time.Duration{0, 10, 20, 30}, []time.Duration{30*time.Millisecond + quiet}},
		{"two bursts", []time.Duration{0, 500}, []time.Duration{quiet, 500*time.Millisecond + quiet}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancelCause(t.Context())
				pokes := make(chan struct{}, 1)
				start := time.Now()
				var ends []time.Duration
				done := make(chan struct{})
				go func() {
					defer close(done)
					for settle(ctx, pokes) {
						ends = append(ends, time.Since(start))
					}
				}()
				for _, at := range c.pokes {
					<-time.After(time.Until(start.Add(at * time.Millisecond)))
					pokes <- struct{}{}
				}
				<-time.After(time.Minute)
				stop(errors.New("the test is over"))
				<-done
				if len(ends) != len(c.want) {
					t.Fatalf("bursts ended at %v, want %v", ends, c.want)
				}
				for i, end := range ends {
					if end != c.want[i] {
						t.Errorf("bursts ended at %v, want %v", ends, c.want)
					}
				}
			})
		})
	}
}

// A stream of events that never ends is looked at all the same.
func TestSettleCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pokes := make(chan struct{}, 1)
		start := time.Now()
		ticker := time.NewTicker(quiet / 2)
		defer ticker.Stop()
		ctx, stop := context.WithCancelCause(t.Context())
		fed := make(chan struct{})
		go func() {
			defer close(fed)
			for {
				select {
				case <-ticker.C:
					poke(pokes)
				case <-ctx.Done():
					return
				}
			}
		}()
		if !settle(ctx, pokes) {
			t.Error("stopped")
		}
		if took := time.Since(start); took > most+quiet {
			t.Errorf("after %v", took)
		}
		stop(errors.New("the test is over"))
		<-fed
		if settle(ctx, make(chan struct{})) {
			t.Error("a burst after the end")
		}
	})
}
