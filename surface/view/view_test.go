package view

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/surfacetest"
	"github.com/sallyport-sh/sallyport/surface/text"
)

// logOf is a log that holds some output.
func logOf(s string) *surfacetest.Log {
	l := surfacetest.NewLog()
	l.Append(sallyport.Stdout, []byte(s))
	return l
}

func render(t *testing.T, l *surfacetest.Log, o Options) View {
	t.Helper()
	v, err := Render(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRenderWhole(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "one line", "one line\n", "two\nlines\n", "\n\n", "h\u00e9\u4e16\U0001F600\n"} {
		v := render(t, logOf(in), Options{})
		if v.Text != in || v.Truncated() || v.Shown != int64(len(in)) || v.Note() != "" || v.Next != sallyport.Offset(len(in)) {
			t.Errorf("%q becomes %+v", in, v)
		}
	}
}

func TestRenderCut(t *testing.T) {
	t.Parallel()
	numbers := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, in string
		max      int
		want     string
		note     string
	}{
		{
			"between lines", numbers(100, 199), 100, numbers(100, 109) + "[… 300 bytes, 75 lines left out …]\n" + numbers(185, 199),
			"300 of 400 bytes (75 lines) left out",
		},
		{
			"one long line", strings.Repeat("x", 300) + "\n", 100, strings.Repeat("x", 40) + "[… 201 bytes left out …]" + strings.Repeat("x", 59) + "\n",
			"201 of 301 bytes left out",
		},
		{
			"one long line without end", strings.Repeat("x", 300), 100, strings.Repeat("x", 40) + "[… 200 bytes left out …]" + strings.Repeat("x", 60),
			"200 of 300 bytes left out",
		},
		{
			"a long line between short ones", "start\n" + strings.Repeat("y", 1000) + "\nerror: z\n", 100,
			"start\n" + strings.Repeat("y", 34) + "[… 916 bytes left out …]" + strings.Repeat("y", 50) + "\nerror: z\n", "916 of 1,016 bytes left out",
		},
		{
			"characters stay whole", strings.Repeat("\u732b", 50), 10, strings.Repeat("\u732b", 4) + "[… 120 bytes left out …]" + strings.Repeat("\u732b", 6),
			"120 of 150 bytes left out",
		},
	} {
		v := render(t, logOf(tt.in), Options{MaxChars: tt.max})
		if v.Text != tt.want || v.Note() != tt.note {
			t.Errorf("%s:\n%s\nnote %q, want:\n%s\nnote %q", tt.name, v.Text, v.Note(), tt.want, tt.note)
		}
	}
}

// Every budget over a small text, against a count by hand.
func TestRenderEveryBudget(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"aa\nbb\ncc\n", "aa\nbb\ncc", "\n\n\n\n", "aaaa\n\nb\n", "a\U0001F468\u200d\U0001F469e\u0301\n世界\n"} {
		for n := 1; n <= text.Len(in)+1; n++ {
			for _, window := range []int{0, 4} {
				checkCut(t, in, render(t, logOf(in), Options{MaxChars: n, window: window}), n)
			}
		}
	}
}

var note = regexp.MustCompile(`\n?\[… ([0-9,]+) bytes(?:, ([0-9,]+) lines?)? left out …\]\n?`)

// checkCut holds a view of plain text against what was cut, found by comparing the texts.
func checkCut(t interface {
	Helper()
	Fatalf(string, ...any)
}, in string, v View, budget int,
) {
	t.Helper()
	if v.Shown+v.Omitted+v.Dropped != int64(len(in)) || v.Next != sallyport.Offset(len(in)) {
		t.Fatalf("%q in %d: shown %d, omitted %d, next %d", in, budget, v.Shown, v.Omitted, v.Next)
	}
	if !v.Truncated() {
		if v.Text != in {
			t.Fatalf("%q in %d: whole, but %q", in, budget, v.Text)
		}
		return
	}
	loc := note.FindStringSubmatchIndex(v.Text)
	if loc == nil {
		t.Fatalf("%q in %d: no note in %q", in, budget, v.Text)
	}
	head, tail := v.Text[:loc[0]], v.Text[loc[1]:]
	// A newline beside the note is the note's, unless it is the output's.
	if strings.HasPrefix(in, head+"\n") && int64(len(head)+1+len(tail)) == v.Shown {
		head += "\n"
	}
	if !strings.HasSuffix(in, tail) && strings.HasSuffix(v.Text[:loc[1]], "\n") {
		t.Fatalf("%q in %d: tail %q", in, budget, tail)
	}
	if int64(len(head)+len(tail)) < v.Shown && strings.HasSuffix(in, "\n"+tail) {
		tail = "\n" + tail
	}
	if !strings.HasPrefix(in, head) || !strings.HasSuffix(in, tail) || int64(len(head)+len(tail)) != v.Shown {
		t.Fatalf("%q in %d: %q and %q are not %d bytes of it", in, budget, head, tail, v.Shown)
	}
	if n := text.Len(head) + text.Len(tail); n > budget {
		t.Fatalf("%q in %d: %d characters", in, budget, n)
	}
	out := in[len(head) : len(in)-len(tail)]
	lines := strings.Count(out, "\n")
	if len(head) > 0 && !strings.HasSuffix(head, "\n") && lines > 0 {
		lines--
	}
	if v.OmittedLines != int64(lines) || v.FirstOmitted != int64(strings.Count(head, "\n")) {
		t.Fatalf("%q in %d: %d lines from %d, want %d from %d", in, budget, v.OmittedLines, v.FirstOmitted, lines, strings.Count(head, "\n"))
	}
}

func TestRenderProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[a-z世é]{0,60}`), 0, 40).Draw(rt, "lines")
		in := strings.Join(lines, "\n")
		o := Options{MaxChars: rapid.IntRange(4, 300).Draw(rt, "budget"), window: rapid.SampledFrom([]int{0, 8, 40, 200}).Draw(rt, "window")}
		v, err := Render(context.Background(), logOf(in), o)
		if err != nil {
			rt.Fatal(err)
		}
		if o.window > 0 && o.window < 4*o.MaxChars {
			// The windows are too small for the budget on purpose: only the arithmetic holds.
			if v.Shown+v.Omitted != int64(len(in)) || !utf8.ValidString(v.Text) || strings.Contains(v.Text, "\uFFFD") {
				rt.Fatalf("shown %d, omitted %d of %d: %q", v.Shown, v.Omitted, len(in), v.Text)
			}
			return
		}
		checkCut(rt, in, v, o.MaxChars)
	})
}

func TestRenderRange(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	in := b.String()
	from := strings.Index(in, "line 500\n")
	v := render(t, logOf(in), Options{MaxChars: 1000, From: sallyport.Offset(from), window: 4000})
	if !strings.HasPrefix(v.Text, "line 500\n") || !strings.HasSuffix(v.Text, "line 99999\n") {
		t.Errorf("%q", v.Text)
	}
	shown := strings.Count(note.ReplaceAllString(v.Text, "\n"), "\n")
	if v.OmittedLines != int64(100_000-500-shown) || v.FirstOmitted != 500+int64(strings.Count(v.Text[:strings.Index(v.Text, "[…")], "\n")) {
		t.Errorf("%d lines left out from %d; %d are shown", v.OmittedLines, v.FirstOmitted, shown)
	}
	if v.Total() != int64(len(in)-from) {
		t.Errorf("total %d", v.Total())
	}
	if v := render(t, logOf(in), Options{From: 5, To: 14}); v.Text != "0\nline 1\n" || v.Next != 14 {
		t.Errorf("%+v", v)
	}
}

// The lines of what was not read are counted by the log's index if there is much of it.
func TestRenderManyLines(t *testing.T) {
	t.Parallel()
	in := strings.Repeat("0123456\n", 1<<20)
	v := render(t, logOf(in), Options{MaxChars: 1000})
	if want := int64(1<<20 - 1000/8); v.OmittedLines != want || v.Omitted != int64(len(in))-1000 {
		t.Errorf("%d lines and %d bytes left out, want %d lines", v.OmittedLines, v.Omitted, want)
	}
}

func TestRenderStream(t *testing.T) {
	t.Parallel()
	l := surfacetest.NewLog()
	for i := range 3000 {
		l.Append(sallyport.Stdout, []byte("out "+strconv.Itoa(i)+"\n"))
		l.Append(sallyport.Stderr, []byte("err "+strconv.Itoa(i)+"\n"))
	}
	for _, window := range []int{0, 500} {
		v := render(t, l, Options{MaxChars: 100, Stream: sallyport.Stderr, window: window})
		if !strings.HasPrefix(v.Text, "err 0\n") || !strings.HasSuffix(v.Text, "err 2999\n") || strings.Contains(v.Text, "\nout ") {
			t.Errorf("%q", v.Text)
		}
		shown := strings.Count(note.ReplaceAllString(v.Text, "\n"), "\n")
		if v.OmittedLines != int64(3000-shown) || v.Total() != 10*6+90*7+900*8+2000*9 {
			t.Errorf("window %d: %d lines left out, %d shown, total %d", window, v.OmittedLines, shown, v.Total())
		}
	}
}

func TestRenderDropped(t *testing.T) {
	t.Parallel()
	in := strings.Repeat("first\n", 50) + strings.Repeat("gone!\n", 100) + strings.Repeat("final\n", 50)
	for _, stream := range []sallyport.Stream{sallyport.AnyStream, sallyport.Stdout} {
		l := logOf(in)
		l.Drop(300, 600)
		v := render(t, l, Options{Stream: stream})
		if v.Dropped != 600 || v.Omitted != 0 || v.Shown != 600 || v.Note() != "600 bytes dropped by the output quota" {
			t.Errorf("%+v", v)
		}
		want := strings.Repeat("first\n", 50) + "[… 600 bytes dropped by the output quota …]" + strings.Repeat("final\n", 50)
		if strings.ReplaceAll(v.Text, "]\n", "]") != want {
			t.Errorf("%q", v.Text)
		}
		v = render(t, l, Options{MaxChars: 60, Stream: stream})
		if v.Dropped != 600 || v.Omitted != 540 || v.OmittedLines != 90 || v.Note() != "540 of 1,200 bytes (90 lines) left out, 600 bytes dropped by the output quota" {
			t.Errorf("%+v %s", v, v.Note())
		}
	}
	// A range inside what was dropped.
	l := logOf(in)
	l.Drop(300, 600)
	if v := render(t, l, Options{From: 400, To: 500}); v.Dropped != 100 || v.Shown != 0 || !v.Truncated() {
		t.Errorf("%+v", v)
	}
}

func TestRenderPartial(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"done\n\xe4\xb8", "done\n"},
		{"a\x1b[3", "a"},
		{"\xf0\x9f", ""},
	} {
		v := render(t, logOf(tt.in), Options{Partial: true})
		if v.Text != tt.want || v.Next != sallyport.Offset(len(tt.want)) || v.Total() != int64(len(tt.want)) {
			t.Errorf("%q becomes %+v", tt.in, v)
		}
	}
	if v := render(t, logOf("a\xe4\xb8"), Options{}); v.Text != "a\uFFFD" || v.Facts.Replaced.Bytes != 2 {
		t.Errorf("at the end of the output: %+v", v)
	}
}

func TestRenderBinary(t *testing.T) {
	t.Parallel()
	elf := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00\x00\x00\x05abc", 100)
	for _, tt := range []struct{ name, in, want string }{
		{"program", elf, "binary output: 707 bytes (ELF program), not shown"},
		{"zeroes", strings.Repeat("\x00", 5000), "binary output: 5,000 bytes (unknown format), not shown"},
		{"nul between words", strings.Repeat("./some/file\x00", 50), ""},
		{"one nul", "a\x00b\n", ""},
		{"unknown charset", strings.Repeat("\xd6\xd0\xce\xc4 ", 50), ""},
		{"colours", strings.Repeat("\x1b[31mx\x1b[0m\n", 50), ""},
		{"small", "\x00\x01\x02\x03", ""},
	} {
		v := render(t, logOf(tt.in), Options{})
		if v.Binary != tt.want || (v.Text == "") != (tt.want != "") {
			t.Errorf("%s: %q, want %q", tt.name, v.Binary, tt.want)
		}
		if tt.want != "" && v.Omitted != int64(len(tt.in)) {
			t.Errorf("%s: omitted %d", tt.name, v.Omitted)
		}
	}
}

// A progress bar of many states is its last one, and nothing is left out.
func TestRenderProgress(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&b, "\r%4d of 1000", i)
	}
	v := render(t, logOf(b.String()+"\nok\n"), Options{MaxChars: 1000})
	if v.Text != "1000 of 1000\nok\n" || v.Truncated() {
		t.Errorf("%+v", v)
	}
}

// Memory does not grow with the log.
func TestRenderMemory(t *testing.T) {
	l := logOf(strings.Repeat("0123456789abcde\n", 1<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	render(t, l, Options{})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
		t.Errorf("%d bytes allocated for a view of 16 MiB", n)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 5, ""},
		{"short", 10, "short"},
		{"abcdef", 3, "def"},
		{strings.Repeat("世", 2000) + "界", 2, "世界"},
		{strings.Repeat("x", 5000) + "\x1b[31mred\x1b[0m", 4, "xred"},
	} {
		l := logOf(tt.in)
		st, _ := l.Status(t.Context())
		got, err := Tail(t.Context(), l, st, tt.n)
		if err != nil || got != tt.want {
			t.Errorf("the last %d of %q are %q, %v", tt.n, text.Tail(tt.in, 20), got, err)
		}
	}
	l := logOf("one\ntwo\r\n50%\r60%\n\n")
	st, _ := l.Status(t.Context())
	if got, _ := LastLine(t.Context(), l, st, 20); got != "60%" {
		t.Errorf("last line %q", got)
	}
	l = logOf("lost" + strings.Repeat(" lost", 100) + "kept")
	l.Drop(0, 504)
	st, _ = l.Status(t.Context())
	if got, _ := Tail(t.Context(), l, st, 100); got != "kept" {
		t.Errorf("after a drop: %q", got)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 61877: "61,877", 1234567890: "1,234,567,890", -1000: "-1,000"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %s", n, got)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	for name, in := range map[string][]byte{
		"small": []byte("Linux\nMakefile\nREADME.md\n"),
		"cut":   bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog\n"), 10_000),
	} {
		b.Run(name, func(b *testing.B) {
			l := logOf(string(in))
			for b.Loop() {
				if _, err := Render(b.Context(), l, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
