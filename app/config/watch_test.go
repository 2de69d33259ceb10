package config

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// soon is how long a change may take on a busy machine. It takes quiet plus a few milliseconds on an idle one.
const soon = 20 * time.Second

func watch(t *testing.T, path string) *Watcher {
	t.Helper()
	w, err := Watch(context.Background(), path, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// becomes waits until exec.grace_ms is n and the file is in force.
func becomes(t *testing.T, w *Watcher, n int) {
	t.Helper()
	testenv.Eventually(t, soon, func() bool {
		return w.Current().Exec.Grace == time.Duration(n)*time.Millisecond && w.LastError() == nil
	}, "the change is in force")
}

func grace(ms string) string { return "[exec]\ngrace_ms = " + ms + "\n" }

// Ways in which programs save a file.
func TestWatchSaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		save func(path, text string) error
	}{
		{"in place", func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }},
		{"rename", func(path, text string) error {
			if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}},
		{"backup first", func(path, text string) error {
			if err := os.Rename(path, path+"~"); err != nil {
				return err
			}
			return os.WriteFile(path, []byte(text), 0o600)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config.toml")
			write(t, path, grace("1"))
			w := watch(t, path)
			becomes(t, w, 1)
			for _, ms := range []int{2, 3} {
				if err := c.save(path, grace(string(rune('0'+ms)))); err != nil {
					t.Fatal(err)
				}
				becomes(t, w, ms)
			}
		})
	}
}

// A file that is wrong changes nothing, and is in force once it is right.
func TestWatchInvalid(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, grace("1"))
	w := watch(t, path)
	told := make(chan error, 10)
	w.OnChange(func(s *Snapshot, err error) { told <- err })
	before := w.Current()
	write(t, path, grace("'x'"))
	testenv.Eventually(t, soon, func() bool { return w.LastError() != nil }, "the mistake is known")
	if w.Current() != before {
		t.Error("something changed")
	}
	if !strings.Contains(w.LastError().Error(), "line 2: exec.grace_ms") {
		t.Errorf("it says %v", w.LastError())
	}
	if err := <-told; err == nil {
		t.Error("a change was announced")
	}
	write(t, path, grace("1")) // as it was
	becomes(t, w, 1)
	if err := <-told; err != nil {
		t.Errorf("back, and %v was announced", err)
	}
	write(t, path, grace("2"))
	becomes(t, w, 2)
	if err := <-told; err != nil {
		t.Errorf("changed, and %v was announced", err)
	}
}

// A file that vanished may not take a refusal with it.
func TestWatchGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, "[tools.exec]\nsecurity = 'deny'\n")
	w := watch(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, soon, func() bool { return errors.Is(w.LastError(), errGone) }, "it is missed")
	if w.Current().Tools.Exec.Security != "deny" {
		t.Error("what was denied is allowed")
	}
	write(t, path, grace("3"))
	becomes(t, w, 3)
}

// Neither the file nor its directories exist yet.
func TestWatchBirth(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b", "config.toml")
	w := watch(t, path)
	becomes(t, w, 5000)
	write(t, path, grace("1"))
	becomes(t, w, 1)
	// And again, in a directory of the same name.
	if err := os.RemoveAll(filepath.Dir(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, soon, func() bool { return w.LastError() != nil }, "it is missed")
	write(t, path, grace("2"))
	becomes(t, w, 2)
	write(t, path, grace("3"))
	becomes(t, w, 3)
}

// The file is a link into a directory that is itself swapped as a whole.
func TestWatchLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "one", "config.toml"), grace("1"))
	write(t, filepath.Join(dir, "two", "config.toml"), grace("2"))
	path := filepath.Join(dir, "config.toml")
	for link, target := range map[string]string{"now": "one", "config.toml": "now/config.toml"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	w := watch(t, path)
	becomes(t, w, 1)
	if err := os.Symlink("two", filepath.Join(dir, "next")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "now")); err != nil {
		t.Fatal(err)
	}
	becomes(t, w, 2)
	write(t, filepath.Join(dir, "two", "config.toml"), grace("3"))
	becomes(t, w, 3)
	// Set writes through the links.
	if err := Set(path, "exec.grace_ms", "4"); err != nil {
		t.Fatal(err)
	}
	becomes(t, w, 4)
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
}

// What does not change a value is not announced.
func TestWatchComments(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, grace("1"))
	w := watch(t, path)
	told := make(chan *Snapshot, 10)
	w.OnChange(func(s *Snapshot, _ error) { told <- s })
	write(t, path, "# a comment\n"+grace("1"))
	write(t, path, grace("2"))
	becomes(t, w, 2)
	if s := <-told; s != w.Current() {
		t.Error("another snapshot was announced than is in force")
	}
	select {
	case <-told:
		t.Error("a second change was announced")
	default:
	}
}

func TestWatchAdjusts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	w, err := Watch(t.Context(), path, slog.New(slog.DiscardHandler), func(s *Snapshot) *Snapshot {
		return Env(s, environment("SALLYPORT_KILL=mark"))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	write(t, path, grace("1"))
	becomes(t, w, 1)
	if w.Current().Exec.Kill != "mark" {
		t.Error("the second snapshot is not adjusted")
	}
}

func TestWatchStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, "x = 1")
	if _, err := Watch(t.Context(), path, slog.New(slog.DiscardHandler), nil); err == nil {
		t.Error("a wrong file at the start is an error")
	}
}

// Where the system has no watch left, the file is looked at now and then.
func TestPoll(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	n := 0
	poll(ctx, func() {
		if n++; n == 2 {
			stop(errors.New("seen twice"))
		}
	})
	if n != 2 {
		t.Errorf("looked %d times", n)
	}
}

func BenchmarkWatchStart(b *testing.B) {
	path := filepath.Join(b.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(grace("1")), 0o600); err != nil {
		b.Fatal(err)
	}
	var open []*Watcher
	for b.Loop() {
		w, err := Watch(context.Background(), path, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if open = append(open, w); len(open) == 50 {
			for _, w := range open {
				w.Close()
			}
			open = open[:0]
		}
		b.StartTimer()
	}
	b.StopTimer()
	for _, w := range open {
		w.Close()
	}
}
