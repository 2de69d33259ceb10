// Package view makes of a session's output log what a model should read of it: text, head and tail within a budget of
// characters, with exact counts of what is left out.
//
// It owns the choice of what to show; package text owns how bytes become text. It reads the log by offset and holds two
// windows of it at most, whatever the log's size. It knows nothing of results, tools or protocols.
//
// Invariant: Shown + Omitted + Dropped is what the program wrote in the range that was asked for (of both streams
// together; see [View]), and a view that leaves nothing out is the whole output.
package view

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/text"
)

// DefaultChars is the budget of a view where none is given: about 5,000 tokens, half of what clients begin to warn of.
const DefaultChars = 16_000

// Options say what to render.
type Options struct {
	MaxChars int                 // code points of output at most; a note where something is left out comes on top. 0: DefaultChars
	From     sallyport.Offset    // first byte
	To       sallyport.Offset    // end; 0: as far as output goes now
	Stream   sallyport.Stream    // AnyStream: both, as written
	Status   *sallyport.Status   // of the session, if the caller has just read it
	Partial  bool                // more may follow: what is incomplete at the end is left for the next view
	Decoder  func() text.Decoder // nil: UTF-8

	window int // bytes of each end that are read; for tests
}

// A View is what a model reads of a range of output.
type View struct {
	Text   string           // the output, or head and tail of it round a note
	Binary string           // instead of Text: what the output is, because it is no text
	Next   sallyport.Offset // where the next view goes on

	Shown   int64 // bytes that Text stands for
	Omitted int64 // bytes left out; they can be read from the log. In a line that a program rewrote, as shown
	Dropped int64 // bytes that the quota took, of both streams; they are gone

	OmittedLines int64 // lines of which nothing is shown
	FirstOmitted int64 // number, from 0, of the first line that is not shown whole
	Facts        text.Facts
}

// Truncated reports whether something of the output is not in Text.
func (v View) Truncated() bool { return v.Omitted > 0 || v.Dropped > 0 }

// Total is what the program wrote in the range, in bytes.
func (v View) Total() int64 { return v.Shown + v.Omitted + v.Dropped }

// Render makes the view of a range of output.
func Render(ctx context.Context, out sallyport.Output, o Options) (View, error) {
	if o.Status == nil {
		st, err := out.Status(ctx)
		if err != nil {
			return View{}, err
		}
		o.Status = &st
	}
	if o.MaxChars <= 0 {
		o.MaxChars = DefaultChars
	}
	if o.To == 0 || o.To > o.Status.Output.End {
		o.To = o.Status.Output.End
	}
	o.From = min(o.From, o.To)
	if o.From == o.To {
		return View{Next: o.To}, nil
	}
	r := &renderer{out: out, o: o, window: o.window}
	if r.window == 0 {
		r.window = max(4*o.MaxChars, minWindow)
	}
	if err := r.load(ctx); err != nil {
		return View{}, err
	}
	return r.render(ctx)
}

// A renderer makes one view. The bytes that exist in the range are numbered from 0 to total: head holds the first, tail
// the last of them, and what lies between was not read.
type renderer struct {
	out    sallyport.Output
	o      Options
	window int

	head, tail []byte
	total      int64 // bytes that exist in the range
	dropped    int64 // bytes of the range that the quota took: they lie between head and tail
	headEnd    sallyport.Offset
	tailStart  sallyport.Offset
	tailInside bool                                 // tail begins within a line, as far as is known
	between    func(context.Context) (int64, error) // newlines in what was not read
	next       sallyport.Offset
}

// whole reports whether everything that exists is in head.
func (r *renderer) whole() bool { return r.total == int64(len(r.head)) && r.dropped == 0 }

func (r *renderer) render(ctx context.Context) (View, error) {
	v := View{Next: r.next, Dropped: r.dropped}
	if kind := binary(r.head, r.tail); kind != "" {
		v.Binary = fmt.Sprintf("binary output: %s bytes%s, not shown", Count(r.total+r.dropped), kind)
		v.Omitted = r.total
		return v, nil
	}
	head, headFacts := r.rows(r.head)
	if r.whole() && head.chars <= r.o.MaxChars {
		v.Text, v.Shown, v.Facts = string(head.all()), r.total, headFacts
		return v, nil
	}
	tail, tailFacts := head, text.Facts{}
	if !r.whole() {
		tail, tailFacts = r.rows(r.tail)
	}
	v.Facts = add(headFacts, tailFacts)
	h, t := r.edges(head, tail)
	if err := r.account(ctx, &v, h, t); err != nil {
		return View{}, err
	}
	v.Text = assemble(v, h, t)
	return v, nil
}

// edges chooses where the head ends and the tail begins: 40 % of the budget for the head, the rest for the tail, where
// the error usually stands. What one does not need the other gets.
func (r *renderer) edges(head, tail *rows) (h, t edge) {
	forHead := r.o.MaxChars * 2 / 5
	if !r.whole() {
		forHead = max(forHead, r.o.MaxChars-tail.chars)
	}
	h = head.first(forHead)
	t = tail.last(r.o.MaxChars - h.chars)
	if t.at == 0 {
		t.inside = r.tailInside
	}
	return h, t
}

// account fills in what the view leaves out between two edges.
func (r *renderer) account(ctx context.Context, v *View, h, t edge) error {
	from, to := h.at, t.at
	var newlines int64
	if r.whole() {
		newlines = count(r.head[from:to])
	} else {
		gap, err := r.between(ctx)
		if err != nil {
			return err
		}
		newlines = count(r.head[from:]) + gap + count(r.tail[:to])
		to += r.total - int64(len(r.tail))
	}
	v.Omitted = to - from
	v.Shown = r.total - v.Omitted
	v.OmittedLines = newlines
	if h.inside && newlines > 0 { // the rest of a line that is shown in part
		v.OmittedLines--
	}
	v.FirstOmitted = count(r.head[:from])
	if r.o.From > 0 && r.o.Stream == sallyport.AnyStream {
		before, err := lineAt(ctx, r.out, r.o.From)
		if err != nil {
			return err
		}
		v.FirstOmitted += before
	}
	return nil
}

// assemble puts the note between head and tail: on a line of its own where both are cut between lines.
func assemble(v View, h, t edge) string {
	note := "… " + v.gap() + " …"
	b := make([]byte, 0, len(h.text)+len(t.text)+len(note)+4)
	b = append(b, h.text...)
	if len(b) > 0 && !h.inside && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	b = append(append(append(b, '['), note...), ']')
	if !t.inside && len(t.text) > 0 {
		b = append(b, '\n')
	}
	return string(append(b, t.text...))
}

// gap says what is missing between head and tail.
func (v View) gap() string {
	s := ""
	if v.Omitted > 0 {
		s = Count(v.Omitted) + " bytes"
		if v.OmittedLines > 0 {
			s += ", " + Lines(v.OmittedLines)
		}
		s += " left out"
	}
	if v.Dropped > 0 {
		if s != "" {
			s += "; "
		}
		s += Count(v.Dropped) + " bytes dropped by the output quota"
	}
	return s
}

// Note says what the view leaves out, for a header: "18,204 of 61,877 bytes (212 lines) left out". It is empty for a
// view that is whole.
func (v View) Note() string {
	s := ""
	if v.Omitted > 0 {
		s = fmt.Sprintf("%s of %s bytes", Count(v.Omitted), Count(v.Total()))
		if v.OmittedLines > 0 {
			s += " (" + Lines(v.OmittedLines) + ")"
		}
		s += " left out"
	}
	if v.Dropped > 0 {
		if s != "" {
			s += ", "
		}
		s += Count(v.Dropped) + " bytes dropped by the output quota"
	}
	return s
}

// Count writes a number with separators: 61,877.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Lines writes a number of lines: "1 line", "212 lines".
func Lines(n int64) string {
	if n == 1 {
		return "1 line"
	}
	return Count(n) + " lines"
}

func add(a, b text.Facts) text.Facts {
	a.Replaced.Runs += b.Replaced.Runs
	a.Replaced.Bytes += b.Replaced.Bytes
	a.NULs += b.NULs
	a.Controls += b.Controls
	return a
}
