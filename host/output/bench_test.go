package output

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// BenchmarkPump moves 1 GiB from a child into a log of the default quota, and beside it the same child's output into
// cat > file: the ratio is what counts, on a machine shared with others.
func BenchmarkPump(b *testing.B) {
	const size = 1 << 30
	for _, gen := range []struct{ name, text string }{
		{"zeros", "head -c " + strconv.Itoa(size) + " /dev/zero"},
		{"lines", "yes 'a line of output as programs print them, say' | head -c " + strconv.Itoa(size)},
	} {
		b.Run(gen.name, func(b *testing.B) {
			s := newStore(b)
			file := filepath.Join(b.TempDir(), "cat")
			var pump, cat time.Duration
			n := 0
			for b.Loop() {
				l := create(b, s, fmt.Sprint("log", n), 0)
				n++
				begin := time.Now()
				if err := l.Pump(child(b, "sh", "-c", gen.text), sallyport.Stdout); err != nil {
					b.Fatal(err)
				}
				pump += time.Since(begin)
				if end := l.Stat().End; end != size {
					b.Fatalf("%d bytes", end)
				}
				if err := l.Remove(); err != nil {
					b.Fatal(err)
				}
				begin = time.Now()
				if err := exec.Command("sh", "-c", "("+gen.text+") | cat >"+file).Run(); err != nil {
					b.Fatal(err)
				}
				cat += time.Since(begin)
				if err := os.Remove(file); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(size)
			b.ReportMetric(float64(size)*float64(n)/pump.Seconds()/1e9, "pump-GB/s")
			b.ReportMetric(float64(size)*float64(n)/cat.Seconds()/1e9, "cat-GB/s")
			b.ReportMetric(cat.Seconds()/pump.Seconds(), "pump/cat")
		})
	}
}

// BenchmarkPumpWatched moves 1 GiB with and without somebody who waits for a pattern that never comes.
func BenchmarkPumpWatched(b *testing.B) {
	const size = 1 << 30
	s := newStore(b)
	var alone, watched time.Duration
	for i := 0; b.Loop(); i++ {
		for _, watch := range []bool{false, true} {
			l := create(b, s, "log", 0)
			ctx, stop := context.WithCancelCause(b.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				if watch {
					_, _, _ = l.Wait(ctx, nil, sallyport.Wake{Until: "never|nowhere"})
				}
			}()
			begin := time.Now()
			if err := l.Pump(flooder(b, size), sallyport.Stdout); err != nil {
				b.Fatal(err)
			}
			if took := time.Since(begin); watch {
				watched += took
			} else {
				alone += took
			}
			stop(nil)
			<-done
			if err := l.Remove(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(alone.Seconds()/watched.Seconds(), "watched/alone")
}

// BenchmarkSmall is what output adds to every command: a log that is made, fed by a pump, read and removed. Beside it,
// in the same run, stands the least that a file of its own costs: create, write, read, unlink.
func BenchmarkSmall(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"empty", ""}, {"hello", "hello\n"}} {
		b.Run(c.name, func(b *testing.B) {
			s := newStore(b)
			var ours, floor []time.Duration
			for b.Loop() {
				r, w, err := os.Pipe()
				if err != nil {
					b.Fatal(err)
				}
				if _, err := w.WriteString(c.text); err != nil {
					b.Fatal(err)
				}
				w.Close()
				begin := time.Now()
				small(b, s, r, c.text)
				ours = append(ours, time.Since(begin))
				r.Close()
				if c.text != "" {
					begin = time.Now()
					bareFile(b, filepath.Join(s.dir, "bare"), c.text)
					floor = append(floor, time.Since(begin))
				}
			}
			b.ReportMetric(median(ours), "p50-us")
			if floor != nil {
				b.ReportMetric(median(floor), "floor-p50-us")
			}
		})
	}
}

func small(b *testing.B, s *Store, r *os.File, text string) {
	l := create(b, s, "log", 0)
	if err := l.Pump(r, sallyport.Stdout); err != nil {
		b.Fatal(err)
	}
	l.Seal()
	if ch, err := l.Read(sallyport.Range{}); err != nil || string(ch.Data) != text {
		b.Fatalf("%q, %v", ch.Data, err)
	}
	if err := l.Remove(); err != nil {
		b.Fatal(err)
	}
}

func bareFile(b *testing.B, path, text string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	_, werr := f.WriteAt([]byte(text), 0)
	_, rerr := f.ReadAt(make([]byte, len(text)), 0)
	if err := errors.Join(werr, rerr, f.Close(), os.Remove(path)); err != nil {
		b.Fatal(err)
	}
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2]) / 1e3
}

// seqLog is 20 million lines, 169 MB, all kept.
func seqLog(b *testing.B) *Log {
	b.Helper()
	l := create(b, newStore(b), "log", 256<<20)
	if err := l.Pump(child(b, "seq", "20000000"), sallyport.Stdout); err != nil {
		b.Fatal(err)
	}
	l.Seal()
	return l
}

func BenchmarkRead(b *testing.B) {
	l := seqLog(b)
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dK", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			var from sallyport.Offset
			for b.Loop() {
				c, err := l.Read(sallyport.Range{From: from, Max: size})
				if err != nil || len(c.Data) != size {
					b.Fatal(len(c.Data), err)
				}
				from = (from + 7_654_321) % (160 << 20)
			}
		})
	}
}

func BenchmarkLines(b *testing.B) {
	l := seqLog(b)
	begin := time.Now()
	if _, err := l.Lines(sallyport.LineQuery{From: -1}); err != nil {
		b.Fatal(err)
	}
	b.Logf("first count of 20 million lines: %v", time.Since(begin))
	for name, q := range map[string]sallyport.LineQuery{
		"page":      {Limit: 200},
		"tail":      {From: -200},
		"page-5000": {Limit: 5000},
		"grep-lit":  {Grep: "777777", Limit: 20, Context: 2},
		"grep-re":   {Grep: "7{6}$", Limit: 20},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, err := l.Lines(q)
				if err != nil || len(p.Lines) == 0 {
					b.Fatal(len(p.Lines), err)
				}
				if q.From >= 0 && q.Grep == "" {
					q.From = (q.From + 7_654_321) % 19_000_000
				}
			}
		})
	}
}
