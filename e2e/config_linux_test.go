package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestReload: another configuration is in force with the next call, and an invalid one changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	runs := func() bool {
		r := s.Exec("touch HIT; echo ran")
		hit := filepath.Join(s.Workspace, "HIT")
		_, err := os.Stat(hit)
		if (r.Status == "completed") != (err == nil) {
			t.Errorf("the answer and what happened differ: %s", r)
		}
		_ = os.Remove(hit) // it need not be there
		return err == nil
	}
	if !runs() {
		t.Fatal("nothing runs with the default configuration")
	}
	s.Configure("[tools.exec]\nsecurity = \"deny\"\n")
	testenv.Eventually(t, 10*time.Second, func() bool { return !runs() }, "security = deny is in force")
	if r := s.Exec("true"); !r.IsError || !strings.Contains(strings.ToLower(r.Text), "den") {
		t.Errorf("denied: %s", r)
	}

	s.Configure("[tools.exec]\nsecurity = \"perhaps\"\n")
	testenv.Eventually(t, 10*time.Second, func() bool { return strings.Contains(s.Stderr(), "perhaps") }, "the server says what is wrong")
	if runs() {
		t.Error("an invalid file opened what was closed")
	}
	s.Configure("")
	testenv.Eventually(t, 10*time.Second, runs, "the default is in force again")
}

// TestUnknownKey: a key that nobody knows is an error with a suggestion, and nothing starts.
func TestUnknownKey(t *testing.T) {
	t.Parallel()
	config := harness.Config(t, "[exec]\nbackgroud_ms = 5\n")
	code, out := run(t, "mcp", "--standalone", "--config", config)
	if code == 0 || !strings.Contains(out, "background_ms") || !strings.Contains(out, "error:") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestProcessDenied: without the process tool nobody could ask for a session again, so exec waits for the end and says
// why.
func TestProcessDenied(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Config: "[tools]\ndeny = [\"process\"]\n"})
	r := s.Call("exec", harness.Args{"command": "sleep 0.5; echo waited", "yieldMs": 10, "background": true})
	if r.Status != "completed" || !strings.Contains(r.Text, "waited") ||
		!strings.Contains(r.Text, "background execution is disabled; running synchronously") {
		t.Errorf("%s", r)
	}
	if r := s.Process("list", ""); r.Err == nil && !r.IsError {
		t.Errorf("the tool is served: %s", r)
	}
}

// TestExitNotice: the end of a background command that nobody looked at is told with the next result.
func TestExitNotice(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	b := s.Background("until [ -e go ]; do sleep 0.01; done; echo the last word; exit 5") // it must not end before the answer
	if err := os.WriteFile(filepath.Join(s.Workspace, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 10*time.Second, func() bool { return !testenv.Alive(b.PID) }, "it has ended")
	var heard string
	testenv.Eventually(t, 10*time.Second, func() bool {
		heard = s.Exec("true").Text
		return strings.Contains(heard, "Exec completed ("+b.SessionID)
	}, "its end is told")
	if !strings.Contains(heard, "code 5") || !strings.Contains(heard, "the last word") {
		t.Errorf("the notice: %s", heard)
	}
	if again := s.Exec("true").Text; strings.Contains(again, "Exec completed (") {
		t.Errorf("it is told twice: %s", again)
	}
}

// TestTwoServers: servers of one user share a state directory, each with a chain and sessions of its own.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	a := harness.Start(t, harness.Options{})
	b := harness.Start(t, harness.Options{State: a.State})
	for range 20 {
		pa, pb := a.Go("exec", harness.Args{"command": "echo a"}), b.Go("exec", harness.Args{"command": "echo b"})
		if ra, rb := pa.Result(), pb.Result(); strings.TrimSpace(ra.Body()) != "a" || strings.TrimSpace(rb.Body()) != "b" {
			t.Fatalf("%s\n%s", ra, rb)
		}
	}
	session := a.Background("sleep 9101.5")
	if r := b.Process("poll", session.SessionID); r.Status != "failed" {
		t.Errorf("another server's session: %s", r)
	}
	b.CloseInput()
	_ = b.Wait(10 * time.Second) // how it ends is looked at elsewhere
	if sleeping("9101.5") != 1 {
		t.Error("the end of one server ended a command of the other")
	}
	if code, out := run(t, "audit", "verify", "--config", a.ConfigPath); code != 0 {
		t.Errorf("audit verify: exit %d: %s", code, out)
	}
}
