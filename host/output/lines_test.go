package output

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-sh/sallyport"
)

func TestLines(t *testing.T) {
	t.Parallel()
	const abc = "a\nbb\nccc\nd" // the last is unfinished
	for name, c := range map[string]struct {
		text   string
		q      sallyport.LineQuery
		sealed bool
		want   string
	}{
		"all":              {abc, sallyport.LineQuery{}, true, "0:a 1:bb 2:ccc 3:d next 4 of 4"},
		"still running":    {abc, sallyport.LineQuery{}, false, "0:a 1:bb 2:ccc 3:d next 3 of 4"},
		"empty":            {"", sallyport.LineQuery{}, true, "next 0 of 0"},
		"one empty line":   {"\n", sallyport.LineQuery{}, true, "0: next 1 of 1"},
		"page":             {abc, sallyport.LineQuery{From: 1, Limit: 2}, true, "1:bb 2:ccc next 3 of 4, more"},
		"tail":             {abc, sallyport.LineQuery{From: -2}, true, "2:ccc 3:d next 4 of 4"},
		"long tail":        {abc, sallyport.LineQuery{From: -9, Limit: 1}, true, "0:a next 1 of 4, more"},
		"behind the end":   {abc, sallyport.LineQuery{From: 9}, true, "next 4 of 4"},
		"line ends page":   {abc, sallyport.LineQuery{MaxByte: 4}, true, "0:a 1:bb next 2 of 4, more"},
		"long line is cut": {abc, sallyport.LineQuery{MaxByte: 2}, true, "0:a next 1 of 4, more"},
		"even the first":   {abc, sallyport.LineQuery{From: 2, MaxByte: 2}, true, "2:cc[-1] next 3 of 4, more"},
		"cut to what is left": {
			"a\n" + strings.Repeat("x", 20), sallyport.LineQuery{MaxByte: 10}, true, "0:a 1:xxxxxxxxx[-11] next 2 of 2",
		},
		"grep":         {abc, sallyport.LineQuery{Grep: "[bd]"}, true, "1:bb* 3:d* next 4 of 4, 2 matches"},
		"grep context": {abc, sallyport.LineQuery{Grep: "^b", Context: 1}, true, "0:a 1:bb* 2:ccc next 4 of 4, 1 matches"},
		"grep page": {
			abc, sallyport.LineQuery{Grep: ".", Limit: 1, From: 1}, true, "1:bb* next 2 of 4, more, 3 matches",
		},
		"grep page with context": {
			"x\na\nx\nx\nx\na\n",
			sallyport.LineQuery{Grep: "a", Context: 1, Limit: 3},
			true,
			"0:x 1:a* 2:x next 4 of 6, more, 2 matches",
		},
		"grep nothing": {abc, sallyport.LineQuery{Grep: "z"}, true, "next 4 of 4"},
		"crlf":         {"a\r\nb\r\n", sallyport.LineQuery{Grep: "a$"}, true, "0:a\r* next 2 of 2, 1 matches"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t)
			write(t, l, c.text)
			if c.sealed {
				l.Seal()
			}
			p, err := l.Lines(c.q)
			if err != nil {
				t.Fatal(err)
			}
			if got := page(p); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestLinesOfStream shows what a line of one stream is when the other writes into the middle of it.
func TestLinesOfStream(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	for _, w := range []struct {
		s    sallyport.Stream
		text string
	}{{1, "out"}, {2, "err 0\ner"}, {1, "put 0\n"}, {2, "r 1\n"}, {1, "output 1\n"}} {
		if err := l.Append(w.s, []byte(w.text)); err != nil {
			t.Fatal(err)
		}
	}
	l.Seal()
	for s, want := range map[sallyport.Stream]string{
		sallyport.AnyStream: "0:outerr 0 1:erput 0 2:r 1 3:output 1 next 4 of 4",
		sallyport.Stdout:    "0:output 0 3:output 1 next 4 of 4",
		sallyport.Stderr:    "0:err 0 1:err 1 next 4 of 4",
	} {
		p, err := l.Lines(sallyport.LineQuery{Stream: s})
		if err != nil {
			t.Fatal(err)
		}
		if got := page(p); got != want {
			t.Errorf("stream %d:\ngot  %s\nwant %s", s, got, want)
		}
	}
	p, err := l.Lines(sallyport.LineQuery{Stream: sallyport.Stderr, From: -1})
	if err != nil || page(p) != "1:err 1 next 4 of 4" {
		t.Errorf("%s, %v", page(p), err)
	}
}

func TestLinesRefuses(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	for _, q := range []sallyport.LineQuery{
		{Limit: -1}, {MaxByte: -1}, {Context: -1}, {Context: 51}, {Stream: 3}, {Grep: "("}, {Grep: `a(?=b)`},
	} {
		_, err := l.Lines(q)
		wantCode(t, err, sallyport.Invalid)
	}
}

// TestLongLine asks for a line of 10 MB: bounded, and counted to the byte, with and without its end.
func TestLongLine(t *testing.T) {
	t.Parallel()
	const size = 10_000_000
	for _, end := range []string{"", "\n"} {
		l := newLog(t)
		write(t, l, "first\n", strings.Repeat("x", size), end)
		l.Seal()
		p, err := l.Lines(sallyport.LineQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Lines) != 2 || p.Total != 2 {
			t.Fatalf("%d lines of %d", len(p.Lines), p.Total)
		}
		ln := p.Lines[1]
		if len(ln.Text) != defaultText-len("first") || int64(len(ln.Text))+ln.Cut != size || bytes.Trim(ln.Text, "x") != nil && len(bytes.Trim(ln.Text, "x")) > 0 {
			t.Errorf("%d bytes, %d cut", len(ln.Text), ln.Cut)
		}
	}
}

// TestGrepLongLine shows how far into a line a pattern sees.
func TestGrepLongLine(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	write(t, l, strings.Repeat("x", matchSpan-6)+"needle"+strings.Repeat("x", 100)+"\n")
	write(t, l, strings.Repeat("x", matchSpan-5)+"needle\n")
	l.Seal()
	p, err := l.Lines(sallyport.LineQuery{Grep: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Lines) != 1 || p.Lines[0].No != 0 || p.Lines[0].Cut != 100 {
		t.Errorf("%d lines", len(p.Lines))
	}
}

// TestLinesWhileWritten follows a log line by line while it grows in awkward pieces: nothing is missed, nothing is
// shown twice but the unfinished line.
func TestLinesWhileWritten(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	var got []string
	var from int64
	look := func() {
		p, err := l.Lines(sallyport.LineQuery{From: from})
		if err != nil {
			t.Fatal(err)
		}
		got = got[:min(int(from), len(got))]
		for _, ln := range p.Lines {
			got = append(got, string(ln.Text))
		}
		from = p.Next
	}
	for _, text := range []string{"", "a", "b\n", "c\nd", "\n", "\n", "e"} {
		write(t, l, text)
		look()
	}
	l.Seal()
	look()
	if diff := cmp.Diff([]string{"ab", "c", "d", "", "e"}, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzLines puts any text and any query to a small log and compares it with the model.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"), int64(-2), 3, 4, uint8(0), "b|c", 1)
	f.Add(bytes.Repeat([]byte("line\n"), 2000), int64(300), 200, 1000, uint8(2), "", 0)
	f.Add(bytes.Repeat([]byte("x"), 9000), int64(0), 1, 10, uint8(1), "^x", 50)
	s, err := OpenStore(f.TempDir(), 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte, from int64, limit, maxByte int, stream uint8, grep string, context int) {
		l, err := s.create("log", 4<<10)
		if err != nil {
			t.Fatal(err)
		}
		defer remove(t, l)
		var m model
		for i, b := range [][]byte{text[:len(text)/3], text[len(text)/3:]} {
			s := sallyport.Stream(1 + i)
			if err := l.Append(s, b); err != nil {
				t.Fatal(err)
			}
			m.append(s, b)
		}
		if g := l.Stat(); g.Dropped > 0 {
			m.gaps = [][2]int64{{int64(g.DropFrom), int64(g.DropFrom) + g.Dropped}}
		}
		q := sallyport.LineQuery{
			From: from, Limit: limit, MaxByte: maxByte, Stream: sallyport.Stream(stream), Grep: grep, Context: context,
		}
		got, err := l.Lines(q)
		if err != nil {
			wantCode(t, err, sallyport.Invalid)
			return
		}
		if q.Limit == 0 {
			q.Limit = defaultLines
		}
		if q.MaxByte == 0 {
			q.MaxByte = defaultText
		}
		if len(text) > matchSpan || grep != "" && regexp.MustCompile(grep).MatchString("") && q.Limit > maxLines {
			return
		}
		for i := range got.Lines {
			if len(got.Lines[i].Text) == 0 {
				got.Lines[i].Text = nil
			}
		}
		if diff := cmp.Diff(m.lines(q), got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", q, diff)
		}
	})
}
