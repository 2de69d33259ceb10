package tools

import (
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/text"
)

// tailChars is how much of the output's end the machine-readable result of a running command carries.
const tailChars = 2_000

// A reply is a result in parts: notices and warnings, a header with the news, the output, and one line about what to do
// next.
type reply struct {
	notices  []string
	warnings []string
	head     string // in brackets
	after    string // behind them
	body     string
	last     string
	isError  bool
	facts    Facts
}

func (r *reply) warn(more []string) { r.warnings = append(r.warnings, more...) }

// result puts the parts together.
func (r reply) result() Result {
	var b strings.Builder
	for _, n := range r.notices {
		b.WriteString(n + "\n")
	}
	for _, w := range r.warnings {
		b.WriteString("Warning: " + w + "\n")
	}
	if r.head != "" {
		b.WriteString("[" + r.head + "]")
		if r.after != "" {
			b.WriteString(" " + r.after)
		}
		if r.body != "" {
			b.WriteString("\n")
		}
	}
	b.WriteString(r.body)
	if r.last != "" {
		b.WriteString("\n" + r.last)
	}
	r.facts.Warnings, r.facts.Notices = r.warnings, r.notices
	if r.facts.Status == "" {
		r.facts.Status = completed
	}
	return Result{Text: b.String(), IsError: r.isError, Structured: &r.facts}
}

// oneLine makes one line of a text.
func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", " ") }

// failure is an error as an ordinary result.
func failure(err error) reply {
	e := sallyport.AsError(err)
	r := reply{facts: Facts{Status: failed, Code: e.Code, Error: e.Msg, Hint: e.Hint, FailureKind: e.Failure}}
	r.body = text.Safe(e.Msg)
	if r.body == "" {
		r.body = string(e.Code)
	}
	if e.Hint != "" {
		r.last = "hint: " + text.Safe(e.Hint)
	}
	return r
}

// notStarted answers for a command that was refused or could not be started: nothing ran.
func notStarted(err error, warnings []string) reply {
	r := failure(err)
	r.isError = true
	r.warn(warnings)
	if r.facts.FailureKind == "" {
		r.facts.FailureKind = sallyport.RuntimeError
	}
	if r.facts.Code == sallyport.Denied {
		r.head, r.after = "denied", "nothing ran."
		return r
	}
	r.head, r.after, r.body = "not started", r.body, ""
	if r.facts.Code == sallyport.AuditUnavailable {
		r.after = string(sallyport.AuditUnavailable) + ": " + r.after
	}
	return r
}

// endReply answers for a session that has ended.
func endReply(st sallyport.Status, out output, set Settings) reply {
	r := reply{facts: sessionFacts(st), body: out.body("(no output)")}
	out.fill(&r.facts)
	r.warn(st.Warnings)
	o := st.Outcome
	r.head = state(st) + ", " + took(o.Duration)
	if o.Hint != "" {
		r.last = "hint: " + o.Hint
	}
	switch o.Kind {
	case sallyport.Exited:
		if o.Failure != "" {
			r.after = o.Reason
		}
	case sallyport.TimedOut:
		r.isError = true
		r.head = state(st)
		r.last = timeoutText(st)
	case sallyport.Aborted:
		r.isError = true
	case sallyport.Signalled, sallyport.Killed:
	}
	if o.Kill != nil {
		r.head += ", tree killed: " + killed(*o.Kill)
	}
	r.head += leftText(st, set) + out.note(st.ID, set)
	return r
}

// timeoutText says what to do about a timeout. The first sentence and the advice are seed D's.
func timeoutText(st sallyport.Status) string {
	const effects = "It may have had effects: check before running it again. "
	if st.Outcome.Failure == sallyport.NoOutputTimeout {
		return fmt.Sprintf("Command produced no output for %s seconds and was stopped. %sIf it is silent for long, pass a higher noOutputTimeout, or 0.",
			seconds(st.Limits.NoOutput), effects)
	}
	higher := max(300, int64(2*st.Limits.Timeout/time.Second))
	return fmt.Sprintf("Command timed out after %s seconds. %sIf it needs longer, re-run with a higher timeout (e.g., exec timeout=%d), or pass background=true and poll.",
		seconds(st.Limits.Timeout), effects, higher)
}

// leftText names what lives on after the end, and how to end it.
func leftText(st sallyport.Status, set Settings) string {
	if len(st.Left) == 0 {
		return ""
	}
	s := fmt.Sprintf(", %d left: %s", len(st.Left), processes(st.Left))
	if len(st.HeldBy) > 0 {
		holds := "holds"
		if len(st.Left) > 1 {
			holds = "hold"
		}
		s += " " + holds + " the output"
	}
	if !set.Process {
		return s
	}
	it := "it"
	if len(st.Left) > 1 {
		it = "them"
	}
	return s + "; " + call("kill", st.ID) + " ends " + it
}

// runningReply answers for a session that runs on.
func runningReply(st sallyport.Status, out output) reply {
	r := reply{facts: sessionFacts(st), body: out.body("(no output yet)")}
	out.fill(&r.facts)
	r.warn(st.Warnings)
	r.head = "running " + took(st.Elapsed(time.Now())) + out.note(st.ID, Settings{Process: true})
	r.after = fmt.Sprintf("session %s (pid %d) on %s, %s", st.ID, st.PID, st.Host, text.Safe(st.Dir))
	r.facts.FollowUp = call("poll", st.ID, "timeout=30000")
	r.last = fmt.Sprintf("Command still running (session %s, pid %d). Use process (list/poll/log/write/kill/clear/remove) for follow-up.\nnext: %s (wakes on output or exit)",
		st.ID, st.PID, r.facts.FollowUp)
	return r
}

// sessionFacts are the facts of a session but for its output.
func sessionFacts(st sallyport.Status) Facts {
	f := Facts{
		Status: running, SessionID: st.ID, PID: st.PID, CWD: st.Dir, StartedAt: &st.Started,
		DurationMS: st.Elapsed(time.Now()).Milliseconds(), HeldBy: st.HeldBy, Left: st.Left,
		StdinWritable: st.Stdin == sallyport.StdinOpen && st.State == sallyport.Running,
	}
	o := st.Outcome
	if o == nil {
		return f
	}
	f.Status = completed
	f.Signal, f.FailureKind, f.Reason, f.Hint, f.Kill = o.Signal, o.Failure, o.Reason, o.Hint, o.Kill
	if o.Kind == sallyport.Exited {
		f.ExitCode = &o.Code
	}
	switch {
	case o.Kind == sallyport.Killed:
		f.FailureKind = ""
		if f.Reason == "" {
			f.Reason = "stopped by request"
		}
	case o.Failure != "" || o.Kind != sallyport.Exited:
		f.Status = failed
	}
	if o.Kind == sallyport.TimedOut {
		f.Hint = timeoutText(st)
	}
	if len(st.Left) > 0 {
		f.FollowUp = call("kill", st.ID)
	}
	return f
}
