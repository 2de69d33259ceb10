package output

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// tiny mounts a file system of so many bytes.
func tiny(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		testenv.Missing(t, "mount")
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestDiskFull fills a real file system: the child ends as it would, what was kept is right, the rest is counted, and
// the disk has room again once the log is removed.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	s, err := OpenStore(tiny(t, "size=1m"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := create(t, s, "log", 0)
	if err := l.Pump(flooder(t, size), sallyport.Stdout); err != nil {
		t.Fatal(err)
	}
	l.Seal()
	st := l.Stat()
	kept := size - st.Dropped
	if st.End != size || kept < 1<<19 || kept > 1<<20 || !strings.HasPrefix(st.Incomplete, "disk full: ") {
		t.Errorf("%+v", st)
	}
	data, _ := readAll(t, l, sallyport.AnyStream)
	if _, err := new(floodCheck).Write(data); err != nil || int64(len(data)) != kept {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if p, err := l.Lines(sallyport.LineQuery{}); err != nil || p.Total != size/16 || p.Dropped != (size-kept)/16 {
		t.Errorf("%d lines, %d dropped, %v", p.Total, p.Dropped, err)
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.dir+"/room", make([]byte, 1<<19), 0o600); err != nil {
		t.Error(err)
	}
}

// TestNoInode has room for bytes, but for no further file.
func TestNoInode(t *testing.T) {
	t.Parallel()
	s, err := OpenStore(tiny(t, "size=1m,nr_inodes=2"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first, second := create(t, s, "first", 0), create(t, s, "second", 0)
	write(t, first, "one\n")
	write(t, second, "two\n")
	if st := first.Stat(); st.Incomplete != "" {
		t.Errorf("%+v", st)
	}
	if st := second.Stat(); st.Dropped != 4 || !strings.HasPrefix(st.Incomplete, "disk full: ") {
		t.Errorf("%+v", st)
	}
}
