package output

import (
	"bytes"
	"regexp"

	"github.com/sallyport-sh/sallyport"
)

// model is what a log should be: every byte with its stream, in memory, and the stretches that are not kept, which the
// log itself chooses within its quota.
type model struct {
	data    []byte
	streams []sallyport.Stream
	sealed  bool
	gaps    [][2]int64 // from, to
}

func (m *model) append(s sallyport.Stream, p []byte) {
	m.data = append(m.data, p...)
	for range p {
		m.streams = append(m.streams, s)
	}
}

func (m *model) kept(off int64) bool {
	for _, g := range m.gaps {
		if off >= g[0] && off < g[1] {
			return false
		}
	}
	return true
}

func (m *model) end() int64 { return int64(len(m.data)) }

// read is Log.Read, one byte at a time.
func (m *model) read(r sallyport.Range) sallyport.Chunk {
	if r.Max == 0 {
		r.Max = defaultChunk
	}
	off := int64(r.From)
	c := sallyport.Chunk{From: r.From}
	for off < m.end() && !m.kept(off) {
		off++
		c.Skipped++
	}
	c.From = sallyport.Offset(off)
	for off < m.end() && m.kept(off) && len(c.Data) < r.Max {
		if r.Stream == sallyport.AnyStream || m.streams[off] == r.Stream {
			c.Data = append(c.Data, m.data[off])
		}
		off++
	}
	c.Next = sallyport.Offset(off)
	c.EOF = m.sealed && off >= m.end()
	return c
}

// modelLine is a line with all its bytes, kept or not.
type modelLine struct {
	no    int64
	offs  []int64 // of its bytes, the "\n" included
	ended bool
}

func (m *model) allLines(sel sallyport.Stream) []modelLine {
	var all []modelLine
	var nl int64
	open := false
	for i, c := range m.data {
		if sel == sallyport.AnyStream || m.streams[i] == sel {
			if !open {
				all = append(all, modelLine{no: nl})
				open = true
			}
			ln := &all[len(all)-1]
			ln.offs = append(ln.offs, int64(i))
			if c == '\n' {
				ln.ended, open = true, false
			}
		}
		if c == '\n' {
			nl++
		}
	}
	return all
}

// shown is a line as Lines returns it, before any limit; kept is how long its text is without one.
func (m *model) shown(ln modelLine) (sallyport.Line, bool) {
	out := sallyport.Line{No: ln.no, Off: -1}
	size := int64(len(ln.offs))
	if ln.ended {
		size--
	}
	ended := false
	for _, off := range ln.offs {
		switch {
		case m.kept(off) && out.Off < 0:
			out.Off = sallyport.Offset(off)
		case !m.kept(off) && out.Off >= 0:
			ended = true
		}
		if m.kept(off) && !ended && m.data[off] != '\n' {
			out.Text = append(out.Text, m.data[off])
		}
	}
	out.Cut = size - int64(len(out.Text))
	return out, out.Off >= 0
}

func (m *model) total() int64 { return int64(len(m.allLines(sallyport.AnyStream))) }

func (m *model) dropped() (n int64) {
	for _, ln := range m.allLines(sallyport.AnyStream) {
		if _, ok := m.shown(ln); !ok {
			n++
		}
	}
	return n
}

// candidate is a line that a page may show.
type candidate struct {
	sallyport.Line
	want bool
}

// lines is Log.Lines for a query with its defaults filled in.
func (m *model) lines(q sallyport.LineQuery) sallyport.LinePage {
	page := sallyport.LinePage{Total: m.total(), Dropped: m.dropped()}
	page.Next = page.Total
	var cs []candidate
	all := m.allLines(q.Stream)
	first := max(int64(len(all))+q.From, 0)
	for ord, ln := range all {
		if q.From >= 0 && ln.no < q.From || q.From < 0 && int64(ord) < first {
			continue
		}
		out, ok := m.shown(ln)
		if !ok {
			continue
		}
		if !m.sealed && !ln.ended && ord == len(all)-1 {
			page.Next = ln.no
		}
		cs = append(cs, candidate{out, q.Grep == ""})
	}
	if q.Grep != "" {
		re := regexp.MustCompile(q.Grep)
		for i := range cs {
			if cs[i].Match = re.Match(bytes.TrimSuffix(cs[i].Text, []byte("\r"))); cs[i].Match {
				page.Matches++
				for j := max(i-q.Context, 0); j <= min(i+q.Context, len(cs)-1); j++ {
					cs[j].want = true
				}
			}
		}
	}
	m.fill(&page, q, cs)
	return page
}

// fill puts the wanted lines on the page, as far as they fit.
func (m *model) fill(page *sallyport.LinePage, q sallyport.LineQuery, cs []candidate) {
	left := q.MaxByte
	for i, c := range cs {
		if !c.want {
			continue
		}
		long := len(c.Text) > left
		fresh := len(page.Lines) == 0
		if len(page.Lines) == q.Limit || long && !fresh && (left == 0 || len(c.Text) <= q.MaxByte) {
			m.rest(page, q, cs[i:])
			return
		}
		if long {
			c.Cut += int64(len(c.Text) - left)
			c.Text = c.Text[:left]
		}
		left -= len(c.Text)
		page.Lines = append(page.Lines, c.Line)
	}
}

// rest sets More and Next for a page that ends before cs: in a search only another match makes another page.
func (m *model) rest(page *sallyport.LinePage, q sallyport.LineQuery, cs []candidate) {
	if q.Grep == "" {
		page.More, page.Next = true, cs[0].No
		return
	}
	for i := range cs {
		if cs[i].Match {
			page.More, page.Next = true, cs[max(i-q.Context, 0)].No
			return
		}
	}
}
