package output

import (
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
				os.Remove(file)
			}
			b.SetBytes(size)
			b.ReportMetric(float64(size)*float64(n)/pump.Seconds()/1e9, "pump-GB/s")
			b.ReportMetric(float64(size)*float64(n)/cat.Seconds()/1e9, "cat-GB/s")
			b.ReportMetric(cat.Seconds()/pump.Seconds(), "pump/cat")
		})
	}
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
				w.WriteString(c.text)
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
	f.WriteAt([]byte(text), 0)
	f.ReadAt(make([]byte, len(text)), 0)
	f.Close()
	os.Remove(path)
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2]) / 1e3
}
