package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/proc"
)

// Start implements [sallyport.Host].
func (e *Engine) Start(ctx context.Context, g sallyport.Grant, owner sallyport.Owner) (sallyport.Session, error) {
	if err := g.Redeem(time.Now()); err != nil {
		return nil, err
	}
	p := g.Plan()
	seal, ok := p.Sealed.(*sealed)
	if !ok || seal.engine != e {
		return nil, &sallyport.Error{Code: sallyport.Denied, Op: "engine.Start", Msg: "this plan was not made by this host"}
	}
	if err := same(p.Exe); err != nil {
		return nil, notStarted(sallyport.RuntimeError, "the program changed between decision and start: "+err.Error(),
			"send the request again", nil)
	}
	dir, err := pinDir(p.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()

	s, err := e.newSession(p, owner)
	if err != nil {
		return nil, err
	}
	s.owner.Input = nil
	if err := s.launch(ctx, p, seal.env, dir); err != nil {
		e.forget(s)
		e.ending.Done()
		return nil, err
	}
	if !e.publish(s) {
		_, _ = s.End(context.WithoutCancel(ctx), sallyport.Ending{Cause: sallyport.Aborted, Remove: true})
		return nil, errClosed()
	}
	go s.feed(p.Stdin, owner.Input)
	return s, nil
}

// publish makes a started session visible. It is false if the engine began to close meanwhile.
func (e *Engine) publish(s *session) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.live = true
	return !e.closed
}

func errClosed() error {
	return &sallyport.Error{Code: sallyport.Closed, Op: "engine.Start", Msg: "shutting down: nothing new runs"}
}

// newSession reserves the session's name before anything of it exists.
func (e *Engine) newSession(p sallyport.Plan, owner sallyport.Owner) (*session, error) {
	log, err := e.o.Store.Create(string(owner.ID), p.Limits.Spool)
	if err != nil {
		return nil, notStarted(sallyport.RuntimeError, "no place for the output: "+err.Error(), "check the state directory", err)
	}
	s := &session{
		e: e, id: owner.ID, owner: owner, log: log, limits: p.Limits, split: p.Split, shell: p.Shell, dir: p.Dir.Path,
		command: display(p), warnings: p.Warnings, background: owner.Background,
		ready: make(chan struct{}), ended: make(chan struct{}), over: make(chan struct{}), pumped: make(chan struct{}),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		_ = log.Remove()
		return nil, errClosed()
	}
	if e.sessions[owner.ID] != nil {
		_ = log.Remove()
		return nil, &sallyport.Error{Code: sallyport.Conflict, Op: "engine.Start", Msg: "there is a session " + string(owner.ID) + " already"}
	}
	e.sessions[owner.ID] = s
	e.ending.Add(1)
	return s, nil
}

// display is the command as people and models know it.
func display(p sallyport.Plan) string {
	if p.Text != "" {
		return p.Text
	}
	return strings.Join(p.Argv, " ")
}

// pipes are the two ends of what a command reads and writes. The command's ends are closed once it has them.
type pipes struct {
	stdin    *os.File // ours
	outs     []*os.File
	theirs   []*os.File
	in       *os.File
	out, err *os.File
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
}

func (p *pipes) closeOurs() {
	for _, f := range append(p.outs, p.stdin) {
		if f != nil {
			_ = f.Close()
		}
	}
}

func openPipes(p sallyport.Plan) (*pipes, error) {
	var ps pipes
	open := func() (r, w *os.File, err error) { r, w, err = os.Pipe(); return }
	fail := func(err error) (*pipes, error) {
		ps.closeTheirs()
		ps.closeOurs()
		return nil, startError("open pipes", err)
	}
	r, w, err := open()
	if err != nil {
		return fail(err)
	}
	ps.outs, ps.theirs, ps.out, ps.err = append(ps.outs, r), append(ps.theirs, w), w, w
	if p.Split {
		if r, w, err = open(); err != nil {
			return fail(err)
		}
		ps.outs, ps.theirs, ps.err = append(ps.outs, r), append(ps.theirs, w), w
	}
	if p.Stdin != sallyport.StdinNone {
		if r, w, err = open(); err != nil {
			return fail(err)
		}
		ps.in, ps.stdin, ps.theirs = r, w, append(ps.theirs, r)
	}
	return &ps, nil
}

// launch starts the process tree, the pumps and the deadlines.
func (s *session) launch(ctx context.Context, p sallyport.Plan, env []string, dir *os.File) error {
	ps, err := openPipes(p)
	if err != nil {
		return err
	}
	s.started = time.Now()
	tree, err := s.e.o.Table.Start(ctx, proc.Spec{
		ID: string(s.id) + "." + s.e.instance, Path: p.Exe.Path, Argv: p.Argv, Line: commandLine(p.Shell, p.Argv), Env: env, Dir: dirPath(dir), Pids: p.Limits.Pids,
		Stdin: ps.in, Stdout: ps.out, Stderr: ps.err, OnExit: s.finish,
	})
	ps.closeTheirs()
	if err != nil {
		ps.closeOurs()
		return startError(p.Exe.Path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stdin, s.outs = ps.stdin, ps.outs
	s.tree, s.pid, s.state = tree, tree.PID(), sallyport.Running
	s.pumping.Store(int32(len(s.outs)))
	for i, out := range s.outs {
		go s.pump(out, sallyport.Stream(i+1))
	}
	s.armDeadlines()
	close(s.ready) // a command may be over by now: finish waits for this
	return nil
}

// feed writes the first input. A command that does not read it is not waited for: the pipe's end stops the write.
func (s *session) feed(mode sallyport.StdinMode, input []byte) {
	if mode == sallyport.StdinNone {
		return
	}
	s.writing.Lock()
	s.mu.Lock()
	stdin := s.stdin
	s.mu.Unlock()
	if stdin != nil && len(input) > 0 {
		_ = stdin.SetWriteDeadline(time.Time{})
		_, _ = stdin.Write(input) // EPIPE: it does not want it
	}
	s.writing.Unlock()
	if mode == sallyport.StdinData {
		_ = s.closeStdin()
	}
}

// startError explains why execve or a system limit refused. Nothing ran.
func startError(what string, err error) error {
	code, kind := sallyport.NotStarted, sallyport.SpawnError
	msg, hint := what+": "+err.Error(), ""
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		kind, msg = sallyport.WasAborted, "cancelled before the start"
	case errors.Is(err, syscall.ENOENT):
		// The file was there a moment ago: it is its interpreter or loader that is missing.
		kind, msg = sallyport.CommandNotFound, what+": its interpreter or loader does not exist"
		hint = "check the file's first line"
	case errors.Is(err, syscall.EACCES):
		kind, msg = sallyport.NotExecutable, what+": permission denied"
	case errors.Is(err, syscall.ENOEXEC):
		kind, msg, hint = sallyport.NotExecutable, what+": not a program that this system can run", "run it by its interpreter"
	case errors.Is(err, syscall.E2BIG):
		msg, hint = "arguments and environment are too long for the system", "pass the data by stdin or a file"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
		code, hint = sallyport.Exhausted, "end sessions that are not needed (process list, process kill), then try again"
	}
	return &sallyport.Error{Code: code, Op: "engine.Start", Failure: kind, Msg: msg, Hint: hint, Err: err}
}

// pump moves one pipe into the log until its last writer is gone.
func (s *session) pump(r *os.File, stream sallyport.Stream) {
	if err := s.log.Pump(r, stream); err != nil && !errors.Is(err, os.ErrClosed) {
		s.e.o.Logger.Warn("output pump ended", "session", s.id, "stream", stream, "err", err)
	}
	if s.pumping.Add(-1) == 0 {
		close(s.pumped)
		s.settle()
	}
}

// pinDir opens the planned directory and checks that it is still the one that was judged. The command starts in the
// open directory, whatever its name leads to by then.
func pinDir(planned sallyport.File) (*os.File, error) {
	f, err := os.Open(planned.Path)
	if err != nil {
		// A directory may be entered without being readable.
		if errors.Is(err, os.ErrPermission) {
			f, err = openPath(planned.Path)
		}
		if err != nil {
			return nil, notStarted(sallyport.RuntimeError, fmt.Sprintf("workdir %q: %s", planned.Path, plainError(err)), "use an existing directory", err)
		}
	}
	info, err := f.Stat()
	if err == nil {
		if dev, ino := inode(info); dev != planned.Dev || ino != planned.Ino || !info.IsDir() {
			err = errors.New("is another directory than the one that was judged")
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, notStarted(sallyport.RuntimeError, fmt.Sprintf("workdir %q %v", planned.Path, err), "send the request again", nil)
	}
	return f, nil
}
