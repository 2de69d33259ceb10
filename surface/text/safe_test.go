package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSafe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"plain\ttext\n", "plain\ttext\n"},
		{"schöne 世界 \U0001F600", "schöne 世界 \U0001F600"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"a\rb\x00\x7f", `a\x0db\x00\x7f`},
		{"rm \u202egnp.exe", `rm \u202egnp.exe`},
		{"a\u2066b\u2069", `a\u2066b\u2069`},
		{"zero\u200bwidth\u200d\ufeff\u00ad", `zero\u200bwidth\u200d\ufeff\u00ad`},
		{"no\u00a0break\u2003em\u3000wide", `no\u00a0break\u2003em\u3000wide`},
		{"line\u2028sep\u2029", `line\u2028sep\u2029`},
		{"tag\U000e0041\U000e0001", `tag\U000e0041\U000e0001`},
		{"filler\u3164\u115f\u2800", `filler\u3164\u115f\u2800`},
		{"vs\ufe0f\U000e0100", `vs\ufe0f\U000e0100`},
		{"bad\xff\xc3", `bad\xff\xc3`},
		{"private\ue000", `private\ue000`},
		{"c1\u0085", `c1\u0085`},
	} {
		if got := Safe(tt.in); got != tt.want {
			t.Errorf("Safe(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestLabel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"echo  a\n\tb ", 20, "echo a b"},
		{"0123456789", 5, "01…89"},
		{"\x1b[2J", 20, `\x1b[2J`},
		{strings.Repeat("x", 1<<20), 3, "x…x"},
		{"", 3, ""},
	} {
		if got := Label(tt.in, tt.n); got != tt.want {
			t.Errorf("Label(%q, %d) = %q, want %q", Head(tt.in, 20), tt.n, got, tt.want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	f.Add("a\u202eb\xff\x1b")
	f.Fuzz(func(t *testing.T, s string) {
		safe := Safe(s)
		if Safe(safe) != safe {
			t.Fatalf("Safe(%q) = %q is not safe", s, safe)
		}
		for _, r := range safe {
			if r != '\n' && r != '\t' && (!unicode.IsPrint(r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("%q in Safe(%q)", r, s)
			}
		}
		if label := Label(s, 40); Len(label) > 40 || strings.ContainsAny(label, "\n\t") {
			t.Fatalf("Label(%q) = %q", s, label)
		}
	})
}

// Every cut of a text of emoji, joiners and combining marks is valid and of the length asked for.
func TestCuts(t *testing.T) {
	t.Parallel()
	s := "a\U0001F468\u200d\U0001F469\u200d\U0001F467e\u0301世\U0001F1E9\U0001F1EAz"
	total := Len(s)
	for n := range total + 2 {
		head, tail, middle := Head(s, n), Tail(s, n), Middle(s, n)
		for name, cut := range map[string]string{"head": head, "tail": tail, "middle": middle} {
			if !utf8.ValidString(cut) || Len(cut) != min(n, total) {
				t.Errorf("%s of %d: %q", name, n, cut)
			}
		}
		if head+Tail(s, total-n) != s && n <= total {
			t.Errorf("%q and %q are not the whole", head, Tail(s, total-n))
		}
	}
}
