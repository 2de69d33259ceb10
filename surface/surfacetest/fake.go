// Package surfacetest is a small real sallyport.Runs in memory, for tests of the surfaces: sessions whose programs are
// Go functions, with an output log by offset, input, deadlines, kills, leftovers, scopes and exit notices as the
// contract of the root package describes them. No process is started, and time is only read through package time, so
// that it works in a testing/synctest bubble.
package surfacetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// A Program is what a session runs, in a goroutine of its own. It ends the session with Exit or End, or by returning,
// which is exit code 0.
type Program func(s *Session)

// Fake implements [sallyport.Runs]. It is safe for concurrent use.
type Fake struct {
	mu       sync.Mutex
	programs map[string]Program
	refusals map[string]error
	sessions []*Session // oldest first
	started  int
	notices  map[sallyport.Scope][]sallyport.Notice
	requests []sallyport.Request
	marks    []sallyport.Mark
	running  sync.WaitGroup
	info     sallyport.HostInfo
}

var _ sallyport.Runs = (*Fake)(nil)

// New returns a Fake on which every command ends at once with exit code 0 and no output.
func New() *Fake {
	return &Fake{
		programs: map[string]Program{},
		refusals: map[string]error{},
		notices:  map[sallyport.Scope][]sallyport.Notice{},
		info: sallyport.HostInfo{
			Name: sallyport.Gateway, OS: "linux", Arch: "amd64", Shell: "/bin/bash", User: "app", UID: 1000,
			Kill: "cgroup", Locale: "C.UTF-8",
		},
	}
}

// On says what a command does: a shell text, or an argv joined by spaces.
func (f *Fake) On(command string, p Program) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.programs[command] = p
}

// Refuse makes Run fail for a command.
func (f *Fake) Refuse(command string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals[command] = err
}

// Requests are all requests so far.
func (f *Fake) Requests() []sallyport.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// Marks are all marks so far.
func (f *Fake) Marks() []sallyport.Mark {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.marks)
}

// Live is the number of sessions that still run.
func (f *Fake) Live() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, s := range f.sessions {
		if st, _ := s.Status(context.Background()); st.State == sallyport.Running {
			n++
		}
	}
	return n
}

// Close kills everything and waits until every program has returned.
func (f *Fake) Close() {
	f.mu.Lock()
	all := slices.Clone(f.sessions)
	f.mu.Unlock()
	for _, s := range all {
		_, _ = s.End(context.Background(), sallyport.Ending{Cause: sallyport.Aborted}) // the fake's End does not fail
	}
	f.running.Wait()
}

// Run implements [sallyport.Runs].
func (f *Fake) Run(ctx context.Context, r sallyport.Request) (sallyport.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	command := r.Exec.Text
	if command == "" {
		command = strings.Join(r.Exec.Argv, " ")
	}
	f.mu.Lock()
	f.requests = append(f.requests, r)
	if err := f.refusals[command]; err != nil {
		f.mu.Unlock()
		return nil, err
	}
	s := newSession(f, r, f.started)
	f.started++
	s.st.Command = command
	f.sessions = append(f.sessions, s)
	program := f.programs[command]
	f.running.Add(1)
	f.mu.Unlock()
	if d := r.Exec.Limits.Timeout; d > 0 {
		s.deadline = time.AfterFunc(d, func() { s.timeOut(sallyport.OverallTimeout) })
	}
	go func() {
		defer f.running.Done()
		if program != nil {
			program(s)
		}
		s.Exit(0)
	}()
	return s, nil
}

// Find implements [sallyport.Runs].
func (f *Fake) Find(_ context.Context, c sallyport.Caller, id sallyport.SessionID) (sallyport.Session, error) {
	if s := f.find(c, id); s != nil {
		return s, nil
	}
	return nil, &sallyport.Error{Code: sallyport.NotFound, Msg: fmt.Sprintf("no session %q", id)}
}

func (f *Fake) find(c sallyport.Caller, id sallyport.SessionID) *Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sessions {
		if s.st.ID == id && s.st.Scope == c.Scope {
			return s
		}
	}
	return nil
}

// List implements [sallyport.Runs].
func (f *Fake) List(ctx context.Context, c sallyport.Caller) ([]sallyport.Status, error) {
	f.mu.Lock()
	all := slices.Clone(f.sessions)
	f.mu.Unlock()
	var list []sallyport.Status
	for _, s := range slices.Backward(all) {
		st, err := s.Status(ctx)
		if err == nil && st.Scope == c.Scope {
			list = append(list, st)
		}
	}
	return list, nil
}

// Mark implements [sallyport.Runs].
func (f *Fake) Mark(_ context.Context, c sallyport.Caller, id sallyport.SessionID, m sallyport.Mark) error {
	s := f.find(c, id)
	if s == nil {
		return &sallyport.Error{Code: sallyport.NotFound, Msg: fmt.Sprintf("no session %q", id)}
	}
	f.mu.Lock()
	f.marks = append(f.marks, m)
	if m.SawEnd {
		f.notices[c.Scope] = slices.DeleteFunc(f.notices[c.Scope], func(n sallyport.Notice) bool { return n.ID == id })
	}
	f.mu.Unlock()
	if s.mark(m) {
		f.forget(id)
	}
	return nil
}

// Notices implements [sallyport.Runs].
func (f *Fake) Notices(_ context.Context, c sallyport.Caller) ([]sallyport.Notice, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.notices[c.Scope]
	delete(f.notices, c.Scope)
	return n, nil
}

// Info implements [sallyport.Runs].
func (f *Fake) Info(context.Context, sallyport.Caller) (sallyport.HostInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info, nil
}

// Notify queues a notice as if a session had ended.
func (f *Fake) Notify(scope sallyport.Scope, n sallyport.Notice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notices[scope] = append(f.notices[scope], n)
}

func (f *Fake) forget(id sallyport.SessionID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions = slices.DeleteFunc(f.sessions, func(s *Session) bool { return s.st.ID == id })
}
