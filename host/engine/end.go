package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/proc"
)

// After the command's own exit its output is read until it has been quiet for drainQuiet, or drainMax has passed. A
// holder that goes on writing is read on after the answer: closing the pipe would kill it by SIGPIPE.
const (
	drainQuiet = 50 * time.Millisecond
	drainMax   = 2 * time.Second
)

// abortGrace is the most that a command gets between TERM and KILL when its client has gone: nobody waits for it.
const abortGrace = 250 * time.Millisecond

// A cause is why we ended a session. The first one stands.
type cause struct {
	kind    sallyport.OutcomeKind
	failure sallyport.FailureKind
}

func (s *session) armDeadlines() {
	if d := s.limits.Timeout; d > 0 {
		s.life = time.AfterFunc(d, func() { s.expire(sallyport.OverallTimeout) })
	}
	if d := s.limits.NoOutput; d > 0 {
		s.silence = time.AfterFunc(d, s.checkSilence)
	}
}

// checkSilence runs when the limit may have passed; output since then puts it off. So output costs no timer work.
func (s *session) checkSilence() {
	s.mu.Lock()
	since := s.started
	s.mu.Unlock()
	if last := s.log.Stat().Last; last.After(since) {
		since = last
	}
	if rest := s.limits.NoOutput - time.Since(since); rest > 0 {
		s.mu.Lock()
		if !s.exiting {
			s.silence.Reset(rest)
		}
		s.mu.Unlock()
		return
	}
	s.expire(sallyport.NoOutputTimeout)
}

func (s *session) expire(f sallyport.FailureKind) {
	if s.beginKill(cause{sallyport.TimedOut, f}) {
		s.kill(context.Background(), s.limits.Grace)
	}
}

// beginKill notes why a running session is being ended. It is false if the session has ended already.
func (s *session) beginKill(c cause) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exiting {
		return false
	}
	if s.cause == nil {
		s.cause = &c
	}
	s.kills.Add(1)
	return true
}

// kill ends the tree and keeps the report for finish. beginKill came before.
func (s *session) kill(ctx context.Context, grace time.Duration) sallyport.KillReport {
	defer s.kills.Done()
	r := s.tree.Kill(ctx, grace)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.report != nil { // a second kill overlapped: the last word on survivors, the larger count
		r.Killed = max(r.Killed, s.report.Killed)
	}
	s.report = &r
	return r
}

// End implements [sallyport.Session].
func (s *session) End(ctx context.Context, e sallyport.Ending) (sallyport.KillReport, error) {
	grace := e.Grace
	if grace < 0 {
		grace = s.limits.Grace
	}
	c := cause{kind: e.Cause}
	switch e.Cause {
	case "", sallyport.Killed:
		c.kind = sallyport.Killed
	case sallyport.Aborted:
		c.failure = sallyport.WasAborted
		grace = min(grace, abortGrace)
	default:
		return sallyport.KillReport{}, &sallyport.Error{Code: sallyport.Invalid, Msg: fmt.Sprintf("a session can't be ended as %q", e.Cause)}
	}
	r := sallyport.KillReport{Rung: s.e.o.Table.Rung()}
	if s.beginKill(c) {
		r = s.kill(ctx, grace)
	} else if !s.isSettled() {
		r = s.tree.Kill(ctx, grace) // what it left behind
	}
	select {
	case <-s.ended:
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
	if len(r.Survivors) == 0 {
		s.hangUp()
	}
	if e.Remove && len(r.Survivors) == 0 {
		s.e.forget(s)
	}
	return r, nil
}

// hangUp stops reading once the whole tree is dead: a process outside of it that still holds the pipe gets no say in
// when the session is over.
func (s *session) hangUp() {
	s.drain()
	s.mu.Lock()
	outs := s.outs
	s.mu.Unlock()
	for _, f := range outs {
		_ = f.SetReadDeadline(time.Now())
	}
	<-s.pumped
	s.settle()
}

// finish runs once, when the main process has been reaped.
func (s *session) finish(x proc.Exit) {
	defer s.e.ending.Done()
	<-s.ready
	s.mu.Lock()
	s.exiting = true
	for _, t := range []*time.Timer{s.life, s.silence} {
		if t != nil {
			t.Stop()
		}
	}
	s.mu.Unlock()
	s.kills.Wait()
	_ = s.closeStdin()
	held := s.drain()
	left := s.tree.Members()
	if len(left) > 0 && s.e.o.Settings(s.owner.Caller.AgentID).KillLeft {
		s.tree.Kill(context.Background(), 0)
		left, held = s.tree.Members(), nil
	}
	failure := s.shellFailure(x)
	over := len(left) == 0 && s.isPumped()
	if over {
		s.log.Seal()
	}
	s.mu.Lock()
	s.outcome = s.judge(x, failure)
	s.state, s.endedAt, s.heldBy = sallyport.Ended, x.At, held
	s.settled = over
	s.mu.Unlock()
	close(s.ended) // whoever waits goes on from here; the rest is for later
	st, _ := s.Status(context.Background())
	if over {
		s.conclude()
	} else {
		s.settle()
	}
	s.e.o.OnEnd(st)
	s.e.tidy()
}

func (s *session) isPumped() bool {
	select {
	case <-s.pumped:
		return true
	default:
		return false
	}
}

// drain waits for the rest of the output and returns who holds the pipes if that is not all.
func (s *session) drain() []sallyport.Process {
	limit := time.NewTimer(drainMax)
	defer limit.Stop()
	for {
		before := s.log.Stat().End
		quiet := time.NewTimer(drainQuiet)
		select {
		case <-s.pumped:
			quiet.Stop()
			return nil
		case <-limit.C:
			quiet.Stop()
			return s.holders()
		case <-quiet.C:
			if s.log.Stat().End != before {
				continue
			}
			// Silence without a holder is only a pump that has not been scheduled yet.
			if held := s.holders(); len(held) > 0 {
				return held
			}
		}
	}
}

func (s *session) holders() []sallyport.Process {
	s.mu.Lock()
	outs := s.outs
	s.mu.Unlock()
	var held []sallyport.Process
	for _, f := range outs {
		for _, p := range s.tree.Holders(f) {
			if !containsPID(held, p.PID) {
				held = append(held, p)
			}
		}
	}
	return held
}

func containsPID(ps []sallyport.Process, pid int) bool {
	for _, p := range ps {
		if p.PID == pid {
			return true
		}
	}
	return false
}

// judge turns the exit and our own part in it into an outcome. mu is held.
func (s *session) judge(x proc.Exit, shellFailure sallyport.FailureKind) *sallyport.Outcome {
	o := &sallyport.Outcome{Kind: sallyport.Exited, Code: x.Code, Duration: x.At.Sub(s.started), Kill: s.report}
	if x.Signal != 0 {
		o.Kind, o.Code, o.Signal, o.Failure = sallyport.Signalled, -1, proc.Name(x.Signal), sallyport.BySignal
		o.Reason, o.Hint = signalTexts(o.Signal)
	}
	switch {
	case s.cause != nil && s.cause.kind == sallyport.TimedOut:
		o.Kind, o.Failure = sallyport.TimedOut, s.cause.failure
		o.Reason, o.Hint = timeoutTexts(s.cause.failure, s.limits)
	case s.cause != nil:
		o.Kind, o.Failure = s.cause.kind, s.cause.failure
		o.Reason, o.Hint = "ended on request", ""
		if o.Kind == sallyport.Aborted {
			o.Reason = "aborted: the call was cancelled or its client went away"
		}
	case shellFailure != "":
		o.Failure = shellFailure
		o.Reason, o.Hint = shellTexts(shellFailure)
	}
	return o
}

func timeoutTexts(f sallyport.FailureKind, l sallyport.Limits) (reason, hint string) {
	if f == sallyport.NoOutputTimeout {
		return "Command produced no output for " + seconds(l.NoOutput) + " seconds and was ended.",
			"it may have been waiting for input, or working silently; raise noOutputTimeout, or pass 0"
	}
	return "Command timed out after " + seconds(l.Timeout) + " seconds.",
		"it may have had effects: check before running it again. If it needs longer, re-run with a higher timeout (e.g., exec timeout=300), or with background=true and poll"
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

func signalTexts(name string) (reason, hint string) {
	reason = "killed by " + name
	switch name {
	case "SIGKILL":
		hint = "not by us: by itself, another process, or the system when memory ran out (see the kernel log)"
	case "SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE":
		hint = "the program crashed"
	case "SIGPIPE":
		hint = "it wrote to a pipe that nobody reads any more"
	}
	return reason, hint
}

func shellTexts(f sallyport.FailureKind) (reason, hint string) {
	if f == sallyport.NotExecutable {
		return "the shell could not execute the command", "make it executable (chmod +x), or run it by its interpreter"
	}
	return "the shell did not find the command", "check the spelling and that it is installed; the absolute path works without PATH"
}

func (s *session) isSettled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled
}

// settle closes the books once the session has ended, every pipe has been read to its end, and no process is left.
func (s *session) settle() {
	select {
	case <-s.ended:
	default:
		return
	}
	if s.isSettled() || !s.isPumped() || len(s.tree.Members()) > 0 {
		return
	}
	s.mu.Lock()
	first := !s.settled
	s.settled = true
	s.mu.Unlock()
	if first {
		s.log.Seal()
		s.conclude()
	}
}

// conclude gives back what a settled session held. It runs once.
func (s *session) conclude() {
	s.mu.Lock()
	outs := s.outs
	s.outs, s.heldBy = nil, nil
	s.mu.Unlock()
	for _, f := range outs {
		_ = f.Close()
	}
	s.tree.Release()
	close(s.over)
	s.mu.Lock()
	gone := s.release
	s.mu.Unlock()
	if gone {
		s.e.forget(s)
	}
}
