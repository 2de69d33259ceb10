package output

import (
	"bytes"
	"errors"

	"github.com/sallyport-sh/sallyport"
)

// A line is what a cursor yields.
type line struct {
	no    int64  // number in the log of the line in which it began
	ord   int64  // number among the lines of the cursor's stream
	off   int64  // of its first kept byte
	text  []byte // its first bytes, at most cursor.max; valid until the next call
	kept  int64  // how many bytes there are before the first that is lost, its "\n" not counted
	size  int64  // how many bytes it has, the lost ones included
	ended bool   // it has its "\n"
}

// A cursor walks over the kept lines of one stream, or of the log as written (AnyStream). A line of a stream is what
// lies between two "\n" of that stream, whatever the other wrote in between.
type cursor struct {
	log *Log
	v   view
	sel sallyport.Stream
	max int // bytes of text to keep of a line

	off     int64 // of the next byte
	nl, ord int64 // "\n" before off: of the log, of the stream

	cur  line // the line being read, if begun
	held []byte
	cut  bool // a gap lies in cur: what follows is not a part of its text
	open bool // cur is begun

	// Whole lines that nobody wants are passed over many at a time.
	fromNo, fromOrd int64  // lines with lower numbers are not wanted
	sieve           *sieve // if sifting: nor are lines without a match,
	back            int    // but for so many before a line that may have one
	sifting         bool

	buf  *[windowSize]byte
	win  []byte // read and not yet looked at; it begins at off
	runs []run  // that cover win; the first is the current one
	all  []run  // runs from their beginning, to be used again
	next int64  // bytes to read next: a page is often short, a search long
}

const firstWindow = 32 << 10

func (l *Log) cursor(v view, sel sallyport.Stream, maxText int) *cursor {
	return &cursor{log: l, v: v, sel: sel, max: maxText, next: firstWindow}
}

// close gives the buffer back; the cursor may go on afterwards if its window was used up.
func (c *cursor) close() {
	if c.buf != nil {
		windowPool.Put(c.buf)
		c.buf, c.win, c.runs, c.all = nil, nil, nil, nil
	}
}

// seek goes to a place from which the line with number no, or for a stream the first that began in or after line no,
// will come up; earlier ones may come before.
func (c *cursor) seek(no int64) {
	c.fromNo = no
	c.start(c.v.before(func(m *place) bool { return m.nl[0] < no }))
}

// seekOrd does the same for a line's number within the stream.
func (c *cursor) seekOrd(ord int64) {
	c.fromOrd = ord
	c.start(c.v.before(func(m *place) bool { return m.nl[c.sel] < ord }))
}

func (c *cursor) start(p place) {
	c.win, c.off, c.nl, c.ord = nil, p.off, p.nl[0], p.nl[c.sel]
	c.held, c.cut = c.held[:0], false // the text of a line just returned stays where it is until the next call
	// What precedes p of an open line is not read: to the cursor it is lost.
	c.open = p.open[c.sel] > 0
	c.cur = line{no: p.line[c.sel], ord: p.nl[c.sel], off: -1, size: p.open[c.sel]}
}

// read returns the next line that has its "\n", or false at the end of the view.
func (c *cursor) read() (line, bool, error) {
	for {
		if len(c.win) > 0 {
			if ln, ok := c.scan(); ok {
				return ln, true, nil
			}
			continue
		}
		if c.off >= c.v.end {
			return line{}, false, nil
		}
		if g := c.v.hole(c.off); g != nil && c.off >= g.from.off {
			if ln, ok := c.cross(g); ok {
				return ln, true, nil
			}
			continue
		}
		if err := c.fill(); err != nil && !errors.Is(err, errMoved) {
			return line{}, false, err
		} else if err != nil {
			if err := c.refresh(); err != nil {
				return line{}, false, err
			}
		}
	}
}

// rest returns the unfinished line at the end of the view, if there is one. The cursor stays in it.
func (c *cursor) rest() (line, bool) {
	ln := c.cur
	ln.text = c.held
	return ln, c.open && ln.off >= 0
}

// refresh looks for a longer gap; where the walk ends stays.
func (c *cursor) refresh() error {
	v, err := c.log.look()
	if err != nil {
		return err
	}
	v.end = min(v.end, c.v.end)
	c.v = v
	return nil
}

func (c *cursor) fill() error {
	if c.buf == nil {
		c.buf = windowPool.Get().(*[windowSize]byte)
	}
	n := min(c.v.stop(c.off)-c.off, c.next)
	c.next = windowSize
	if err := c.log.pread(c.buf[:n], c.off); err != nil {
		return err
	}
	if c.sel != sallyport.AnyStream {
		rs, err := c.log.runs(c.all[:0], &c.v, c.off, n)
		if err != nil {
			return err
		}
		c.runs, c.all = rs, rs
	}
	c.win = c.buf[:n]
	if c.sieve != nil {
		c.sieve.reset()
	}
	return nil
}

// skip passes over whole lines of the piece p that nobody wants, and returns the rest of it.
func (c *cursor) skip(p []byte) []byte {
	const step = 4 << 10
	for c.nl < c.fromNo || c.ord < c.fromOrd {
		n := bytes.LastIndexByte(p[:min(len(p), step)], '\n') + 1
		lines := int64(bytes.Count(p[:n], newline))
		if n == 0 || c.nl+lines > c.fromNo && c.ord+lines > c.fromOrd {
			return p
		}
		p = c.pass(p, n, lines)
	}
	if !c.sifting || len(p) == 0 {
		return p
	}
	n := bytes.LastIndexByte(p[:min(len(p), c.sieve.next(c.win, c.off))], '\n') + 1
	for i := 0; i < c.back && n > 0; i++ {
		n = bytes.LastIndexByte(p[:n-1], '\n') + 1
	}
	return c.pass(p, n, int64(bytes.Count(p[:n], newline)))
}

func (c *cursor) pass(p []byte, n int, lines int64) []byte {
	c.nl += lines
	c.ord += lines
	c.advance(n)
	return p[n:]
}

// piece returns what is left of the window's current run.
func (c *cursor) piece() ([]byte, sallyport.Stream) {
	if c.sel == sallyport.AnyStream {
		return c.win, c.sel
	}
	for len(c.runs) > 1 && c.runs[1].off <= c.off {
		c.runs = c.runs[1:]
	}
	p := c.win
	if len(c.runs) > 1 {
		p = p[:min(int64(len(p)), c.runs[1].off-c.off)]
	}
	return p, c.runs[0].stream
}

// scan looks at the next piece of the window, up to the end of a line.
func (c *cursor) scan() (line, bool) {
	p, s := c.piece()
	if s != c.sel {
		c.nl += int64(bytes.Count(p, newline))
		c.advance(len(p))
		return line{}, false
	}
	if !c.open {
		if p = c.skip(p); len(p) == 0 {
			return line{}, false
		}
		c.begin(line{no: c.nl, ord: c.ord, off: -1})
	}
	if c.cur.off < 0 {
		c.cur.off = c.off
	}
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		c.hold(p)
		c.advance(len(p))
		return line{}, false
	}
	ln := c.take(p[:i])
	c.nl++
	c.ord++
	c.advance(i + 1)
	return ln, true
}

func (c *cursor) advance(n int) {
	c.win, c.off = c.win[n:], c.off+int64(n)
}

func (c *cursor) begin(ln line) {
	c.cur, c.open, c.cut, c.held = ln, true, false, c.held[:0]
}

// hold keeps a part of a line that goes on.
func (c *cursor) hold(p []byte) {
	c.cur.size += int64(len(p))
	if c.cut {
		return
	}
	c.cur.kept += int64(len(p))
	if room := c.max - len(c.held); room > 0 {
		c.held = append(c.held, p[:min(room, len(p))]...)
	}
}

// take ends the line with p. A line that lies in the window as a whole is not copied.
func (c *cursor) take(p []byte) line {
	c.open = false
	if c.cur.kept == 0 && !c.cut {
		c.cur.kept, c.cur.size = int64(len(p)), c.cur.size+int64(len(p))
		c.cur.text = p[:min(len(p), c.max)]
	} else {
		c.hold(p)
		c.cur.text = c.held
	}
	c.cur.ended = true
	return c.cur
}

// cross goes over the gap g, in or before which the cursor is. A line that ends in it is returned.
func (c *cursor) cross(g *gap) (line, bool) {
	began := c.open && c.cur.off >= 0
	if c.off > g.from.off {
		// The gap came over us. What was read of a line may be half of it: read it again, or leave it to the gap.
		if began && c.cur.off < g.from.off {
			c.off, c.nl, c.ord, c.open = c.cur.off, c.cur.no, c.cur.ord, false
			return line{}, false
		}
		c.jump(g)
		return line{}, false
	}
	if began && !g.ends(c.sel) {
		n := g.to.bytes[c.sel] - g.from.bytes[c.sel]
		c.cur.size += n
		c.cut = c.cut || n > 0 // the gap may hold bytes of the other stream alone
		c.off, c.nl = g.to.off, g.to.nl[0]
		return line{}, false
	}
	ln := c.cur
	ln.size += g.first[c.sel]
	ln.text, ln.ended = c.held, true
	c.jump(g)
	return ln, began
}

// jump goes to the end of the gap, where a line may be open that began inside.
func (c *cursor) jump(g *gap) { c.start(g.to) }
