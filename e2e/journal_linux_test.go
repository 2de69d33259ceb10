package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestFullDisk: what cannot be recorded is not run, and what runs can be stopped all the same.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := testenv.SmallDisk(t, 4<<20)
	s := harness.Start(t, harness.Options{State: filepath.Join(disk, "state")})
	long := s.Background("sleep 9001.5")
	testenv.Eventually(t, 10*time.Second, func() bool { return sleeping("9001.5") == 1 }, "a command runs before the disk is full")
	if out, err := exec.Command("dd", "if=/dev/zero", "of="+disk+"/full", "bs=4k").CombinedOutput(); err == nil {
		t.Fatalf("the disk does not fill up: %s", out)
	}
	var refused harness.Result
	// What the journal had set aside for its rows is used up first.
	testenv.Eventually(t, 60*time.Second, func() bool {
		refused = s.Exec("touch HIT-" + time.Now().Format("150405.000000"))
		return refused.IsError
	}, "a full disk refuses a run")
	if !strings.Contains(refused.Text, "AUDIT_UNAVAILABLE") || refused.Status == "completed" {
		t.Errorf("refused with: %s", refused)
	}
	before := count(t, filepath.Join(s.Workspace, "HIT-*"))
	if r := s.Exec("touch HIT-last"); !r.IsError || count(t, filepath.Join(s.Workspace, "HIT-*")) != before {
		t.Errorf("it ran all the same: %s", r)
	}
	s.Process("kill", long.SessionID)
	nothingLeft(t, "9001.5")
}

func count(t *testing.T, pattern string) int {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// TestAudit: the record of a session can be verified while the server runs and after it was killed, and a changed byte
// is found.
func TestAudit(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for _, command := range []string{"true", "exit 3", "kill -9 $$"} {
		s.Exec(command)
	}
	verify := func() (string, error) {
		out, err := exec.Command(testenv.Binary(t), "audit", "verify", "--config", s.ConfigPath).CombinedOutput()
		return string(out), err
	}
	if out, err := verify(); err != nil {
		t.Errorf("audit verify beside a running server: %v\n%s", err, out)
	}
	s.CloseInput()
	_ = s.Wait(10 * time.Second) // how it ends is looked at elsewhere
	if out, err := verify(); err != nil {
		t.Errorf("audit verify: %v\n%s", err, out)
	}
	tail, err := exec.Command(testenv.Binary(t), "audit", "tail", "--config", s.ConfigPath).CombinedOutput()
	if err != nil || !strings.Contains(string(tail), "kill -9") {
		t.Errorf("audit tail: %v\n%s", err, tail)
	}
	flip(t, s.State)
	if out, err := verify(); err == nil {
		t.Errorf("a changed byte is not found: %s", out)
	}
}

// flip changes one letter of a recorded command in the journal's files.
func flip(t *testing.T, state string) {
	t.Helper()
	script := `f=$(grep -rl 'exit 3' "$1" | head -n 1) && [ -n "$f" ] && sed -i 's/exit 3/exit 4/' "$f"`
	if out, err := exec.Command("/bin/sh", "-c", script, "sh", state).CombinedOutput(); err != nil {
		t.Fatalf("no record to change: %v: %s", err, out)
	}
}
