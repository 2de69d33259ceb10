//go:build unix

package output

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-sh/sallyport"
)

func TestStoreIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStore(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := create(t, s, "amber-atlas", 0)
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("%d files before the first byte, %v", len(names), err)
	}
	write(t, l, "x")
	if err := l.Append(sallyport.Stderr, []byte("y")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"": 0o700 | fs.ModeDir, "amber-atlas.log": 0o600, "amber-atlas.idx": 0o600} {
		fi, err := os.Stat(filepath.Join(dir, name))
		if err != nil || fi.Mode() != want {
			t.Errorf("%q: %v, want %v (%v)", name, fi.Mode(), want, err)
		}
	}
}
