//go:build unix

package output

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/sallyport-sh/sallyport"
)

// TestReaderStorm has readers of every kind at a small log that is flooded, and checks that no answer holds a wrong
// byte, a wrong line number or an uncounted loss. At last the log is removed under them.
func TestReaderStorm(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, s *Store) {
		l := create(t, s, "log", minQuota)
		var readers sync.WaitGroup
		for i, read := range []func(*Log, *rand.Rand) error{stormRead, stormLines, stormGrep, stormTail, stormWait, stormLines} {
			readers.Go(func() {
				rnd := rand.New(rand.NewPCG(1, uint64(i)))
				for {
					switch err := read(l, rnd); {
					case errors.Is(err, sallyport.NotFound):
						return
					case err != nil:
						t.Error(err)
						return
					}
				}
			})
		}
		if err := l.Pump(flooder(t, 48<<20), sallyport.Stdout); err != nil {
			t.Error(err)
		}
		if err := l.Remove(); err != nil {
			t.Error(err)
		}
		readers.Wait()
	})
}

func stormRead(l *Log, rnd *rand.Rand) error {
	from := sallyport.Offset(rnd.Int64N(int64(l.Stat().End) + 1))
	c, err := l.Read(sallyport.Range{From: from, Max: 1 + rnd.IntN(300_000)})
	if err != nil {
		return err
	}
	if int64(c.From-from) != c.Skipped || c.Next != c.From+sallyport.Offset(len(c.Data)) {
		return fmt.Errorf("from %d: chunk %d…%d, %d skipped", from, c.From, c.Next, c.Skipped)
	}
	_, err = (&floodCheck{int64(c.From)}).Write(c.Data)
	return err
}

func stormLines(l *Log, rnd *rand.Rand) error {
	from := rnd.Int64N(int64(l.Stat().End)/16 + 1)
	p, err := l.Lines(sallyport.LineQuery{From: from, Limit: 1 + rnd.IntN(300)})
	if err != nil {
		return err
	}
	return stormPage(p, from)
}

func stormTail(l *Log, rnd *rand.Rand) error {
	p, err := l.Lines(sallyport.LineQuery{From: -1 - rnd.Int64N(300)})
	if err != nil {
		return err
	}
	return stormPage(p, 0)
}

func stormGrep(l *Log, rnd *rand.Rand) error {
	p, err := l.Lines(sallyport.LineQuery{Grep: fmt.Sprintf("%02x$", rnd.IntN(256)), Context: rnd.IntN(3), Limit: 50})
	if err != nil {
		return err
	}
	return stormPage(p, 0)
}

// stormPage checks lines, of which all but the unfinished last one hold their own number.
func stormPage(p sallyport.LinePage, from int64) error {
	last := from - 1
	for _, ln := range p.Lines {
		n, err := strconv.ParseInt(string(ln.Text), 16, 64)
		whole := ln.Cut == 0 && len(ln.Text) == 15
		if ln.No <= last || ln.No >= p.Total || whole && (err != nil || n != ln.No || int64(ln.Off) != 16*n) {
			return fmt.Errorf("line %d of %d at %d is %q, after line %d", ln.No, p.Total, ln.Off, ln.Text, last)
		}
		if !whole && ln.No != p.Total-1 {
			return fmt.Errorf("line %d of %d is %q, cut by %d", ln.No, p.Total, ln.Text, ln.Cut)
		}
		last = ln.No
	}
	return nil
}

func stormWait(l *Log, rnd *rand.Rand) error {
	from := l.Stat().End
	by, match, err := l.Wait(context.Background(), nil, sallyport.Wake{From: from, Until: fmt.Sprintf("%03x$", rnd.IntN(1<<12))})
	if err == nil && (by != sallyport.WokeUntil || len(match) != 15) {
		err = fmt.Errorf("woke by %s with %q", by, match)
	}
	return err
}
