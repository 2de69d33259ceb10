package output

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/sallyport-sh/sallyport"
)

// matchSpan is how much of a line a pattern sees: bounded, because a line may be as long as the log.
const matchSpan = 64 << 10

// A matcher is a pattern for single lines.
type matcher struct {
	re    *regexp.Regexp
	lit   []byte // every match contains it; looked for first, being 20 times as fast
	whole bool   // lit is all of the pattern
}

func newMatcher(op, pattern string) (*matcher, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		msg := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return nil, &sallyport.Error{
			Code: sallyport.Invalid, Op: op, Msg: "bad pattern: " + msg, Hint: "use RE2 syntax; escape . ( ) [ ] { } * + ? ^ $ | \\ to match them literally",
		}
	}
	lit, whole := re.LiteralPrefix()
	return &matcher{re, []byte(lit), whole}, nil
}

// view is the part of a line that is looked at: without the "\r" of "\r\n", so that $ finds its end.
func (m *matcher) view(text []byte) []byte {
	return bytes.TrimSuffix(text[:min(len(text), matchSpan)], []byte{'\r'})
}

func (m *matcher) match(text []byte) bool {
	text = m.view(text)
	if len(m.lit) > 0 && !bytes.Contains(text, m.lit) {
		return false
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
