package view

import (
	"bytes"
	"context"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/text"
)

const (
	// minWindow is how much is read of each end at least, so that what shrinks when it is cleaned (colours, progress
	// bars) still fills the budget.
	minWindow = 64 << 10
	// lookback is how far before the tail to look for the beginning of a terminal sequence.
	lookback = 512
	// scanLimit is up to where newlines of what is left out are counted by reading it. Beyond, the log's own index of
	// lines is asked.
	scanLimit = 4 << 20
)

// load reads the two ends of the range.
func (r *renderer) load(ctx context.Context) error {
	lo, hi := r.o.From, r.o.To
	gapLo, gapHi := hi, hi // what the quota took, within the range
	if stat := r.o.Status.Output; stat.Dropped > 0 {
		gapLo = min(max(stat.DropFrom, lo), hi)
		gapHi = min(max(stat.DropFrom+sallyport.Offset(stat.Dropped), lo), hi)
	}
	r.dropped = int64(gapHi - gapLo)
	if r.dropped == 0 {
		gapLo, gapHi = hi, hi
	}
	var err error
	if r.o.Stream != sallyport.AnyStream {
		err = r.scan(ctx, lo, gapHi, hi)
	} else {
		err = r.ends(ctx, [2]sallyport.Offset{lo, gapLo}, [2]sallyport.Offset{gapHi, hi})
	}
	if err != nil {
		return err
	}
	r.hold(hi)
	return nil
}

// ends reads both ends of what lies before and after the dropped middle. Without one, after is empty.
func (r *renderer) ends(ctx context.Context, before, after [2]sallyport.Offset) error {
	window := sallyport.Offset(r.window)
	r.total = int64(before[1]-before[0]) + int64(after[1]-after[0])
	r.headEnd, r.tailStart = before[1], after[0]
	if r.total > 2*int64(window) {
		r.headEnd = min(before[1], before[0]+window)
		if r.dropped > 0 {
			r.tailStart = max(after[0], after[1]-window)
		} else {
			r.tailStart = before[1] - window
			after = [2]sallyport.Offset{r.headEnd, before[1]}
		}
	}
	var err error
	if r.head, err = read(ctx, r.out, before[0], r.headEnd); err != nil {
		return err
	}
	from := max(after[0], r.tailStart-lookback)
	if r.tail, err = read(ctx, r.out, from, after[1]); err != nil {
		return err
	}
	if r.whole() {
		return nil
	}
	r.trim(int(r.tailStart-from), r.tailStart > after[0])
	r.headEnd = before[0] + sallyport.Offset(len(r.head))
	r.tailStart = after[1] - sallyport.Offset(len(r.tail))
	gapLo, gapHi := before[1], after[0]
	r.between = func(ctx context.Context) (int64, error) { return r.newlines(ctx, gapLo, gapHi) }
	return nil
}

// trim lets the head end and the tail begin where text can be cut: not inside a character or a sequence. The tail
// begins at or after at; at the beginning of a line, if more than that was not read and no line is too long for it.
func (r *renderer) trim(at int, atLine bool) {
	r.head = r.head[:text.Complete(r.head)]
	if i := bytes.IndexByte(r.tail[at:], '\n'); atLine && i >= 0 && i < (len(r.tail)-at)/2 {
		r.tail = r.tail[at+i+1:]
		return
	}
	r.tail = r.tail[text.Resume(r.tail, at):]
	r.tailInside = true
}

// newlines counts the newlines between head and tail. What the quota took, between gapLo and gapHi, is not counted.
func (r *renderer) newlines(ctx context.Context, gapLo, gapHi sallyport.Offset) (int64, error) {
	if r.dropped == 0 {
		return newlines(ctx, r.out, r.headEnd, r.tailStart)
	}
	a, err := newlines(ctx, r.out, r.headEnd, gapLo)
	if err != nil {
		return 0, err
	}
	b, err := newlines(ctx, r.out, gapHi, r.tailStart)
	return a + b, err
}

// newlines counts the newlines of a part of the log.
func newlines(ctx context.Context, out sallyport.Output, from, to sallyport.Offset) (int64, error) {
	if to-from > scanLimit {
		a, err := lineAt(ctx, out, from)
		if err != nil {
			return 0, err
		}
		b, err := lineAt(ctx, out, to)
		return b - a, err
	}
	var n int64
	for from < to {
		c, err := out.Read(ctx, sallyport.Range{From: from, Max: int(min(to-from, minWindow))})
		if err != nil {
			return 0, err
		}
		if c.Next <= from {
			break
		}
		n += count(c.Data)
		from = c.Next
	}
	return n, nil
}

// lineAt is the number of the line that an offset lies in, found by halving: a log knows the offset of a line, not the
// line of an offset.
func lineAt(ctx context.Context, out sallyport.Output, off sallyport.Offset) (int64, error) {
	query := func(n int64) (sallyport.LinePage, error) {
		return out.Lines(ctx, sallyport.LineQuery{From: n, Limit: 1, MaxByte: 1})
	}
	page, err := query(0)
	if err != nil {
		return 0, err
	}
	lo, hi := int64(0), page.Total-1
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		page, err := query(mid)
		if err != nil {
			return 0, err
		}
		if len(page.Lines) > 0 && page.Lines[0].Off <= off {
			lo = max(mid, page.Lines[0].No) // a number in the dropped middle answers with the line after it
		} else {
			hi = mid - 1
		}
	}
	return lo, nil
}

// scan reads the whole range of one stream, whose bytes lie scattered in the log, and keeps its two ends. From gap on
// is what follows the dropped middle.
func (r *renderer) scan(ctx context.Context, from, gap, to sallyport.Offset) error {
	var all int64 // newlines
	for from < to {
		c, err := r.out.Read(ctx, sallyport.Range{From: from, Max: minWindow, Stream: r.o.Stream})
		if err != nil {
			return err
		}
		if c.Next <= from {
			break
		}
		from = c.Next
		r.total += int64(len(c.Data))
		all += count(c.Data)
		free := 0
		if len(r.tail) == 0 && (r.dropped == 0 || c.From < gap) {
			free = min(2*r.window-len(r.head), len(c.Data))
		}
		r.head = append(r.head, c.Data[:free]...)
		r.tail = append(r.tail, c.Data[free:]...)
		if len(r.tail) > 4*r.window {
			r.tail = append(r.tail[:0], r.tail[len(r.tail)-2*r.window:]...)
		}
	}
	if r.whole() {
		return nil
	}
	at, cut := 0, r.total > int64(len(r.head)+len(r.tail)) || r.dropped == 0
	if cut {
		r.head = r.head[:min(len(r.head), r.window)]
		at = max(0, len(r.tail)-r.window)
	}
	r.trim(at, cut)
	unread := all - count(r.head) - count(r.tail)
	r.between = func(context.Context) (int64, error) { return unread, nil }
	return nil
}

// hold leaves what is incomplete at the end for the next view, if more may follow.
func (r *renderer) hold(end sallyport.Offset) {
	r.next = end
	if !r.o.Partial {
		return
	}
	last := &r.tail
	if r.whole() {
		last = &r.head
	}
	n := text.Complete(*last)
	kept := len(*last) - n
	*last = (*last)[:n]
	r.total -= int64(kept)
	r.next -= sallyport.Offset(kept)
}

// read reads a part of the log.
func read(ctx context.Context, out sallyport.Output, from, to sallyport.Offset) ([]byte, error) {
	var b []byte
	for from < to {
		c, err := out.Read(ctx, sallyport.Range{From: from, Max: int(to - from)})
		if err != nil {
			return nil, err
		}
		if c.Next <= from || c.Skipped > 0 {
			break
		}
		if b == nil {
			b = c.Data
		} else {
			b = append(b, c.Data...)
		}
		from = c.Next
	}
	return b, nil
}

func count(b []byte) int64 { return int64(bytes.Count(b, []byte{'\n'})) }
