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

// protocolCases: commands and clients that got into each other's way.
var protocolCases = map[string]check{
	"MC-01": childAndProtocol,
	"MC-03": cancelledIsOver,
	"MC-04": cancelReachesAll,
	"MC-05": tenCancelled,
	"MC-06": disconnect,
	"MC-07": framing,
}

func childAndProtocol(t *testing.T, s *harness.Server) {
	r := s.Exec("echo not-json; read x; echo done $x") // the harness fails on a line that is no JSON-RPC
	if strings.TrimSpace(r.Body()) != "not-json\ndone" {
		t.Errorf("%s", r)
	}
}

func cancelledIsOver(t *testing.T, s *harness.Server) {
	call := s.Go("exec", harness.Args{"command": "sleep 4733.5"})
	testenv.Eventually(t, 10*time.Second, func() bool { return sleeping("4733.5") == 1 }, "it runs")
	call.Cancel()
	if _, err := s.Request("tools/list", map[string]any{}).Raw(10 * time.Second); err != nil {
		t.Error(err)
	}
	nothingLeft(t, "4733.5")
	if n := len(s.Strays()); n != 0 {
		t.Errorf("%d answers that nobody asked for: %v", n, s.Strays())
	}
}

func cancelReachesAll(t *testing.T, s *harness.Server) {
	call := s.Go("exec", harness.Args{"command": "sleep 4734.5 & wait"})
	testenv.Eventually(t, 10*time.Second, func() bool { return sleeping("4734.5") == 1 }, "it runs")
	call.Cancel()
	nothingLeft(t, "4734.5")
}

func tenCancelled(t *testing.T, s *harness.Server) {
	pid := s.Gateway()
	for range 10 {
		s.Go("exec", harness.Args{"command": "sleep 4735.5"}).Cancel()
	}
	if r := s.Exec("echo ok"); !strings.Contains(r.Text, "ok") || s.Gateway() != pid {
		t.Errorf("%s", r)
	}
}

func disconnect(t *testing.T, s *harness.Server) {
	s.Go("exec", harness.Args{"command": "sleep 4736.5"})
	s.Background("sleep 4736.5")
	testenv.Eventually(t, 10*time.Second, func() bool { return sleeping("4736.5") == 2 }, "they run")
	s.CloseInput()
	nothingLeft(t, "4736.5")
	if err := s.Wait(5 * time.Second); err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

func framing(t *testing.T, s *harness.Server) {
	const word = "h\u00e9\u4e16\U0001F600"
	for i, command := range []string{"printf '" + word + "'", `printf 'h\u00e9\u4e16\ud83d\ude00'`} {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":"f%d","method":"tools/call","params":{"name":"exec","arguments":{"command":"%s"}}}`+"\n", i, command)
		for half := range 2 {
			s.Write([]string{line[:len(line)/2+i], line[len(line)/2+i:]}[half])
		}
	}
	testenv.Eventually(t, 20*time.Second, func() bool { return strings.Count(strings.Join(s.Strays(), ""), word) >= 2 }, "both spellings")
}

// environmentCases: what a command inherits and where it runs.
var environmentCases = map[string]check{
	"CW-02": statedDirectoryRule,
	"CW-05": home,
	"CW-06": secrets,
	"CW-07": environmentMarkers,
	"CW-08": gitHelpers,
}

func statedDirectoryRule(t *testing.T, s *harness.Server) {
	if r := s.Exec("mkdir -p sub; cd sub"); r.CWD != s.Workspace {
		t.Errorf("the result says %q", r.CWD)
	}
	if r := s.Exec("pwd"); strings.TrimSpace(r.Body()) != s.Workspace || r.CWD != s.Workspace {
		t.Errorf("%s", r)
	}
	tools, err := s.Request("tools/list", map[string]any{}).Raw(10 * time.Second)
	if err != nil || !strings.Contains(string(tools), s.Workspace) {
		t.Errorf("the description does not say where commands run: %v", err)
	}
}

// with starts a server whose own environment has more in it.
func with(t *testing.T, env ...string) *harness.Server {
	t.Helper()
	return harness.Start(t, harness.Options{Env: env})
}

func home(t *testing.T, _ *harness.Server) {
	s := with(t, "HOME=/inherited")
	if r := s.Exec("printenv HOME"); strings.TrimSpace(r.Body()) != "/inherited" {
		t.Errorf("inherited: %s", r)
	}
	r := s.Call("exec", harness.Args{"command": "printenv HOME", "env": map[string]string{"HOME": "/tmp"}})
	if strings.TrimSpace(r.Body()) != "/tmp" && !r.IsError { // set, or refused; never something else
		t.Errorf("set by the call: %s", r)
	}
}

func secrets(t *testing.T, _ *harness.Server) {
	s := with(t, "OPENAI_API_KEY=sk-planted", "X_TOKEN=tok-planted", "AWS_SECRET_ACCESS_KEY=aws-planted", "PLAIN=stays")
	r := s.Exec("env")
	if strings.Contains(r.Text, "-planted") || !strings.Contains(r.Text, "PLAIN=stays") {
		t.Errorf("%s", r)
	}
	for _, name := range []string{"OPENAI_API_KEY", "X_TOKEN", "AWS_SECRET_ACCESS_KEY"} {
		if !strings.Contains(r.Text+strings.Join(r.Warnings, " "), name) {
			t.Errorf("nobody says that %s was taken away: %v", name, r.Warnings)
		}
	}
}

func environmentMarkers(t *testing.T, _ *harness.Server) {
	s := with(t, "VIRTUAL_ENV=/venv", "CONDA_PREFIX=/conda", "CONDA_DEFAULT_ENV=base")
	if r := s.Exec("env | grep -E 'VIRTUAL_ENV|CONDA_' | wc -l"); strings.TrimSpace(r.Body()) != "0" {
		t.Errorf("siblings are treated differently: %s", r)
	}
}

func gitHelpers(t *testing.T, _ *harness.Server) {
	testenv.NeedProgram(t, "git")
	helpers := testenv.OpenDir(t)
	hit := filepath.Join(helpers, "HIT")
	if err := os.WriteFile(filepath.Join(helpers, "git-remote-x"), []byte("#!/bin/sh\ntouch "+hit+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := with(t, "GIT_EXEC_PATH="+helpers)
	s.Call("exec", harness.Args{"command": "git ls-remote x::y", "timeout": 20})
	if _, err := os.Stat(hit); err == nil {
		t.Error("the planted helper ran")
	}
	if r := s.Exec("printenv GIT_EXEC_PATH"); r.Exit() != 1 {
		t.Errorf("%s", r)
	}
}
