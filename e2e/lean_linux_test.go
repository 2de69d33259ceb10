package e2e

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestReady: a client has its first answer soon after it started the server.
func TestReady(t *testing.T) { // alone: others that start programs would be measured, too
	const promised = 25 * time.Millisecond
	testenv.Binary(t)
	var took []time.Duration
	for range 9 {
		start := time.Now()
		s := harness.Start(t, harness.Options{})
		took = append(took, time.Since(start))
		s.CloseInput()
		_ = s.Wait(10 * time.Second) // how it ends is looked at elsewhere
	}
	// The quickest start is what the program itself takes; the others also tell how busy the machine is.
	quickest := slices.Min(took)
	t.Logf("ready after %v at best, of %v", quickest, took)
	testenv.InTime(t, quickest, promised, "from the start of the program to its first answer")
}

// TestIdleMemory: a server that has run a few commands and waits is small. Pages that its two processes share are
// counted twice.
func TestIdleMemory(t *testing.T) {
	t.Parallel()
	const promised = 20 << 20
	s := harness.Start(t, harness.Options{})
	idle := testenv.Use(t, s.Gateway()).RSS
	for range 20 {
		s.Exec("true")
	}
	used := testenv.Use(t, s.Gateway()).RSS
	keeper := testenv.Use(t, s.PID()).RSS
	t.Logf("resident: gateway %d KiB idle, %d KiB after 20 runs; the process that watches it %d KiB", idle>>10, used>>10, keeper>>10)
	if idle > promised {
		t.Errorf("an idle gateway has %d KiB resident, more than %d", idle>>10, promised>>10)
	}
}

// TestFloodIsBounded: a background command that prints without end, and that nobody reads, costs no memory, is not
// held up, and does not slow others down.
func TestFloodIsBounded(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Config: "output.quota = \"8MiB\"\n"})
	flood := s.Background("yes")
	before := testenv.Use(t, s.Gateway()).RSS
	end := func() string { return s.Process("log", flood.SessionID, harness.Args{"limit": 1}).Text }
	first := end()
	testenv.Eventually(t, 30*time.Second, func() bool { return end() != first }, "the flood goes on")
	for range 5 {
		r := s.Exec("echo quick")
		testenv.InTime(t, r.Took, 200*time.Millisecond, "a command beside a flood")
		if poll := s.Process("poll", flood.SessionID, harness.Args{"timeout": 50}); len(poll.Text) > 70_000 {
			t.Errorf("a poll of %d bytes", len(poll.Text))
		}
	}
	if grown := testenv.Use(t, s.Gateway()).Peak - before; grown > 64<<20 {
		t.Errorf("the gateway grew by %d MiB", grown>>20)
	}
}

// TestManySessions: many live sessions at once cost the gateway little, and all of them go with the client. A soak run
// has the five thousand of promise 5.
func TestManySessions(t *testing.T) {
	t.Parallel()
	n := testenv.Scale(500, 5000)
	s := harness.Start(t, harness.Options{})
	s.Exec("true")
	before := testenv.Use(t, s.Gateway())
	const token = "9301.5"
	var wg sync.WaitGroup
	const clients = 8
	for range clients {
		wg.Go(func() {
			for range n / clients {
				s.Call("exec", harness.Args{"argv": []string{"sleep", token}, "background": true})
			}
		})
	}
	wg.Wait()
	n = n / clients * clients
	if alive := sleeping(token); alive != n {
		t.Fatalf("%d of %d sessions live", alive, n)
	}
	after := testenv.Use(t, s.Gateway())
	t.Logf("%d sessions: %+v; without them: %+v", n, after, before)
	if perSession := float64(after.FDs-before.FDs) / float64(n); perSession > 3.1 {
		t.Errorf("%.2f descriptors a session", perSession)
	}
	// The heap of a moment in which much was started is counted, too; promise 5 is measured by the benchmark.
	if perSession := (after.RSS - before.RSS) / int64(n); perSession > 32<<10 {
		t.Errorf("%d KiB a session", perSession>>10)
	}
	start := time.Now()
	s.CloseInput()
	_ = s.Wait(testenv.Slack * 15 * time.Second) // how it ends is looked at elsewhere
	testenv.InTime(t, time.Since(start), 15*time.Second, "the end of all sessions")
	if left := sleeping(token); left != 0 {
		t.Errorf("%d sessions outlive their client", left)
	}
}
