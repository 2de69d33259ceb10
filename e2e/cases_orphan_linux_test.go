package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// orphanCases: processes that outlived their command, or died with another.
var orphanCases = map[string]check{
	"PT-01": forkedWorker,
	"PT-11": killTheParent,
	"PT-12": zombies,
	"PT-14": ownerGone,
	"PT-15": noJobControl,
	"PT-16": patternKill,
	"PT-21": drainAndServe,
}

func forkedWorker(t *testing.T, s *harness.Server) {
	testenv.NeedProgram(t, "python3")
	r := s.Call("exec", harness.Args{"command": `bash -c 'python3 -c "t4721=1
while True: pass" & wait'`, "timeout": 1})
	if r.Status != "failed" || r.FailureKind != "overall-timeout" {
		t.Errorf("%s, failure %q", r, r.FailureKind)
	}
	nothingLeft(t, "t4721")
}

func killTheParent(t *testing.T, s *harness.Server) {
	testenv.NeedProgram(t, "python3")
	pid := s.PID()
	s.Call("exec", harness.Args{"command": "exec python3 -c 'import os,signal; os.kill(os.getppid(), signal.SIGTERM)'", "timeout": 20})
	if r := s.Exec("echo here"); !strings.Contains(r.Text, "here") || s.PID() != pid || !s.Alive() {
		t.Errorf("after a signal to the parent: %s", r)
	}
}

func zombies(t *testing.T, s *harness.Server) {
	for range 50 {
		s.Call("exec", harness.Args{"command": "true", "background": true})
	}
	s.Exec("(true & exec sleep 0.1) & (setsid sh -c 'true &' &)") // orphans of orphans
	testenv.Eventually(t, 5*time.Second, func() bool {
		for _, p := range testenv.Descendants(t, s.PID()) {
			if p.State == 'Z' {
				return false
			}
		}
		return true
	}, "no zombie is left")
}

func ownerGone(t *testing.T, s *harness.Server) {
	call := s.Go("exec", harness.Args{"command": "sleep 4723.5", "yieldMs": 120_000})
	testenv.Eventually(t, 10*time.Second, func() bool { return sleeping("4723.5") == 1 }, "it runs")
	call.Cancel()
	nothingLeft(t, "4723.5")
	s.Go("exec", harness.Args{"command": "sleep 4723.5", "yieldMs": 120_000})
	s.Background("sleep 4723.5")
	testenv.Eventually(t, 10*time.Second, func() bool { return sleeping("4723.5") == 2 }, "they run")
	signal(s.PID(), syscall.SIGTERM)
	nothingLeft(t, "4723.5")
}

func noJobControl(t *testing.T, s *harness.Server) {
	r := s.Exec("sleep 4724.5 & sleep 0; kill %1; echo rc=$?")
	if !strings.Contains(r.Text, "rc=") {
		t.Fatalf("%s", r)
	}
	if sleeping("4724.5") > 0 { // it was not killed by the shell: then it is named
		if len(r.HeldBy) == 0 || !strings.Contains(r.Text, "sleep") {
			t.Errorf("left behind and not named: %s", r)
		}
	}
	s.CloseInput()
	nothingLeft(t, "4724.5")
}

func patternKill(t *testing.T, s *harness.Server) {
	testenv.NeedProgram(t, "pkill")
	s.Background("sleep 4725.5; echo over")
	testenv.Eventually(t, 10*time.Second, func() bool { return sleeping("4725.5") == 1 }, "it runs")
	if r := s.Exec("pgrep -f 4725.5 | wc -l"); !strings.Contains(r.Text, "1") {
		t.Errorf("more than the program has the text in its arguments: %s", r)
	}
	if r := s.Exec("pkill -f 'sleep 4725.5'; echo rc=$?"); !strings.Contains(r.Text, "rc=0") || r.Signal != "" {
		t.Errorf("the pattern hits its own shell: %s", r)
	}
	nothingLeft(t, "sleep 4725.5")
}

func drainAndServe(t *testing.T, s *harness.Server) {
	r := s.Exec("(while :; do echo tick; sleep 0.2; done) & echo started")
	if !strings.Contains(r.Text, "started") || len(r.HeldBy) == 0 || r.SessionID == "" {
		t.Fatalf("%s, held by %v", r, r.HeldBy)
	}
	holder := r.HeldBy[0].PID
	seen := 0
	testenv.Eventually(t, 30*time.Second, func() bool { // 20 ticks are 4 s, twice the longest drain
		seen = strings.Count(s.Process("log", r.SessionID).Text, "tick")
		return seen > 20
	}, "its output is read on")
	if !testenv.Alive(holder) {
		t.Error("the holder died")
	}
	s.Process("kill", r.SessionID)
	if testenv.Alive(holder) {
		t.Error("process kill leaves the holder")
	}
}
