//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A real shell reads the words back.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "a", "/opt/x-1.2/bin", "a b", "it's", `"$HOME"`, "`id`", "\\", "a\nb", "*", "~", "ü", ";", "!!"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+shellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q was quoted as %s and read as %q (%v)", word, shellWord(word), out, err)
		}
	}
}

// A link by which the program was called is kept: it outlives the version that it points to. Another program of that
// name is not taken for it.
func TestExecutable(t *testing.T) {
	t.Parallel()
	real, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, other := t.TempDir(), t.TempDir()
	link := filepath.Join(dir, "sallyport")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "sallyport"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, called, path, want string
	}{
		{"by its path", link, "", link},
		{"found on PATH", "sallyport", "relative:" + dir, link},
		{"another is on PATH", "sallyport", other + ":" + dir, real},
		{"not on PATH", "sallyport", "", real},
		{"no name", "", dir, real},
	} {
		env := &Env{Args: []string{c.called}, LookupEnv: func(string) (string, bool) { return c.path, true }}
		if got, err := executable(env); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}
