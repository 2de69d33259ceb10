package engine

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/output"
	"github.com/sallyport-sh/sallyport/host/proc"
)

// writeWait bounds a write to a command that does not read, when the caller's context has no deadline.
const writeWait = 5 * time.Second

// A session is one command of this engine. Its life: launch → (deadline, kill or exit) → finish: ended is closed, the
// outcome is fixed → settle: once no process and no writer is left, over is closed → forget.
type session struct {
	e        *Engine
	id       sallyport.SessionID
	owner    sallyport.Owner
	log      *output.Log
	limits   sallyport.Limits
	split    bool
	shell    string
	dir      string
	command  string
	warnings []string

	ready  chan struct{} // launch is done
	ended  chan struct{} // the outcome is known
	over   chan struct{} // nothing of it is left
	pumped chan struct{} // every pipe has reached its end

	live    bool // started; guarded by the engine's mu
	pumping atomic.Int32
	kills   sync.WaitGroup // kills under way; finish reports what they did
	writing sync.Mutex     // one writer to stdin at a time

	mu         sync.Mutex // guards the fields below; nothing blocks while it is held
	tree       *proc.Tree
	pid        int
	started    time.Time
	state      sallyport.State
	endedAt    time.Time
	outcome    *sallyport.Outcome
	exiting    bool   // the main process is gone: too late to be the cause of it
	cause      *cause // why we ended it; nil: it ended by itself
	report     *sallyport.KillReport
	heldBy     []sallyport.Process
	stdin      *os.File
	outs       []*os.File
	life       *time.Timer
	silence    *time.Timer
	background bool
	seen       sallyport.Offset
	sawEnd     bool
	release    bool
	settled    bool
}

var _ sallyport.Session = (*session)(nil)

// Status implements [sallyport.Output].
func (s *session) Status(context.Context) (sallyport.Status, error) {
	s.mu.Lock()
	st := sallyport.Status{
		ID: s.id, Request: s.owner.Request, Host: sallyport.Gateway, Scope: s.owner.Caller.Scope,
		Agent: s.owner.Caller.AgentID, Title: s.owner.Title, Command: s.command, Dir: s.dir, PID: s.pid, State: s.state,
		Started: s.started, Ended: s.endedAt, Outcome: s.outcome, Split: s.split, Background: s.background,
		Limits: s.limits, Seen: s.seen, HeldBy: s.heldBy, Warnings: s.warnings,
	}
	if s.stdin != nil {
		st.Stdin = sallyport.StdinOpen
	}
	tree, lingering := s.tree, s.state == sallyport.Ended && !s.settled
	s.mu.Unlock()
	st.Output = s.log.Stat()
	if !lingering {
		st.HeldBy = nil
		return st, nil
	}
	st.Left = tree.Members()
	st.HeldBy = alive(st.HeldBy, st.Left)
	if len(st.Left) == 0 {
		s.settle()
	}
	return st, nil
}

// alive keeps the holders that still live, under the names they have by now: a shell's child soon becomes a program.
func alive(held, left []sallyport.Process) []sallyport.Process {
	return slices.DeleteFunc(slices.Clone(left), func(l sallyport.Process) bool { return !containsPID(held, l.PID) })
}

// Read implements [sallyport.Output].
func (s *session) Read(_ context.Context, r sallyport.Range) (sallyport.Chunk, error) {
	return s.log.Read(r)
}

// Lines implements [sallyport.Output].
func (s *session) Lines(_ context.Context, q sallyport.LineQuery) (sallyport.LinePage, error) {
	return s.log.Lines(q)
}

// Wait implements [sallyport.Output]. Once the owner has seen the end of a session whose leftovers live on, waits are
// for what those print.
func (s *session) Wait(ctx context.Context, w sallyport.Wake) (sallyport.Woke, error) {
	end := s.ended
	s.mu.Lock()
	if s.sawEnd && !w.EndOnly {
		end = s.over
	}
	s.mu.Unlock()
	if w.EndOnly {
		w = sallyport.Wake{EndOnly: true, From: w.From}
	}
	by, match, err := s.log.Wait(ctx, end, w)
	if err != nil {
		return sallyport.Woke{}, err
	}
	st, err := s.Status(ctx)
	return sallyport.Woke{By: by, Match: match, Status: st}, err
}

// Mark takes the owner's bookkeeping.
func (s *session) Mark(m sallyport.Mark) {
	s.mu.Lock()
	s.seen = max(s.seen, m.Seen)
	s.sawEnd = s.sawEnd || m.SawEnd
	s.background = s.background || m.Background
	s.release = s.release || m.Release
	gone := s.release && s.settled
	s.mu.Unlock()
	if gone {
		s.e.forget(s)
	}
}

// Send implements [sallyport.Session].
func (s *session) Send(ctx context.Context, in sallyport.Input) error {
	if len(in.Data) > 0 {
		if err := s.write(ctx, in.Data); err != nil {
			return err
		}
	}
	if in.EOF {
		if err := s.closeStdin(); err != nil {
			return err
		}
	}
	if in.Signal == "" {
		return nil
	}
	sig, err := proc.ParseSignal(in.Signal)
	if err != nil {
		return &sallyport.Error{Code: sallyport.Invalid, Msg: err.Error(), Hint: "signals: INT, TERM, HUP, USR1, USR2, STOP, CONT, KILL …"}
	}
	s.mu.Lock()
	tree, settled := s.tree, s.settled
	s.mu.Unlock()
	if settled {
		return conflict("the session has ended")
	}
	if err := tree.Signal(sig); err != nil {
		return conflict("signal " + in.Signal + ": " + err.Error())
	}
	return nil
}

func conflict(msg string) error { return &sallyport.Error{Code: sallyport.Conflict, Msg: msg} }

func (s *session) write(ctx context.Context, data []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	stdin, state := s.stdin, s.state
	s.mu.Unlock()
	switch {
	case state == sallyport.Ended:
		return conflict("the session has ended; nothing was written")
	case stdin == nil:
		return &sallyport.Error{
			Code: sallyport.Conflict, Msg: "stdin is not open; nothing was written",
			Hint: "only sessions started with background=true have an open stdin, until eof",
		}
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(writeWait)
	}
	_ = stdin.SetWriteDeadline(deadline)
	n, err := stdin.Write(data)
	if err != nil {
		return &sallyport.Error{
			Code: sallyport.Conflict, Msg: fmt.Sprintf("%d of %d bytes were written, then: %s", n, len(data), plainError(err)),
			Hint: "the program may not be reading, or has closed its stdin", Err: err,
		}
	}
	return nil
}

// closeStdin is eof. Closing a closed stdin is no error.
func (s *session) closeStdin() error {
	s.mu.Lock()
	stdin := s.stdin
	s.stdin = nil
	s.mu.Unlock()
	if stdin == nil {
		return nil
	}
	return stdin.Close()
}

func processNames(ps []sallyport.Process) string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = fmt.Sprintf("%s (pid %d)", p.Name, p.PID)
	}
	return strings.Join(names, ", ")
}
