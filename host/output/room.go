package output

import (
	"bytes"
	"time"
)

// blockSize is what file systems punch out; of a partial block the bytes are only zeroed.
const blockSize = 4096

// floodRate is how fast a log must have filled up to become a ring. A ring writes over pages that are there, where
// punching gives pages back and has new ones made: measured, that is a third of the time of a flood, and makes the
// difference between keeping up with cat > file and not. A slower log stays a plain file.
const floodRate = 32 << 20

// makeRoom drops as much of the middle as n more bytes and one more record need.
func (l *Log) makeRoom(b *body, f file, n int64) error {
	for {
		recs := b.w.recs - (b.recsTo - b.recsFrom)
		over := l.end - b.gap.size() + n + (recs+1)*recordSize - l.quota
		if b.spool.size > 0 {
			over = max(over, l.end-b.gap.to.off+n-b.spool.size)
		}
		overRecs := recs + 1 - maxRecords(l.quota)
		if over <= 0 && overRecs <= 0 {
			return nil
		}
		if err := l.drop(b, f, max(over, 0), max(overRecs, 0)); err != nil {
			return err
		}
	}
}

// drop takes at least n bytes and recs records out of the middle. It tells readers first, then a later process, then
// the file system: so nobody ever takes a hole for output.
func (l *Log) drop(b *body, f file, n, recs int64) error {
	v, err := l.look()
	if err != nil {
		return err
	}
	g, recsFrom, err := l.openGap(b, &v)
	if err != nil {
		return err
	}
	// In steps of a sixteenth, so that the price of one, a header and a punch, is spread over many bytes.
	to := g.to.off
	if n > 0 {
		to = l.lineEnd(min(to+n+l.quota/16, l.end))
	}
	if recs > 0 {
		r, err := l.recordAt(&v, min(max(recsFrom, b.recsTo)+recs+maxRecords(l.quota)/16, b.w.recs-1))
		if err != nil {
			return err
		}
		to = max(to, r.off)
	}
	l.extend(b, &v, &g, to)
	recsTo, err := l.recordBefore(&v, g.to.off)
	if err != nil {
		return err
	}
	l.mu.Lock()
	b.gap, b.recsFrom, b.recsTo = &g, recsFrom, max(recsTo, recsFrom)
	b.marks = trim(b.marks, &g)
	if b.pos.off < g.to.off {
		b.pos = g.to
	}
	l.mu.Unlock()
	if err := l.writeHeader(b); err != nil {
		return err
	}
	return l.giveUp(b, f)
}

// flooding says whether the log has grown fast since the last drop.
func (l *Log) flooding(b *body) bool {
	now := time.Now()
	took, grown := now.Sub(b.w.dropped), l.end-b.w.dropEnd
	b.w.dropped, b.w.dropEnd = now, l.end
	return l.store.flood > 0 && float64(grown) >= float64(l.store.flood)*took.Seconds()
}

// openGap returns the gap so far, or the empty one where the first will begin, and the number of its first record. It
// begins after a quarter of the quota, or of the records if they are what there is too much of.
func (l *Log) openGap(b *body, v *view) (gap, int64, error) {
	if b.gap != nil {
		return *b.gap, b.recsFrom, nil
	}
	from := l.lineStart(min(l.quota/4, l.end))
	if many := maxRecords(l.quota) / 4; b.w.recs > many {
		r, err := l.recordAt(v, many)
		if err != nil {
			return gap{}, 0, err
		}
		from = min(from, r.off)
	}
	i, err := l.recordBefore(v, from)
	if err != nil {
		return gap{}, 0, err
	}
	if r, err := l.recordAt(v, i); err != nil {
		return gap{}, 0, err
	} else if r.off < from {
		i++
	}
	l.count(b, from)
	p, err := l.placeAt(from)
	if err != nil {
		p = l.uncounted(b, from, err)
	}
	return gap{from: p, to: p}, i, nil
}

// extend moves the gap's end to off. What was not counted before is counted now, and only now.
func (l *Log) extend(b *body, v *view, g *gap, off int64) {
	var err error
	if v.pos.off > g.to.off && !g.runsOn() {
		l.count(b, off)
		g.to, err = l.placeAt(off)
	} else {
		// Nobody asked for lines so far, or a line that runs into the gap has not ended in it and its bytes must be
		// counted: one walk does both.
		err = l.walk(v, g.to.off, off, g.add)
	}
	if err != nil {
		g.to = l.uncounted(b, off, err)
	}
}

// lineStart moves off back to the beginning of its line, if that is near: a gap of whole lines is easier to read round.
func (l *Log) lineStart(off int64) int64 {
	win := windowPool.Get().(*[windowSize]byte)
	defer windowPool.Put(win)
	p := win[:min(l.alignSpan(), off)]
	if l.pread(p, off-int64(len(p))) != nil {
		return off
	}
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
		return off - int64(len(p)) + int64(i) + 1
	}
	return off
}

// lineEnd moves off forward to the end of the line of the byte before it, if that is near.
func (l *Log) lineEnd(off int64) int64 {
	win := windowPool.Get().(*[windowSize]byte)
	defer windowPool.Put(win)
	off--
	p := win[:min(l.alignSpan(), l.end-off)]
	if l.pread(p, off) != nil {
		return off + 1
	}
	return off + 1 + int64(max(bytes.IndexByte(p, '\n'), 0))
}

func (l *Log) alignSpan() int64 { return min(windowSize, l.quota/16) }

// trim returns the marks outside of the gap, and one at its end. It copies: readers hold the old ones.
func trim(marks []place, g *gap) []place {
	kept := make([]place, 0, cap(marks))
	for _, m := range marks {
		if m.off <= g.from.off {
			kept = append(kept, m)
		}
	}
	kept = append(kept, g.to)
	for _, m := range marks {
		if m.off > g.to.off {
			kept = append(kept, m)
		}
	}
	return kept
}

// giveUp gives the gap's bytes and records back to the file system, or makes the file a ring: the spool in a flood, and
// either where holes can't be punched.
func (l *Log) giveUp(b *body, f file) error {
	if b.spool.size == 0 {
		lo, hi := inner(max(b.gap.from.off, b.w.punched), b.gap.to.off)
		if hi > lo && (l.flooding(b) || f.punch(lo, hi-lo) != nil) {
			base := max(b.gap.from.off, b.w.punched)
			return l.bend(b, ring{base, max(l.end-base, l.quota/2)}, b.records)
		}
		b.w.punched = max(b.w.punched, hi)
	}
	if b.records.size > 0 {
		return nil
	}
	from := headerSize + b.recsFrom*recordSize
	lo, hi := inner(max(from, b.w.cleared), headerSize+b.recsTo*recordSize)
	if hi <= lo {
		return nil
	}
	x, err := l.store.acquire(&b.idx, false)
	if err != nil {
		return err
	}
	defer l.store.release(&b.idx)
	if x.punch(lo, hi-lo) != nil {
		base := b.recsFrom
		if b.w.cleared > from {
			base = (b.w.cleared-headerSize)/recordSize + 1
		}
		return l.bend(b, b.spool, ring{base, max(b.w.recs-base, maxRecords(l.quota)-b.recsFrom)})
	}
	b.w.cleared = hi
	return nil
}

// inner returns the whole blocks within from…to.
func inner(from, to int64) (lo, hi int64) {
	return (from + blockSize - 1) / blockSize * blockSize, to / blockSize * blockSize
}

func (l *Log) bend(b *body, spool, records ring) error {
	l.mu.Lock()
	b.spool, b.records = spool, records
	l.mu.Unlock()
	return l.writeHeader(b)
}

func (l *Log) writeHeader(b *body) error {
	if !b.w.indexed {
		err := l.index(b)
		if err == nil {
			l.mu.Lock()
			b.indexed = true
			l.mu.Unlock()
		}
		return err
	}
	return l.writeIndex(b, l.header(b).encode(), 0)
}
