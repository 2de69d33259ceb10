package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

const (
	gigabyte = 1 << 30
	quota    = 64 << 20 // the default of output.quota
)

// throughput is promise 3: a flood of output, against the same program into `cat > file` on the same disk.
func throughput(ctx context.Context, b *bench) ([]row, error) {
	g, err := b.gateway(ctx, gatewayOptions{name: "throughput"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = g.close() }()
	size := b.scale(gigabyte)
	n := strconv.Itoa(size)
	before, err := testenv.UsageOf(g.pid())
	if err != nil {
		return nil, err
	}
	disk := watchDisk(g.state())
	var ratios []float64
	var ours, cats time.Duration
	exact := true
	for range 5 {
		cat, err := catToFile(ctx, b, n)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		text, _, err := g.call(ctx, "exec", map[string]any{"argv": []string{b.self, floodWord, n}, "yieldMs": 120_000})
		if err != nil {
			return nil, err
		}
		took := time.Since(start)
		exact = exact && strings.Contains(text, grouped(size))
		ratios = append(ratios, float64(cat)/float64(took))
		ours, cats = ours+took, cats+cat
	}
	most := disk.stop()
	after, err := testenv.UsageOf(g.pid())
	if err != nil {
		return nil, err
	}
	speed := func(d time.Duration) float64 { return 5 * float64(size) / d.Seconds() / 1e9 }
	ratio, grown := median(ratios), after.Peak-before.RSS
	counts := "exact"
	if !exact {
		counts = "not in the answer"
	}
	return []row{
		{3, "speed against the same child into `cat > file`", fmt.Sprintf("**%.2f ×** (%.2f of %.2f GB/s)", ratio, speed(ours), speed(cats)), "≥ 0.9 ×", ratio >= 0.9},
		{3, "growth of the gateway's memory", fmt.Sprintf("%d MB", grown>>20), "< 64 MB", grown < 64<<20},
		{3, "space on disk, with a quota of 64 MiB a session", fmt.Sprintf("%d MB for 5 sessions", most>>20), "bounded by the quota", most < 5*quota+(16<<20)},
		{3, "count of bytes in the answer", counts, "exact", exact},
	}, nil
}

// catToFile is the floor: what a shell would do.
func catToFile(ctx context.Context, b *bench, n string) (time.Duration, error) {
	file := filepath.Join(b.dir, "cat")
	defer func() { _ = os.Remove(file) }()
	start := time.Now()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `"$1" "$2" "$3" | cat > "$4"`, "sh", b.self, floodWord, n, file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("cat > file: %w: %s", err, out)
	}
	return time.Since(start), nil
}

// grouped writes a number as results do.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// A diskWatch looks again and again at how much space a directory takes.
type diskWatch struct {
	done chan struct{}
	wg   sync.WaitGroup
	most int64
}

func watchDisk(dir string) *diskWatch {
	w := &diskWatch{done: make(chan struct{})}
	w.wg.Go(func() {
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-w.done:
				return
			case <-ticker.C:
				w.most = max(w.most, space(dir))
			}
		}
	})
	return w
}

func (w *diskWatch) stop() int64 {
	close(w.done)
	w.wg.Wait()
	return w.most
}

// space is what the files below dir have allocated.
func space(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil // files come and go meanwhile
		}
		if info, err := os.Lstat(path); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += st.Blocks * 512
			}
		}
		return nil
	})
	return sum
}
