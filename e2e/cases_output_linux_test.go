package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// outputCases: output that was lost or changed, and exit codes that said something else.
var outputCases = map[string]check{
	"EN-04": nulBytes,
	"EN-06": carriageReturns,
	"EN-09": hyperlinks,
	"EX-03": maskedFailure,
	"EX-04": noPipefail,
	"EX-05": tenThousandAnswers,
	"EX-06": leftBehindIsNoFailure,
	"OL-01": pollAfterTheEnd,
	"CC-02": directoriesApart,
	"CC-05": killRacesWithExit,
}

func nulBytes(t *testing.T, s *harness.Server) {
	r := s.Exec(`printf 'a\0b\n'`)
	if strings.Contains(r.Text, "\x00") || !strings.Contains(r.Text, "a") || !strings.Contains(r.Text, "b") {
		t.Errorf("%q", r.Text)
	}
}

func carriageReturns(t *testing.T, s *harness.Server) {
	for command, want := range map[string]string{
		`printf 'first\rsecond\nthird\n'`:  "second\nthird",
		`printf 'longest\rshort\n'`:        "shortst", // as a terminal shows it
		`printf 'one\r\ntwo\r\n'`:          "one\ntwo",
		`printf '10%%\r20%%\r100%%\ndone'`: "100%\ndone",
	} {
		if r := s.Exec(command); strings.TrimSpace(r.Body()) != want {
			t.Errorf("%s: %q, want %q", command, r.Body(), want)
		}
	}
}

func hyperlinks(t *testing.T, s *harness.Server) {
	if r := s.Exec(`printf '\033]8;;u\033\\label\033]8;;\033\\ tail\n'`); strings.TrimSpace(r.Body()) != "label tail" {
		t.Errorf("%q", r.Body())
	}
	if r := s.Exec(`printf '\033]0;no end\n'; echo visible`); !strings.Contains(r.Body(), "visible") {
		t.Errorf("an unterminated sequence eats the rest: %q", r.Body())
	}
}

func maskedFailure(t *testing.T, s *harness.Server) {
	r := s.Exec(`sh -c 'echo FAIL; exit 1' 2>&1 | tail -1`)
	if r.Exit() != 0 || !strings.Contains(r.Text, "FAIL") || strings.Contains(strings.ToLower(r.Text), "succe") {
		t.Errorf("%s", r)
	}
}

func noPipefail(t *testing.T, s *harness.Server) {
	for _, command := range []string{"yes | head -1", "seq 1 100000 | head -3", "grep zzz /etc/hosts | wc -l"} {
		if r := s.Exec(command); r.Exit() != 0 {
			t.Errorf("%s: %s", command, r)
		}
	}
}

func tenThousandAnswers(t *testing.T, s *harness.Server) {
	var wg sync.WaitGroup
	const clients = 8
	for range clients {
		wg.Go(func() {
			for range testenv.Scale(1000, 10_000) / clients {
				if r := s.Call("exec", harness.Args{"command": "echo hi", "streams": "split"}); strings.TrimSpace(r.Body()) != "hi" {
					t.Errorf("%s", r)
				}
			}
		})
	}
	wg.Wait()
}

func leftBehindIsNoFailure(t *testing.T, s *harness.Server) {
	r := s.Exec("sleep 30 & exit 0")
	if r.Status != "completed" || r.Exit() != 0 || r.FailureKind != "" || r.IsError || len(r.HeldBy) != 1 {
		t.Errorf("%s, held by %v", r, r.HeldBy)
	}
}

func pollAfterTheEnd(t *testing.T, s *harness.Server) {
	b := s.Background("until [ -e go ]; do sleep 0.01; done; seq 1 5000")
	s.Exec("touch go")
	testenv.Eventually(t, 20*time.Second, func() bool { return !testenv.Alive(b.PID) }, "it has ended")
	r := s.Process("poll", b.SessionID, harness.Args{"timeout": 5000})
	whole := strings.Contains(r.Text, "\n1\n2\n") && strings.Contains(r.Text, "4999\n5000")
	said := strings.Contains(r.Text, "left out") && strings.Contains(r.Text, "log")
	if !whole && !said {
		t.Errorf("neither all of it nor a word of what is missing: %.300s", r)
	}
}

func directoriesApart(t *testing.T, s *harness.Server) {
	if err := os.Mkdir(filepath.Join(s.Workspace, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	moved := s.Go("exec", harness.Args{"command": "cd a && sleep 0.2 && pwd"})
	for range 5 {
		if r := s.Exec("pwd"); strings.TrimSpace(r.Body()) != s.Workspace {
			t.Errorf("in %q, want %q", strings.TrimSpace(r.Body()), s.Workspace)
		}
	}
	if r := moved.Result(); strings.TrimSpace(r.Body()) != filepath.Join(s.Workspace, "a") {
		t.Errorf("%s", r)
	}
}

func killRacesWithExit(t *testing.T, s *harness.Server) {
	for i := range testenv.Scale(200, 500) {
		b := s.Call("exec", harness.Args{"command": fmt.Sprintf("sleep 0.0%d", i%10), "background": true})
		if b.SessionID == "" { // it was over before the answer
			continue
		}
		kill := s.Process("kill", b.SessionID)
		poll := s.Process("poll", b.SessionID, harness.Args{"timeout": 5000})
		if poll.Status == "running" || poll.Status == "" || strings.Contains(poll.Text, "no session") {
			t.Fatalf("round %d: %s\nafter %s", i, poll, kill)
		}
	}
}
