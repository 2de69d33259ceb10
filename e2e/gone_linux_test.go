package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// gone is how soon nothing may be left.
const gone = 2 * time.Second

// busy starts a foreground command and a background one, each a small tree with a process that left its session, and
// returns the foreground call once all of them run. token finds them.
func busy(t *testing.T, s *harness.Server, token string) *harness.Pending {
	t.Helper()
	// The token stands in the arguments of each; the numbers are times in seconds, and all the same.
	tree := fmt.Sprintf("setsid sleep %[1]s & (trap '' TERM HUP INT; sleep %[1]s) & sleep %[1]s", token)
	s.Background(tree)
	foreground := s.Go("exec", harness.Args{"command": tree, "yieldMs": 120_000})
	testenv.Eventually(t, 20*time.Second, func() bool { return sleeping(token) == 6 }, "both trees run")
	return foreground
}

func sleeping(token string) int {
	n := 0
	for _, p := range testenv.ProcessesWith(token) {
		if p.Name == "sleep" {
			n++
		}
	}
	return n
}

func nothingLeft(t *testing.T, token string) {
	t.Helper()
	if !testenv.Poll(gone, func() bool { return len(testenv.ProcessesWith(token)) == 0 }) {
		t.Errorf("left after %v: %v", gone, testenv.ProcessesWith(token))
	}
}

// TestNothingOutlivesItsReason: however the client or the server goes, nothing of what it started is left.
func TestNothingOutlivesItsReason(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		name string
		end  func(*harness.Server)
	}{
		{"end of input", func(s *harness.Server) { s.CloseInput() }},
		{"SIGTERM", func(s *harness.Server) { signal(s.PID(), syscall.SIGTERM) }},
		{"SIGINT", func(s *harness.Server) { signal(s.PID(), syscall.SIGINT) }},
		{"SIGHUP", func(s *harness.Server) { signal(s.PID(), syscall.SIGHUP) }},
		{"kill -9 of what the client started", func(s *harness.Server) { signal(s.PID(), syscall.SIGKILL) }},
		{"kill -9 of the gateway", func(s *harness.Server) { signal(s.Gateway(), syscall.SIGKILL) }},
	} {
		for _, rung := range []string{"mark", "cgroup"} {
			t.Run(tt.name+", "+rung, func(t *testing.T) {
				t.Parallel()
				o := harness.Options{Env: []string{"SALLYPORT_KILL=" + rung}}
				if rung == "cgroup" {
					o.Cgroup = testenv.Cgroup(t, 0)
				}
				s := harness.Start(t, o)
				token := fmt.Sprintf("8%03d.%d", i, len(rung))
				busy(t, s, token)
				gateway := s.Gateway()
				tt.end(s)
				nothingLeft(t, token)
				_ = s.Wait(10 * time.Second) // that it ends is what counts
				if testenv.Alive(gateway) {
					t.Error("the gateway is left")
				}
			})
		}
	}
}

func signal(pid int, sig syscall.Signal) { _ = syscall.Kill(pid, sig) } // what becomes of it is what the test looks at

// TestCancel: cancelling ends a foreground command with its tree, leaves a background one, and the server serves on.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Config: "exec.grace_ms = 300\n"})
	pid := s.PID()
	background := s.Background("sleep 7001.5")
	call := s.Go("exec", harness.Args{"command": "setsid sleep 7002.5 & sleep 7002.5 & wait", "yieldMs": 120_000})
	testenv.Eventually(t, 10*time.Second, func() bool { return sleeping("7002.5") == 2 }, "the command runs")
	call.Cancel()
	nothingLeft(t, "7002.5")
	if sleeping("7001.5") != 1 {
		t.Error("the background command went, too")
	}
	if r := s.Exec("echo still here"); !strings.Contains(r.Text, "still here") || s.PID() != pid || !s.Alive() {
		t.Errorf("after a cancelled call: %s", r)
	}
	if r := s.Process("poll", background.SessionID, harness.Args{"timeout": 10}); r.Status != "running" {
		t.Errorf("the background session: %s", r)
	}
}

// TestCancelManyTimes: no call that was given up takes anything of the server with it.
func TestCancelManyTimes(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Config: "exec.grace_ms = 100\n"})
	for range 10 {
		s.Go("exec", harness.Args{"command": "sleep 7003.5"}).Cancel()
	}
	if r := s.Exec("echo ok"); !strings.Contains(r.Text, "ok") {
		t.Errorf("after ten cancelled calls: %s", r)
	}
	nothingLeft(t, "7003.5")
}

// TestKillOfTheParent: a command that signals its parent hits what watches over the commands, which survives it.
func TestKillOfTheParent(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for _, sig := range []string{"TERM", "INT", "HUP", "PIPE"} {
		s.Exec("kill -" + sig + " $PPID")
	}
	if r := s.Exec("echo survived"); !strings.Contains(r.Text, "survived") || !s.Alive() {
		t.Errorf("after kill $PPID: %s", r)
	}
}
