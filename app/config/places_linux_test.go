package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

func TestPasswdHome(t *testing.T) {
	t.Parallel()
	data := "root:x:0:0:root:/root:/bin/bash\n# a comment\n+::1000::::\n+nis:x:1000:1000::/wrong:\nbroken:1000\nann:x:1000:1000:Ann,,,:/home/ann:/bin/sh\n" +
		"other:x:1000:1000::/home/other:/bin/sh\nnone:x:7:7:::"
	for uid, want := range map[int]string{0: "/root", 1000: "/home/ann", 7: "", 1: "", 100: ""} {
		if home, ok := passwdHome(data, uid); home != want || ok != (uid == 0 || uid == 1000 || uid == 7) {
			t.Errorf("home of %d is %q, %v", uid, home, ok)
		}
	}
}

// A user whom nobody knows is told so; HOME does not help.
func TestUnknownUser(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	const nobodyHasThis = 3_999_999_999
	home, err := homeOf(nobodyHasThis)
	missing, ok := errors.AsType[*noHomeError](err)
	if !ok || home != "" || !strings.Contains(missing.Error(), "is not in the password database") {
		t.Errorf("home %q, %v", home, err)
	}
}

// The name of the directory can be foreseen, so another user may have made it, or a link of that name.
func TestTemporaryHome(t *testing.T) {
	t.Parallel()
	uid := os.Getuid()
	tmp := t.TempDir()
	dir, err := temporaryHome(tmp, uid)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := temporaryHome(tmp, uid); err != nil || again != dir {
		t.Errorf("the second time: %q, %v", again, err)
	}
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := temporaryHome(tmp, uid); err == nil || !strings.Contains(err.Error(), "mode 0750") {
		t.Errorf("one that others can enter: %v", err)
	}
	tmp = t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(tmp, filepath.Base(dir))); err != nil {
		t.Fatal(err)
	}
	if _, err := temporaryHome(tmp, uid); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("a link: %v", err)
	}
	testenv.NeedRoot(t)
	tmp = t.TempDir()
	foreign := filepath.Join(tmp, filepath.Base(dir))
	if err := errors.Join(os.Mkdir(foreign, 0o700), os.Chown(foreign, testenv.Nobody, testenv.Nobody)); err != nil {
		t.Fatal(err)
	}
	if _, err := temporaryHome(tmp, uid); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("somebody else's: %v", err)
	}
}

func TestStateMustBePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (Paths{State: dir}).MakeState(); err == nil || !strings.Contains(err.Error(), "mode 0755") {
		t.Errorf("others can enter it: %v", err)
	}
}

// Whoever may write the file decides what runs.
func TestWriters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]string{0o600: "", 0o644: "", 0o664: "warning", 0o666: "error", 0o602: "error"} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		s, err := Load(path)
		got := ""
		switch {
		case err != nil:
			got = "error"
		case len(s.Warnings) > 0:
			got = "warning"
		}
		if got != want {
			t.Errorf("mode %04o: %q, want %q (%v)", mode, got, want, err)
		}
	}
}

// A file of another mode is one for its owner only after an edit.
func TestSetMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Set(path, "exec.grace_ms", "7"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
