package tools

import (
	"sync"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// A track is what the family remembers of a session between polls.
type track struct {
	reading sync.Mutex // one poll at a time takes output, so that no byte is delivered twice

	mu     sync.Mutex
	empty  int  // polls in a row that brought nothing
	sawEnd bool // the end was delivered
	used   time.Time
}

// tracks are kept by scope and session. They are hints, not state: a lost one costs a poll that comes too early.
type tracks struct {
	mu  sync.Mutex
	all map[trackKey]*track
}

type trackKey struct {
	scope sallyport.Scope
	id    sallyport.SessionID
}

// maxTracks is when old tracks are thrown away. trackLife is longer than any finished session is kept.
const (
	maxTracks = 1024
	trackLife = 4 * time.Hour
)

func (t *tracks) of(scope sallyport.Scope, id sallyport.SessionID) *track {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[trackKey]*track{}
	}
	now := time.Now()
	if len(t.all) >= maxTracks {
		for k, tr := range t.all {
			if tr.idle(now) {
				delete(t.all, k)
			}
		}
	}
	key := trackKey{scope, id}
	tr := t.all[key]
	if tr == nil {
		tr = &track{}
		t.all[key] = tr
	}
	tr.use(now)
	return tr
}

func (t *tracks) drop(scope sallyport.Scope, id sallyport.SessionID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, trackKey{scope, id})
}

func (t *track) use(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used = now
}

func (t *track) idle(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.used) > trackLife
}

// delays are how long to wait after so many polls in a row without news.
var delays = [...]time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}

// nothing counts a poll without news and returns how long to wait before the next.
func (t *track) nothing() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := delays[min(t.empty, len(delays)-1)]
	t.empty++
	return d
}

// news resets the count.
func (t *track) news(end bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.empty = 0
	t.sawEnd = t.sawEnd || end
}

// over reports whether the end was delivered.
func (t *track) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sawEnd
}

// delay is how long the last poll without news said to wait; 0 if there was none.
func (t *track) delay() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.empty == 0 {
		return 0
	}
	return delays[min(t.empty, len(delays))-1]
}
