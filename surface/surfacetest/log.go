package surfacetest

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// Log is an output log in memory that implements the reading half of [sallyport.Output].
type Log struct {
	mu       sync.Mutex
	data     []byte
	runs     []run   // of one stream each
	starts   []int64 // of each line
	last     time.Time
	dropFrom sallyport.Offset
	dropped  int64
	changed  chan struct{} // closed and replaced at every change
}

// A run is a stretch of output of one stream.
type run struct {
	from   int64
	stream sallyport.Stream
}

// NewLog returns an empty log.
func NewLog() *Log { return &Log{changed: make(chan struct{})} }

// Append writes output.
func (l *Log) Append(stream sallyport.Stream, p []byte) {
	if len(p) == 0 {
		return
	}
	l.mu.Lock()
	at := int64(len(l.data))
	if n := len(l.runs); n == 0 || l.runs[n-1].stream != stream {
		l.runs = append(l.runs, run{at, stream})
	}
	if at == 0 || l.data[at-1] == '\n' {
		l.starts = append(l.starts, at)
	}
	for i := 0; i < len(p)-1; i++ {
		n := bytes.IndexByte(p[i:len(p)-1], '\n')
		if n < 0 {
			break
		}
		i += n
		l.starts = append(l.starts, at+int64(i)+1)
	}
	l.data = append(l.data, p...)
	l.last = time.Now()
	l.mu.Unlock()
	l.Wake()
}

// Drop takes a part of the middle away, as a quota does.
func (l *Log) Drop(from sallyport.Offset, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropFrom, l.dropped = from, n
}

// Changed is closed at the next change.
func (l *Log) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// Wake makes every waiter look again.
func (l *Log) Wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

// Bytes is everything that was written.
func (l *Log) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.data)
}

func (l *Log) stat() sallyport.OutputStat {
	l.mu.Lock()
	defer l.mu.Unlock()
	return sallyport.OutputStat{
		End: sallyport.Offset(len(l.data)), Dropped: l.dropped, DropFrom: l.dropFrom, Last: l.last,
	}
}

// Status implements [sallyport.Output] for a log without a session: it has ended.
func (l *Log) Status(context.Context) (sallyport.Status, error) {
	return sallyport.Status{ID: "amber-atlas", State: sallyport.Ended, Output: l.stat()}, nil
}

// Wait implements [sallyport.Output]: a log without a session has ended.
func (l *Log) Wait(ctx context.Context, _ sallyport.Wake) (sallyport.Woke, error) {
	st, err := l.Status(ctx)
	return sallyport.Woke{By: sallyport.WokeEnd, Status: st}, err
}

// Read implements [sallyport.Output]. It returns less than was asked for, as a real log may.
func (l *Log) Read(_ context.Context, r sallyport.Range) (sallyport.Chunk, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := r.Max
	if limit == 0 {
		limit = 64 << 10
	}
	from, end := int64(r.From), int64(len(l.data))
	var c sallyport.Chunk
	if gap := int64(l.dropFrom) + l.dropped; from >= int64(l.dropFrom) && from < gap {
		c.Skipped = gap - from
		from = gap
	} else if from < int64(l.dropFrom) && l.dropped > 0 {
		end = int64(l.dropFrom)
	}
	c.From = sallyport.Offset(from)
	at := from
	for at < end && len(c.Data) < limit {
		stream, until := l.run(at)
		n := min(until, end) - at
		if r.Stream == sallyport.AnyStream || stream == r.Stream {
			n = min(n, int64(limit-len(c.Data)))
			c.Data = append(c.Data, l.data[at:at+n]...)
		}
		at += n
	}
	c.Next = sallyport.Offset(at)
	c.EOF = at >= int64(len(l.data))
	return c, nil
}

// run is the stream of a byte, and where another begins.
func (l *Log) run(at int64) (sallyport.Stream, int64) {
	i := sort.Search(len(l.runs), func(i int) bool { return l.runs[i].from > at })
	until := int64(len(l.data))
	if i < len(l.runs) {
		until = l.runs[i].from
	}
	return l.runs[i-1].stream, until
}

// Lines implements [sallyport.Output]. Lines of one stream keep their numbers in the whole log.
func (l *Log) Lines(_ context.Context, q sallyport.LineQuery) (sallyport.LinePage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q.Limit == 0 {
		q.Limit = 200
	}
	if q.MaxByte == 0 {
		q.MaxByte = 1 << 20
	}
	page := sallyport.LinePage{Total: int64(len(l.starts))}
	match, err := l.matcher(q)
	if err != nil {
		return page, err
	}
	from := q.From
	if from < 0 {
		from = max(0, page.Total+from)
	}
	page.Next = from
	for i := from; i < page.Total; i++ {
		if !l.shown(i, q, match) {
			continue
		}
		if len(page.Lines) == q.Limit || q.MaxByte <= 0 {
			page.More = true
			break
		}
		line := sallyport.Line{No: i, Off: sallyport.Offset(l.starts[i]), Text: bytes.Clone(l.line(i))}
		if q.Grep != "" && match(i) {
			line.Match = true
			page.Matches++
		}
		if n := len(line.Text) - q.MaxByte; n > 0 {
			line.Cut, line.Text = int64(n), line.Text[:q.MaxByte]
		}
		q.MaxByte -= len(line.Text)
		page.Lines = append(page.Lines, line)
		page.Next = i + 1
	}
	return page, nil
}

// matcher reports of a line whether a query asks for it.
func (l *Log) matcher(q sallyport.LineQuery) (func(int64) bool, error) {
	re, err := regexp.Compile(q.Grep)
	if err != nil {
		return nil, &sallyport.Error{Code: sallyport.Invalid, Msg: "grep: " + err.Error()}
	}
	return func(i int64) bool {
		stream, _ := l.run(l.starts[i])
		return (q.Stream == sallyport.AnyStream || stream == q.Stream) && (q.Grep == "" || re.Match(l.line(i)))
	}, nil
}

// shown reports whether a line matches or is near one that does.
func (l *Log) shown(i int64, q sallyport.LineQuery, match func(int64) bool) bool {
	near := int64(q.Context)
	if q.Grep == "" {
		near = 0
	}
	for j := max(0, i-near); j <= min(int64(len(l.starts))-1, i+near); j++ {
		if match(j) {
			return true
		}
	}
	return false
}

// line is the text of a line without its end.
func (l *Log) line(i int64) []byte {
	end := int64(len(l.data))
	if i+1 < int64(len(l.starts)) {
		end = l.starts[i+1]
	}
	return bytes.TrimSuffix(l.data[l.starts[i]:end], []byte{'\n'})
}

// wait is [sallyport.Output.Wait] over a session's status and log.
func wait(ctx context.Context, s *Session, w sallyport.Wake) (sallyport.Woke, error) {
	var until *regexp.Regexp
	if w.Until != "" {
		re, err := regexp.Compile(w.Until)
		if err != nil {
			return sallyport.Woke{}, &sallyport.Error{Code: sallyport.Invalid, Msg: "until: " + err.Error()}
		}
		until = re
	}
	for {
		changed := s.Changed()
		st, err := s.Status(ctx)
		if err != nil {
			return sallyport.Woke{}, err
		}
		if woke, ok := look(s, st, w, until); ok {
			return woke, nil
		}
		var quiet <-chan time.Time
		if w.Quiet > 0 && !w.EndOnly && st.Output.End > w.From {
			quiet = time.After(w.Quiet - time.Since(st.Output.Last))
		}
		select {
		case <-changed:
		case <-quiet:
		case <-ctx.Done():
			return sallyport.Woke{By: sallyport.WokeTime, Status: st}, nil
		}
	}
}

// look reports what w waits for if it has happened.
func look(s *Session, st sallyport.Status, w sallyport.Wake, until *regexp.Regexp) (sallyport.Woke, bool) {
	news := st.Output.End > w.From
	switch {
	case until != nil && news && !w.EndOnly:
		for line := range bytes.Lines(s.Bytes()[w.From:]) {
			if until.Match(line) {
				return sallyport.Woke{By: sallyport.WokeUntil, Status: st, Match: string(bytes.TrimSpace(line))}, true
			}
		}
	case w.Output && news && !w.EndOnly:
		return sallyport.Woke{By: sallyport.WokeOutput, Status: st}, true
	}
	if st.State == sallyport.Ended {
		return sallyport.Woke{By: sallyport.WokeEnd, Status: st}, true
	}
	if w.Quiet > 0 && !w.EndOnly && news && time.Since(st.Output.Last) >= w.Quiet {
		return sallyport.Woke{By: sallyport.WokeQuiet, Status: st}, true
	}
	return sallyport.Woke{}, false
}
