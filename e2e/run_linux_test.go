package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestHowItEnded: what a model reads of the end of a command is what happened, and not a guess from a number.
func TestHowItEnded(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	plain := filepath.Join(s.Workspace, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		args    harness.Args
		status  string
		exit    int // -1: none
		signal  string
		failure string
	}{
		{"zero", harness.Args{"command": "true"}, "completed", 0, "", ""},
		{"non-zero", harness.Args{"command": "exit 3"}, "completed", 3, "", ""},
		{"a program's own 127", harness.Args{"command": "exit 127"}, "completed", 127, "", ""},
		{"a child's own 127", harness.Args{"command": "sh -c 'exit 127'"}, "completed", 127, "", ""},
		{"a program's own 126", harness.Args{"command": "sh -c 'exit 126'"}, "completed", 126, "", ""},
		{"missing", harness.Args{"command": "no-such-program-here; exit $?"}, "failed", 127, "", "shell-command-not-found"},
		{"missing, alone", harness.Args{"command": "no-such-program-here"}, "failed", -2, "", "shell-command-not-found"},
		{"not executable", harness.Args{"command": "./plain; exit $?"}, "failed", 126, "", "shell-not-executable"},
		{"not executable, alone", harness.Args{"command": "./plain"}, "failed", -2, "", "shell-not-executable"},
		{"missing, without a shell", harness.Args{"argv": []string{"no-such-program-here"}}, "failed", -2, "", "shell-command-not-found"},
		{"signal", harness.Args{"command": "kill -9 $$"}, "failed", -2, "SIGKILL", "signal"},
		{"signal of the program", harness.Args{"argv": []string{"sh", "-c", "kill -TERM $$"}}, "failed", -2, "SIGTERM", "signal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := s.Call("exec", tt.args)
			if r.Status != tt.status || r.Signal != tt.signal || r.FailureKind != tt.failure {
				t.Errorf("status %q, signal %q, failure %q; want %q, %q, %q\n%s",
					r.Status, r.Signal, r.FailureKind, tt.status, tt.signal, tt.failure, r)
			}
			if tt.exit != -2 && r.Exit() != tt.exit {
				t.Errorf("exit %d, want %d\n%s", r.Exit(), tt.exit, r)
			}
			if tt.failure == "" && strings.Contains(r.Text, "not found") {
				t.Errorf("a program's own exit code is taken for the shell's:\n%s", r)
			}
			if tt.signal != "" && !strings.Contains(r.Text, strings.TrimPrefix(tt.signal, "SIG")) {
				t.Errorf("the model does not see the signal:\n%s", r)
			}
		})
	}
}

// TestNothingToRead: a command that wants input which nobody will give ends at once.
func TestNothingToRead(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	r := s.Exec("cat")
	if r.Exit() != 0 || r.Body() != "" && !strings.Contains(r.Body(), "no output") {
		t.Errorf("cat: %s", r)
	}
	testenv.InTime(t, r.Took, 500*time.Millisecond, "cat without input")

	r = s.Exec("read x </dev/tty")
	if r.Exit() == 0 || !strings.Contains(r.Text, "/dev/tty") {
		t.Errorf("there is a terminal to read from: %s", r)
	}
	testenv.InTime(t, r.Took, 500*time.Millisecond, "read from a terminal that is none")

	if r := s.Call("exec", harness.Args{"command": "cat", "stdin": "fed\n"}); strings.TrimSpace(r.Body()) != "fed" {
		t.Errorf("cat with input: %s", r)
	}
}

// TestTimeoutKeepsOutput: what was printed before the end of patience is not thrown away, and nothing of the tree is
// left.
func TestTimeoutKeepsOutput(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Config: "exec.grace_ms = 200\n"})
	const token = "4711.25"
	r := s.Call("exec", harness.Args{"command": "echo before; setsid sleep " + token + " & sleep " + token, "timeout": 1})
	if r.Status != "failed" || r.FailureKind != "overall-timeout" || !r.IsError || !strings.Contains(r.Text, "before") {
		t.Errorf("timed out: %s, failure %q", r, r.FailureKind)
	}
	testenv.InTime(t, r.Took, 2200*time.Millisecond, "a timeout of 1 s with a grace of 0.2 s")
	if left := testenv.ProcessesWith(token); len(left) != 0 {
		t.Errorf("left alive: %v", left)
	}

	r = s.Call("exec", harness.Args{"command": "echo a; echo b; sleep " + token, "noOutputTimeout": 1})
	if r.FailureKind != "no-output-timeout" || !strings.Contains(r.Text, "b") {
		t.Errorf("silent for too long: %s, failure %q", r, r.FailureKind)
	}
	if left := testenv.ProcessesWith(token); len(left) != 0 {
		t.Errorf("left alive: %v", left)
	}
}

// TestInParallel: two commands run side by side. Each waits for the other, so that one after the other never ends.
func TestInParallel(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	meet := func(mine, other string) *harness.Pending {
		text := fmt.Sprintf("touch %s; until [ -e %s ]; do sleep 0.01; done; echo met", mine, other)
		return s.Go("exec", harness.Args{"command": text, "timeout": 30})
	}
	a, b := meet("a", "b"), meet("b", "a")
	for _, r := range []harness.Result{a.Result(), b.Result()} {
		if r.Exit() != 0 || !strings.Contains(r.Text, "met") {
			t.Errorf("they did not meet: %s", r)
		}
	}
}

// TestMissingDirectory: a working directory that is not there is a failed result that says that nothing ran.
func TestMissingDirectory(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	r := s.Call("exec", harness.Args{"command": "touch HIT", "workdir": filepath.Join(s.Workspace, "gone")})
	if r.Status != "failed" || !strings.Contains(r.Text, "gone") || !strings.Contains(r.Text, "not started") {
		t.Errorf("missing directory: %s", r)
	}
	if _, err := os.Stat(filepath.Join(s.Workspace, "HIT")); err == nil {
		t.Error("it ran all the same")
	}
	if r := s.Call("exec", harness.Args{"command": "pwd", "workdir": "/"}); strings.TrimSpace(r.Body()) != "/" || r.CWD != "/" {
		t.Errorf("pwd in /: %s, cwd %q", r, r.CWD)
	}
}

// TestOutputInOrder: both streams of a command are one, in the order in which it wrote.
func TestOutputInOrder(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for range 20 {
		r := s.Exec("echo a; echo b >&2; echo c; echo d >&2")
		if strings.TrimSpace(r.Body()) != "a\nb\nc\nd" {
			t.Fatalf("out of order: %s", r)
		}
	}
}

// TestLongOutput: the default answer is short, says exactly what it leaves out, and names the call that shows the rest.
func TestLongOutput(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	r := s.Exec("seq 1 1000000") // 6,888,896 bytes
	if r.Exit() != 0 || len(r.Text) > 20_000 {
		t.Errorf("an answer of %d bytes: %.200s", len(r.Text), r)
	}
	for _, want := range []string{"1\n2\n3\n", "999999\n1000000", "6,888,896", "process log"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("the answer lacks %q:\n%.600s", want, r.Text)
		}
	}
	if r.SessionID == "" {
		t.Fatalf("no session to read the rest of: %.300s", r)
	}
	page := s.Process("log", r.SessionID, harness.Args{"offset": 499_999, "limit": 2})
	if !strings.Contains(page.Text, "500000\n500001") {
		t.Errorf("lines of the middle: %s", page)
	}
	if r := s.Call("exec", harness.Args{"command": "seq 1 20000", "maxOutput": 200_000}); !strings.Contains(r.Text, "\n10000\n") {
		t.Errorf("up to 200,000 characters on request: %.300s", r)
	}
}
