package output

import (
	"errors"
	"fmt"
	"sort"
	"sync"

	"github.com/sallyport-sh/sallyport"
)

// windowSize is how much of the spool is read at once: large enough to make the system call cheap, small enough for a
// first- or second-level cache.
const windowSize = 64 << 10

var windowPool = sync.Pool{New: func() any { return new([windowSize]byte) }}

// errMoved says that the middle was extended over what was being read: look again.
var errMoved = errors.New("output was dropped while it was read")

// pread fills p with the log's bytes from off on, which the caller saw kept.
func (l *Log) pread(p []byte, off int64) error {
	l.mu.Lock()
	b := l.b
	l.mu.Unlock()
	f, err := l.store.acquire(&b.data, false)
	if err != nil {
		return err
	}
	defer l.store.release(&b.data)
	l.mu.Lock()
	spool := b.spool
	l.mu.Unlock()
	for at := off; at < off+int64(len(p)); {
		pos, run := spool.at(at)
		rest := p[at-off:]
		rest = rest[:min(int64(len(rest)), run)]
		if _, err := f.ReadAt(rest, pos); err != nil {
			return fmt.Errorf("read spool: %w", err)
		}
		at += int64(len(rest))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if g := b.gap; g != nil && off < g.to.off && off+int64(len(p)) > g.from.off {
		return errMoved
	}
	return nil
}

// walk calls fn for the kept bytes from…to, piece by piece, each with the stream that wrote it.
func (l *Log) walk(v *view, from, to int64, fn func([]byte, sallyport.Stream)) error {
	win := windowPool.Get().(*[windowSize]byte)
	defer windowPool.Put(win)
	var rs []run
	for from < to {
		p := win[:min(to-from, windowSize)]
		if err := l.pread(p, from); err != nil {
			return err
		}
		var err error
		if rs, err = l.runs(rs[:0], v, from, int64(len(p))); err != nil {
			return err
		}
		for i, r := range rs {
			n := int64(len(p))
			if i+1 < len(rs) {
				n = rs[i+1].off - from
			}
			fn(p[:n], r.stream)
			p, from = p[n:], from+n
		}
	}
	return nil
}

// grain is the distance of marks in bytes. What is kept has at most 256 of them, of about 100 bytes, so that the line
// index of a log takes 26 KB at most, and a line is found by looking through one grain.
func (l *Log) grain() int64 {
	g := int64(1 << 12)
	for g*256 < l.quota {
		g *= 2
	}
	return g
}

// scanTo counts lines up to upto, from where counting stopped last. The bytes are read without any lock, so writer and
// readers may both do it; the first to publish wins.
func (l *Log) scanTo(upto int64) error {
	for {
		v, err := l.look()
		if err != nil {
			return err
		}
		if v.pos.off >= upto {
			return nil
		}
		p, grain := v.pos, l.grain()
		err = l.walk(&v, p.off, min(upto, (p.off/grain+1)*grain), p.add)
		switch {
		case errors.Is(err, errMoved):
			continue // the writer counted what it dropped
		case err != nil:
			return err
		}
		l.mu.Lock()
		if b := v.b; b.pos.off == v.pos.off {
			b.pos = p
			if p.off%grain == 0 {
				b.marks = append(b.marks, p)
			}
		}
		l.mu.Unlock()
	}
}

// count makes sure that lines are counted up to off. A spool that cannot be read does not stop the writer; line queries
// say so from then on.
func (l *Log) count(b *body, off int64) {
	if err := l.scanTo(off); err != nil {
		l.uncounted(b, off, err)
	}
}

func (l *Log) uncounted(b *body, off int64, err error) place {
	p := place{off: off, bytes: [3]int64{off}}
	l.mu.Lock()
	defer l.mu.Unlock()
	b.broken = err
	if b.pos.off < off {
		b.pos = p
	}
	return p
}

// placeAt returns the place of a kept offset up to which lines are counted.
func (l *Log) placeAt(off int64) (place, error) {
	v, err := l.look()
	if err != nil {
		return place{}, err
	}
	p := v.before(func(m *place) bool { return m.off <= off })
	if v.pos.off <= off {
		p = v.pos
	}
	err = l.walk(&v, p.off, off, p.add)
	return p, err
}

// before returns the last mark for which ok holds, which must be true of a first stretch of them; else the log's
// beginning.
func (v *view) before(ok func(*place) bool) place {
	i := sort.Search(len(v.marks), func(i int) bool { return !ok(&v.marks[i]) })
	if i == 0 {
		return place{}
	}
	return v.marks[i-1]
}
