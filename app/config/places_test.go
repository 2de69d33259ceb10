package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	p := Places("/home/ann", -2, "")
	if p.Config != "/home/ann/.config/sallyport/config.toml" || p.State != "/home/ann/.local/state/sallyport" || p.Runtime != p.State {
		t.Errorf("%+v", p)
	}
	if p := Places("/home/ann", -2, "/etc/x.toml"); p.Config != "/etc/x.toml" || p.State != "/home/ann/.local/state/sallyport" {
		t.Errorf("with --config: %+v", p)
	}
	moved, err := p.With(parse(t, "state = '/var/x/'"))
	if err != nil || moved.State != "/var/x" || moved.Runtime != "/var/x" || moved.Config != p.Config {
		t.Errorf("with a state of its own: %+v, %v", moved, err)
	}
	if diff := cmp.Diff([]string{"/home/ann/bin", "/a", "/home/ann", "~bob/bin"}, p.Expand([]string{"~/bin", "/a", "~", "~bob/bin", "/a"})); diff != "" {
		t.Error(diff)
	}
}

// The environment moves nothing.
func TestFindIgnoresEnvironment(t *testing.T) {
	before, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "SALLYPORT_CONFIG", "USER"} {
		t.Setenv(name, t.TempDir())
	}
	after, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after, cmp.AllowUnexported(Paths{})); diff != "" {
		t.Error(diff)
	}
	if p, err := Find("some.toml"); err != nil || !filepath.IsAbs(p.Config) || filepath.Base(p.Config) != "some.toml" {
		t.Errorf("a relative file: %+v, %v", p, err)
	}
}

func TestMakeState(t *testing.T) {
	t.Parallel()
	p := Paths{State: filepath.Join(t.TempDir(), "a", "b")}
	if err := p.CheckState(); err != nil {
		t.Errorf("not there yet: %v", err)
	}
	for range 2 {
		if err := p.MakeState(); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.CheckState(); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Paths{State: filepath.Join(file, "x")}).MakeState(); err == nil {
		t.Error("made below a file")
	}
}

// Somebody without a home who passes --config with a state needs no other place.
func TestHomeless(t *testing.T) {
	missing := &noHomeError{uid: os.Getuid()}
	t.Setenv("TMPDIR", t.TempDir())
	p := Paths{Config: "/etc/x.toml", homeless: missing}
	with, err := p.With(parse(t, "state = '/var/x'"))
	if err != nil || with.State != "/var/x" || with.Home != "" {
		t.Errorf("%+v, %v", with, err)
	}
	with, err = p.With(Default())
	if err != nil || with.Config != "/etc/x.toml" || len(with.Warnings) != 1 {
		t.Fatalf("%+v, %v", with, err)
	}
	if err := private(with.Home, os.Getuid()); err != nil {
		t.Error(err)
	}
	if with.State != filepath.Join(with.Home, ".local", "state", "sallyport") {
		t.Errorf("state in %s", with.State)
	}
	if diff := cmp.Diff([]string{"~/bin"}, p.Expand([]string{"~/bin"})); diff != "" {
		t.Error(diff)
	}
	var e *noHomeError
	if !errors.As(error(missing), &e) || e.Error() == (&noHomeError{uid: 1, home: "/nonexistent"}).Error() {
		t.Error("the two reasons read the same")
	}
}
