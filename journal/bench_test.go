package journal

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// A clock collects how long things took, and reports the quantiles that promises are about.
type clock []time.Duration

func (c *clock) time(f func()) {
	start := time.Now()
	f()
	*c = append(*c, time.Since(start))
}

func (c clock) report(b *testing.B, name string) {
	slices.Sort(c)
	b.ReportMetric(float64(c[len(c)/2].Nanoseconds())/1e3, name+"p50-µs")
	b.ReportMetric(float64(c[len(c)*99/100].Nanoseconds())/1e3, name+"p99-µs")
}

// run is the event that the benchmarks append: a row of some 400 bytes.
var run = event(sallyport.EventRun, "go test ./... 2>&1 | tail -20")

func BenchmarkAppend(b *testing.B) {
	j := newJournal(b, Options{})
	settle(b, j, add(b, j, 1))
	var c clock
	for b.Loop() {
		c.time(func() {
			if p, err := j.Append(run); err != nil {
				settle(b, j, p-1) // faster than this disk
			}
		})
	}
	c.report(b, "")
}

// BenchmarkAppendSync is a lone caller that waits for the disk, in turns with the raw cost of the same: a pwrite of as
// many bytes into a pre-written file and an fdatasync.
func BenchmarkAppendSync(b *testing.B) {
	j := newJournal(b, Options{})
	settle(b, j, add(b, j, 1))
	body, err := encode(run)
	if err != nil {
		b.Fatal(err)
	}
	row, _ := line(genesis, 1, body)
	f, err := openOS(filepath.Join(b.TempDir(), "raw"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	const size = 4 << 20
	if _, err := f.WriteAt(make([]byte, size), 0); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	var ours, raw clock
	at := int64(0)
	for b.Loop() {
		ours.time(func() {
			p, err := j.Append(run)
			if err != nil {
				b.Fatal(err)
			}
			settle(b, j, p)
		})
		raw.time(func() {
			if _, err := f.WriteAt(row, at); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		})
		at = (at + int64(len(row))) % (size - MaxRow)
	}
	ours.report(b, "")
	raw.report(b, "raw-")
	b.ReportMetric(float64(ours[len(ours)/2])/float64(raw[len(raw)/2]), "ratio")
}

// BenchmarkAppendSync8 is eight callers at once: they share syncs.
func BenchmarkAppendSync8(b *testing.B) {
	j := newJournal(b, Options{})
	settle(b, j, add(b, j, 1))
	var took [8]clock
	var next atomic.Int32
	b.SetParallelism(4) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		i := next.Add(1) - 1
		var c clock
		for pb.Next() {
			c.time(func() {
				p, err := j.Append(run)
				if err == nil {
					err = j.Sync(context.Background(), p)
				}
				if err != nil {
					b.Error(err)
				}
			})
		}
		took[i%8] = append(took[i%8], c...)
	})
	slices.Concat(took[:]...).report(b, "")
}

// BenchmarkStart is what each program pays: opening, the first Append, which makes the chain, its Sync, and Close.
func BenchmarkStart(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "journal")
	if err := os.Mkdir(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	var open, first, sync, end clock
	for b.Loop() {
		var j *Journal
		var p sallyport.Position
		var err error
		open.time(func() { j, err = Open(Options{Dir: dir}) })
		if err == nil {
			first.time(func() { p, err = j.Append(run) })
		}
		if err == nil {
			sync.time(func() { err = j.Sync(context.Background(), p) })
		}
		if err == nil {
			end.time(func() { err = j.Close() })
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	open.report(b, "open-")
	first.report(b, "first-append-")
	sync.report(b, "first-sync-")
	end.report(b, "close-")
}

func BenchmarkVerify(b *testing.B) {
	j := newJournal(b, Options{})
	var p sallyport.Position
	for range 20 {
		p = add(b, j, 500)
		settle(b, j, p)
	}
	for b.Loop() {
		if r, err := Verify(context.Background(), j.o.Dir); err != nil || !r.OK {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(float64(p)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
