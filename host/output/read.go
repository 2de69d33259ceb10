package output

import (
	"errors"

	"github.com/sallyport-sh/sallyport"
)

const (
	defaultChunk = 64 << 10 // as sallyport.Range says
	maxChunk     = 16 << 20 // the most that one Read returns
)

// Read returns kept bytes from r.From on, at most r.Max of them (16 MiB at most), without waiting. An empty chunk whose
// Next is its From means that nothing is there yet. A chunk ends before a gap; the next one, asked for at the gap,
// begins behind it and says how much it skipped.
//
// With r.Stream only that stream's bytes are in Data; From and Next are offsets of the whole log all the same, and
// Skipped counts bytes of the log. Such a chunk may be empty although Next has moved on: the other stream wrote.
func (l *Log) Read(r sallyport.Range) (sallyport.Chunk, error) {
	switch {
	case r.From < 0 || r.Max < 0:
		return sallyport.Chunk{}, invalid("output.Read", "from and max can't be negative")
	case r.Stream > sallyport.Stderr:
		return sallyport.Chunk{}, invalid("output.Read", "no such stream")
	case r.Max == 0:
		r.Max = defaultChunk
	}
	r.Max = min(r.Max, maxChunk)
	for {
		v, err := l.look()
		if err != nil {
			return sallyport.Chunk{}, err
		}
		c, err := l.readView(&v, r)
		if !errors.Is(err, errMoved) {
			return c, edge("output.Read", err)
		}
	}
}

func (l *Log) readView(v *view, r sallyport.Range) (sallyport.Chunk, error) {
	off := int64(r.From)
	c := sallyport.Chunk{From: r.From, Next: r.From, EOF: v.sealed && off >= v.end}
	if off >= v.end {
		return c, nil
	}
	for g := v.hole(off); g != nil && off >= g.from.off; g = v.hole(off) {
		c.Skipped += g.to.off - off
		off = g.to.off
	}
	c.From = sallyport.Offset(off)
	data, next, err := l.readRange(v, off, r)
	if err != nil {
		return sallyport.Chunk{}, err
	}
	c.Data, c.Next = data, sallyport.Offset(next)
	c.EOF = v.sealed && next >= v.end
	return c, nil
}

// readRange returns kept bytes of one stream, or all, from off on, and where to go on.
func (l *Log) readRange(v *view, off int64, r sallyport.Range) ([]byte, int64, error) {
	stop := v.stop(off)
	switch {
	case off >= stop:
		return nil, off, nil
	case v.only != sallyport.AnyStream && r.Stream != sallyport.AnyStream && r.Stream != v.only:
		return nil, stop, nil // all of it is the other stream's
	case v.only != sallyport.AnyStream || r.Stream == sallyport.AnyStream:
		p := make([]byte, min(stop-off, int64(r.Max)))
		return p, off + int64(len(p)), l.pread(p, off)
	}
	var data []byte
	for start := off; off < stop && len(data) < r.Max; {
		next := off
		err := l.walk(v, off, min(stop, off+windowSize), func(p []byte, s sallyport.Stream) {
			switch {
			case len(data) == r.Max:
				return
			case s == r.Stream:
				p = p[:min(len(p), r.Max-len(data))]
				data = append(data, p...)
			}
			next += int64(len(p))
		})
		switch {
		case errors.Is(err, errMoved) && off > start:
			return data, off, nil // begun again from start, it might never come to an end under a flood
		case err != nil:
			return nil, 0, err
		}
		off = next
	}
	return data, off, nil
}

func invalid(op, msg string) error {
	return &sallyport.Error{Code: sallyport.Invalid, Op: op, Msg: msg}
}
