package config

import (
	"context"
	"time"
)

// An editor that saves makes a handful of events within some milliseconds. A burst is over when nothing came for quiet;
// one that never ends is cut at most after its first event.
const (
	quiet = 50 * time.Millisecond
	most  = time.Second
)

// settle waits for a poke and then for the end of the burst that it began. It reports false when ctx is done.
func settle(ctx context.Context, pokes <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-pokes:
	}
	end := time.NewTimer(quiet)
	defer end.Stop()
	cut := time.NewTimer(most)
	defer cut.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-pokes:
			end.Reset(quiet)
		case <-end.C:
			return true
		case <-cut.C:
			return true
		}
	}
}
