package proc

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/host/proc/proctest"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// lived is what many live trees cost.
type lived struct {
	PerTree     int // bytes of heap and stacks a tree
	Descriptors int // a hundred trees
	Threads     int // more than before
	StartAll    time.Duration
	KillAll     time.Duration
	Failures    []string
}

// live starts many trees, measures them, kills all, and looks that they are dead.
func live(in order) (any, error) {
	table, err := Open(Options{Rung: in.Rung, Own: true})
	if err != nil {
		return nil, err
	}
	defer table.Close(context.Background())
	token := proctest.Token()
	spec := Spec{ID: "live", Path: "/bin/sleep", Argv: []string{"sleep", "9999." + token}}
	before, beforeFDs, beforeThreads := memory(), fds(), len(tasks(os.Getpid()))
	var got lived
	began := time.Now()
	for range in.Trees {
		if _, err := table.Start(context.Background(), spec); err != nil {
			return nil, err
		}
	}
	got.StartAll = time.Since(began)
	got.PerTree = (memory() - before) / in.Trees
	got.Descriptors = (fds() - beforeFDs) * 100 / in.Trees
	got.Threads = len(tasks(os.Getpid())) - beforeThreads
	began = time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, tr := range table.all() {
		wg.Go(func() {
			if r := tr.Kill(context.Background(), time.Second); len(r.Survivors) > 0 || !tr.ended() {
				mu.Lock()
				defer mu.Unlock()
				got.Failures = append(got.Failures, list(r.Survivors))
			}
			tr.Release()
		})
	}
	wg.Wait()
	got.KillAll = time.Since(began)
	if left := proctest.Left(token); len(left) > 0 {
		got.Failures = append(got.Failures, "left: "+list(left))
	}
	return got, nil
}

// memory is what this process uses for heap and stacks, without garbage.
func memory() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}

func fds() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// TestLiveTrees keeps the budget of a tree that only lives: 8 KB, one descriptor, no thread.
func TestLiveTrees(t *testing.T) { // not parallel: thousands of processes slow down whoever reads /proc
	trees := testenv.Scale(2_000, 5_000)
	if testing.Short() {
		trees = 500
	}
	for _, rung := range []string{Mark, Cgroup} {
		t.Run(rung, func(t *testing.T) {
			if rung == Cgroup {
				testenv.NeedRoot(t)
			}
			var got lived
			perform(t, "live", setting{order: order{Rung: rung, Trees: trees}}, &got)
			t.Logf("%d trees: %d bytes and %.2f descriptors each, %d threads; started in %v, killed in %v", trees,
				got.PerTree, float64(got.Descriptors)/100, got.Threads, got.StartAll, got.KillAll)
			if got.PerTree > 8<<10 && !raceDetector || got.Descriptors > 105 || got.Threads > 20 {
				t.Error("that is over the budget")
			}
			testenv.InTime(t, got.KillAll, 15*time.Second*time.Duration(trees)/5_000, "killing all")
			for _, f := range got.Failures {
				t.Error(f)
			}
		})
	}
}

// bombed is what became of a fork bomb.
type bombed struct {
	Rung    string
	Caveats []string
	Peak    int // tasks of the tree at most, as far as they were seen
	Killed  int
	Took    time.Duration
	Left    int
}

// bomb lets a fork bomb grow for a while, and kills it. The caller has put this process under a limit of its own.
func bomb(in order) (any, error) {
	table, err := Open(Options{Rung: in.Rung, Own: true, Pids: in.Pids})
	if err != nil {
		return nil, err
	}
	defer table.Close(context.Background())
	token := proctest.Token()
	tree, err := table.Start(context.Background(), Spec{
		ID: token, Path: "/bin/bash", Argv: []string{"bash", "-c", "b() { b | b & }; b; sleep 9999." + token}, Dir: "/",
	})
	if err != nil {
		return nil, err
	}
	got := bombed{Rung: table.Rung(), Caveats: table.Caveats()}
	look := func() bool {
		got.Peak = max(got.Peak, len(proctest.Left(token)))
		return got.Peak > in.Pids/2
	}
	testenv.Poll(soon, look) // it has gone off
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		look()
	}
	r := tree.Kill(context.Background(), 0)
	got.Killed, got.Took, got.Left = r.Killed, r.Took, len(proctest.Left(token))+len(r.Survivors)
	return got, nil
}

// TestForkBomb: a limit on tasks holds, and the bomb dies. Whatever the limit does, the v1 directory that the whole
// trial runs in has one of its own.
func TestForkBomb(t *testing.T) {
	t.Parallel()
	testenv.NeedRoot(t)
	const (
		limit, outer = 25, 64
		// A user of its own: RLIMIT_NPROC counts what else a user runs, and nobody runs other tests.
		somebody = 64_123
	)
	for _, tt := range []struct {
		name, rung string
		uid, slack int // slack is what a limit of this sort cannot be exact about
	}{
		{"mark as root", Mark, 0, 1},
		{"mark as somebody", Mark, somebody, 3},
		{"cgroup as root", Cgroup, 0, 1},
		{"cgroup as somebody", Cgroup, somebody, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := setting{order: order{Rung: tt.rung, Pids: limit}, uid: tt.uid, tasks: pidsDir(t, outer)}
			if tt.rung == Cgroup {
				at.cgroup = testenv.Cgroup(t, tt.uid)
			}
			var got bombed
			perform(t, "bomb", at, &got)
			t.Logf("%d tasks at most; %d killed in %v; caveats %q", got.Peak, got.Killed, got.Took, got.Caveats)
			if got.Peak > limit+tt.slack || got.Peak < limit/2 {
				t.Errorf("%d tasks, want about %d", got.Peak, limit)
			}
			if got.Left > 0 {
				t.Errorf("%d processes are left", got.Left)
			}
			if over := overruns(t, at.tasks); over > 0 {
				t.Errorf("the outer limit had to stop it %d times", over)
			}
		})
	}
}

// pidsDir makes a directory in the v1 pids hierarchy.
func pidsDir(t *testing.T, limit int) string {
	t.Helper()
	parent, err := hierarchy(false)
	if err != nil {
		testenv.Missing(t, "v1 pids controller")
	}
	made, err := makeTop(parent)
	if err != nil {
		testenv.Missing(t, "v1 pids controller")
	}
	t.Cleanup(func() {
		if err := made.remove(); err != nil {
			t.Error(err)
		}
	})
	if err := writeSmall(filepath.Join(made.dir, "pids.max"), strconv.Itoa(limit)); err != nil {
		t.Fatal(err)
	}
	return made.dir
}

// overruns is how often a fork failed because of a directory's own limit.
func overruns(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "pids.events"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(text), "max ")))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
