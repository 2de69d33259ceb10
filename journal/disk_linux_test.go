package journal

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// A disk is the seam: real files, plus faults, plus a model of what would be left after a power cut. It keeps what the
// kernel promises and no more: data is on disk after a sync that succeeded; a sync that failed may have written some
// of it, and what it did not write is lost for good, however many syncs succeed later; a directory's entries are on
// disk after the directory was synced; and anything may have been written without having been asked for.
type disk struct {
	t testing.TB

	mu      sync.Mutex
	rand    *rand.Rand
	writing func(name string, off int64, n int) error // nil: no faults
	syncing func(name string) error
	hanging chan struct{}
	images  map[uint64]*image            // by inode
	entries map[string]map[string]*image // of synced directories; subdirectories have no image
}

// An image is what is on disk of a file.
type image struct {
	data    []byte
	dirty   []span
	resized bool
}

type span struct{ from, to int64 }

func newDisk(t testing.TB) *disk {
	return &disk{
		t: t, rand: rand.New(rand.NewPCG(1, 2)),
		images: map[uint64]*image{}, entries: map[string]map[string]*image{},
	}
}

// fail sets the faults of writes and syncs; nil for none.
func (d *disk) fail(writing func(name string, off int64, n int) error, syncing func(name string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writing, d.syncing = writing, syncing
}

// hang lets syncs wait until release is called.
func (d *disk) hang() (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{})
	d.hanging = c
	return sync.OnceFunc(func() { close(c) })
}

func (d *disk) open(name string, flag int, perm os.FileMode) (File, error) {
	_, err := os.Stat(name)
	isNew := os.IsNotExist(err)
	f, err := openOS(name, flag, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.(osFile).Stat()
	if err != nil {
		return nil, err
	}
	ino := info.Sys().(*syscall.Stat_t).Ino
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.images[ino] == nil || isNew { // an inode may be used again
		d.images[ino] = &image{}
	}
	if flag&os.O_TRUNC != 0 {
		d.images[ino].resized = true
	}
	return &diskFile{osFile: f.(osFile), d: d, image: d.images[ino]}, nil
}

type diskFile struct {
	osFile
	d     *disk
	image *image
}

// WriteAt fails before it has written, or after half.
func (f *diskFile) WriteAt(b []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	var failed error
	if f.d.writing != nil {
		if failed = f.d.writing(filepath.Base(f.Name()), off, len(b)); failed != nil {
			b = b[:len(b)/2*f.d.rand.IntN(2)]
			if filepath.Base(f.Name()) == headName {
				b = nil // it lies in one page: the kernel copies all of it or nothing
			}
		}
	}
	n, err := f.File.WriteAt(b, off)
	f.image.dirty = append(f.image.dirty, span{off, off + int64(n)})
	if failed != nil {
		err = failed
	}
	return n, err
}

func (f *diskFile) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.image.resized = true
	return f.File.Truncate(size)
}

func (f *diskFile) Sync() error {
	f.d.mu.Lock()
	hanging := f.d.hanging
	f.d.mu.Unlock()
	if hanging != nil {
		<-hanging
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.syncing != nil {
		if err := f.d.syncing(filepath.Base(f.Name())); err != nil {
			if !f.dir {
				f.writeBack(2)
				f.image.dirty = nil // the rest is dropped
			}
			return err
		}
	}
	if f.dir {
		f.d.entries[f.Name()] = f.d.list(f.Name())
		return nil
	}
	f.writeBack(1)
	return nil
}

// writeBack writes one in n of the dirty spans, and the size.
func (f *diskFile) writeBack(n int) {
	current, err := os.ReadFile(f.Name())
	if err != nil {
		f.d.t.Error(err)
		return
	}
	f.d.writeBack(f.image, current, n)
}

func (d *disk) writeBack(m *image, current []byte, n int) {
	var left []span
	for _, s := range m.dirty {
		if d.rand.IntN(n) != 0 {
			left = append(left, s)
			continue
		}
		to := min(s.to, int64(len(current)))
		if grow := to - int64(len(m.data)); grow > 0 {
			m.data = append(m.data, make([]byte, grow)...)
		}
		if s.from < to {
			copy(m.data[s.from:to], current[s.from:to])
		}
	}
	m.dirty = left
	if m.resized && len(left) == 0 && len(m.data) > len(current) {
		m.data = m.data[:len(current)]
	}
	m.resized = m.resized && len(left) > 0
}

// list is a directory as it is now.
func (d *disk) list(dir string) map[string]*image {
	entries, err := os.ReadDir(dir)
	if err != nil {
		d.t.Error(err)
	}
	all := map[string]*image{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			d.t.Error(err)
			continue
		}
		all[e.Name()] = d.images[info.Sys().(*syscall.Stat_t).Ino]
	}
	return all
}

// powerCut returns a journal directory with what would be left of the chain of j, which is still being written.
func (d *disk) powerCut(j *Journal) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := d.t.(interface{ TempDir() string }).TempDir()
	if _, ok := d.entries[j.o.Dir][j.id]; !ok {
		return left
	}
	dir := filepath.Join(left, j.id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		d.t.Fatal(err)
	}
	entries := d.entries[j.dir]
	now := d.list(j.dir)
	if d.rand.IntN(2) == 0 {
		entries = now
	}
	for name, m := range entries {
		if m == nil {
			continue // a directory
		}
		if current, err := os.ReadFile(filepath.Join(j.dir, name)); err == nil && now[name] == m {
			d.writeBack(m, current, 2)
		}
		if err := os.WriteFile(filepath.Join(dir, name), m.data, 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
	return left
}
