package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// hangCases: calls that never came back.
var hangCases = map[string]check{
	"HT-02": gitWithoutTerminal,
	"HT-03": noTerminalToSteal,
	"HT-04": fullPipes,
	"HT-08": silence,
	"OL-04": unknownSession,
	"PT-04": pipelineAfterTimeout,
	"PT-06": holderOutsideTheGroup,
	"PT-07": inheritedPipe,
	"PT-08": timeoutInEveryShape,
	"QH-06": openHereDocument,
	"QH-07": codeOnManyLines,
	"QH-08": syntaxError,
}

func gitWithoutTerminal(t *testing.T, s *harness.Server) {
	testenv.NeedProgram(t, "git")
	r := s.Exec(`git init -q . && git config user.email a@b && git config user.name n &&
for i in $(seq 1 500); do printf 'commit refs/heads/main\ncommitter n <a@b> %d +0000\ndata 2\nc\n' "$i"; done |
git fast-import --quiet && git symbolic-ref HEAD refs/heads/main && git reset -q --hard && git rev-list --count HEAD`)
	if !strings.Contains(r.Text, "500") {
		t.Fatalf("no repository to try it in: %s", r)
	}
	for _, command := range []string{"git log", "git commit --amend", "git rebase -i HEAD~1"} {
		r := s.Call("exec", harness.Args{"command": command, "timeout": 60})
		testenv.InTime(t, r.Took, time.Second, command)
		if r.Status != "completed" {
			t.Errorf("%s: %s", command, r)
		}
	}
}

// noTerminalToSteal starts the CLI with a terminal of its own, which the command must not reach.
func noTerminalToSteal(t *testing.T, s *harness.Server) {
	script := testenv.NeedProgram(t, "script")
	line := testenv.Binary(t) + " exec --config " + s.ConfigPath + " -c 'read x </dev/tty; echo rc=$?'"
	cmd := exec.CommandContext(t.Context(), script, "-qec", line, "/dev/null")
	start := time.Now()
	out, err := cmd.CombinedOutput()
	testenv.InTime(t, time.Since(start), time.Second, "reading a terminal that is none")
	if err != nil || strings.Contains(string(out), "rc=0") || !strings.Contains(string(out), "rc=") {
		t.Errorf("%v: %s", err, out)
	}
}

func fullPipes(t *testing.T, s *harness.Server) {
	const megabyte = `head -c 1000000 /dev/zero | tr "\0" x`
	for _, tt := range []struct{ command, streams string }{
		{megabyte, "merged"},
		{"(" + megabyte + ") >&2", "split"},
		{megabyte + " & (" + megabyte + ") >&2; wait", "split"},
	} {
		r := s.Call("exec", harness.Args{"command": tt.command, "streams": tt.streams, "timeout": 60})
		if r.Exit() != 0 {
			t.Errorf("%s: %.300s", tt.command, r)
		}
		testenv.InTime(t, r.Took, 2*time.Second, tt.command)
	}
}

func silence(t *testing.T, s *harness.Server) {
	r := s.Call("exec", harness.Args{"command": "sleep 0.5; echo a; sleep 0.5; echo b; sleep 30", "noOutputTimeout": 4})
	if r.FailureKind != "no-output-timeout" || !strings.Contains(r.Body(), "a\nb") {
		t.Errorf("%s, failure %q", r, r.FailureKind)
	}
}

func unknownSession(t *testing.T, s *harness.Server) {
	for _, action := range []string{"poll", "log", "write", "kill", "signal", "clear", "remove"} {
		r := s.Process(action, "nope", harness.Args{"timeout": 100_000, "data": "x", "signal": "TERM"})
		if r.Status != "failed" || r.Code != "not_found" || !strings.Contains(r.Text, "nope") {
			t.Errorf("%s: code %q, %s", action, r.Code, r)
		}
		testenv.InTime(t, r.Took, 100*time.Millisecond, action+" of a session that is none")
	}
}

func pipelineAfterTimeout(t *testing.T, s *harness.Server) {
	r := s.Call("exec", harness.Args{"command": "mkfifo p; (while :; do echo c4713; sleep 0.2; done) > p & cat p", "timeout": 1})
	testenv.InTime(t, r.Took, 2*time.Second, "a timeout of 1 s")
	if r.FailureKind != "overall-timeout" || !strings.Contains(r.Text, "c4713") {
		t.Errorf("%s, failure %q", r, r.FailureKind)
	}
	nothingLeft(t, s.Workspace)
	nothingLeft(t, "c4713")
}

func holderOutsideTheGroup(t *testing.T, s *harness.Server) {
	for i, style := range []string{"setsid sleep %s &", "nohup sleep %s &", "sleep %s & disown;", "(setsid sleep %s &) &"} {
		token := fmt.Sprintf("4714.%d", i)
		r := s.Call("exec", harness.Args{"command": fmt.Sprintf(style, token), "timeout": 1})
		if r.Exit() != 0 {
			t.Errorf("%s: %s", style, r)
		}
		testenv.InTime(t, r.Took, time.Second, style)
		if r.SessionID != "" {
			s.Process("kill", r.SessionID)
		}
		nothingLeft(t, token)

		r = s.Call("exec", harness.Args{"command": fmt.Sprintf(style, token) + " sleep " + token, "timeout": 1})
		if r.FailureKind != "overall-timeout" {
			t.Errorf("%s and a timeout: %s", style, r)
		}
		nothingLeft(t, token)
	}
}

func inheritedPipe(t *testing.T, s *harness.Server) {
	r := s.Exec(`sh -c "sleep 60 & exit 0"`)
	if r.Status != "completed" || r.Exit() != 0 {
		t.Errorf("%s", r)
	}
	testenv.InTime(t, r.Took, time.Second, "a command whose child holds the output")
}

func timeoutInEveryShape(t *testing.T, _ *harness.Server) {
	for i, shell := range []string{"/bin/bash", "/bin/dash"} {
		s := harness.Start(t, harness.Options{Config: fmt.Sprintf("exec.grace_ms = 300\nexec.shell = %q\n", shell)})
		token := fmt.Sprintf("4715.%d", i)
		var calls []*harness.Pending
		for _, shape := range []string{"sleep %s", "sleep %s; true", "(sleep %s)", "sleep %s | cat", "sleep %s & wait"} {
			calls = append(calls, s.Go("exec", harness.Args{"command": fmt.Sprintf(shape, token), "timeout": 2}))
		}
		for _, c := range calls {
			r := c.Result()
			if r.FailureKind != "overall-timeout" || r.Took < 2*time.Second {
				t.Errorf("%s in %v: %s", filepath.Base(shell), r.Took, r)
			}
			testenv.InTime(t, r.Took, 3*time.Second, "a timeout of 2 s")
		}
		nothingLeft(t, token)
	}
}

func openHereDocument(t *testing.T, s *harness.Server) {
	r := s.Exec("cat <<EOF\nabc")
	if !strings.Contains(r.Text, "abc") {
		t.Errorf("%s", r)
	}
	testenv.InTime(t, r.Took, time.Second, "a here-document without its end")
}

func codeOnManyLines(t *testing.T, s *harness.Server) {
	testenv.NeedProgram(t, "python3")
	r := s.Exec("python3 -c \"\nfor i in range(3):\n    print(i)\n\"")
	if r.Exit() != 0 || strings.TrimSpace(r.Body()) != "0\n1\n2" {
		t.Errorf("%s", r)
	}
}

func syntaxError(t *testing.T, s *harness.Server) {
	r := s.Exec(`echo "a" && git commit -m \"x (y)\"`)
	if r.Exit() != 2 && r.Exit() != 1 || !strings.Contains(r.Text, "syntax error") {
		t.Errorf("%s", r)
	}
	testenv.InTime(t, r.Took, time.Second, "a syntax error")
	if r := s.Exec("echo next"); !strings.Contains(r.Text, "next") {
		t.Errorf("the next command: %s", r)
	}
}
