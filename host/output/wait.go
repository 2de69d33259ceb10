package output

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// settle is how long a waiter that looks at flowing output rests between looks. The writer wakes waiters at most once
// in that time, so a flood costs it nothing.
const settle = 5 * time.Millisecond

// Wait returns when something that w names has happened: see [sallyport.Wake]. It also returns when ended is closed,
// with [sallyport.WokeEnd], and when ctx is done, with [sallyport.WokeTime] and no error. A wake that names nothing
// waits for the end, like EndOnly.
//
// Until is matched against lines of the log as written, in the manner of a search (see [Log.Lines]): also against the
// unfinished last line, and against the whole of a line that was begun before From if the match reaches beyond From.
// What came before the end is looked at before the end is reported, so a match in the last words wins. Output that the
// quota takes before it could be looked at does not match. match is that line, at most its first 64 KiB.
//
// Errors: [sallyport.Invalid] for a bad pattern; [sallyport.NotFound] once the log is removed; [sallyport.Closed].
func (l *Log) Wait(ctx context.Context, ended <-chan struct{}, w sallyport.Wake) (by sallyport.WokeBy, match string, err error) {
	wt := waiter{log: l, wake: w, ended: ended}
	if w.EndOnly {
		wt.wake = sallyport.Wake{From: w.From}
	}
	if wt.wake.Until != "" {
		m, err := newMatcher("output.Wait", w.Until)
		if err != nil {
			return "", "", err
		}
		wt.watch = &watch{matcher: m, from: max(int64(w.From), 0)}
	}
	wt.timer = time.NewTimer(settle)
	defer wt.timer.Stop()
	for {
		by, match, err := wt.look(ctx)
		if err != nil || by != "" {
			return by, match, edge("output.Wait", err)
		}
		wt.rest(ctx)
	}
}

// A waiter is one Wait in progress.
type waiter struct {
	log   *Log
	wake  sallyport.Wake
	ended <-chan struct{}
	watch *watch // for Until
	timer *time.Timer

	seen   int64         // end of the log at the last look
	looked time.Time     // when that was
	quiet  time.Duration // how much longer the log must be quiet; 0 if it is not that for which we wait
}

// look says whether the wait is over.
func (w *waiter) look(ctx context.Context) (sallyport.WokeBy, string, error) {
	ended := closed(w.ended) // asked first: what was written before the end is there by now
	v, err := w.log.look()
	if err != nil {
		return "", "", err
	}
	w.seen, w.looked, w.quiet = v.end, time.Now(), 0
	if w.watch != nil {
		if line, ok, err := w.watch.step(w.log, v); ok || err != nil {
			return sallyport.WokeUntil, line, err
		}
	}
	if ended {
		return sallyport.WokeEnd, "", nil
	}
	if v.end > int64(w.wake.From) {
		if w.wake.Output {
			return sallyport.WokeOutput, "", nil
		}
		if w.wake.Quiet > 0 {
			if w.quiet = w.wake.Quiet - w.looked.Sub(v.last); w.quiet <= 0 {
				return sallyport.WokeQuiet, "", nil
			}
		}
	}
	if ctx.Err() != nil {
		return sallyport.WokeTime, "", nil
	}
	return "", "", nil
}

// rest waits until another look is worth while.
func (w *waiter) rest(ctx context.Context) {
	var news <-chan struct{}
	if w.watch != nil || w.quiet == 0 && (w.wake.Output || w.wake.Quiet > 0) {
		news = w.log.news(w.seen)
	}
	var still <-chan time.Time
	if w.quiet > 0 {
		w.timer.Reset(w.quiet)
		still = w.timer.C
	}
	gone := w.log.gone()
	select {
	case <-ctx.Done():
		return
	case <-w.ended:
		return
	case <-gone:
		return
	case <-still:
		return
	case <-news:
	}
	w.timer.Reset(settle - time.Since(w.looked))
	select {
	case <-ctx.Done():
	case <-w.ended:
	case <-gone:
	case <-w.timer.C:
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

var already = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// news returns a channel that is closed when the log has an end other than seen.
func (l *Log) news(seen int64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != seen {
		return already
	}
	if l.grown == nil {
		l.grown = make(chan struct{})
	}
	return l.grown
}

// gone returns a channel that is closed when the log is removed or its store closed.
func (l *Log) gone() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return already
	}
	if l.left == nil {
		l.left = make(chan struct{})
	}
	return l.left
}

// A watch looks for a pattern in a log that grows, at each byte once.
type watch struct {
	*matcher
	from int64
	c    *cursor
	at   int64 // end of what the unfinished line was matched at
}

// step looks at what is new in v and returns the first line that matches.
func (w *watch) step(l *Log, v view) (string, bool, error) {
	if v.end <= w.from {
		return "", false, nil
	}
	if w.c == nil {
		c, err := l.lineCursor(v, w.from)
		if err != nil {
			return "", false, err
		}
		w.c = c
		c.sieve = w.sieve()
		c.sifting = c.sieve != nil
	}
	w.c.v = v
	defer w.c.close()
	for {
		ln, ok, err := w.c.read()
		if err != nil {
			return "", false, err
		}
		if ok {
			if w.hits(&ln) {
				return string(w.view(ln.text)), true, nil
			}
			continue
		}
		if ln, ok = w.c.rest(); ok && w.c.off > w.at && w.hits(&ln) {
			return string(w.view(ln.text)), true, nil
		}
		w.at = w.c.off
		return "", false, nil
	}
}

func (w *watch) hits(ln *line) bool {
	if ln.off < w.from {
		return w.matchAfter(ln.text, int(w.from-ln.off))
	}
	return w.match(ln.text)
}

// lineCursor returns a cursor at the beginning of the line that off is in, or as near as a pattern looks. It does not
// know line numbers.
func (l *Log) lineCursor(v view, off int64) (*cursor, error) {
	for {
		c := l.cursor(v, sallyport.AnyStream, matchSpan)
		c.off = off
		if g := v.hole(off); g != nil && off >= g.from.off {
			return c, nil
		}
		lo := max(off-matchSpan, 0)
		if v.gap != nil && off >= v.gap.to.off {
			lo = max(lo, v.gap.to.off)
		}
		p := make([]byte, off-lo)
		err := l.pread(p, lo)
		switch {
		case err == nil:
			c.off = lo + int64(bytes.LastIndexByte(p, '\n')) + 1
			return c, nil
		case !errors.Is(err, errMoved):
			return nil, err
		}
		if v, err = l.look(); err != nil {
			return nil, err
		}
	}
}
