package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

func TestStartErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name string
		spec Spec
		step string
		is   error
		says string
	}{
		{"missing", Spec{Path: dir + "/missing"}, StepExec, syscall.ENOENT, "no such file"},
		{"no interpreter", Spec{Path: write("script", "#!/no/such/interpreter\n", 0o755)}, StepExec, syscall.ENOENT, "its interpreter or loader"},
		{"not executable", Spec{Path: write("data", "#!/bin/sh\n", 0o644)}, StepExec, syscall.EACCES, "permission denied"},
		{"a directory", Spec{Path: dir}, StepExec, syscall.EACCES, "permission denied"},
		{"no program", Spec{Path: write("garbage", "\x00\x01\x02", 0o755)}, StepExec, syscall.ENOEXEC, "exec format error"},
		{"too long", Spec{Path: "/bin/true", Argv: []string{"true", strings.Repeat("x", 1<<18)}}, StepExec, syscall.E2BIG, "too long"},
		{"missing dir", Spec{Path: "/bin/true", Dir: dir + "/gone"}, StepChdir, syscall.ENOENT, dir + "/gone"},
		{"dir is a file", Spec{Path: "/bin/true", Dir: "/bin/true"}, StepChdir, syscall.ENOTDIR, "not a directory"},
	}
	eachRung(t, func(t *testing.T, o Options) {
		table := open(t, o)
		for _, tt := range tests {
			if tt.spec.Argv == nil {
				tt.spec.Argv = []string{"x"}
			}
			tt.spec.OnExit = func(Exit) { t.Errorf("%s: OnExit was called", tt.name) }
			tree, err := table.Start(context.Background(), tt.spec)
			var e *StartError
			if tree != nil || !errors.As(err, &e) || e.Step != tt.step || !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v, want %v in step %s, saying %q", tt.name, err, tt.is, tt.step, tt.says)
			}
		}
		if n := len(testenv.Children(t, os.Getpid())); o.Own && n > 50 {
			t.Errorf("%d children are left", n)
		}
		if n := len(table.all()); n != 0 {
			t.Errorf("%d trees are left", n)
		}
	})
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	table := open(t, Options{})
	for name, s := range map[string]Spec{
		"nothing": {}, "no arguments": {Path: "/bin/true"}, "a NUL in the id": {ID: "a\x00b", Path: "/bin/true", Argv: []string{"true"}},
		"a negative limit": {Path: "/bin/true", Argv: []string{"true"}, Pids: -1},
	} {
		if _, err := table.Start(context.Background(), s); err == nil {
			t.Errorf("%s: started", name)
		}
	}
	for _, o := range []Options{{Rung: "nonsense"}, {Markers: []string{""}}, {Markers: []string{"A=B"}}, {Rung: Cgroup, CgroupParent: t.TempDir() + "/x"}} {
		if other, err := Open(o); err == nil {
			other.Close(context.Background())
			t.Errorf("opened with %+v", o)
		}
	}
}

// TestNamedRungIsNotReplaced: who asks for a rung by name gets it or an error.
func TestNamedRungIsNotReplaced(t *testing.T) {
	t.Parallel()
	if _, err := Open(Options{Rung: Cgroup, CgroupParent: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "rung cgroup does not work here") {
		t.Errorf("an ordinary directory as cgroup: %v", err)
	}
	table := open(t, Options{Rung: Auto, CgroupParent: t.TempDir()})
	if table.Rung() != Mark {
		t.Errorf("rung %s, want the next one that works", table.Rung())
	}
}

// TestStartWaitsNoLongerThanItsContext: the queue for a start can be left.
func TestStartWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	table := open(t, Options{Rung: Mark})
	for range cap(table.slot) {
		table.slot <- struct{}{}
	}
	cause := errors.New("changed my mind")
	ctx, cancel := context.WithCancelCause(context.Background())
	failed := make(chan error)
	go func() {
		_, err := table.Start(ctx, shell("true"))
		failed <- err
	}()
	cancel(cause)
	if err := <-failed; !errors.Is(err, cause) {
		t.Errorf("%v, want %v", err, cause)
	}
	for range cap(table.slot) {
		<-table.slot
	}
	if _, err := table.Start(ctx, shell("true")); !errors.Is(err, cause) {
		t.Errorf("with a free place: %v, want %v", err, cause)
	}
	exit(t, begin(t, table, shell("true")))
}

func TestStartAfterClose(t *testing.T) {
	t.Parallel()
	table, err := Open(Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	tree := begin(t, table, shell("sleep 999 & sleep 999"))
	if err := table.Close(context.Background()); err != nil {
		t.Error(err)
	}
	gone(t, tree.id)
	if got := tree.Exit(); got.Signal != syscall.SIGKILL {
		t.Errorf("exit %+v, want SIGKILL", got)
	}
	if _, err := table.Start(context.Background(), shell("true")); !errors.Is(err, sallyport.Closed) {
		t.Errorf("start after close: %v", err)
	}
	if r := tree.Kill(context.Background(), 0); r.Killed != 0 || len(tree.Members()) != 0 {
		t.Errorf("kill after close: %+v", r)
	}
	if err := table.Close(context.Background()); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// TestWhatAChildInherits: a session of its own, no terminal, no descriptors, default signals, and the markers.
func TestWhatAChildInherits(t *testing.T) {
	t.Parallel()
	table := open(t, Options{Own: true, Markers: []string{"SALLYPORT_SESSION", "OTHER_MARK"}})
	s := shell(`read pid rest </proc/self/stat; set -- $(cut -d' ' -f5,6,7 /proc/$$/stat)
		[ "$1 $2 $3" = "$$ $$ 0" ] && echo session; (: </dev/tty) 2>/dev/null || echo no terminal
		ls -x /proc/$$/fd; grep -E 'Sig(Ign|Blk)' /proc/$$/status | tr -d '\t'; pwd
		env | grep -E '^(SALLYPORT_SESSION|OTHER_MARK)=' | sort`)
	s.ID = "amber-atlas"
	s.Env = append(s.Env, "OTHER_MARK=before", "SALLYPORT_SESSION=before")
	dir, err := os.Open("/usr")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s.Dir = fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	want := "session\nno terminal\n0  1  2\nSigBlk:0000000000000000\nSigIgn:0000000000000000\n/usr\n" +
		"OTHER_MARK=amber-atlas\nSALLYPORT_SESSION=amber-atlas\n"
	_, got := output(t, table, s)
	if diff := cmp.Diff(want, ownSignals(got)); diff != "" {
		t.Error(diff)
	}
}

// TestIgnoredSignalsAreNotInherited: a server started by nohup, or by a shell in the background, ignores signals; its
// commands do not.
func TestIgnoredSignalsAreNotInherited(t *testing.T) {
	t.Parallel()
	var ignored string
	perform(t, "ignore", setting{ignore: true}, &ignored)
	if want := "SigIgn:\t0000000000000000\n"; ownSignals(ignored) != want {
		t.Errorf("a command has %q, want %q", ignored, want)
	}
}

// ownSignals leaves signal 32 out of a mask: it is the C library's, which a test under the race detector is linked with
// and which may leave it ignored.
func ownSignals(status string) string {
	return strings.ReplaceAll(status, "0000000080000000", "0000000000000000")
}

// ignoring starts a command and returns what it ignores.
func ignoring(order) (any, error) {
	if !signal.Ignored(syscall.SIGHUP) || !signal.Ignored(syscall.SIGINT) {
		return nil, errors.New("HUP and INT are not ignored here")
	}
	table, err := Open(Options{Own: true})
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = table.Start(context.Background(), Spec{Path: "/bin/grep", Argv: []string{"grep", "SigIgn", "/proc/self/status"}, Stdout: w})
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	line, err := io.ReadAll(r)
	return string(line), errors.Join(err, table.Close(context.Background()))
}

// TestOutlivesItsThread: there is no parent-death signal, so the end of the thread that started a process means nothing.
func TestOutlivesItsThread(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, o Options) {
		table := open(t, o)
		started := make(chan *Tree)
		go func() {
			lockForGood()
			started <- begin(t, table, shell("exec sleep 999"))
		}()
		tree := <-started
		named := func() bool { ms := tree.Members(); return len(ms) == 1 && ms[0].Name == "sleep" }
		testenv.Eventually(t, soon, named, "the process is there")
		if tree.ended() {
			t.Errorf("it ended with its thread: %+v", tree.Exit())
		}
	})
}
