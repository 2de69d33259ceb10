package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/hosttest"
)

// A fast command's output is never lost, however many run, also while other sessions are live and some are killed.
func TestNothingLost(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	h := hosttest.New(t, e)
	h.MustStart(t, sallyport.Command{Text: "while :; do echo noise; sleep 0.01; done", Background: true})
	n := 1000
	if testing.Short() {
		n = 200
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if i%10 == 0 {
				s := h.MustStart(t, sallyport.Command{Text: "echo started; sleep 60"})
				_, _ = s.End(t.Context(), sallyport.Ending{Cause: sallyport.Aborted})
				return
			}
			want := fmt.Sprintf("line %d\n", i)
			if st, out := h.Run(t, sallyport.Command{Text: fmt.Sprintf("echo line %d", i)}); out != want || st.Outcome.Code != 0 {
				t.Errorf("run %d: %q, %+v", i, out, st.Outcome)
			}
		})
	}
	wg.Wait()
}

// A kill that races with the natural exit finds the session exited or killed, never in between, and nothing else is hit.
func TestKillRacesExit(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t, newEngine(t))
	n := 500
	if testing.Short() {
		n = 100
	}
	for i := range n {
		s := h.MustStart(t, sallyport.Command{Argv: []string{"true"}})
		if i%2 == 0 { // half of the kills come about when the program ends
			<-time.After(time.Duration(i) * 4 * time.Microsecond)
		}
		r, err := s.End(t.Context(), sallyport.Ending{})
		if err != nil || len(r.Survivors) > 0 {
			t.Fatalf("run %d: %+v %v", i, r, err)
		}
		o := hosttest.End(t, s).Outcome
		if o.Kind != sallyport.Exited && o.Kind != sallyport.Killed {
			t.Fatalf("run %d: %+v", i, o)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	h := hosttest.New(t, e)
	var ended []sallyport.Session
	for _, text := range []string{
		"sleep 300", "trap '' TERM HUP INT; sleep 300; sleep 300", "setsid -f sleep 300; sleep 300", "sleep 300 & echo left",
	} {
		ended = append(ended, h.MustStart(t, sallyport.Command{Text: text, Background: true}))
	}
	hosttest.End(t, ended[3])
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for i, s := range ended {
		st, err := s.Status(ctx)
		if err != nil || st.State != sallyport.Ended || len(st.Left) > 0 {
			t.Errorf("session %d after Close: %+v %v", i, st, err)
		}
		if want := []sallyport.OutcomeKind{"aborted", "aborted", "aborted", "exited"}[i]; st.Outcome.Kind != want {
			t.Errorf("session %d: outcome %+v, want %s", i, st.Outcome, want)
		}
	}
	if _, err := h.Start(ctx, sallyport.Command{Text: "true"}); !errors.Is(err, sallyport.Closed) {
		t.Errorf("a start after Close: %v, want closed", err)
	}
}

func TestLeftoversCanBeKilled(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t, newEngine(t, func(_ *Options, s *Settings) { s.KillLeft = true }))
	st, out := h.Run(t, sallyport.Command{Text: "sleep 300 & setsid -f sleep 300; echo hi"})
	if out != "hi\n" || len(st.Left) > 0 || len(st.HeldBy) > 0 || st.Outcome.Code != 0 {
		t.Errorf("%q %+v", out, st)
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(_ *Options, s *Settings) { s.RetainMax = 3 })
	h := hosttest.New(t, e)
	left := h.MustStart(t, sallyport.Command{Text: "sleep 300 >/dev/null 2>&1 </dev/null & true", Background: true})
	hosttest.End(t, left)
	unread := h.MustStart(t, sallyport.Command{Text: "echo unread"})
	hosttest.End(t, unread)
	for range 8 {
		hosttest.End(t, h.MustStart(t, sallyport.Command{Text: "echo x", Background: true}))
	}
	e.retain()
	all, err := e.Sessions(t.Context())
	if err != nil || len(all) != 3+2 { // three finished, the one somebody is about to read, the one that left a process
		t.Errorf("%d sessions are kept (%v), want 5", len(all), err)
	}
	if out := hosttest.All(t, unread, sallyport.AnyStream); out != "unread\n" {
		t.Errorf("an unread foreground session: %q", out)
	}
	unread.(*session).Mark(sallyport.Mark{Release: true})
	if _, err := e.Session(t.Context(), unread.(*session).id); !errors.Is(err, sallyport.NotFound) {
		t.Errorf("a released session: %v, want not found", err)
	}
	s := h.MustStart(t, sallyport.Command{Text: "read x", Stdin: sallyport.StdinOpen, Background: true})
	s.(*session).Mark(sallyport.Mark{Release: true})
	if _, err := e.Session(t.Context(), s.(*session).id); err != nil {
		t.Errorf("a running session was forgotten: %v", err)
	}
}

func TestOnEndOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ends := map[sallyport.SessionID]int{}
	e := newEngine(t, func(o *Options, _ *Settings) {
		o.OnEnd = func(st sallyport.Status) {
			mu.Lock()
			defer mu.Unlock()
			ends[st.ID]++
			if st.Outcome == nil || st.State != sallyport.Ended {
				t.Errorf("told of an end without an outcome: %+v", st)
			}
		}
	})
	h := hosttest.New(t, e)
	for _, text := range []string{"true", "exit 3", "sleep 300 & true", "sleep 300"} {
		s := h.MustStart(t, sallyport.Command{Text: text, Limits: sallyport.Limits{Timeout: 300 * time.Millisecond}})
		hosttest.End(t, s)
		_, _ = s.End(t.Context(), sallyport.Ending{})
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(ends) != 4 {
		t.Errorf("%d ends, want 4", len(ends))
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("%s ended %d times", id, n)
		}
	}
}

// Two commands in parallel run in parallel, each in its own directory.
func TestParallel(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t, newEngine(t))
	begin := time.Now()
	a := h.MustStart(t, sallyport.Command{Text: "mkdir -p a; cd a; sleep 0.5; pwd"})
	b := h.MustStart(t, sallyport.Command{Text: "sleep 0.5; pwd"})
	hosttest.End(t, a)
	hosttest.End(t, b)
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("two half seconds took %v", d)
	}
	if x, y := hosttest.All(t, a, 0), hosttest.All(t, b, 0); !strings.HasSuffix(x, "/a\n") || y != h.Dir+"\n" {
		t.Errorf("directories %q and %q", x, y)
	}
}
