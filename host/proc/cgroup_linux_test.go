package proc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-sh/sallyport/host/proc/proctest"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestCgroupsAreReused: a directory whose tree has ended by itself serves the next one, one that was hit does not (see
// place.hit), and no more are kept than trees were there at once.
func TestCgroupsAreReused(t *testing.T) {
	t.Parallel()
	table := open(t, Options{Rung: Cgroup, Own: true})
	dirs := func() int {
		found, _ := filepath.Glob(table.Dirs()[0] + "/*/cgroup.procs")
		return len(found)
	}
	for range 50 {
		tree := begin(t, table, shell("exit 4"))
		if x := exit(t, tree); x.Code != 4 {
			t.Errorf("exit %+v", x)
		}
		tree.Release()
	}
	if n := dirs(); n != 1 {
		t.Errorf("%d directories for one tree after the other", n)
	}
	for range 20 {
		tree := begin(t, table, shell("exec sleep 999"))
		tree.Kill(context.Background(), 0)
		tree.Release()
		if x := exit(t, begin(t, table, shell("exit 4"))); x.Code != 4 {
			t.Errorf("after a kill: exit %+v", x)
		}
	}
	if n := dirs(); n > 21 {
		t.Errorf("%d directories", n)
	}
}

// TestSpoiledCgroup: a tree can do to its directory what it wants; the next tree is none the worse.
func TestSpoiledCgroup(t *testing.T) {
	t.Parallel()
	testenv.NeedRoot(t)
	table := open(t, Options{Rung: Cgroup, Own: true})
	for name, text := range map[string]string{
		"threaded":         "echo threaded > $D/cgroup.type",
		"frozen":           "(echo 1 > $D/cgroup.freeze)",
		"with directories": "mkdir -p $D/a/b; echo $$ > $D/a/b/cgroup.procs; sleep 999 & exit",
		"left":             "echo $$ > $D/../../cgroup.procs; setsid -f sleep 999",
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		s := shell("read D; " + text)
		s.Stdin = r
		tree := begin(t, table, s)
		r.Close()
		fmt.Fprintln(w, tree.place.dir)
		w.Close()
		if name != "frozen" {
			exit(t, tree)
		}
		if report := tree.Kill(context.Background(), 0); len(report.Survivors) > 0 {
			t.Errorf("%s: survivors %v", name, report.Survivors)
		}
		gone(t, s.ID)
		tree.Release()
		for range 2 {
			next := begin(t, table, shell("exit 5"))
			if x := exit(t, next); x.Code != 5 {
				t.Errorf("%s: the next tree ended with %+v", name, x)
			}
			next.Release()
		}
	}
}

// TestStaleDirectoriesGo: what a killed process left is removed by the next, what a living one has is not.
func TestStaleDirectoriesGo(t *testing.T) {
	t.Parallel()
	testenv.NeedRoot(t)
	parent, err := hierarchy(true)
	if err != nil {
		testenv.Missing(t, "cgroup2")
	}
	stale := filepath.Join(parent, topPrefix+"0-0")
	if err := os.MkdirAll(stale+"/1", 0o755); err != nil {
		testenv.Missing(t, "cgroup2")
	}
	first := open(t, Options{Rung: Cgroup})
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("%s: %v", stale, err)
	}
	open(t, Options{Rung: Cgroup})
	if x := exit(t, begin(t, first, shell("exit 6"))); x.Code != 6 {
		t.Errorf("in the first table: %+v", x)
	}
}

// TestTasksOfV2: the controller's file says the limit, also for a tree that has none after one that had.
func TestTasksOfV2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "pids.max")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for pids, want := range map[int]string{0: "max", 7: "7", 4096: "4096"} {
		if err := os.Truncate(file, 0); err != nil {
			t.Fatal(err)
		}
		tr := &Tree{pids: pids}
		tr.place.dir = dir
		if err := (v2Limit{}).prepare(tr); err != nil {
			t.Error(err)
		}
		if got, _ := os.ReadFile(file); string(got) != want {
			t.Errorf("limit %d is written as %q", pids, got)
		}
	}
	tr := &Tree{pids: 1}
	tr.place.dir = filepath.Join(dir, "gone")
	if err := (v2Limit{}).prepare(tr); err == nil || !strings.HasPrefix(err.Error(), StepLimit) {
		t.Errorf("a limit that cannot be set: %v", err)
	}
}

// TestMovedOut: a process that leaves its cgroup, as a login manager makes it, is still the tree's.
func TestMovedOut(t *testing.T) {
	t.Parallel()
	table := open(t, Options{Rung: Cgroup, Own: true})
	parent := filepath.Dir(table.Dirs()[0])
	tree := begin(t, table, shell("setsid -f sh -c 'echo $$ >"+parent+"/cgroup.procs; sleep 999'; exec sleep 999"))
	three := func() bool { return len(tree.Members()) == 3 && cgroupOf(tree.Members()[2].PID) != tree.place.path }
	testenv.Eventually(t, soon, three, "one of three has left")
	report := tree.Kill(context.Background(), 0)
	if report.Killed != 3 || len(report.Survivors) > 0 {
		t.Errorf("report %+v", report)
	}
	if left := proctest.Left(tree.id); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
