package surfacetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// names are the ids of the first sessions; later ones are numbered.
var names = []sallyport.SessionID{"amber-atlas", "brisk-heron", "calm-otter", "quiet-moth", "eager-finch"}

// Session is a session of a [Fake].
type Session struct {
	*Log
	fake     *Fake
	deadline *time.Timer

	mu     sync.Mutex
	st     sallyport.Status
	input  []byte
	eof    bool
	saw    bool // its end was delivered
	killed chan struct{}
	done   bool // killed is closed
}

var _ sallyport.Session = (*Session)(nil)

func newSession(f *Fake, r sallyport.Request, n int) *Session {
	id := sallyport.SessionID(fmt.Sprintf("session-%d", n))
	if n < len(names) {
		id = names[n]
	}
	dir := r.Exec.Dir
	if dir == "" {
		dir = r.Caller.Workspace
	}
	s := &Session{Log: NewLog(), fake: f, killed: make(chan struct{})}
	s.st = sallyport.Status{
		ID: id, Request: r.ID, Host: sallyport.Gateway, Scope: r.Caller.Scope, Agent: r.Caller.AgentID,
		Title: r.Exec.Title, Dir: dir, PID: 4121 + n, State: sallyport.Running, Started: time.Now(), Stdin: r.Exec.Stdin,
		Split: r.Exec.Split, Background: r.Exec.Background, Limits: r.Exec.Limits,
	}
	s.input = r.Exec.Input
	s.eof = r.Exec.Stdin != sallyport.StdinOpen
	return s
}

// Print writes output, formatted as by fmt.Sprintf.
func (s *Session) Print(format string, args ...any) {
	s.Append(sallyport.Stdout, []byte(fmt.Sprintf(format, args...)))
}

// PrintErr writes to standard error: another stream only if the session is split.
func (s *Session) PrintErr(format string, args ...any) {
	stream := sallyport.Stdout
	if s.st.Split {
		stream = sallyport.Stderr
	}
	s.Append(stream, []byte(fmt.Sprintf(format, args...)))
}

// Sleep waits, and reports false if the session was killed before the time was over.
func (s *Session) Sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.killed:
		return false
	}
}

// Killed is closed when the session is killed.
func (s *Session) Killed() <-chan struct{} { return s.killed }

// ReadLine returns input up to and including the next newline. It waits for it, and reports false at the end of input.
func (s *Session) ReadLine() (string, bool) {
	for {
		changed := s.Changed()
		s.mu.Lock()
		if line, rest, ok := strings.Cut(string(s.input), "\n"); ok {
			s.input = []byte(rest)
			s.mu.Unlock()
			return line + "\n", true
		}
		if s.eof {
			line := string(s.input)
			s.input = nil
			s.mu.Unlock()
			return line, line != ""
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-s.killed:
			return "", false
		}
	}
}

// Leave names processes that live on after the session's end. With holding they still hold its output.
func (s *Session) Leave(holding bool, left ...sallyport.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Left = left
	if holding {
		s.st.HeldBy = left
	}
}

// Warn adds a warning to the session's status.
func (s *Session) Warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Warnings = append(s.st.Warnings, text)
}

// Exit ends the session with a code. A session ends only once.
func (s *Session) Exit(code int) { s.Finish(sallyport.Outcome{Kind: sallyport.Exited, Code: code}) }

// Finish ends the session. A session ends only once.
func (s *Session) Finish(o sallyport.Outcome) {
	s.mu.Lock()
	if s.st.State == sallyport.Ended {
		s.mu.Unlock()
		return
	}
	s.st.State, s.st.Ended = sallyport.Ended, time.Now()
	if o.Duration == 0 {
		o.Duration = s.st.Ended.Sub(s.st.Started)
	}
	s.st.Outcome = &o
	s.st.Stdin = sallyport.StdinNone
	announce := s.st.Background && !s.saw && o.Kind != sallyport.Killed
	st := s.st
	s.mu.Unlock()
	if s.deadline != nil {
		s.deadline.Stop()
	}
	if announce {
		word, how := "completed", fmt.Sprintf("code %d", o.Code)
		if o.Failure != "" || o.Signal != "" {
			word = "failed"
		}
		if o.Signal != "" {
			how = "signal " + o.Signal
		}
		tail := strings.Join(strings.Fields(string(s.Bytes())), " ")
		s.fake.Notify(st.Scope, sallyport.Notice{
			ID: st.ID, Text: fmt.Sprintf("Exec %s (%s, %s) :: %s", word, st.ID, how, tail), At: time.Now(),
		})
	}
	s.Wake()
}

func (s *Session) timeOut(kind sallyport.FailureKind) {
	s.Finish(sallyport.Outcome{
		Kind: sallyport.TimedOut, Code: -1, Signal: "SIGKILL", Failure: kind,
		Kill: &sallyport.KillReport{Rung: "cgroup", Killed: 1},
	})
	s.kill()
}

func (s *Session) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.done = true
		close(s.killed)
	}
}

// mark keeps a reader's mark and reports whether the session is to be forgotten.
func (s *Session) mark(m sallyport.Mark) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Seen = max(s.st.Seen, m.Seen)
	s.saw = s.saw || m.SawEnd
	s.st.Background = s.st.Background || m.Background
	return m.Release && s.st.State == sallyport.Ended && len(s.st.Left) == 0
}

// Status implements [sallyport.Output].
func (s *Session) Status(context.Context) (sallyport.Status, error) {
	out := s.stat()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.st
	st.Output = out
	return st, nil
}

// Wait implements [sallyport.Output].
func (s *Session) Wait(ctx context.Context, w sallyport.Wake) (sallyport.Woke, error) {
	return wait(ctx, s, w)
}

// Send implements [sallyport.Session].
func (s *Session) Send(_ context.Context, in sallyport.Input) error {
	s.mu.Lock()
	switch {
	case s.st.State == sallyport.Ended:
		s.mu.Unlock()
		return &sallyport.Error{Code: sallyport.Conflict, Msg: fmt.Sprintf("session %s has ended", s.st.ID)}
	case (len(in.Data) > 0 || in.EOF) && s.eof:
		s.mu.Unlock()
		return &sallyport.Error{
			Code: sallyport.Conflict, Msg: "its stdin is closed", Hint: "start it with background=true to keep stdin open",
		}
	}
	s.input = append(s.input, in.Data...)
	if in.EOF {
		s.eof, s.st.Stdin = true, sallyport.StdinNone
	}
	s.mu.Unlock()
	s.Wake()
	if in.Signal != "" {
		s.Finish(sallyport.Outcome{Kind: sallyport.Signalled, Code: -1, Signal: "SIG" + strings.TrimPrefix(in.Signal, "SIG"), Failure: sallyport.BySignal})
		s.kill()
	}
	return nil
}

// End implements [sallyport.Session].
func (s *Session) End(_ context.Context, e sallyport.Ending) (sallyport.KillReport, error) {
	s.mu.Lock()
	report := sallyport.KillReport{Rung: "cgroup", Killed: len(s.st.Left), Took: time.Millisecond}
	if s.st.State == sallyport.Running {
		report.Killed++
	}
	s.st.Left, s.st.HeldBy = nil, nil
	s.mu.Unlock()
	cause := e.Cause
	if cause == "" {
		cause = sallyport.Killed
	}
	o := sallyport.Outcome{Kind: cause, Code: -1, Signal: "SIGKILL", Kill: &report}
	if cause == sallyport.Aborted {
		o.Failure = sallyport.WasAborted
	}
	s.Finish(o)
	s.kill()
	if e.Remove {
		s.fake.forget(s.st.ID)
	}
	return report, nil
}
