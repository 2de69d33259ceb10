package output

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestLiterals(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"error":             "[error] whole",
		"error: .*":         "[error: ]",
		"^error$":           "[error]",
		"error|fail|panic":  "[error fail panic]",
		"(error|fail): x":   "[error fail]",
		"(?i)error":         "[]",
		"a?bc+":             "[b]",
		"x*":                "[]",
		"[ab]c":             "[c]",
		"a|b*":              "[]",
		"(abc){2}":          "[abc]",
		"(abc){0,2}":        "[]",
		"\uFFFD":            "[]",
		"1|2|3|4|5|6|7|8|9": "[]",
	} {
		m, err := newMatcher("", pattern)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s", m.lits)
		if m.whole {
			got += " whole"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

// TestMatchAgainstRegexp checks that looking for literals first changes nothing.
func TestMatchAgainstRegexp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`(\^?(a|b|ab|[ab]|\.|\(a\|b\)|\(ab\|c\)\+|\(\?i:A\)|c\{1,2\})(\||\*|\?|)){1,4}\$?`).Filter(compiles).Draw(t, "pattern")
		re := regexp.MustCompile(pattern)
		m, err := newMatcher("", pattern)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			text := []byte(rapid.StringMatching(`[abcA]{0,8}`).Draw(t, "text"))
			if m.match(text) != re.Match(text) {
				t.Fatalf("%q in %q: %v", pattern, text, m.match(text))
			}
			s := m.sieve()
			if s == nil {
				continue
			}
			s.reset()
			if i := s.next(text, 100); i == len(text) && re.Match(text) || i < len(text) && !bytes.ContainsAny(text[i:], "abcA") {
				t.Fatalf("%q in %q: sieve says %d", pattern, text, i)
			}
		}
	})
}
