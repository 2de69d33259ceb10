package output

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-sh/sallyport"
)

// matchSpan is how much of a line a pattern sees: bounded, because a line may be as long as the log.
const matchSpan = 64 << 10

// A matcher is a pattern for single lines.
type matcher struct {
	re *regexp.Regexp
	// Each match contains one of these. They are looked for first: that is 20 times as fast. None: nothing is known.
	lits  [][]byte
	whole bool // to contain one is to match
}

func newMatcher(op, pattern string) (*matcher, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, &sallyport.Error{
			Code: sallyport.Invalid, Op: op, Msg: "bad pattern: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			Hint: `use RE2 syntax; put a \ before . ( ) [ ] { } * + ? ^ $ | \ to match them as they are`,
		}
	}
	m := &matcher{re: re}
	if tree, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		m.lits = literals(tree)
		m.whole = tree.Op == syntax.OpLiteral && m.lits != nil
	}
	return m, nil
}

// maxLiterals bounds the set: each costs a pass over the text.
const maxLiterals = 8

// literals returns strings of which every match contains one, or nil.
func literals(re *syntax.Regexp) [][]byte {
	switch re.Op {
	case syntax.OpLiteral:
		// U+FFFD also matches every byte that is no UTF-8.
		if re.Flags&syntax.FoldCase == 0 && !slices.Contains(re.Rune, utf8.RuneError) {
			return [][]byte{[]byte(string(re.Rune))}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return literals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best [][]byte
		for _, sub := range re.Sub {
			if set := literals(sub); shortest(set) > shortest(best) {
				best = set
			}
		}
		return best
	case syntax.OpAlternate:
		var all [][]byte
		for _, sub := range re.Sub {
			set := literals(sub)
			if set == nil {
				return nil
			}
			all = append(all, set...)
		}
		if len(all) <= maxLiterals {
			return all
		}
	default: // classes, anchors, what may be left out
	}
	return nil
}

func shortest(set [][]byte) int {
	n := 0
	for i, lit := range set {
		if i == 0 || len(lit) < n {
			n = len(lit)
		}
	}
	return n
}

// view is the part of a line that is looked at: without the "\r" of "\r\n", so that $ finds its end.
func (m *matcher) view(text []byte) []byte {
	return bytes.TrimSuffix(text[:min(len(text), matchSpan)], []byte{'\r'})
}

func (m *matcher) match(text []byte) bool {
	text = m.view(text)
	for i, lit := range m.lits {
		if bytes.Contains(text, lit) {
			break
		}
		if i == len(m.lits)-1 {
			return false
		}
	}
	return m.whole || m.re.Match(text)
}

// matchAfter says whether a match reaches beyond text[:known].
func (m *matcher) matchAfter(text []byte, known int) bool {
	text = m.view(text)
	for _, loc := range m.re.FindAllIndex(text, -1) {
		if loc[1] > known {
			return true
		}
	}
	return false
}

// A sieve finds the next place in a text where a match may be.
type sieve struct {
	lits [][]byte
	at   []int64 // offset of the next occurrence of each, as far as known
}

func (m *matcher) sieve() *sieve {
	if len(m.lits) == 0 {
		return nil
	}
	return &sieve{m.lits, make([]int64, len(m.lits))}
}

// reset forgets what is known: the text is another one.
func (s *sieve) reset() {
	for i := range s.at {
		s.at[i] = -1
	}
}

// next returns the index of the first literal in text, which lies at off, or len(text).
func (s *sieve) next(text []byte, off int64) int {
	first := len(text)
	for i, lit := range s.lits {
		if s.at[i] < off { // passed: otherwise what was found before still holds
			s.at[i] = off + int64(len(text))
			if j := bytes.Index(text, lit); j >= 0 {
				s.at[i] = off + int64(j)
			}
		}
		first = min(first, int(s.at[i]-off))
	}
	return first
}
