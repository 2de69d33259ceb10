package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// growthCases: memory that was never given back, and work that grew faster than its input.
var growthCases = map[string]check{
	"MG-01": nobodyPolls,
	"MG-02": pageOfALot,
	"MG-03": finishedCalls,
	"MG-04": everyPathIsBounded,
	"PF-04": largeOutput,
	"PF-05": tightLoop,
}

// bound is how much a gateway may grow for output that it keeps on disk.
const bound = 64 << 20

func nobodyPolls(t *testing.T, s *harness.Server) {
	b := s.Background("yes")
	before := testenv.Use(t, s.Gateway()).RSS
	watch := time.NewTimer(3 * time.Second)
	defer watch.Stop()
	<-watch.C
	if grown := testenv.Use(t, s.Gateway()).Peak - before; grown > bound {
		t.Errorf("grew by %d MiB", grown>>20)
	}
	first := s.Process("log", b.SessionID, harness.Args{"limit": 1}).Text
	testenv.Eventually(t, 10*time.Second, func() bool {
		return s.Process("log", b.SessionID, harness.Args{"limit": 1}).Text != first
	}, "the count of bytes goes on")
}

func pageOfALot(t *testing.T, s *harness.Server) {
	before := testenv.Use(t, s.Gateway()).RSS
	b := s.Background(`head -c 200M /dev/zero | tr "\0" x`)
	s.Process("log", b.SessionID, harness.Args{"limit": 10})
	testenv.Eventually(t, 60*time.Second, func() bool {
		return s.Process("poll", b.SessionID, harness.Args{"timeout": 1000}).Status == "completed"
	}, "it ends")
	s.Process("log", b.SessionID, harness.Args{"limit": 10})
	if grown := testenv.Use(t, s.Gateway()).Peak - before; grown > bound {
		t.Errorf("grew by %d MiB", grown>>20)
	}
}

func finishedCalls(t *testing.T, s *harness.Server) {
	run := func(n int) {
		for range n {
			s.Exec("echo hi")
		}
	}
	run(300)
	before := testenv.Use(t, s.Gateway()).RSS
	n := testenv.Scale(700, 4500)
	run(n)
	if grown := testenv.Use(t, s.Gateway()).RSS - before; grown > int64(n)*10<<10 {
		t.Errorf("%d KiB a call are kept", grown>>10/int64(n))
	}
}

func everyPathIsBounded(t *testing.T, s *harness.Server) {
	const flood = "yes | head -c 300M"
	before := testenv.Use(t, s.Gateway()).RSS
	if r := s.Call("exec", harness.Args{"command": flood, "yieldMs": 120_000}); len(r.Text) > 20_000 || r.Exit() != 0 {
		t.Errorf("in the foreground: %d bytes, %.200s", len(r.Text), r)
	}
	if r := s.Call("exec", harness.Args{"command": flood, "yieldMs": 120_000, "streams": "split"}); len(r.Text) > 20_000 || r.Exit() != 0 {
		t.Errorf("split: %d bytes, %.200s", len(r.Text), r)
	}
	b := s.Background(flood)
	testenv.Eventually(t, 60*time.Second, func() bool {
		return s.Process("poll", b.SessionID, harness.Args{"timeout": 1000}).Status == "completed"
	}, "it ends in the background")
	if grown := testenv.Use(t, s.Gateway()).Peak - before; grown > bound {
		t.Errorf("grew by %d MiB", grown>>20)
	}
}

func largeOutput(t *testing.T, s *harness.Server) {
	alone := s.Call("exec", harness.Args{"command": "seq 1 20000000 >/dev/null", "yieldMs": 120_000})
	r := s.Call("exec", harness.Args{"command": "seq 1 20000000", "yieldMs": 120_000})
	if r.Exit() != 0 || !strings.Contains(r.Text, "20000000") {
		t.Errorf("%.300s", r)
	}
	testenv.InTime(t, r.Took, max(3*alone.Took, time.Second), "170 MB of output")
}

func tightLoop(t *testing.T, s *harness.Server) {
	b := s.Background("while :; do echo 'cannot prompt'; done")
	for range 10 {
		if r := s.Process("poll", b.SessionID, harness.Args{"timeout": 200}); len(r.Text) > 70_000 {
			t.Errorf("a poll of %d bytes", len(r.Text))
		}
		r := s.Exec("true")
		testenv.InTime(t, r.Took, 200*time.Millisecond, "another session")
	}
}
