package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/view"
)

// An output is what a result shows of a session's output: one view, or one a stream.
type output struct {
	views []view.View
	split bool
	next  sallyport.Offset
	lost  string // why output is incomplete
}

// renderOptions say what to show.
type renderOptions struct {
	max     int              // code points
	from    sallyport.Offset // of merged output
	partial bool             // more may follow
}

// render makes the output of a result. Of split sessions a whole is shown stream by stream, and a part as written.
func render(ctx context.Context, s sallyport.Output, st sallyport.Status, o renderOptions) (output, error) {
	out := output{next: st.Output.End, lost: st.Output.Incomplete}
	if !st.Split || o.partial || o.from > 0 {
		v, err := view.Render(ctx, s, view.Options{MaxChars: o.max, From: o.from, Status: &st, Partial: o.partial})
		out.views, out.next = []view.View{v}, v.Next
		return out, err
	}
	out.split = true
	errs, err := view.Render(ctx, s, view.Options{MaxChars: o.max / 2, Stream: sallyport.Stderr, Status: &st})
	if err != nil {
		return out, err
	}
	rest := max(o.max/2, o.max-len(errs.Text)) // bytes are at least as many as characters
	outs, err := view.Render(ctx, s, view.Options{MaxChars: rest, Stream: sallyport.Stdout, Status: &st})
	out.views = []view.View{outs, errs}
	return out, err
}

func (o output) truncated() bool {
	for _, v := range o.views {
		if v.Truncated() {
			return true
		}
	}
	return false
}

// body is the output as text, or none if there is no output.
func (o output) body(none string) string {
	var parts []string
	for i, v := range o.views {
		s := strings.TrimSuffix(v.Text, "\n")
		if v.Binary != "" {
			s = "[" + v.Binary + "; write it to a file to work with it]"
		}
		if v.Text == "" && v.Binary == "" {
			continue
		}
		if i == 1 {
			s = "stderr:\n" + s
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return none
	}
	return strings.Join(parts, "\n")
}

// note says in a header what the output leaves out, how to get it, and what in it is not as it was.
func (o output) note(id sallyport.SessionID, set Settings) string {
	var b strings.Builder
	var nuls, invalid int64
	for i, v := range o.views {
		nuls += v.Facts.NULs
		invalid += v.Facts.Replaced.Bytes
		if v.Binary != "" || !v.Truncated() {
			continue
		}
		b.WriteString("; " + o.stream(i) + v.Note())
		switch {
		case v.Omitted == 0:
		case set.Process:
			b.WriteString(": " + o.logCall(id, i, v))
		default:
			fmt.Fprintf(&b, ": pass maxOutput, at most %d", set.MaxOutputLimit)
		}
	}
	if nuls > 0 {
		fmt.Fprintf(&b, "; %s NUL shown as \\x00", view.Count(nuls))
	}
	if invalid > 0 {
		fmt.Fprintf(&b, "; %s not UTF-8, shown as \uFFFD", bytesOf(int(invalid)))
	}
	if o.lost != "" {
		b.WriteString("; output incomplete: " + o.lost)
	}
	return b.String()
}

func (o output) stream(i int) string {
	if !o.split {
		return ""
	}
	return [...]string{"stdout ", "stderr "}[i]
}

func (o output) logCall(id sallyport.SessionID, i int, v view.View) string {
	more := []string{fmt.Sprintf("offset=%d", v.FirstOmitted)}
	if o.split {
		more = append(more, "stream="+strings.TrimSpace(o.stream(i)))
	}
	return call("log", id, more...)
}

// fill writes the output into the facts of a result.
func (o output) fill(f *Facts) {
	for i, v := range o.views {
		s := v.Text
		if i == 0 {
			f.Output = &s
		} else {
			f.Stderr = &s
		}
		if v.Binary != "" {
			f.Binary = v.Binary
		}
		f.Truncated = f.Truncated || v.Truncated()
		f.TotalBytes += v.Shown + v.Omitted
		f.ShownBytes += v.Shown
		f.OmittedBytes += v.Omitted
		f.OmittedLines += v.OmittedLines
		f.DroppedBytes = v.Dropped // of both streams
		f.InvalidBytes += v.Facts.Replaced.Bytes
		f.NULs += v.Facts.NULs
	}
	f.TotalBytes += f.DroppedBytes
}
