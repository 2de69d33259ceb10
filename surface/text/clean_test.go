package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "one\ntwo", "one\ntwo"},
		{"tabs and blank lines stay", "\ta\n\n b \n", "\ta\n\n b \n"},
		{"crlf is no overwrite", "one\r\ntwo\r\n", "one\ntwo\n"},
		{"doubled cr", "one\r\r\ntwo\r\n", "one\ntwo\n"},
		{"rewritten line", "first\rsecond\nthird\n", "second\nthird\n"},
		{"longer old tail is kept", "longer\rlong\n", "longer\n"},
		{"longer old tail shows through", "secondX\rsecond\n", "secondX\n"},
		{"progress bar", "10%\r 50%\r100%\r\ndone\n", "100%\ndone\n"},
		{"erased line", "Downloading 99%\r\x1b[KDone\n", "Done\n"},
		{"erased first", "Downloading 99%\x1b[2K\rDone\n", "Done\n"},
		{"erased below", "spinning /\r\x1b[JDone\n", "Done\n"},
		{"column", "abcdef\x1b[3Gxy\n", "abxyef\n"},
		{"left and right", "ab\x1b[2Dx\x1b[2Cy\n", "xb y\n"},
		{"cr at the end", "50%\r", "50%"},
		{"backspace", "a\b \bb\n", "b\n"},
		{"overstrike", "_\bN_\bA\n", "NA\n"},
		{"backspace at the start", "\b\bab\n", "ab\n"},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mx\x1b[m\n", "red x\n"},
		{"charset, keypad, reset", "\x1b(Ba\x1b=b\x1bcc\n", "abc\n"},
		{"private mode", "\x1b[?25la\x1b[?25h\n", "a\n"},
		{"title", "\x1b]0;my title\x07text\n", "text\n"},
		{"hyperlink", "\x1b]8;;u\x1b\\label\x1b]8;;\x1b\\ tail\n", "label tail\n"},
		{"device string", "\x1bPq#0~\x1b\\after\n", "after\n"},
		{"application string", "\x1b_Gf=1\x1b\\after\n", "after\n"},
		{"unterminated string ends with its line", "\x1b]0;title\nrest\n", "\\x1b]0;title\nrest\n"},
		{"unterminated at the end", "a\x1b]8;;", "a\\x1b]8;;"},
		{"a sequence ends a string", "\x1b]0;t\x1b[31mred\n", "\\x1b]0;tred\n"},
		{"broken sequence", "\x1b[31\x01x\n", "\\x1b[31\\x01x\n"},
		{"lone esc", "a\x1b\n", "a\\x1b\n"},
		{"esc before a letter that is no sequence", "\x1bé\n", "\\x1bé\n"},
		{"nul", "a\x00b\n", "a\\x00b\n"},
		{"bell, vertical tab, delete", "\x07\x0b\x7f\n", "\\x07\\x0b\\x7f\n"},
		{"c1", "a\u009b31mb\n", "a\\u009b31mb\n"},
		{"invalid run", "a\xff\xfeb\n", "a\uFFFDb\n"},
		{"two runs", "\xffa\xff\n", "\uFFFDa\uFFFD\n"},
		{"overlong and surrogate", "\xc0\xaf|\xed\xa0\x80\n", "\uFFFD|\uFFFD\n"},
		{"cut character before a newline", "\xe4\xb8\nx", "\uFFFD\nx"},
		{"a real U+FFFD", "\uFFFD\n", "\uFFFD\n"},
		{"wide characters and joiners", "h\u00e9\u4e16\U0001F600 \U0001F468\u200d\U0001F469\n", "h\u00e9\u4e16\U0001F600 \U0001F468\u200d\U0001F469\n"},
		{"wide characters overwritten", "世界\r中\n", "中界\n"},
		{"huge column", "a\x1b[999999999Cb\n", "a" + strings.Repeat(" ", maxColumn-1) + "b\n"},
	} {
		if got, _ := Clean([]byte(tt.in)); got != tt.want {
			t.Errorf("%s: %q becomes %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// An unterminated string is limited: what follows is shown whole.
func TestCleanEndlessString(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 3*maxString)
	got, _ := Clean([]byte("\x1b]0;" + body + " end\n"))
	if want := "\\x1b]0;" + body + " end\n"; got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	// A character that lies across the limit stays whole.
	body = strings.Repeat("x", maxString-5) + strings.Repeat("é", 10)
	if got, _ := Clean([]byte("\x1b]0;" + body)); got != "\\x1b]0;"+body {
		t.Errorf("a character was split at the limit: …%q", Tail(got, 20))
	}
}

func TestCleanFacts(t *testing.T) {
	t.Parallel()
	_, got := Clean([]byte("a\x00\x00b\x07\xff\xfe\xfdc\xff\n"))
	want := Facts{Replaced: Replaced{Runs: 2, Bytes: 4}, NULs: 2, Controls: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCleanerLines(t *testing.T) {
	t.Parallel()
	type line struct {
		Text     string
		From, To int64
		Ended    bool
		Plain    bool
	}
	var got []line
	c := NewCleaner(nil, func(l Line) { got = append(got, line{string(l.Text), l.From, l.To, l.Ended, l.Plain}) })
	_, _ = c.Write([]byte("one\r\n\x1b[1mtwo\n\xfftri\nbar\rf"))
	_, _ = c.Write([]byte("oo\nlast\r"))
	c.Close()
	want := []line{
		{"one", 0, 5, true, true},
		{"two", 5, 13, true, false},
		{"\uFFFDtri", 13, 18, true, false},
		{"foo", 18, 26, true, false},
		{"last", 26, 31, false, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// How the input is cut into pieces must not matter.
func FuzzCleaner(f *testing.F) {
	f.Add([]byte("a\xe4\xb8\x96\x1b[31mred\x1b[0m\r\n\x1b]8;;u\x1b\\l\x1b]8;;\x07 \x00\xff\xfe\b\x1b"), uint8(3))
	f.Add([]byte("10%\r20%\x1b[K\r30%\x1b[2K\n\x1bP\xc2\x9b\x1b[1;2"), uint8(1))
	f.Add([]byte("\x1b]0;"+strings.Repeat("é", 3000)), uint8(200))
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		whole, facts := Clean(in)
		var pieces bytes.Buffer
		at := int64(0)
		c := NewCleaner(nil, func(l Line) {
			if l.From != at || l.To < l.From || l.To > int64(len(in)) {
				t.Fatalf("line [%d,%d) after %d", l.From, l.To, at)
			}
			at = l.To
			raw := bytes.TrimSuffix(bytes.TrimSuffix(in[l.From:l.To], []byte("\n")), []byte("\r"))
			if l.Plain && !bytes.Equal(l.Text, raw) {
				t.Fatalf("plain line %q was %q", l.Text, raw)
			}
			pieces.Write(l.Text)
			if l.Ended {
				pieces.WriteByte('\n')
			}
		})
		for rest := in; len(rest) > 0; {
			n := min(len(rest), int(step%7)+1)
			_, _ = c.Write(rest[:n])
			rest = rest[n:]
		}
		c.Close()
		if pieces.String() != whole || c.Facts() != facts {
			t.Fatalf("in pieces of %d: %q %+v, whole: %q %+v", step%7+1, pieces.String(), c.Facts(), whole, facts)
		}
		if at != int64(len(in)) {
			t.Fatalf("%d of %d bytes accounted for", at, len(in))
		}
		if !utf8.ValidString(whole) {
			t.Fatalf("not UTF-8: %q", whole)
		}
		for _, r := range whole {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("control character %q in %q", r, whole)
			}
		}
		if again, _ := Clean([]byte(whole)); again != whole {
			t.Fatalf("cleaning twice changes %q to %q", whole, again)
		}
	})
}

// What Complete keeps back, put in front of what follows, gives the same text as all at once.
func FuzzComplete(f *testing.F) {
	f.Add([]byte("abc\x1b[3"), []byte("1mred"))
	f.Add([]byte("\x1b]0;t\x1b"), []byte("\\x"))
	f.Add([]byte("\xf0\x9f\x98"), []byte("\x80!"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		n := Complete(a)
		if n < 0 || n > len(a) || len(a)-n > maxString+1 {
			t.Fatalf("Complete(%q) = %d", a, n)
		}
		if bytes.ContainsAny(a, "\r\b") || bytes.ContainsAny(b, "\r\b") || bytes.Contains(a, []byte("\x1b[")) || bytes.Contains(b, []byte("\x1b[")) {
			return // these act on what was shown before
		}
		first, f1 := Clean(a[:n])
		second, f2 := Clean(append(bytes.Clone(a[n:]), b...))
		whole, f3 := Clean(append(bytes.Clone(a), b...))
		if len(a) > maxString || f1.Replaced.Runs+f2.Replaced.Runs != f3.Replaced.Runs {
			return // a run of invalid bytes lies across the cut
		}
		if first+second != whole {
			t.Fatalf("%q + %q is not %q", first, second, whole)
		}
	})
}

func TestResume(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		at   int
		want string
	}{
		{"abc", 1, "bc"},
		{"a\x1b[31mred", 3, "red"},
		{"a\x1b]8;;url\x1b\\label", 4, "label"},
		{"\xe4\xb8\x96\xe7\x95\x8c", 1, "\xe7\x95\x8c"},
		{"\xe4\xb8\x96\xe7\x95\x8c", 3, "\xe7\x95\x8c"},
		{"\x1b]never ended", 3, "ever ended"},
		{"\x1b]broken\nnext", 3, "roken\nnext"},
		{"abc", 3, ""},
		{"\x80\x80\x80\x80x", 0, "\x80x"},
	} {
		if got := tt.in[Resume([]byte(tt.in), tt.at):]; got != tt.want {
			t.Errorf("Resume(%q, %d) goes on at %q, want %q", tt.in, tt.at, got, tt.want)
		}
	}
}

func BenchmarkClean(b *testing.B) {
	for name, in := range map[string][]byte{
		"plain":    bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog\n"), 6000),
		"utf8":     bytes.Repeat([]byte("世界 déjà vu, schöne Grüße \U0001F600\n"), 6000),
		"colours":  bytes.Repeat([]byte("\x1b[32mok\x1b[0m   \x1b[1mTestSomething\x1b[22m (0.01s)\n"), 6000),
		"progress": bytes.Repeat([]byte("downloading 12345 of 99999 [=====>    ]\r"), 6000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				c := NewCleaner(nil, func(Line) {})
				_, _ = c.Write(in)
				c.Close()
			}
		})
	}
}
