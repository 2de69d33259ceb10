package text

import (
	"bytes"
	"unicode/utf8"
)

// A Line is one line of cleaned text.
type Line struct {
	// Text is valid UTF-8 without the line's end. It is valid until the function it was given to returns.
	Text []byte
	// The raw bytes that it was made of are those from From up to To, counted from the first byte written; its end
	// is among them.
	From, To int64
	Ended    bool // it ended in "\n"
	Plain    bool // Text is the raw bytes as they were, without "\n" or "\r\n"
}

// Facts count what cleaning changed in what could be read.
type Facts struct {
	Replaced Replaced
	NULs     int64 // NUL characters, shown as \x00
	Controls int64 // other control characters that were made visible
}

// A Cleaner makes text of raw output, in one pass: it decodes, removes terminal sequences, resolves what a terminal
// would have overwritten ("\r", backspace, erasing and moving within the line) to what it would show in the end, and
// makes other control characters visible. It holds the current line in memory. It is not safe for concurrent use.
type Cleaner struct {
	emit    func(Line)
	decoder Decoder
	facts   Facts

	off  int64 // raw bytes taken
	from int64 // raw offset of the current line

	seq     parser
	pending []byte // the sequence so far, to be shown if it turns out to be none

	text  []byte // the line, while nothing in it was overwritten
	plain bool
	ret   bool // a "\r" came last: the end of the line may follow

	cells  []rune // the line, once something in it may be overwritten
	cursor int
	celled bool
}

// NewCleaner returns a Cleaner that gives each finished line to emit. A nil decoder means UTF-8.
func NewCleaner(decoder Decoder, emit func(Line)) *Cleaner {
	if decoder == nil {
		decoder = &UTF8{}
	}
	return &Cleaner{emit: emit, decoder: decoder, plain: true}
}

// Clean is the cleaned form of b as one text.
func Clean(b []byte) (string, Facts) {
	var out bytes.Buffer
	c := NewCleaner(nil, func(l Line) {
		out.Write(l.Text)
		if l.Ended {
			out.WriteByte('\n')
		}
	})
	_, _ = c.Write(b) // never fails
	c.Close()
	return out.String(), c.Facts()
}

// Write takes more raw output. It never fails.
func (c *Cleaner) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			c.take(p, false)
			c.off += int64(len(p))
			return n, nil
		}
		c.take(p[:i], true)
		c.off += int64(i + 1)
		c.endLine(true)
		p = p[i+1:]
	}
}

// Close gives out the last line if it lacks its end.
func (c *Cleaner) Close() {
	c.take(nil, true)
	if c.off > c.from {
		c.endLine(false)
	}
}

// Facts counts what was changed so far.
func (c *Cleaner) Facts() Facts {
	f := c.facts
	f.Replaced = c.decoder.Replaced()
	return f
}

// take decodes a piece of a line and lets its characters act.
func (c *Cleaner) take(raw []byte, last bool) {
	before := c.decoder.Replaced().Bytes
	b := c.decoder.Decode(raw, last)
	if c.decoder.Replaced().Bytes != before {
		c.plain = false
	}
	for len(b) > 0 {
		if c.seq.state != ground {
			b = c.follow(b)
			continue
		}
		n := printable(b)
		if n > 0 {
			c.put(b[:n])
			b = b[n:]
			continue
		}
		b = b[c.act(b):]
	}
}

// printable is the length of the part of b up to the first control character.
func printable(b []byte) int {
	for i, ch := range b {
		if ch < 0x20 && ch != '\t' || ch == 0x7f || ch == 0xc2 && isC1(b[i:]) {
			return i
		}
	}
	return len(b)
}

// isC1 reports whether b, valid UTF-8, begins with one of U+0080…U+009F.
func isC1(b []byte) bool { return b[0] == 0xc2 && b[1] < 0xa0 }

// act performs the control character that b begins with and returns its length.
func (c *Cleaner) act(b []byte) int {
	switch b[0] {
	case '\r':
		if c.ret {
			c.plain = false
		}
		c.ret = true
	case '\b':
		c.toCells()
		c.cursor = max(0, c.cursor-1)
	case esc:
		c.plain = false
		c.seq.start()
		c.pending = append(c.pending[:0], esc)
	default:
		return c.visible(b)
	}
	return 1
}

// visible shows the control character that b begins with and returns its length.
func (c *Cleaner) visible(b []byte) int {
	c.plain = false
	r, size := utf8.DecodeRune(b)
	if r == 0 {
		c.facts.NULs++
	} else {
		c.facts.Controls++
	}
	c.put(appendEscape(nil, r))
	return size
}

// follow feeds b to the sequence that has begun and returns what is left of b when it is over.
func (c *Cleaner) follow(b []byte) []byte {
	for i, ch := range b {
		switch c.seq.next(ch) {
		case more:
			c.pending = append(c.pending, ch)
		case done:
			c.pending = append(c.pending, ch)
			c.control(c.pending)
			return b[i+1:]
		case aborted:
			if c.seq.state == ground {
				c.spill(c.pending)
				return b[i:]
			}
			c.spill(c.pending[:len(c.pending)-1])
			c.pending = append(c.pending[:0], esc)
			return b[i:]
		}
	}
	return nil
}

// spill shows what was taken for a sequence and is none.
func (c *Cleaner) spill(b []byte) {
	for len(b) > 0 {
		n := printable(b)
		c.put(b[:n])
		if b = b[n:]; len(b) > 0 {
			b = b[c.visible(b):]
		}
	}
}

// put writes printable text, valid UTF-8, at the cursor.
func (c *Cleaner) put(b []byte) {
	if len(b) == 0 {
		return
	}
	if c.ret {
		c.toCells()
	}
	if !c.celled {
		c.text = append(c.text, b...)
		return
	}
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		for len(c.cells) < c.cursor {
			c.cells = append(c.cells, ' ')
		}
		if c.cursor < len(c.cells) {
			c.cells[c.cursor] = r
		} else {
			c.cells = append(c.cells, r)
		}
		c.cursor++
	}
}

// toCells makes the line one that can be overwritten, and performs a "\r" that was held back.
func (c *Cleaner) toCells() {
	c.plain = false
	if !c.celled {
		c.celled = true
		for _, r := range string(c.text) {
			c.cells = append(c.cells, r)
		}
		c.cursor = len(c.cells)
	}
	if c.ret {
		c.ret, c.cursor = false, 0
	}
}

// endLine gives out the line and begins the next.
func (c *Cleaner) endLine(ended bool) {
	if c.seq.state != ground {
		// What has no end of its own ends here, so that it swallows no more than this line.
		c.seq.state = ground
		c.spill(c.pending)
	}
	if c.celled {
		c.text = c.text[:0]
		for _, r := range c.cells {
			c.text = utf8.AppendRune(c.text, r)
		}
	}
	c.emit(Line{Text: c.text, From: c.from, To: c.off, Ended: ended, Plain: c.plain && (ended || !c.ret)})
	c.from = c.off
	c.text, c.cells, c.cursor = c.text[:0], c.cells[:0], 0
	c.plain, c.ret, c.celled = true, false, false
}
