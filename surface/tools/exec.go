package tools

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/text"
	"github.com/sallyport-sh/sallyport/surface/view"
)

// Exec is the family of the tools exec and process.
type Exec struct {
	runs     sallyport.Runs
	settings func(agent string) Settings
	tracks   tracks
	last     atomic.Pointer[served] // most callers ask the same again and again
}

// served are the tools of a caller, and what they depend on.
type served struct {
	where Where
	set   Settings
	tools []Tool
}

var _ Family = (*Exec)(nil)

// NewExec returns the family. settings is asked at every call, so that configuration is hot.
func NewExec(runs sallyport.Runs, settings func(agent string) Settings) *Exec {
	return &Exec{runs: runs, settings: settings}
}

// Tools implements [Family].
func (x *Exec) Tools(w Where) []Tool {
	set := x.settings(w.Caller.AgentID).complete()
	if l := x.last.Load(); l != nil && l.where == w && l.set == set {
		return l.tools
	}
	var all []Tool
	if set.Exec {
		all = append(all, execTool(w, set))
	}
	if set.Process {
		all = append(all, processTool())
	}
	x.last.Store(&served{w, set, all})
	return all
}

// Call implements [Family].
func (x *Exec) Call(ctx context.Context, c Call) Result {
	set := x.settings(c.Caller.AgentID).complete()
	var r reply
	if c.Name == "process" {
		r = x.process(ctx, c, set)
	} else {
		r = x.exec(ctx, c, set)
	}
	if ctx.Err() == nil { // else nobody would read them
		r.notices = x.notices(ctx, c.Caller)
	}
	res := r.result()
	res.Shown = set.Structured
	return res
}

// maxNotices is how many exit notices stand in one result; the others are counted.
const maxNotices = 5

// notices takes what the caller has not been told of yet.
func (x *Exec) notices(ctx context.Context, c sallyport.Caller) []string {
	waiting, err := x.runs.Notices(ctx, c)
	if err != nil {
		return nil // the result at hand is worth more than what else happened
	}
	var lines []string
	for i, n := range waiting {
		if i == maxNotices {
			lines = append(lines, "and "+view.Count(int64(len(waiting)-maxNotices))+" more have ended: process list")
			break
		}
		clean, _ := text.Clean([]byte(n.Text))
		lines = append(lines, oneLine(clean))
	}
	return lines
}

// endWait bounds the wait for a kill that was decided on.
const endWait = 30 * time.Second

// An execution is one exec call that was started.
type execution struct {
	x       *Exec
	call    Call
	set     Settings
	args    execArgs
	session sallyport.Session
	started time.Time
}

// exec runs a command: to its end, or until it yields.
func (x *Exec) exec(ctx context.Context, c Call, set Settings) reply {
	args, err := decodeExec(c.Args, set)
	if err != nil {
		return notStarted(err, nil)
	}
	req := sallyport.Request{ID: sallyport.RequestID(rand.Text()), Caller: c.Caller, Exec: args.command}
	e := &execution{x: x, call: c, set: set, args: args, started: time.Now()}
	if e.session, err = x.runs.Run(ctx, req); err != nil {
		return notStarted(err, args.warnings)
	}
	if args.background {
		return e.background(ctx)
	}
	woke, err := e.wait(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		return e.broken(err)
	case err == nil && woke.By == sallyport.WokeEnd:
		return e.ended(ctx, woke.Status)
	case ctx.Err() != nil:
		return e.abort(ctx)
	}
	return e.yield(ctx, woke.Status)
}

// wait waits for the end, as long as the call may take.
func (e *execution) wait(ctx context.Context) (sallyport.Woke, error) {
	window := e.args.yield
	if !e.set.Process {
		window = 0 // nobody could follow it
	} else if t := e.args.command.Limits.Timeout; t > 0 && t <= window {
		// The result of the timeout is due within grace + 1 s after it; it is better news than "running".
		window = max(window, t+e.args.command.Limits.Grace+2*time.Second)
	}
	return waitWith(ctx, e.session, sallyport.Wake{EndOnly: true}, waiting{window, e.call.Progress, e.started})
}

// background answers for a command that nobody waits for.
func (e *execution) background(ctx context.Context) reply {
	st, err := e.session.Status(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		return e.broken(err)
	case err != nil || ctx.Err() != nil:
		return e.abort(ctx)
	case st.State == sallyport.Ended:
		return e.ended(ctx, st)
	}
	return e.running(ctx, st)
}

// yield lets a command go on in the background.
func (e *execution) yield(ctx context.Context, st sallyport.Status) reply {
	if err := e.x.runs.Mark(ctx, e.call.Caller, st.ID, sallyport.Mark{Background: true}); err != nil {
		return e.broken(err)
	}
	// It may have ended between the two.
	st, err := e.session.Status(ctx)
	if err != nil {
		return e.broken(err)
	}
	if st.State == sallyport.Ended {
		return e.ended(ctx, st)
	}
	return e.running(ctx, st)
}

// abort ends a command whose caller has given up, and waits until it is gone.
func (e *execution) abort(ctx context.Context) reply {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	kill, err := e.session.End(ctx, sallyport.Ending{Grace: -1, Cause: sallyport.Aborted})
	if err != nil {
		return e.broken(err)
	}
	st, err := e.session.Status(ctx)
	if err != nil {
		return e.broken(err)
	}
	if st.Outcome == nil {
		st.Outcome = &sallyport.Outcome{Kind: sallyport.Aborted, Code: -1, Failure: sallyport.WasAborted, Duration: time.Since(e.started)}
	}
	if st.Outcome.Kill == nil {
		st.Outcome.Kill = &kill
	}
	return e.ended(ctx, st)
}

// ended answers for a command that has ended.
func (e *execution) ended(ctx context.Context, st sallyport.Status) reply {
	out, err := render(ctx, e.session, st, renderOptions{max: e.args.maxOutput})
	if err != nil {
		return e.broken(err)
	}
	r := endReply(st, out, e.set)
	r.warn(e.args.warnings)
	if len(st.Left) > 0 {
		if r.facts.Tail, err = view.Tail(ctx, e.session, st, tailChars); err != nil {
			return e.broken(err)
		}
	}
	keep := (out.truncated() || len(st.Left) > 0) && e.set.Process
	mark := sallyport.Mark{Seen: out.next, SawEnd: true, Release: !keep, Background: len(st.Left) > 0}
	if keep {
		e.x.tracks.of(e.call.Caller.Scope, st.ID).news(true)
	} else {
		r.facts.SessionID = ""
	}
	// A mark that fails costs memory until the session's time is over, and no truth.
	_ = e.x.runs.Mark(ctx, e.call.Caller, st.ID, mark)
	return r
}

// running answers for a command that goes on.
func (e *execution) running(ctx context.Context, st sallyport.Status) reply {
	out, err := render(ctx, e.session, st, renderOptions{max: e.args.maxOutput, partial: true})
	if err != nil {
		return e.broken(err)
	}
	r := runningReply(st, out)
	r.warn(e.args.warnings)
	if r.facts.Tail, err = view.Tail(ctx, e.session, st, tailChars); err != nil {
		return e.broken(err)
	}
	if err := e.x.runs.Mark(ctx, e.call.Caller, st.ID, sallyport.Mark{Seen: out.next}); err != nil {
		return e.broken(err)
	}
	return r
}

// broken answers when the command was started and then could not be followed. It may run, and is not hidden.
func (e *execution) broken(err error) reply {
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	r := failure(err)
	r.head, r.isError = "failed", true
	r.body = "the command was started, then: " + r.body
	st, serr := e.session.Status(ctx)
	if serr == nil {
		r.facts.SessionID, r.facts.PID = st.ID, st.PID
		if st.State == sallyport.Running {
			_ = e.x.runs.Mark(ctx, e.call.Caller, st.ID, sallyport.Mark{Background: true})
			r.last = "next: " + call("poll", st.ID)
		}
	}
	r.warn(e.args.warnings)
	return r
}
