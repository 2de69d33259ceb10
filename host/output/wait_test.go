package output

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// woke is how a wait ended, and when.
type woke struct {
	by    sallyport.WokeBy
	match string
	err   error
	after time.Duration
}

// waiting starts a wait and returns where its end will be.
func waiting(ctx context.Context, l *Log, ended <-chan struct{}, w sallyport.Wake) <-chan woke {
	c := make(chan woke, 1)
	begin := time.Now()
	go func() {
		by, match, err := l.Wait(ctx, ended, w)
		c <- woke{by, match, err, time.Since(begin)}
	}()
	return c
}

// bubble runs f with a log inside a synctest bubble, where timers run on a clock of their own.
func bubble(t *testing.T, f func(t *testing.T, l *Log)) {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := OpenStore(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f(t, create(t, s, "log", 1<<20))
	})
}

// pass lets the bubble's clock run.
func pass(d time.Duration) { <-time.After(d) }

func TestWaitOutput(t *testing.T) {
	bubble(t, func(t *testing.T, l *Log) {
		write(t, l, "before")
		w := waiting(t.Context(), l, nil, sallyport.Wake{From: 6, Output: true})
		synctest.Wait()
		pass(time.Hour)
		write(t, l, "x")
		if got := <-w; got.by != sallyport.WokeOutput || got.after < time.Hour || got.after > time.Hour+settle {
			t.Errorf("%+v", got)
		}
		if got := <-waiting(t.Context(), l, nil, sallyport.Wake{From: 6, Output: true}); got.by != sallyport.WokeOutput || got.after != 0 {
			t.Errorf("output that is there: %+v", got)
		}
	})
}

func TestWaitTime(t *testing.T) {
	bubble(t, func(t *testing.T, l *Log) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		write(t, l, "x")
		got := <-waiting(ctx, l, nil, sallyport.Wake{From: 1, Output: true, Until: "y", Quiet: time.Second})
		if got.by != sallyport.WokeTime || got.err != nil || got.after != time.Minute {
			t.Errorf("%+v", got)
		}
	})
}

func TestWaitEnd(t *testing.T) {
	bubble(t, func(t *testing.T, l *Log) {
		ended := make(chan struct{})
		var ws []<-chan woke
		for _, w := range []sallyport.Wake{{}, {EndOnly: true, Output: true, Until: "y"}, {From: 1, Output: true, Until: "z", Quiet: time.Hour}} {
			ws = append(ws, waiting(t.Context(), l, ended, w))
		}
		synctest.Wait()
		write(t, l, "y")
		pass(time.Minute)
		close(ended)
		for i, w := range ws {
			if got := <-w; got.by != sallyport.WokeEnd || got.after != time.Minute {
				t.Errorf("%d: %+v", i, got)
			}
		}
		if got := <-waiting(t.Context(), l, ended, sallyport.Wake{Output: true}); got.by != sallyport.WokeEnd {
			t.Errorf("output and end at once: %+v", got)
		}
		if got := <-waiting(t.Context(), l, ended, sallyport.Wake{Until: "y"}); got.by != sallyport.WokeUntil || got.match != "y" {
			t.Errorf("a match before the end: %+v", got)
		}
	})
}

func TestWaitUntil(t *testing.T) {
	for name, c := range map[string]struct {
		before string // known output
		after  []string
		until  string
		want   string // the line that matches; "": none
	}{
		"line":                {"", []string{"one\n", "two\nthree\n"}, "^t", "two"},
		"unfinished":          {"", []string{"a\nPassw", "ord: "}, "Password: $", "Password: "},
		"known":               {"ready\n", []string{"x\n"}, "ready", ""},
		"known line goes on":  {"ready", []string{", steady", "\n"}, "ready", ""},
		"begun before":        {"x\nserver sta", []string{"rted\n"}, "^server started$", "server started"},
		"second match counts": {"ab ", []string{"ab\n"}, "ab", "ab ab"},
		"not across lines":    {"", []string{"a\nb\n"}, "a.?b", ""},
		"crlf":                {"", []string{"done\r\n"}, "done$", "done"},
		"literal":             {"", []string{"x Listening on 80\n"}, "Listening on", "x Listening on 80"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *Log) {
				write(t, l, c.before)
				ended := make(chan struct{})
				w := waiting(t.Context(), l, ended, sallyport.Wake{From: sallyport.Offset(len(c.before)), Until: c.until})
				synctest.Wait()
				for _, text := range c.after {
					write(t, l, text)
					pass(2 * settle)
				}
				close(ended)
				got := <-w
				if got.match != c.want || (c.want == "") != (got.by == sallyport.WokeEnd) {
					t.Errorf("%+v, want %q", got, c.want)
				}
			})
		})
	}
}

func TestWaitBadPattern(t *testing.T) {
	t.Parallel()
	_, _, err := newLog(t).Wait(t.Context(), nil, sallyport.Wake{Until: "(["})
	wantCode(t, err, sallyport.Invalid)
}

// TestWaitUntilLongLine feeds a line far longer than a pattern looks, in small pieces: it must neither match beyond
// that nor read it again and again.
func TestWaitUntilLongLine(t *testing.T) {
	bubble(t, func(t *testing.T, l *Log) {
		w := waiting(t.Context(), l, nil, sallyport.Wake{Until: "needle"})
		for range 100 {
			write(t, l, strings.Repeat("x", 1000))
			pass(2 * settle)
		}
		write(t, l, "needle\n")
		pass(2 * settle)
		select {
		case got := <-w:
			t.Fatalf("%+v", got)
		default:
		}
		write(t, l, "needle\n")
		if got := <-w; got.by != sallyport.WokeUntil {
			t.Errorf("%+v", got)
		}
	})
}

func TestWaitQuiet(t *testing.T) {
	bubble(t, func(t *testing.T, l *Log) {
		w := waiting(t.Context(), l, nil, sallyport.Wake{Quiet: time.Second})
		pass(time.Hour)
		for range 10 { // quiet begins again with each byte
			write(t, l, "x")
			pass(900 * time.Millisecond)
		}
		got := <-w
		if want := time.Hour + 9*900*time.Millisecond + time.Second; got.by != sallyport.WokeQuiet || got.after != want {
			t.Errorf("%+v, want after %v", got, want)
		}
		if got := <-waiting(t.Context(), l, nil, sallyport.Wake{Quiet: time.Second}); got.by != sallyport.WokeQuiet || got.after != 0 {
			t.Errorf("quiet for long: %+v", got)
		}
	})
}

// TestWaitUntilDropped has the quota overtake a waiter: it goes on behind the gap.
func TestWaitUntilDropped(t *testing.T) {
	bubble(t, func(t *testing.T, l *Log) {
		w := waiting(t.Context(), l, nil, sallyport.Wake{Until: "needle"})
		synctest.Wait()
		for i := range 40 { // without giving the waiter a turn of its clock
			write(t, l, strings.Repeat(fmt.Sprintf("line %d\n", i), 20_000))
		}
		pass(2 * settle)
		write(t, l, "the needle\n")
		if got := <-w; got.match != "the needle" || got.err != nil {
			t.Errorf("%+v", got)
		}
	})
}

func TestWaitGone(t *testing.T) {
	bubble(t, func(t *testing.T, l *Log) {
		var ws []<-chan woke
		for _, w := range []sallyport.Wake{{EndOnly: true}, {Output: true}, {Until: "x"}, {Quiet: time.Hour}} {
			ws = append(ws, waiting(t.Context(), l, nil, w))
		}
		synctest.Wait()
		if err := l.Remove(); err != nil {
			t.Fatal(err)
		}
		for _, w := range ws {
			wantCode(t, (<-w).err, sallyport.NotFound)
		}
	})
}

func TestWaitClosed(t *testing.T) {
	bubble(t, func(t *testing.T, l *Log) {
		w := waiting(t.Context(), l, nil, sallyport.Wake{EndOnly: true})
		synctest.Wait()
		if err := l.store.Close(); err != nil {
			t.Fatal(err)
		}
		wantCode(t, (<-w).err, sallyport.Closed)
		_, err := l.Read(sallyport.Range{})
		wantCode(t, err, sallyport.Closed)
		wantCode(t, l.Append(sallyport.Stdout, []byte("x")), sallyport.Closed)
	})
}

// TestWaitMany has many waiters on one log, each for a line of its own.
func TestWaitMany(t *testing.T) {
	bubble(t, func(t *testing.T, l *Log) {
		var ws []<-chan woke
		for i := range 100 {
			ws = append(ws, waiting(t.Context(), l, nil, sallyport.Wake{Until: fmt.Sprintf("^line %d$", i)}))
		}
		for i := range 100 {
			write(t, l, fmt.Sprintf("line %d\n", i))
			pass(time.Millisecond)
		}
		for i, w := range ws {
			if got := <-w; got.match != fmt.Sprintf("line %d", i) {
				t.Errorf("%d: %+v", i, got)
			}
		}
	})
}
