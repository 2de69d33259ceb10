package view

import (
	"context"
	"strings"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/text"
)

// Tail is the last n code points of the output so far, cleaned.
func Tail(ctx context.Context, out sallyport.Output, st sallyport.Status, n int) (string, error) {
	end, oldest := st.Output.End, sallyport.Offset(0)
	if st.Output.Dropped > 0 {
		oldest = st.Output.DropFrom + sallyport.Offset(st.Output.Dropped)
	}
	from := min(end, max(oldest, end-sallyport.Offset(4*n)))
	start := max(min(from, oldest), from-lookback)
	b, err := read(ctx, out, start, end)
	if err != nil {
		return "", err
	}
	if st.State == sallyport.Running {
		b = b[:text.Complete(b)]
	}
	if from > 0 {
		b = b[text.Resume(b, min(int(from-start), len(b))):]
	}
	s, _ := text.Clean(b)
	return text.Tail(s, n), nil
}

// LastLine is the last line of the output so far that is not blank, cut to n code points.
func LastLine(ctx context.Context, out sallyport.Output, st sallyport.Status, n int) (string, error) {
	s, err := Tail(ctx, out, st, 4*n)
	if err != nil {
		return "", err
	}
	s = strings.TrimRight(s, " \t\n")
	return text.Middle(s[strings.LastIndexByte(s, '\n')+1:], n), nil
}
