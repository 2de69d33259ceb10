package output

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport-sh/sallyport"
)

// TestFlood moves a gigabyte through a log of 64 MiB: the disk stays within the quota, memory does not grow with the
// output, every kept byte is the right one, and all counts are exact.
func TestFlood(t *testing.T) {
	size := int64(1 << 30)
	if testing.Short() {
		size = 200 << 20
	}
	l := newLog(t)
	before := resident(t)
	var maxDisk, maxRSS int64
	done := make(chan struct{})
	var sampler sync.WaitGroup
	sampler.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				maxDisk, maxRSS = max(maxDisk, l.Disk()), max(maxRSS, resident(t))
			}
		}
	})
	begin := time.Now()
	err := l.Pump(flooder(t, size), sallyport.Stdout)
	took := time.Since(begin)
	close(done)
	sampler.Wait()
	if err != nil {
		t.Fatal(err)
	}
	l.Seal()
	t.Logf("%d MiB in %v: disk %d KiB at most, memory +%d KiB at most", size>>20, took, maxDisk>>10, (maxRSS-before)>>10)
	if limit := int64(defaultQuota + 1<<20); maxDisk > limit || l.Disk() > limit {
		t.Errorf("%d bytes on disk at most, %d now: want at most %d", maxDisk, l.Disk(), limit)
	}
	if !raceEnabled && maxRSS-before > 64<<20 {
		t.Errorf("memory grew by %d MiB", (maxRSS-before)>>20)
	}
	checkFlood(t, l, size)
}

// checkFlood compares what is kept of a flood of size bytes with what should be there, and the counts with it.
func checkFlood(t *testing.T, l *Log, size int64) {
	t.Helper()
	st := l.Stat()
	if int64(st.End) != size || st.Incomplete != "" {
		t.Fatalf("stat %+v", st)
	}
	var check floodCheck
	var skipped int64
	for from := sallyport.Offset(0); ; {
		c, err := l.Read(sallyport.Range{From: from, Max: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		skipped += c.Skipped
		check.off += c.Skipped
		if _, err := check.Write(c.Data); err != nil {
			t.Fatal(err)
		}
		if from = c.Next; c.EOF {
			break
		}
	}
	if skipped != st.Dropped || check.off != size {
		t.Errorf("skipped %d of %d, stat says %d dropped", skipped, check.off, st.Dropped)
	}
	if kept := size - skipped; kept > l.quota || kept < l.quota*3/4 {
		t.Errorf("%d bytes kept of a quota of %d", kept, l.quota)
	}
	p, err := l.Lines(sallyport.LineQuery{From: int64(st.DropFrom)/16 - 1, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if p.Total != size/16 || p.Dropped != st.Dropped/16 || st.Dropped%16 != 0 {
		t.Errorf("%d lines, %d dropped: want %d and %d", p.Total, p.Dropped, size/16, st.Dropped/16)
	}
	if len(p.Lines) != 2 || p.Lines[1].No-p.Lines[0].No-1 != p.Dropped {
		t.Errorf("round the gap: %s", page(p))
	}
	for _, ln := range p.Lines {
		if n, err := strconv.ParseInt(string(ln.Text), 16, 64); err != nil || n != ln.No || int64(ln.Off) != 16*n {
			t.Errorf("line %d at %d is %q", ln.No, ln.Off, ln.Text)
		}
	}
}

// resident is this process's memory in bytes.
func resident(t *testing.T) int64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Error(err)
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Error(err)
	}
	return kb << 10
}

// TestFloodSmallQuota floods the smallest log, in both ways to bound a file.
func TestFloodSmallQuota(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, s *Store) {
		l := create(t, s, "log", 1)
		if err := l.Pump(flooder(t, 40<<20), sallyport.Stdout); err != nil {
			t.Fatal(err)
		}
		l.Seal()
		checkFlood(t, l, 40<<20)
		if n := l.Disk(); n > minQuota+64<<10 {
			t.Errorf("%d bytes on disk", n)
		}
	})
}

// TestAlternatingFlood has the streams alternate with each byte: it is the index that would grow without bound.
func TestAlternatingFlood(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, s *Store) {
		l := create(t, s, "log", minQuota)
		const n = 40_000
		for range n {
			write(t, l, "o")
			if err := l.Append(sallyport.Stderr, []byte("e\n")); err != nil {
				t.Fatal(err)
			}
		}
		l.Seal()
		if n := l.Disk(); n > minQuota {
			t.Errorf("%d bytes on disk", n)
		}
		st := l.Stat()
		out, skipped := readAll(t, l, sallyport.Stdout)
		errs, _ := readAll(t, l, sallyport.Stderr)
		if strings.Trim(string(out), "o") != "" || strings.Trim(string(errs), "e\n") != "" {
			t.Error("streams are mixed up")
		}
		if got := int64(len(out)+len(errs)) + skipped; got != 3*n || skipped != st.Dropped || skipped == 0 {
			t.Errorf("%d bytes in all, %d skipped, %d dropped", got, skipped, st.Dropped)
		}
	})
}

// TestPipesGrow checks that only a pipe that is found full is enlarged, and only so many of them.
func TestPipesGrow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size  int64
		grown int32 // by others, before
		want  bool
	}{"flood": {16 << 20, 0, true}, "trickle": {1 << 10, 0, false}, "too many": {16 << 20, maxGrown, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t)
			l.store.grown.Store(c.grown)
			r := flooder(t, c.size)
			if err := l.Pump(r, sallyport.Stdout); err != nil {
				t.Fatal(err)
			}
			n, err := unix.FcntlInt(r.Fd(), unix.F_GETPIPE_SZ, 0)
			if err != nil {
				t.Fatal(err)
			}
			if grown := n > pipeFull; grown != c.want {
				t.Errorf("the pipe holds %d bytes", n)
			}
			if n := l.store.grown.Load(); n != c.grown {
				t.Errorf("%d places for large pipes taken, want %d", n, c.grown)
			}
		})
	}
}
