package output

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-sh/sallyport"
)

var errFault = errors.New("input/output error")

// faultDisk is a disk that fails on command.
type faultDisk struct {
	osDisk
	room   atomic.Int64 // bytes that can still be written; then errFault
	noOpen atomic.Bool
	noRead atomic.Bool
	opened atomic.Int64 // files open now
	most   atomic.Int64 // and at most so far
}

func newFaultDisk() *faultDisk {
	d := new(faultDisk)
	d.room.Store(1 << 40)
	return d
}

func (d *faultDisk) open(path string, create bool) (file, error) {
	if d.noOpen.Load() {
		return nil, errFault
	}
	f, err := d.osDisk.open(path, create)
	if err != nil {
		return nil, err
	}
	n := d.opened.Add(1)
	for most := d.most.Load(); n > most && !d.most.CompareAndSwap(most, n); most = d.most.Load() {
	}
	return &faultFile{file: f, disk: d}, nil
}

type faultFile struct {
	file
	disk *faultDisk
}

// take says how many of n bytes there is room for.
func (f *faultFile) take(n int) int {
	rest := f.disk.room.Add(int64(-n))
	if rest >= 0 {
		return n
	}
	f.disk.room.Store(0)
	return max(n+int(rest), 0)
}

func (f *faultFile) WriteAt(p []byte, off int64) (int, error) {
	n := f.take(len(p))
	m, err := f.file.WriteAt(p[:n], off)
	if err == nil && m < len(p) {
		err = errFault
	}
	return m, err
}

func (f *faultFile) splice(pipe int, off int64, n int) (int, error) {
	if n = f.take(n); n == 0 {
		return 0, errFault
	}
	m, err := f.file.splice(pipe, off, n)
	f.disk.room.Add(int64(n - m)) // there was less in the pipe
	return m, err
}

func (f *faultFile) ReadAt(p []byte, off int64) (int, error) {
	if f.disk.noRead.Load() {
		return 0, errFault
	}
	return f.file.ReadAt(p, off)
}

func (f *faultFile) Close() error {
	f.disk.opened.Add(-1)
	return f.file.Close()
}

func faultLog(t testing.TB, quota int64) (*Log, *faultDisk) {
	t.Helper()
	d := newFaultDisk()
	s, err := openStore(t.TempDir(), 0, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	l, err := s.create("log", quota)
	if err != nil {
		t.Fatal(err)
	}
	return l, d
}

// TestFailingDiskAgainstModel is the model test with a disk that fails for good at some moment: what comes later is
// one gap up to the end.
func TestFailingDiskAgainstModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		d := newFaultDisk()
		d.room.Store(rapid.Int64Range(0, 10_000).Draw(t, "room"))
		s, err := openStore(dir, 0, d)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		l, err := s.create("log", 4<<10)
		if err != nil {
			t.Fatal(err)
		}
		defer remove(t, l)
		tr := &trial{t: t, log: l}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) { tr.append(genStream.Draw(t, "stream"), genText(t)) },
			"stdout": func(t *rapid.T) { tr.append(sallyport.Stdout, genText(t)) },
			"read":   func(*rapid.T) { tr.read() },
			"lines":  func(*rapid.T) { tr.lines() },
		})
	})
}

// TestLostOutputIsCounted pumps into a disk that fails in the middle: the child gets rid of its output all the same.
func TestLostOutputIsCounted(t *testing.T) {
	t.Parallel()
	const size, room = 4 << 20, 1 << 20
	l, d := faultLog(t, 64<<20)
	d.room.Store(room)
	if err := l.Pump(flooder(t, size), sallyport.Stdout); err != nil {
		t.Fatal(err)
	}
	l.Seal()
	st := l.Stat()
	kept := size - st.Dropped
	if st.End != size || int64(st.DropFrom) != kept || kept > room || kept < room/2 {
		t.Errorf("stat %+v", st)
	}
	if want := fmt.Sprintf("the last %d bytes, from offset %d on", st.Dropped, st.DropFrom); !strings.Contains(st.Incomplete, want) {
		t.Errorf("%q does not say %q", st.Incomplete, want)
	}
	data, skipped := readAll(t, l, sallyport.AnyStream)
	if _, err := new(floodCheck).Write(data); err != nil || int64(len(data)) != kept || skipped != st.Dropped {
		t.Errorf("%d bytes read, %d skipped, %v", len(data), skipped, err)
	}
	p, err := l.Lines(sallyport.LineQuery{From: -1, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if p.Total != size/16 || p.Dropped != (size-kept)/16 {
		t.Errorf("%d lines, %d dropped", p.Total, p.Dropped)
	}
}

func TestNoSpool(t *testing.T) {
	t.Parallel()
	l, d := faultLog(t, 64<<20)
	d.noOpen.Store(true)
	write(t, l, "one\n", "two\n")
	st := l.Stat()
	if st.End != 8 || st.Dropped != 8 || st.DropFrom != 0 || !strings.Contains(st.Incomplete, "input/output error") {
		t.Errorf("%+v", st)
	}
	if c, err := l.Read(sallyport.Range{}); err != nil || c.Skipped != 8 || c.Next != 8 {
		t.Errorf("%+v, %v", c, err)
	}
	if p, err := l.Lines(sallyport.LineQuery{}); err != nil || page(p) != "next 2 of 2, 2 dropped" {
		t.Errorf("%s, %v", page(p), err)
	}
}

// TestUnreadableSpool has a disk that takes bytes but gives none back. Readers hear of it, the writer goes on, and no
// line count is made up.
func TestUnreadableSpool(t *testing.T) {
	t.Parallel()
	l, d := faultLog(t, 64<<10)
	write(t, l, "one\n")
	d.noRead.Store(true)
	if _, err := l.Read(sallyport.Range{}); !errors.Is(err, sallyport.Internal) || !errors.Is(err, errFault) {
		t.Errorf("read: %v", err)
	}
	write(t, l, strings.Repeat("line\n", 40_000))
	if st := l.Stat(); st.End != 200_004 || st.Dropped < 100_000 {
		t.Errorf("%+v", st)
	}
	d.noRead.Store(false)
	if _, err := l.Lines(sallyport.LineQuery{}); !errors.Is(err, sallyport.Internal) {
		t.Errorf("lines: %v", err)
	}
	if c, err := l.Read(sallyport.Range{Max: 4}); err != nil || string(c.Data) != "one\n" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestDescriptors has far more logs in use than descriptors.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	d := newFaultDisk()
	s, err := openStore(t.TempDir(), 8, d)
	if err != nil {
		t.Fatal(err)
	}
	var logs []*Log
	for i := range 100 {
		l := create(t, s, fmt.Sprint("log", i), 0)
		logs = append(logs, l)
		for range 3 {
			write(t, l, "out\n")
			if err := l.Append(sallyport.Stderr, []byte("err\n")); err != nil {
				t.Fatal(err)
			}
		}
	}
	var users sync.WaitGroup
	for _, l := range logs[:4] { // as many at once as cannot make it more than eight
		users.Go(func() {
			for range 50 {
				if err := l.Append(sallyport.Stdout, []byte("more\n")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Wait()
	for _, l := range logs {
		l.Seal()
		if got, _ := readAll(t, l, sallyport.Stderr); string(got) != "err\nerr\nerr\n" {
			t.Errorf("%q", got)
		}
	}
	if n := d.most.Load(); n > 8+4 { // one is opened before another is closed
		t.Errorf("%d descriptors open at once", n)
	}
	for _, l := range logs {
		if err := l.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := os.ReadDir(s.dir); err != nil || len(names) > 0 || d.opened.Load() > 0 {
		t.Errorf("left: %d files, %d open, %v", len(names), d.opened.Load(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
