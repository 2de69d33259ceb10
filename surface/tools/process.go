package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/text"
)

// process carries out a call of the process tool. What goes wrong is an ordinary result that says what to do: a model
// that asked for a session that is gone has made no mistake that a client should show as one.
func (x *Exec) process(ctx context.Context, c Call, set Settings) reply {
	p, err := decodeProcess(c.Args)
	if err != nil {
		return failure(err)
	}
	switch p.action {
	case "list":
		return x.list(ctx, c)
	case "poll":
		return x.poll(ctx, c, p, set)
	}
	id := p.ids[0]
	s, err := x.runs.Find(ctx, c.Caller, id)
	if err != nil {
		return notFound(id, err)
	}
	one := &single{x: x, caller: c.Caller, id: id, session: s, args: p, set: set}
	switch p.action {
	case "log":
		return one.log(ctx)
	case "write":
		return one.write(ctx)
	case "signal":
		return one.signal(ctx)
	case "kill":
		return one.kill(ctx)
	case "clear":
		return one.clear(ctx)
	default:
		return one.remove(ctx)
	}
}

// A single is a process call on one session.
type single struct {
	x       *Exec
	caller  sallyport.Caller
	id      sallyport.SessionID
	session sallyport.Session
	args    processArgs
	set     Settings
}

// notFound answers for a session that does not exist, or not for this caller.
func notFound(id sallyport.SessionID, err error) reply {
	r := failure(err)
	if errors.Is(err, sallyport.NotFound) {
		r.body = "No session found for " + text.Label(string(id), 60)
		r.last = "hint: process list shows the sessions there are"
		r.facts.Error, r.facts.Hint = r.body, strings.TrimPrefix(r.last, "hint: ")
	}
	return r
}

// labelChars is how much of a command a list shows.
const labelChars = 120

// list shows the caller's sessions, newest first.
func (x *Exec) list(ctx context.Context, c Call) reply {
	all, err := x.runs.List(ctx, c.Caller)
	if err != nil {
		return failure(err)
	}
	r := reply{facts: Facts{Sessions: []Facts{}}}
	var b strings.Builder
	for _, st := range all {
		f := sessionFacts(st)
		f.Command, f.Title = st.Command, st.Title
		r.facts.Sessions = append(r.facts.Sessions, f)
		how := state(st)
		if n := len(st.Left); n > 0 {
			how += fmt.Sprintf(", %d left", n)
		}
		label := text.Label(st.Command, labelChars)
		if st.Title != "" {
			label = text.Label(st.Title, labelChars) + ": " + label
		}
		fmt.Fprintf(&b, "%-14s %-16s %4s  %s\n", st.ID, how, age(time.Since(st.Started)), label)
	}
	r.body = strings.TrimSuffix(b.String(), "\n")
	if len(all) == 0 {
		r.body = "No running or recent sessions."
	}
	return r
}

// write writes to stdin, and closes it with eof.
func (o *single) write(ctx context.Context) reply {
	if err := o.session.Send(ctx, sallyport.Input{Data: o.args.data, EOF: o.args.eof}); err != nil {
		return failure(err)
	}
	var done []string
	if n := len(o.args.data); n > 0 {
		done = append(done, fmt.Sprintf("wrote %s to %s", bytesOf(n), o.id))
	}
	if o.args.eof {
		done = append(done, "closed stdin of "+string(o.id))
	}
	r := reply{body: strings.Join(done, ", "), facts: Facts{Status: running, SessionID: o.id}}
	if n := len(o.args.data); n > 0 && !o.args.eof && o.args.data[n-1] != '\n' {
		r.last = "hint: data has no newline at its end; a program that reads lines waits for one"
	}
	return r
}

func (o *single) signal(ctx context.Context) reply {
	if err := o.session.Send(ctx, sallyport.Input{Signal: o.args.signal}); err != nil {
		return failure(err)
	}
	name := o.args.signal
	if !strings.HasPrefix(name, "SIG") && strings.Trim(name, "0123456789") != "" {
		name = "SIG" + name
	}
	return reply{body: fmt.Sprintf("sent %s to %s", name, o.id), facts: Facts{Status: running, SessionID: o.id}}
}

// kill ends what is left of a session and says what was verified.
func (o *single) kill(ctx context.Context) reply {
	r, _ := o.end(ctx, false)
	return r
}

// remove also forgets it.
func (o *single) remove(ctx context.Context) reply {
	r, err := o.end(ctx, true)
	if err == nil {
		o.x.tracks.drop(o.caller.Scope, o.id)
		r.body += "; removed"
		r.facts.SessionID = ""
	}
	return r
}

// end kills. What was begun is carried through: a kill half done is worse than one that nobody waits for.
func (o *single) end(ctx context.Context, remove bool) (reply, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait+o.set.Grace)
	defer cancel()
	before, err := o.session.Status(ctx)
	if err != nil {
		return failure(err), err
	}
	kill, err := o.session.End(ctx, sallyport.Ending{Grace: -1, Remove: remove})
	if err != nil {
		return failure(err), err
	}
	// Whoever ends a session knows that it ended. It may be gone already.
	_ = o.x.runs.Mark(ctx, o.caller, o.id, sallyport.Mark{SawEnd: true})
	o.x.tracks.of(o.caller.Scope, o.id).news(true)
	r := reply{facts: sessionFacts(before)}
	r.facts.Status, r.facts.Kill, r.facts.Left, r.facts.HeldBy, r.facts.FollowUp = completed, &kill, nil, nil, ""
	switch {
	case len(kill.Survivors) > 0:
		r.facts.Status = failed
		r.facts.Left = kill.Survivors
		r.body = fmt.Sprintf("killed %s, but not all of it: %s", o.id, killed(kill))
		r.last = "hint: what survived may belong to another user, or hang in the kernel"
	case before.State == sallyport.Ended && kill.Killed == 0:
		r.body = fmt.Sprintf("%s had ended already (%s); nothing of it was left", o.id, state(before))
	default:
		r.body = fmt.Sprintf("killed %s: %s", o.id, killed(kill))
	}
	return r, nil
}

// clear forgets a session that has ended.
func (o *single) clear(ctx context.Context) reply {
	st, err := o.session.Status(ctx)
	if err != nil {
		return failure(err)
	}
	conflict := func(msg, hint string) reply {
		return failure(&sallyport.Error{Code: sallyport.Conflict, Msg: msg, Hint: hint})
	}
	switch {
	case st.State == sallyport.Running:
		return conflict(string(o.id)+" is still running", call("kill", o.id)+" ends it, process remove ends and forgets it")
	case len(st.Left) > 0:
		return conflict(fmt.Sprintf("%s has ended and left %s: %s", o.id, counted(len(st.Left)), processes(st.Left)),
			"process remove ends and forgets them")
	}
	if _, err := o.session.End(ctx, sallyport.Ending{Remove: true}); err != nil {
		return failure(err)
	}
	o.x.tracks.drop(o.caller.Scope, o.id)
	return reply{body: fmt.Sprintf("cleared %s (%s)", o.id, state(st)), facts: Facts{Status: completed}}
}
