package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestNoOutputLost: a thousand fast commands beside running jobs and after cancelled calls, each with its own answer.
func TestNoOutputLost(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	s.Background("while :; do echo noise; sleep 0.02; done")
	s.Background("sleep 600")
	s.Exec("sleep 601 & echo left one behind")
	const clients = 8
	each := testenv.Scale(1000, 10_000) / clients
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				want := fmt.Sprintf("answer %d of %d", i, c)
				if i%50 == 0 {
					s.Go("exec", harness.Args{"command": "sleep 600"}).Cancel()
				}
				if r := s.Exec("echo " + want); strings.TrimSpace(r.Body()) != want {
					t.Errorf("lost: want %q, got %s", want, r)
				}
			}
		})
	}
	wg.Wait()
}

// TestNothingGrows: many runs leave no zombie, no descriptor, no thread and no memory.
func TestNothingGrows(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	runs := func(n int) {
		const clients = 4
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for range n / clients {
					if r := s.Exec("true"); r.Exit() != 0 {
						t.Errorf("true: %s", r)
					}
				}
			})
		}
		wg.Wait()
	}
	look := func() testenv.Usage { // of both processes
		a, b := testenv.Use(t, s.PID()), testenv.Use(t, s.Gateway())
		return testenv.Usage{RSS: a.RSS + b.RSS, FDs: a.FDs + b.FDs, Threads: a.Threads + b.Threads}
	}
	runs(500)
	before := look()
	n := testenv.Scale(2000, 10_000)
	runs(n)
	for _, p := range testenv.Descendants(t, s.PID()) {
		if p.State == 'Z' {
			t.Errorf("a zombie: %v", p)
		}
	}
	after := look()
	t.Logf("before %d more runs: %+v; after them: %+v", n, before, after)
	// A few of each are the runtime's own and of calls that are just over.
	if after.FDs > before.FDs+8 {
		t.Error("descriptors grew")
	}
	if after.Threads > before.Threads+8 {
		t.Error("threads grew")
	}
	if grown := after.RSS - before.RSS; grown > int64(n)*10<<10 {
		t.Errorf("%d KiB a run are kept", grown>>10/int64(n))
	}
	if left := testenv.Descendants(t, s.Gateway()); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
