package view

import (
	"slices"
	"unicode/utf8"

	"github.com/sallyport-sh/sallyport/surface/text"
)

// A row is a cleaned line.
type row struct {
	start, end int   // its text in rows.buf, with "\n" if it has one
	from, to   int64 // its raw bytes in the piece
	chars      int   // code points, "\n" counted
}

// rows are the cleaned lines of a piece of output.
type rows struct {
	buf   []byte
	rows  []row
	size  int64 // raw bytes of the piece
	chars int
}

// rows cleans a piece.
func (r *renderer) rows(piece []byte) (*rows, text.Facts) {
	var decoder text.Decoder
	if r.o.Decoder != nil {
		decoder = r.o.Decoder()
	}
	all := &rows{size: int64(len(piece)), buf: make([]byte, 0, len(piece)+16)}
	c := text.NewCleaner(decoder, func(l text.Line) {
		w := row{start: len(all.buf), from: l.From, to: l.To}
		all.buf = append(all.buf, l.Text...)
		if l.Ended {
			all.buf = append(all.buf, '\n')
		}
		w.end = len(all.buf)
		w.chars = utf8.RuneCount(all.buf[w.start:w.end])
		all.chars += w.chars
		all.rows = append(all.rows, w)
	})
	_, _ = c.Write(piece) // never fails
	c.Close()
	return all, c.Facts()
}

func (a *rows) all() []byte { return a.buf }

// An edge is where head or tail of a view is cut.
type edge struct {
	text   []byte // what is shown on this side
	chars  int
	at     int64 // raw position in the piece
	inside bool  // the cut lies within a line
}

// first is the beginning of the piece, of at most n code points: whole lines, unless they fill less than half of n.
func (a *rows) first(n int) edge {
	e := edge{at: a.size}
	for _, w := range a.rows {
		if e.chars+w.chars <= n {
			e.chars += w.chars
			continue
		}
		e.text, e.at = a.buf[:w.start], w.from
		if e.chars >= n/2 {
			return e
		}
		part := text.Head(string(a.buf[w.start:w.end]), n-e.chars)
		e.chars = n
		e.text = a.buf[:w.start+len(part)]
		e.at = w.from + min(int64(len(part)), w.to-w.from)
		e.inside = len(part) > 0
		return e
	}
	e.text = a.buf
	e.inside = len(a.buf) > 0 && a.buf[len(a.buf)-1] != '\n'
	return e
}

// last is the end of the piece, of at most n code points.
func (a *rows) last(n int) edge {
	e := edge{}
	for _, w := range slices.Backward(a.rows) {
		if e.chars+w.chars <= n {
			e.chars += w.chars
			continue
		}
		e.text, e.at = a.buf[w.end:], w.to
		if e.chars >= n/2 {
			return e
		}
		part := text.Tail(string(a.buf[w.start:w.end]), n-e.chars)
		e.chars = n
		e.text = a.buf[w.end-len(part):]
		e.at = w.from + min(int64(w.end-w.start-len(part)), w.to-w.from)
		e.inside = len(part) > 0
		return e
	}
	e.text = a.buf
	return e
}
