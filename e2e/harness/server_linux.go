package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// patience is how long the harness waits for an answer that a test has set no time for. It only ends tests that hang.
const patience = 60 * time.Second

// Options say how a server is started. The zero value is an ordinary one, as the test's own user.
type Options struct {
	// Config is the text of a configuration file, without the keys workspace and state: those are set by the harness.
	Config string
	// Env is added to the server's environment: "SALLYPORT_KILL=mark".
	Env []string
	// Nobody starts the server as the throw-away user.
	Nobody bool
	// Cgroup is a cgroup v2 directory that the server is started in.
	Cgroup string
	// State is the directory for records and output. Empty: one of the test's own.
	State string
	// Args are further arguments of "sallyport mcp".
	Args []string
	// NoHandshake leaves out the initialize request.
	NoHandshake bool
}

// A Server is a running "sallyport mcp --standalone". Its methods fail the test; they are safe for concurrent use.
type Server struct {
	t          testing.TB
	cmd        *exec.Cmd
	Workspace  string // working directory of commands
	State      string // where records and output are
	ConfigPath string

	in      io.WriteCloser
	writing sync.Mutex

	mu      sync.Mutex
	nextID  int
	waiting map[string]chan message // by id, as it stands in the JSON
	notes   []message               // notifications, in order of arrival
	strays  []message               // answers that nobody waits for

	stderr *lockedBuffer
	eof    chan struct{} // closed when the server's stdout ends
	done   chan struct{} // closed when the process has ended
	ended  error         // of Wait; valid once done is closed
}

// Start starts a server in a directory of its own and greets it. When the test ends, so does the server, and it fails
// the test if it does not do so by itself.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{
		t: t, Workspace: testenv.OpenDir(t), State: o.State, waiting: map[string]chan message{},
		stderr: &lockedBuffer{}, eof: make(chan struct{}), done: make(chan struct{}),
	}
	if s.State == "" {
		s.State = filepath.Join(testenv.OpenDir(t), "state")
	}
	s.ConfigPath = filepath.Join(testenv.OpenDir(t), "config.toml")
	s.Configure(o.Config)
	s.cmd = exec.Command(testenv.Binary(t), append([]string{"mcp", "--standalone", "--config", s.ConfigPath}, o.Args...)...)
	s.cmd.Dir = s.Workspace
	s.cmd.Env = append(os.Environ(), o.Env...)
	s.cmd.Stderr = s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{}
	if o.Nobody {
		testenv.AsNobody(t, s.cmd)
	}
	if o.Cgroup != "" {
		dir, err := os.Open(o.Cgroup)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		s.cmd.SysProcAttr.UseCgroupFD, s.cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	s.run()
	if !o.NoHandshake {
		s.greet()
	}
	return s
}

// Configure writes another configuration file in place of the server's. It replaces the file, as editors do.
func (s *Server) Configure(text string) {
	s.t.Helper()
	next := s.ConfigPath + ".next"
	writeConfig(s.t, next, fmt.Sprintf("workspace = %q\nstate = %q\n%s", s.Workspace, s.State, text))
	if err := os.Rename(next, s.ConfigPath); err != nil {
		s.t.Fatal(err)
	}
}

// Config writes a configuration file with a workspace and a state directory of the test's own, and text behind them, and
// returns its path: for clients that start the program themselves.
func Config(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(testenv.OpenDir(t), "config.toml")
	state := filepath.Join(testenv.OpenDir(t), "state")
	writeConfig(t, path, fmt.Sprintf("workspace = %q\nstate = %q\n%s", testenv.OpenDir(t), state, text))
	return path
}

func writeConfig(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // a server that runs as another user reads it
		t.Fatal(err)
	}
}

// run starts the process and the readers, and arranges for the end.
func (s *Server) run() {
	s.t.Helper()
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	// Not StdoutPipe: Wait would close it, and the test must see everything that was printed.
	stdout, w, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd.Stdout, s.in = w, stdin
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	w.Close()
	go s.read(stdout)
	go func() {
		s.ended = s.cmd.Wait()
		close(s.done)
	}()
	s.t.Cleanup(s.stop)
}

// stop ends the server as a client does: by closing its input.
func (s *Server) stop() {
	s.CloseInput()
	select {
	case <-s.done:
	case <-time.After(patience / 2):
		s.t.Errorf("the server still runs %v after its input was closed; killed", patience/2)
		for _, p := range testenv.Descendants(s.t, s.PID()) {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // it may have ended by itself
		}
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	if s.t.Failed() && s.stderr.String() != "" {
		s.t.Logf("the server's stderr:\n%s", s.stderr)
	}
}

// PID is the process that the client started.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Gateway is the process that answers. It is a child of the one that the client started, which watches over it.
func (s *Server) Gateway() int {
	s.t.Helper()
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", s.PID()))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range testenv.Children(s.t, s.PID()) {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID)); err == nil && exe == own {
			return p.PID
		}
	}
	return s.PID()
}

// Stderr is what the server has logged so far.
func (s *Server) Stderr() string { return s.stderr.String() }

// Alive reports whether the process that the client started still runs.
func (s *Server) Alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// CloseInput tells the server that the client is gone. It may be called twice.
func (s *Server) CloseInput() { _ = s.in.Close() }

// Wait waits for the end of the process and returns what the operating system says of it.
func (s *Server) Wait(within time.Duration) error {
	s.t.Helper()
	select {
	case <-s.done:
		return s.ended
	case <-time.After(within):
		s.t.Fatalf("the server still runs after %v", within)
		return nil
	}
}

// WriteLine sends a line as it is, whatever it holds.
func (s *Server) WriteLine(line string) {
	s.t.Helper()
	if err := s.write(line + "\n"); err != nil {
		s.t.Fatalf("write to the server: %v", err)
	}
}

// Write sends bytes as they are, which may be part of a line.
func (s *Server) Write(text string) {
	s.t.Helper()
	if err := s.write(text); err != nil {
		s.t.Fatalf("write to the server: %v", err)
	}
}

func (s *Server) write(text string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := io.WriteString(s.in, text)
	return err
}

// read takes what the server prints, line by line, to who waits for it.
func (s *Server) read(stdout *os.File) {
	defer close(s.eof)
	defer stdout.Close()
	lines := bufio.NewReaderSize(stdout, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			s.take(line)
		}
		if err != nil {
			return
		}
	}
}

func (s *Server) take(line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
		s.t.Errorf("the server printed what is no JSON-RPC: %.200q", line)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch waiting := s.waiting[string(m.ID)]; {
	case m.Method != "":
		s.notes = append(s.notes, m)
	case waiting == nil:
		s.strays = append(s.strays, m)
	default:
		delete(s.waiting, string(m.ID)) // a second answer with this id is a stray
		waiting <- m
	}
}

// lockedBuffer collects what a process prints while the test may look at it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.ToValidUTF8(b.buf.String(), "\uFFFD")
}
