package e2e

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestBackgroundInTheShell: `sleep 300 & echo hi` is finished when the shell is, and says who still holds the output.
func TestBackgroundInTheShell(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	r := s.Exec("sleep 300.125 & echo hi")
	testenv.InTime(t, r.Took, 600*time.Millisecond, "a command that leaves a process behind")
	if r.Status != "completed" || r.Exit() != 0 || !strings.Contains(r.Text, "hi") {
		t.Errorf("sleep 300 & echo hi: %s", r)
	}
	// On a busy machine the shell's child may not have become sleep yet.
	if len(r.HeldBy) != 1 || (r.HeldBy[0].Name != "sleep" && r.HeldBy[0].Name != "bash") || !strings.Contains(r.Text, r.HeldBy[0].Name) {
		t.Fatalf("the holder is not named: %v\n%s", r.HeldBy, r)
	}
	if r.SessionID == "" {
		t.Fatalf("no session to end it by: %s", r)
	}
	if !testenv.Alive(r.HeldBy[0].PID) {
		t.Error("what was left behind should live")
	}
	s.Process("kill", r.SessionID)
	if left := testenv.ProcessesWith("300.125"); len(left) != 0 {
		t.Errorf("left after process kill: %v", left)
	}
}

// server is a web server that prints its port, then a line for each request.
const server = `python3 -u -c '
import http.server
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"served")
    def log_message(self, f, *a): print("request", self.path, flush=True)
s = http.server.HTTPServer(("127.0.0.1", 0), H)
print("port", s.server_port, flush=True)
s.serve_forever()
'`

// TestServerLeftBehind: a server that a command started serves on; what it prints long after the command's end is
// still read, since nobody closed its output; and process kill ends it.
func TestServerLeftBehind(t *testing.T) {
	t.Parallel()
	testenv.NeedProgram(t, "python3")
	s := harness.Start(t, harness.Options{})
	r := s.Exec(server + " & sleep 0.5; echo ok")
	if r.Exit() != 0 || !strings.Contains(r.Text, "ok") || r.SessionID == "" {
		t.Fatalf("server & echo ok: %s", r)
	}
	var port string
	testenv.Eventually(t, 20*time.Second, func() bool {
		log := s.Process("log", r.SessionID)
		_, rest, ok := strings.Cut(log.Text, "port ")
		port, _, _ = strings.Cut(rest, "\n")
		return ok && port != ""
	}, "the server says its port")

	// Past every drain and every pipe's time of grace.
	late := time.NewTimer(10 * time.Second)
	defer late.Stop()
	<-late.C
	if body := get(t, "http://127.0.0.1:"+strings.TrimSpace(port)+"/late"); body != "served" {
		t.Errorf("served %q", body)
	}
	testenv.Eventually(t, 10*time.Second, func() bool {
		return strings.Contains(s.Process("log", r.SessionID).Text, "request /late")
	}, "what the server prints is read on")

	kill := s.Process("kill", r.SessionID)
	if conn, err := net.Dial("tcp", "127.0.0.1:"+strings.TrimSpace(port)); err == nil {
		conn.Close()
		t.Errorf("it serves after process kill: %s", kill)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestFedByHand: a background session has a real stdin, open until eof.
func TestFedByHand(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	r := s.Background("while read -r line; do echo \"got $line\"; done; echo end of input")
	s.Process("write", r.SessionID, harness.Args{"data": "one\n"})
	got := s.Process("poll", r.SessionID, harness.Args{"timeout": 20_000, "until": "got one"})
	if !strings.Contains(got.Text, "got one") {
		t.Errorf("after the first line: %s", got)
	}
	s.Process("write", r.SessionID, harness.Args{"data": "two\n", "eof": true})
	got = s.Process("poll", r.SessionID, harness.Args{"timeout": 20_000, "until": "end of input"})
	if !strings.Contains(got.Text, "got two") || !strings.Contains(got.Text, "end of input") {
		t.Errorf("after the last line and eof: %s", got)
	}
}

// TestYieldAndPoll: a long command returns a session in good time, and polling it brings what is new, once.
func TestYieldAndPoll(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	r := s.Call("exec", harness.Args{"command": "mkfifo gate; echo first; read -r x <gate; echo second", "yieldMs": 300})
	if r.Status != "running" || r.SessionID == "" || r.PID == 0 || !strings.Contains(r.Text, "first") {
		t.Fatalf("after the yield window: %s", r)
	}
	testenv.InTime(t, r.Took, 500*time.Millisecond, "a call that yields after 0.3 s")
	empty := s.Process("poll", r.SessionID, harness.Args{"timeout": 100})
	if empty.Status != "running" || strings.Contains(empty.Text, "first") {
		t.Errorf("nothing is new: %s", empty)
	}
	waiting := s.Go("process", harness.Args{"action": "poll", "sessionId": r.SessionID, "timeout": 60_000})
	s.Exec("echo go >gate")
	if end := waiting.Result(); !strings.Contains(end.Text, "second") {
		t.Errorf("poll does not wake for output: %s", end)
	}
	testenv.Eventually(t, 10*time.Second, func() bool {
		return s.Process("poll", r.SessionID, harness.Args{"timeout": 1000}).Status == "completed"
	}, "the end is seen")
}
