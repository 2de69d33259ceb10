package engine

import (
	"slices"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// sweepEvery is how often leftovers of ended sessions are looked after, and expired ones are forgotten.
const sweepEvery = 15 * time.Second

// forget drops a session whose processes are gone. Forgetting twice is harmless.
func (e *Engine) forget(s *session) {
	e.mu.Lock()
	if e.sessions[s.id] == s {
		delete(e.sessions, s.id)
	}
	e.mu.Unlock()
	_ = s.log.Remove()
}

// tidy is called at every end. It looks at the bounds only now and then, so that a burst of commands costs nothing.
func (e *Engine) tidy() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.sweep != nil || len(e.sessions) == 0 {
		return
	}
	e.sweep = time.AfterFunc(sweepEvery, func() {
		e.mu.Lock()
		e.sweep = nil
		e.mu.Unlock()
		e.retain()
		e.tidy()
	})
}

// retain keeps the finished sessions within their bounds: oldest first out, the newest always stays. A session with
// living processes is not forgotten, nor is one whose foreground caller has yet to read it, except by age.
func (e *Engine) retain() {
	set := e.o.Settings("")
	now := time.Now()
	var done []*session
	for _, s := range e.snapshot() {
		s.settle()
		if s.isSettled() {
			done = append(done, s)
		}
	}
	slices.SortFunc(done, func(a, b *session) int { return b.endTime().Compare(a.endTime()) })
	var bytes int64
	for i, s := range done {
		bytes += s.log.Disk()
		expired := set.Retain > 0 && now.Sub(s.endTime()) > set.Retain
		over := i > 0 && ((set.RetainMax > 0 && i >= set.RetainMax) || (set.RetainBytes > 0 && bytes > set.RetainBytes))
		if expired || (over && s.wasRead()) {
			e.forget(s)
		}
	}
}

func (s *session) endTime() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endedAt
}

// wasRead says that nobody is in the middle of a call that will read this session.
func (s *session) wasRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.background || s.sawEnd
}

// Live counts the sessions that run or have left something running.
func (e *Engine) Live() (n int) {
	for _, s := range e.snapshot() {
		if !s.isSettled() {
			n++
		}
	}
	return n
}

var _ interface{ Mark(sallyport.Mark) } = (*session)(nil)
