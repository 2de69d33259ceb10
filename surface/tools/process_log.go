package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/text"
	"github.com/sallyport-sh/sallyport/surface/view"
)

// logLines is what log shows if the call does not say (seed D).
const logLines = 200

// log shows a page of lines, or those that match.
func (o *single) log(ctx context.Context) reply {
	st, err := o.session.Status(ctx)
	if err != nil {
		return failure(err)
	}
	p := o.args
	q := sallyport.LineQuery{
		From: -logLines, Limit: logLines, Stream: p.stream, Grep: p.grep, Context: p.context,
		// A character is at most 4 bytes; what is cut off after cleaning is counted there.
		MaxByte: 4 * o.set.MaxOutputLimit,
	}
	switch {
	case p.limit != nil:
		q.Limit = int(min(max(*p.limit, 1), maxLogLimit))
		q.From = -int64(q.Limit)
	case p.offset != nil, p.grep != "":
		q.Limit = maxLogLimit // to the end, as far as a result can be
	}
	if p.offset != nil {
		q.From = *p.offset
	} else if p.grep != "" {
		q.From = 0
	}
	page, err := o.session.Lines(ctx, q)
	if err != nil {
		return failure(err)
	}
	budget := o.set.MaxOutput
	if p.limit != nil {
		budget = o.set.MaxOutputLimit // whoever names a number of lines wants them
	}
	return o.page(st, q, page, budget)
}

// maxLogLimit bounds how many lines one page can have.
const maxLogLimit = 10_000

// page makes the reply for a page of lines.
func (o *single) page(st sallyport.Status, q sallyport.LineQuery, page sallyport.LinePage, budget int) reply {
	lines := texts(page.Lines, q.Grep != "")
	if q.From < 0 { // the last ones are wanted: what does not fit is left out at the beginning
		skip := len(lines) - fits(lines, budget, true)
		lines, page.Lines = lines[skip:], page.Lines[skip:]
	} else if n := fits(lines, budget, false); n < len(lines) {
		page.Next, page.More = page.Lines[n].No, true
		lines, page.Lines = lines[:n], page.Lines[:n]
	}
	cut := slices.ContainsFunc(page.Lines, func(l sallyport.Line) bool { return l.Cut > 0 })
	if len(lines) == 1 && text.Len(lines[0]) > budget {
		lines[0], cut = cutLine(lines[0], budget), true
	}
	body := strings.Join(lines, "\n")
	r := reply{facts: sessionFacts(st), body: body}
	r.facts.Output, r.facts.TotalLines, r.facts.TotalBytes = &body, page.Total, int64(st.Output.End)
	r.facts.DroppedBytes = st.Output.Dropped
	r.facts.FollowUp = ""
	if page.More {
		r.facts.NextOffset = &page.Next
	}
	r.facts.Truncated = cut || page.More || len(page.Lines) > 0 && page.Lines[0].No > 0 && q.Grep == ""
	if q.Grep != "" {
		r.facts.Matches = page.Matches
	}
	r.head = o.pageHead(q, page)
	if page.Dropped > 0 {
		r.head += "; " + view.Lines(page.Dropped) + " dropped by the output quota"
	}
	if st.Output.Incomplete != "" {
		r.head += "; output incomplete: " + st.Output.Incomplete
	}
	r.after = fmt.Sprintf("session %s, %s", o.id, state(st))
	if len(page.Lines) == 0 {
		r.body = "(no output recorded)"
		switch {
		case q.Grep != "":
			r.body = "(no line matches)"
		case page.Total > 0:
			r.body = "(no lines there)"
		case st.State == sallyport.Running:
			r.body = "(no output yet)"
		}
	}
	return r
}

// pageHead says which lines these are. The words for the last lines are seed D's.
func (o *single) pageHead(q sallyport.LineQuery, page sallyport.LinePage) string {
	n := len(page.Lines)
	more := ""
	if page.More {
		more = fmt.Sprintf("; next offset=%d", page.Next)
	}
	switch {
	case q.Grep != "":
		word := "matches"
		if page.Matches == 1 {
			word = "match"
		}
		return fmt.Sprintf("%s %s in %s%s", view.Count(page.Matches), word, view.Lines(page.Total), more)
	case o.args.offset == nil && n > 0 && page.Lines[0].No > 0 && !page.More:
		return fmt.Sprintf("showing last %d of %d lines; pass offset/limit to page", n, page.Total)
	case n > 0 && (page.Lines[0].No > 0 || page.More):
		return fmt.Sprintf("lines %d to %d of %d%s", page.Lines[0].No, page.Lines[n-1].No, page.Total, more)
	}
	return view.Lines(page.Total)
}

// texts are lines as they are shown. Matches are numbered, as grep -n does.
func texts(lines []sallyport.Line, numbered bool) []string {
	all := make([]string, len(lines))
	for i, l := range lines {
		s, _ := text.Clean(l.Text)
		if l.Cut > 0 {
			s += fmt.Sprintf("[… %s bytes of this line left out …]", view.Count(l.Cut))
		}
		if numbered {
			mark := "-"
			if l.Match {
				mark = ":"
			}
			s = fmt.Sprintf("%d%s%s", l.No, mark, s)
			if i > 0 && lines[i-1].No+1 != l.No && (!l.Match || !lines[i-1].Match) {
				s = "--\n" + s
			}
		}
		all[i] = s
	}
	return all
}

// fits is how many lines, from the beginning or from the end, fit into a budget of characters: at least one.
func fits(lines []string, budget int, fromEnd bool) int {
	for n := range lines {
		s := lines[n]
		if fromEnd {
			s = lines[len(lines)-1-n]
		}
		if budget -= text.Len(s) + 1; budget < 0 {
			return max(n, 1)
		}
	}
	return len(lines)
}

// cutLine leaves out the middle of a line and says how much.
func cutLine(s string, n int) string {
	head := text.Head(s, n*2/5)
	tail := text.Tail(s, n-n*2/5)
	return fmt.Sprintf("%s[… %s bytes of this line left out …]%s", head, view.Count(int64(len(s)-len(head)-len(tail))), tail)
}
