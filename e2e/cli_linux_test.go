package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// run runs the program and returns its exit code (128 and more: a signal) and what it printed to both streams.
func run(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testenv.Binary(t), args...)
	all, err := cmd.CombinedOutput()
	return exitCode(t, err), string(all)
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// TestExecExitCodes: the command's own code passes through, and ours are those that shells use.
func TestExecExitCodes(t *testing.T) {
	t.Parallel()
	config := harness.Config(t, "exec.grace_ms = 200\n")
	for _, tt := range []struct {
		name string
		args []string
		code int
		out  string
	}{
		{"zero", []string{"--", "echo", "a b"}, 0, "a b\n"},
		{"its own", []string{"-c", "exit 42"}, 42, ""},
		{"signal", []string{"-c", "kill -9 $$"}, 137, ""},
		{"missing", []string{"--", "no-such-program-here"}, 127, "error:"},
		{"timeout", []string{"--timeout", "1s", "-c", "echo before; sleep 9201.5"}, 124, "before"},
		{"environment", []string{"-e", "WORD=given", "-c", "echo $WORD"}, 0, "given\n"},
		{"directory", []string{"--cwd", "/", "-c", "pwd"}, 0, "/\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, out := run(t, append([]string{"exec", "--config", config}, tt.args...)...)
			if code != tt.code || !strings.Contains(out, tt.out) {
				t.Errorf("exit %d, want %d: %s", code, tt.code, out)
			}
		})
	}
}

// TestExecStdin: standard input is the command's.
func TestExecStdin(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), testenv.Binary(t), "exec", "--config", harness.Config(t, ""), "-c", "tr a-z A-Z")
	cmd.Stdin = strings.NewReader("fed by hand\n")
	out, err := cmd.Output()
	if err != nil || string(out) != "FED BY HAND\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestExecSignals: a signal to the program is one to the command, and its end takes the tree with it, however it ends.
func TestExecSignals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sig   syscall.Signal
		text  string // with %s for the token of its processes
		token string
		code  int
	}{
		{syscall.SIGTERM, "trap 'echo caught; exit 7' TERM; sleep %s & wait", "9202.15", 7},
		{syscall.SIGINT, "setsid sleep %[1]s & sleep %[1]s", "9202.25", 130},
		{syscall.SIGKILL, "setsid sleep %[1]s & sleep %[1]s", "9202.95", 137},
	} {
		t.Run(tt.sig.String(), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), testenv.Binary(t), "exec", "--config", harness.Config(t, "exec.grace_ms = 200\n"), "-c", fmt.Sprintf(tt.text, tt.token))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, 10*time.Second, func() bool { return sleeping(tt.token) >= 1 }, "the command runs")
			signal(cmd.Process.Pid, tt.sig)
			if code := exitCode(t, cmd.Wait()); code != tt.code {
				t.Errorf("exit %d, want %d", code, tt.code)
			}
			nothingLeft(t, tt.token)
		})
	}
}

// TestSaysIt: the commands that only tell something do so, as text and as JSON.
func TestSaysIt(t *testing.T) {
	t.Parallel()
	config := harness.Config(t, "")
	for _, args := range [][]string{{"version"}, {"doctor"}, {"config", "show"}, {"config", "path"}, {"config", "check"}} {
		code, out := run(t, append(args, "--config", config)...)
		if code != 0 || out == "" {
			t.Errorf("%v: exit %d: %s", args, code, out)
		}
		code, out = run(t, append(args, "--config", config, "-o", "json")...)
		if code != 0 || !json.Valid([]byte(out)) {
			t.Errorf("%v -o json: exit %d: %s", args, code, out)
		}
	}
	for _, client := range []string{"claude-desktop", "claude-code", "cursor", "vscode", "codex"} {
		if code, out := run(t, "mcp", "config", client); code != 0 || !strings.Contains(out, testenv.Binary(t)) {
			t.Errorf("mcp config %s: exit %d: %s", client, code, out)
		}
	}
	if code, out := run(t, "no-such-command"); code == 0 || !strings.Contains(out, "error:") {
		t.Errorf("an unknown command: exit %d: %s", code, out)
	}
}
