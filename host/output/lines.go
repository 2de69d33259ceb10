package output

import (
	"bytes"
	"fmt"
	"math"

	"github.com/sallyport-sh/sallyport"
)

const (
	defaultLines   = 200     // as sallyport.LineQuery says
	maxLines       = 100_000 // an empty line costs memory, too
	defaultText    = 1 << 20
	maxText        = 16 << 20
	maxContext     = 50
	countAfterPage = 64 << 20 // how far a search goes on counting once its page is full
)

// Lines returns a page of lines: at most q.Limit (100,000 at most) with at most q.MaxByte bytes of text (16 MiB).
//
// All numbers are of the log as written. With q.Stream, a line is what lies between two "\n" of that stream, and has
// the number of the log's line in which it began; a negative From then counts lines of that stream. Total and Dropped
// always count the whole log's.
//
// A line that does not fit into what is left of MaxByte, but would into a fresh page, ends the page; a longer one is
// cut. A line of which the quota took a part has that part in Cut, too: its Text is then what is left at its beginning,
// or, if the beginning is gone, what follows the gap, and Off is where Text lies.
//
// The last line of a log that is not sealed may be unfinished: it is returned, and Next is its own number, so that a
// reader that goes on sees it whole.
//
// With q.Grep, the pattern sees a line's first 64 KiB without the "\r" of "\r\n", and of each line no more is
// returned. Context lines count towards Limit. Counting Matches goes on behind a full page, for 64 MiB at most.
// Errors: [sallyport.Invalid], [sallyport.NotFound], [sallyport.Closed].
func (l *Log) Lines(q sallyport.LineQuery) (sallyport.LinePage, error) {
	p := pager{q: q}
	if err := p.check(); err != nil {
		return sallyport.LinePage{}, err
	}
	v, err := l.counted()
	if err != nil {
		return sallyport.LinePage{}, edge("output.Lines", err)
	}
	p.page.Total = v.pos.lines(sallyport.AnyStream)
	p.atEnd = p.page.Total
	c := l.cursor(v, q.Stream, p.text())
	defer c.close()
	skip := p.seek(c)
	if p.match == nil {
		err = p.plain(c, skip)
	} else {
		err = p.search(c, skip)
	}
	if err != nil {
		return sallyport.LinePage{}, edge("output.Lines", err)
	}
	after := v.end
	if c.v.lost != nil {
		after = c.v.lost.from.off
	}
	p.page.Dropped = c.v.gap.lost(c.v.gap != nil && after > c.v.gap.to.off) + c.v.lost.lost(false)
	return p.page, nil
}

// counted returns a view whose lines are counted up to its end.
func (l *Log) counted() (view, error) {
	v, err := l.look()
	if err != nil || v.b == nil {
		return v, err
	}
	v.b.scan.Lock() // readers would only do the same work twice
	err = l.scanTo(v.end)
	v.b.scan.Unlock()
	if err != nil {
		return v, err
	}
	if v, err = l.look(); err != nil {
		return v, err
	}
	if v.broken != nil {
		return v, fmt.Errorf("count lines: %w", v.broken)
	}
	v.sealed = v.sealed && v.pos.off == v.end
	v.end = v.pos.off
	return v, nil
}

// A pager fills one page.
type pager struct {
	q     sallyport.LineQuery
	match *matcher
	page  sallyport.LinePage
	left  int // bytes
	full  bool
	atEnd int64 // Next for a reader that has come to the end
}

func (p *pager) check() error {
	const op = "output.Lines"
	q := &p.q
	switch {
	case q.Limit < 0 || q.MaxByte < 0:
		return invalid(op, "limits can't be negative")
	case q.Context < 0 || q.Context > maxContext:
		return invalid(op, fmt.Sprintf("context must be 0 to %d", maxContext))
	case q.Stream > sallyport.Stderr:
		return invalid(op, "no such stream")
	}
	if q.Limit == 0 {
		q.Limit = defaultLines
	}
	if q.MaxByte == 0 {
		q.MaxByte = defaultText
	}
	q.Limit, q.MaxByte = min(q.Limit, maxLines), min(q.MaxByte, maxText)
	p.left = q.MaxByte
	if q.Grep == "" {
		return nil
	}
	var err error
	p.match, err = newMatcher(op, q.Grep)
	return err
}

// text is how much of a line's text is needed.
func (p *pager) text() int {
	if p.match != nil {
		return matchSpan
	}
	return p.q.MaxByte
}

// seek sends the cursor to the page's beginning and returns what says of a line that it comes before it.
func (p *pager) seek(c *cursor) func(*line) bool {
	from := p.q.From
	if from < 0 {
		first := max(c.v.pos.lines(c.sel)+from, 0)
		c.seekOrd(first)
		return func(ln *line) bool { return ln.ord < first }
	}
	c.seek(from)
	return func(ln *line) bool { return ln.no < from }
}

// next returns the cursor's next line that is not to be skipped, the unfinished one at the end included. At the end it
// sets where to go on.
func (p *pager) next(c *cursor, skip func(*line) bool) (line, bool, error) {
	for {
		ln, ok, err := c.read()
		if err != nil {
			return line{}, false, err
		}
		if ok && !skip(&ln) {
			return ln, true, nil
		}
		if ok {
			continue
		}
		ln, ok = c.rest()
		c.open = false // handed out: it does not come again
		if !ok || skip(&ln) {
			return line{}, false, nil
		}
		if !c.v.sealed {
			p.atEnd = ln.no
		}
		return ln, true, nil
	}
}

func (p *pager) plain(c *cursor, skip func(*line) bool) error {
	for {
		ln, ok, err := p.next(c, skip)
		if err != nil {
			return err
		}
		if !ok {
			p.page.Next = p.atEnd
			return nil
		}
		if !p.add(&ln, false) {
			p.more(ln.no)
			return nil
		}
	}
}

func (p *pager) search(c *cursor, skip func(*line) bool) error {
	before := backlog{lines: make([]line, p.q.Context)}
	after := 0
	c.sieve, c.back = p.match.sieve(), p.q.Context
	for stop := int64(math.MaxInt64); c.off < stop; {
		c.sifting = c.sieve != nil && after == 0
		ln, ok, err := p.next(c, skip)
		if err != nil {
			return err
		}
		if !ok {
			if !p.page.More {
				p.page.Next = p.atEnd
			}
			return nil
		}
		hit := p.match.match(ln.text)
		if hit {
			p.page.Matches++
		}
		switch {
		case p.full && hit:
			p.more(before.first(&ln).no)
		case p.full:
			before.push(line{no: ln.no})
		case hit:
			p.addHit(&before, &ln)
			after = p.q.Context
		case after > 0:
			// Context that no longer fits is no reason for another page: a match is.
			if after--; !p.add(&ln, false) {
				before.push(line{no: ln.no})
			}
		default:
			before.push(ln)
		}
		if p.full && stop == math.MaxInt64 {
			stop = c.off + countAfterPage
		}
	}
	p.more(c.nl)
	return nil
}

// addHit puts a match on the page, after the lines before it.
func (p *pager) addHit(before *backlog, ln *line) {
	for {
		first := before.first(ln)
		if !p.add(first, first == ln) {
			p.more(first.no)
			return
		}
		if first == ln {
			return
		}
		before.pop()
	}
}

// more says that line no is the first that another page would show.
func (p *pager) more(no int64) {
	if !p.page.More {
		p.page.More, p.page.Next = true, no
	}
}

// add puts a line on the page. False: it does not fit, and the page is full.
func (p *pager) add(ln *line, match bool) bool {
	if p.full {
		return false
	}
	text := ln.text
	if len(text) > p.left {
		if len(p.page.Lines) > 0 && (p.left == 0 || ln.kept <= int64(p.q.MaxByte)) {
			p.full = true
			return false
		}
		text = text[:p.left]
	}
	p.left -= len(text)
	p.page.Lines = append(p.page.Lines, sallyport.Line{
		No: ln.no, Off: sallyport.Offset(ln.off), Text: bytes.Clone(text), Cut: ln.size - int64(len(text)), Match: match,
	})
	p.full = len(p.page.Lines) == p.q.Limit
	return true
}

// A backlog holds the last lines that did not match.
type backlog struct {
	lines   []line // a ring
	at, len int
}

func (b *backlog) push(ln line) {
	if len(b.lines) == 0 {
		return
	}
	if b.len == len(b.lines) {
		b.pop()
	}
	s := &b.lines[(b.at+b.len)%len(b.lines)]
	ln.text = append(s.text[:0], ln.text...)
	*s = ln
	b.len++
}

func (b *backlog) pop() {
	b.at = (b.at + 1) % len(b.lines)
	b.len--
}

// first returns the oldest line, or ln if there is none.
func (b *backlog) first(ln *line) *line {
	if b.len == 0 {
		return ln
	}
	return &b.lines[b.at]
}
