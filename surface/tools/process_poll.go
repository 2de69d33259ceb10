package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/text"
)

// A polled is one session of a poll.
type polled struct {
	id      sallyport.SessionID
	session sallyport.Session
	track   *track
	woke    sallyport.Woke
	err     error
}

// poll waits for news of sessions and delivers them: output that the caller has not seen, and ends.
func (x *Exec) poll(ctx context.Context, c Call, p processArgs, set Settings) reply {
	all := make([]*polled, len(p.ids))
	lost := false
	for i, id := range p.ids {
		all[i] = &polled{id: id}
		all[i].session, all[i].err = x.runs.Find(ctx, c.Caller, id)
		lost = lost || all[i].err != nil
		if all[i].err == nil {
			all[i].track = x.tracks.of(c.Caller.Scope, id)
		}
	}
	if !lost { // an unknown session is news, and waiting for it would be for ever
		waitAny(ctx, all, p, c.Progress)
	}
	// Together no more than a call can ask for.
	share := min(set.Pending, max(minOutput, set.MaxOutputLimit/len(all)))
	replies := make([]reply, 0, len(all))
	var quiet []*polled
	for _, s := range all {
		r, news := x.deliver(ctx, c, s, share)
		if !news && len(all) > 1 {
			quiet = append(quiet, s)
			continue
		}
		replies = append(replies, r)
	}
	if len(all) == 1 {
		return replies[0]
	}
	return together(replies, quiet)
}

// waitAny waits until one of the sessions has news, or for as long as the call may take. Sessions whose end is known
// have none, unless there are no others.
func waitAny(ctx context.Context, all []*polled, p processArgs, progress func(string)) {
	if p.timeout == 0 {
		p.timeout = time.Nanosecond // look once
		progress = nil
	}
	var live []*polled
	for _, s := range all {
		if !s.track.over() {
			live = append(live, s)
		}
	}
	if len(live) == 0 {
		live = all
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	var wg sync.WaitGroup
	for i, s := range live {
		o := waiting{window: p.timeout, since: began}
		if i == 0 {
			o.progress = progress // one voice is enough
		}
		wg.Go(func() {
			s.woke, s.err = s.wait(ctx, p, o)
			if s.err != nil || s.woke.By != sallyport.WokeTime {
				cancel(nil)
			}
		})
	}
	wg.Wait()
}

// wait waits for news of one session.
func (s *polled) wait(ctx context.Context, p processArgs, o waiting) (sallyport.Woke, error) {
	st, err := s.session.Status(ctx)
	if err != nil {
		return sallyport.Woke{}, err
	}
	o.since = st.Started
	ctx, cancel := context.WithTimeout(ctx, o.window)
	defer cancel()
	o.window = 0
	w := sallyport.Wake{From: st.Seen, Until: p.until, Quiet: p.quiet, Output: p.until == "" && p.quiet == 0}
	for {
		woke, err := waitWith(ctx, s.session, w, o)
		if err != nil || woke.By != sallyport.WokeOutput {
			return woke, err
		}
		if s.whole(ctx, st.Seen, woke.Status) {
			if st.Output.End > st.Seen { // it was there before
				return woke, nil
			}
			return s.settle(ctx, woke)
		}
		w.From = woke.Status.Output.End
	}
}

// A burst of output is one piece of news: a poll that woke waits until it pauses. A turn for each line would cost more.
const (
	burstPause = 50 * time.Millisecond
	burstMost  = 500 * time.Millisecond
)

// settle waits for the end of a burst.
func (s *polled) settle(ctx context.Context, woke sallyport.Woke) (sallyport.Woke, error) {
	ctx, cancel := context.WithTimeout(ctx, burstMost)
	defer cancel()
	later, err := s.session.Wait(ctx, sallyport.Wake{From: woke.Status.Seen, Quiet: burstPause})
	if later.By == sallyport.WokeEnd {
		woke.By = sallyport.WokeEnd
	}
	return woke, err
}

// whole reports whether what is new can be delivered: the beginning of a character alone is no news.
func (s *polled) whole(ctx context.Context, seen sallyport.Offset, st sallyport.Status) bool {
	const most = 8 << 10 // more than is ever held back
	if st.Output.End-seen >= most {
		return true
	}
	c, err := s.session.Read(ctx, sallyport.Range{From: seen, Max: most})
	return err != nil || len(c.Data) == 0 || text.Complete(c.Data) > 0
}

// deliver makes the reply for one session and marks what it delivers. It reports whether there was news.
func (x *Exec) deliver(ctx context.Context, c Call, s *polled, share int) (reply, bool) {
	if s.err != nil {
		return notFound(s.id, s.err), true
	}
	s.track.reading.Lock()
	defer s.track.reading.Unlock()
	st, err := s.session.Status(ctx)
	if err != nil {
		return notFound(s.id, err), true
	}
	open := st.State == sallyport.Running || len(st.HeldBy) > 0
	out, err := render(ctx, s.session, st, renderOptions{max: share, from: st.Seen, partial: open})
	if err != nil {
		return failure(err), true
	}
	if ctx.Err() != nil { // nobody will read it: it stays unread
		return failure(ctx.Err()), false
	}
	fresh := out.next > st.Seen
	ended := st.State == sallyport.Ended
	if fresh || ended {
		if err := x.runs.Mark(ctx, c.Caller, s.id, sallyport.Mark{Seen: out.next, SawEnd: ended}); err != nil {
			return failure(err), true
		}
	}
	switch {
	case !ended && !fresh:
		return s.nothing(st), false
	case ended && !fresh && s.track.over():
		return s.nothingMore(st), false
	}
	s.track.news(ended)
	if ended {
		return s.end(st, out), true
	}
	return s.output(st, out), true
}

// nothing answers a poll without news. It is kept short: there are many of them.
func (s *polled) nothing(st sallyport.Status) reply {
	retry := s.track.nothing()
	r := reply{facts: sessionFacts(st)}
	r.head = "running " + took(st.Elapsed(time.Now())) + ", nothing new"
	if s.woke.By == sallyport.WokeQuiet {
		r.head = "running " + took(st.Elapsed(time.Now())) + ", quiet"
	}
	r.after = fmt.Sprintf("next poll in %d ms or longer", retry.Milliseconds())
	r.facts.RetryInMS = retry.Milliseconds()
	r.facts.FollowUp = call("poll", s.id, "timeout=30000")
	return r
}

// nothingMore answers a poll of a session whose end was delivered before.
func (s *polled) nothingMore(st sallyport.Status) reply {
	r := reply{facts: sessionFacts(st)}
	r.head = state(st) + leftText(st, Settings{Process: true})
	r.after = "session " + string(s.id) + ", nothing new"
	return r
}

// output answers with output of a session that runs.
func (s *polled) output(st sallyport.Status, out output) reply {
	r := reply{facts: sessionFacts(st), body: out.body("(no new output)")}
	out.fill(&r.facts)
	r.head = "running " + took(st.Elapsed(time.Now()))
	switch s.woke.By {
	case sallyport.WokeUntil:
		r.head += ", matched: " + text.Label(s.woke.Match, labelChars)
	case sallyport.WokeQuiet:
		r.head += ", quiet"
	case sallyport.WokeEnd, sallyport.WokeOutput, sallyport.WokeTime:
	}
	r.head += out.note(s.id, Settings{Process: true})
	r.after = "session " + string(s.id)
	r.facts.FollowUp = call("poll", s.id, "timeout=30000")
	return r
}

// end answers with the rest of the output and the end.
func (s *polled) end(st sallyport.Status, out output) reply {
	r := endReply(st, out, Settings{Process: true})
	r.isError = false // the call that polls has worked
	r.warnings = nil  // they were shown when it was started
	r.body = out.body("(no new output)")
	r.after = strings.TrimSpace("session " + string(s.id) + " " + r.after)
	return r
}

// together joins the replies of several sessions; those without news share a line.
func together(replies []reply, quiet []*polled) reply {
	r := reply{facts: Facts{Status: running, Sessions: []Facts{}}}
	var parts []string
	done := len(quiet) == 0
	for _, one := range replies {
		parts = append(parts, one.result().Text)
		r.facts.Sessions = append(r.facts.Sessions, one.facts)
		done = done && one.facts.Status != running
	}
	if done {
		r.facts.Status = completed
	}
	if len(quiet) > 0 {
		ids := make([]string, len(quiet))
		var retry time.Duration
		for i, s := range quiet {
			ids[i] = string(s.id)
			if len(replies) == 0 {
				retry = max(retry, s.track.delay())
			}
		}
		line := "[nothing new] " + strings.Join(ids, ", ")
		if retry > 0 {
			line += fmt.Sprintf("; next poll in %d ms or longer", retry.Milliseconds())
			r.facts.RetryInMS = retry.Milliseconds()
		}
		parts = append(parts, line)
	}
	r.body = strings.Join(parts, "\n\n")
	return r
}
