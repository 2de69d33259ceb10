package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// A layout says where the keys of a TOML text stand, which the parser does not tell: for the lines of problems, and for
// edits that leave everything else as it is.
type layout struct {
	entries []entry
	tables  []table        // tables[0] is the root, before the first header
	lines   map[string]int // see index
}

// An entry is one "key = value".
type entry struct {
	path     []string // from the root of the file
	line     int      // of the key, from 1
	start    int      // offset of the key
	value    span     // of the value
	table    int      // the table it stands in: index into tables
	inline   bool     // it stands in an inline table
	children []int    // of an inline table: index of its entries
}

// A table is a header and the entries that follow it.
type table struct {
	path  []string
	line  int
	array bool // [[path]]
	end   int  // where a further entry goes: behind the line of the last one, or of the header
}

// A span is src[from:to].
type span struct{ from, to int }

// line finds the line of a key: its own, else that of the nearest table or key round it; 0 if there is none.
func (l *layout) line(path []string) int {
	if l.lines == nil {
		l.index()
	}
	for n := len(path); n > 0; n-- {
		if line := l.lines[pathID(path[:n])]; line > 0 {
			return line
		}
	}
	return 0
}

// index notes the line of every entry, header, and beginning of such: a table that exists only as the beginning of
// longer paths stands where the first of them does.
func (l *layout) index() {
	l.lines = map[string]int{}
	begin := map[string]int{}
	note := func(path []string, line int) {
		for n := 1; n <= len(path); n++ {
			to, id := begin, pathID(path[:n])
			if n == len(path) {
				to = l.lines
			}
			if to[id] == 0 || line < to[id] {
				to[id] = line
			}
		}
	}
	for _, e := range l.entries {
		note(e.path, e.line)
	}
	for _, t := range l.tables[1:] {
		note(t.path, t.line)
	}
	for id, line := range begin {
		if l.lines[id] == 0 {
			l.lines[id] = line
		}
	}
}

// pathID is a key for maps. Keys cannot hold NUL unescaped, and one that does so escaped is no key of ours.
func pathID(path []string) string { return strings.Join(path, "\x00") }

// find is the index of the entry of path, or -1.
func (l *layout) find(path []string) int {
	return slices.IndexFunc(l.entries, func(e entry) bool { return slices.Equal(e.path, path) })
}

// scan finds the layout of a text that the TOML parser has accepted. On any other text it ends, with some layout.
func scan(src []byte) *layout {
	s := &scanner{src: src, line: 1, out: &layout{tables: []table{{}}}}
	for s.skip(blank); s.pos < len(s.src); s.skip(blank) {
		at := s.pos
		if s.src[s.pos] == '[' {
			s.header()
		} else {
			t := len(s.out.tables) - 1
			s.pair(s.out.tables[t].path, false)
			s.endLine()
			s.out.tables[t].end = s.pos
		}
		if s.pos == at { // not TOML: go on somewhere
			s.advance(1)
		}
	}
	return s.out
}

type scanner struct {
	src  []byte
	pos  int
	line int
	out  *layout
}

// What skip skips besides spaces and tabs.
const (
	inLine = false // nothing
	blank  = true  // line ends and comments
)

func (s *scanner) advance(n int) {
	n = min(n, len(s.src)-s.pos)
	s.line += bytes.Count(s.src[s.pos:s.pos+n], []byte{'\n'})
	s.pos += n
}

func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

func (s *scanner) skip(lines bool) {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == ' ' || c == '\t':
			s.advance(1)
		case lines && (c == '\n' || c == '\r'):
			s.advance(1)
		case lines && c == '#':
			s.comment()
		case s.pos == 0 && bytes.HasPrefix(s.src, []byte("\ufeff")):
			s.advance(3)
		default:
			return
		}
	}
}

// comment goes to the end of the line.
func (s *scanner) comment() {
	n := bytes.IndexByte(s.src[s.pos:], '\n')
	if n < 0 {
		n = len(s.src) - s.pos
	}
	s.advance(n)
}

// endLine goes behind the end of the line.
func (s *scanner) endLine() {
	s.comment()
	s.advance(1)
}

// header reads [a.b] or [[a.b]].
func (s *scanner) header() {
	t := table{line: s.line}
	s.advance(1)
	if s.peek() == '[' {
		t.array = true
		s.advance(1)
	}
	t.path = s.key()
	s.endLine()
	t.end = s.pos
	s.out.tables = append(s.out.tables, t)
}

// pair reads key = value, below prefix, and returns its index.
func (s *scanner) pair(prefix []string, inline bool) int {
	i := len(s.out.entries)
	e := entry{line: s.line, start: s.pos, table: len(s.out.tables) - 1, inline: inline}
	e.path = append(slices.Clone(prefix), s.key()...)
	s.out.entries = append(s.out.entries, e)
	if s.peek() == '=' {
		s.advance(1)
	}
	s.skip(inLine)
	from := s.pos
	children := s.value(e.path)
	s.out.entries[i].value = span{from, s.pos}
	s.out.entries[i].children = children
	return i
}

// key reads a.b."c d" with the spaces behind it.
func (s *scanner) key() []string {
	var parts []string
	for {
		s.skip(inLine)
		at := s.pos
		switch s.peek() {
		case '"', '\'':
			s.str()
			parts = append(parts, unquoteKey(string(s.src[at:s.pos])))
		default:
			for s.pos < len(s.src) && isBareByte(s.src[s.pos]) {
				s.pos++
			}
			parts = append(parts, string(s.src[at:s.pos]))
		}
		s.skip(inLine)
		if s.peek() != '.' {
			return parts
		}
		s.advance(1)
	}
}

// unquoteKey is what a quoted part of a key means.
func unquoteKey(raw string) string {
	if body := strings.Trim(raw, raw[:1]); !strings.Contains(body, `\`) || raw[0] == '\'' {
		return body
	}
	var doc struct{ K string }
	if _, err := toml.Decode("K = "+raw, &doc); err != nil {
		return raw
	}
	return doc.K
}

// value goes behind a value. Of an inline table it returns the entries; those in lists have no path of their own and
// are passed over.
func (s *scanner) value(path []string) []int {
	switch s.peek() {
	case '"', '\'':
		s.str()
	case '[':
		s.list()
	case '{':
		return s.inline(path)
	default:
		for s.pos < len(s.src) && !bytes.ContainsRune([]byte(",]}#\r\n"), rune(s.src[s.pos])) {
			s.pos++
		}
		for s.pos > 0 && (s.src[s.pos-1] == ' ' || s.src[s.pos-1] == '\t') { // a date may hold a space, so trim behind it
			s.pos--
		}
	}
	return nil
}

func (s *scanner) list() {
	s.advance(1)
	for s.skip(blank); s.pos < len(s.src) && s.peek() != ']'; s.skip(blank) {
		at := s.pos
		known := len(s.out.entries)
		s.value(nil)
		s.out.entries = s.out.entries[:known]
		s.skip(blank)
		if s.peek() == ',' || s.pos == at {
			s.advance(1)
		}
	}
	s.advance(1)
}

func (s *scanner) inline(path []string) []int {
	var children []int
	s.advance(1)
	for s.skip(blank); s.pos < len(s.src) && s.peek() != '}'; s.skip(blank) {
		at := s.pos
		children = append(children, s.pair(path, true))
		s.skip(blank)
		if s.peek() == ',' || s.pos == at {
			s.advance(1)
		}
	}
	s.advance(1)
	return children
}

// str goes behind a string of any of the four forms.
func (s *scanner) str() {
	quote := s.src[s.pos : s.pos+1]
	if three := bytes.Repeat(quote, 3); bytes.HasPrefix(s.src[s.pos:], three) {
		s.advance(3)
		s.until(three, quote[0] == '"')
		for s.pos < len(s.src) && s.src[s.pos] == quote[0] { // up to two quotes may stand right before the end
			s.advance(1)
		}
		return
	}
	s.advance(1)
	s.until(quote, quote[0] == '"')
}

// until goes behind the next end; a backslash hides the byte after it if there are escapes.
func (s *scanner) until(end []byte, escapes bool) {
	for s.pos < len(s.src) {
		switch {
		case escapes && s.src[s.pos] == '\\':
			s.advance(2)
		case bytes.HasPrefix(s.src[s.pos:], end):
			s.advance(len(end))
			return
		default:
			s.advance(1)
		}
	}
}
