package output

import (
	"bytes"

	"github.com/sallyport-sh/sallyport"
)

// A place is an offset of the log with everything that counting lines from there on needs. The arrays are indexed by
// stream: [AnyStream] is the log as written, the others are what one stream alone wrote.
type place struct {
	off   int64
	bytes [3]int64 // before off
	nl    [3]int64 // "\n" before off
	open  [3]int64 // bytes since the last "\n"; 0: a line begins here
	line  [3]int64 // if open: the number, in the whole log, of the line in which the open one began
}

// add moves p over b, which the stream s wrote.
func (p *place) add(b []byte, s sallyport.Stream) {
	if len(b) == 0 {
		return
	}
	n := int64(bytes.Count(b, newline))
	tail := int64(len(b))
	if n > 0 {
		tail = int64(len(b) - 1 - bytes.LastIndexByte(b, '\n'))
	}
	for _, sel := range [...]sallyport.Stream{s, sallyport.AnyStream} { // the whole log last: nl[0] numbers the lines
		switch {
		case n > 0:
			p.open[sel], p.line[sel] = tail, p.nl[0]+n
		case p.open[sel] == 0:
			p.open[sel], p.line[sel] = tail, p.nl[0]
		default:
			p.open[sel] += tail
		}
		p.bytes[sel] += int64(len(b))
		p.nl[sel] += n
	}
	p.off += int64(len(b))
}

// lines is how many lines of the selection there are before p, an unfinished one included.
func (p *place) lines(sel sallyport.Stream) int64 {
	if p.open[sel] > 0 {
		return p.nl[sel] + 1
	}
	return p.nl[sel]
}

// A gap is a stretch of the log that is not on disk. It is never changed once published; a longer one replaces it.
type gap struct {
	from, to place
	first    [3]int64 // bytes that belong to the line that was open at from
}

// ends says whether the line that was open at the gap's beginning ended inside.
func (g *gap) ends(sel sallyport.Stream) bool { return g.to.nl[sel] > g.from.nl[sel] }

// runsOn says whether, for the log or for a stream, the line that was open at the gap's beginning still is at its end.
func (g *gap) runsOn() bool {
	for sel := range g.first {
		if g.from.open[sel] > 0 && !g.ends(sallyport.Stream(sel)) {
			return true
		}
	}
	return false
}

func (g *gap) size() int64 {
	if g == nil {
		return 0
	}
	return g.to.off - g.from.off
}

// lost is how many lines lie wholly in the gap. after says that at least a byte follows it.
func (g *gap) lost(after bool) int64 {
	if g == nil || g.size() == 0 {
		return 0
	}
	// Lines begin after each "\n", and at the gap's beginning if nothing was open there.
	n := g.to.nl[0] - g.from.nl[0]
	if g.from.open[0] == 0 {
		n++
	}
	// The last of them is not lost if it goes on, or even begins, after the gap.
	if g.to.open[0] == 0 || after && n > 0 {
		n--
	}
	return n
}

// add moves the gap's end over b, which the stream s wrote.
func (g *gap) add(b []byte, s sallyport.Stream) {
	ended := [...]bool{g.ends(0), g.ends(1), g.ends(2)}
	g.to.add(b, s)
	for _, sel := range [...]sallyport.Stream{sallyport.AnyStream, s} {
		switch {
		case ended[sel]:
		case g.ends(sel):
			g.first[sel] += int64(bytes.IndexByte(b, '\n'))
		default:
			g.first[sel] += int64(len(b))
		}
	}
}
