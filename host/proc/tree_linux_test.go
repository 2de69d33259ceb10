package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/proc/proctest"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

func TestExit(t *testing.T) {
	t.Parallel()
	table := open(t, Options{Own: true})
	for text, want := range map[string]Exit{
		"exit 0":         {},
		"exit 7":         {Code: 7},
		"exit 255":       {Code: 255},
		"kill -9 $$":     {Code: -1, Signal: syscall.SIGKILL},
		"kill -TERM $$":  {Code: -1, Signal: syscall.SIGTERM},
		"kill -RTMAX $$": {Code: -1, Signal: 64},
	} {
		calls := make(chan Exit, 2)
		s := shell(text)
		s.OnExit = func(x Exit) { calls <- x }
		before := time.Now()
		tree := begin(t, table, s)
		got := exit(t, tree)
		if got.At.Before(before) || got.At.After(time.Now()) {
			t.Errorf("%q ended at %v", text, got.At)
		}
		if told := <-calls; told != got {
			t.Errorf("%q: OnExit got %+v, Exit says %+v", text, told, got)
		}
		got.At = time.Time{}
		if got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
		tree.Release()
		if len(calls) != 0 {
			t.Errorf("%q: OnExit was called twice", text)
		}
	}
}

// TestManyStartsLeaveNothing: no zombie, no descriptor, no goroutine, no directory, whatever the number of starts.
func TestManyStartsLeaveNothing(t *testing.T) { // not parallel: it counts what the whole process has
	starts := 10_000
	if testing.Short() {
		starts = 1_000
	}
	for _, rung := range []string{Mark, Cgroup} {
		t.Run(rung, func(t *testing.T) {
			table := open(t, Options{Rung: rung, Own: true, Pids: 100})
			round := func(n int) {
				var wg sync.WaitGroup
				for worker := range 8 {
					wg.Go(func() {
						for i := range n / 8 {
							s := Spec{Path: "/bin/true", Argv: []string{"true"}, ID: fmt.Sprintf("%d-%d", worker, i)}
							tree, err := table.Start(context.Background(), s)
							if err != nil {
								t.Error(err)
								return
							}
							<-tree.Done()
							if x := tree.Exit(); x.Code != 0 {
								t.Errorf("true ends with %+v", x)
							}
							tree.Release()
						}
					})
				}
				wg.Wait()
			}
			round(80) // threads, pools and buffers come to their sizes
			fds, goroutines := descriptors(t), runtime.NumGoroutine()
			round(starts)
			testenv.Eventually(t, soon, func() bool { return runtime.NumGoroutine() <= goroutines }, "the goroutines have gone")
			if n := descriptors(t); n > fds {
				t.Errorf("%d descriptors, before %d", n, fds)
			}
			zombies := slices.DeleteFunc(testenv.Children(t, os.Getpid()), func(p testenv.Process) bool { return p.State != 'Z' })
			if len(zombies) > 0 {
				t.Errorf("zombies: %v", zombies)
			}
			for _, dir := range table.Dirs() {
				subs, err := filepath.Glob(dir + "/*/cgroup.procs")
				if err != nil || len(subs) > pooled {
					t.Errorf("%d directories in %s, %v", len(subs), dir, err)
				}
			}
			dirs := table.Dirs()
			if err := table.Close(context.Background()); err != nil {
				t.Error(err)
			}
			for _, dir := range dirs {
				if _, err := os.Stat(dir); !os.IsNotExist(err) {
					t.Errorf("after close, %s is there: %v", dir, err)
				}
			}
		})
	}
}

// TestKillRacesExit kills commands at the moment at which they end by themselves. The result is one of the two, and no
// signal goes to anybody else.
func TestKillRacesExit(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, o Options) {
		table := open(t, o)
		runs := 500
		if !o.Own && testing.Short() {
			runs = 100 // they read all of /proc each time
		}
		killed := 0
		for i := range runs {
			tree := begin(t, table, Spec{Path: "/bin/true", Argv: []string{"true"}})
			var wg sync.WaitGroup
			wg.Go(func() {
				spin(time.Duration(i%50) * 20 * time.Microsecond) // true takes up to a millisecond
				_ = tree.Signal(syscall.SIGTERM)
			})
			spin(time.Duration(i%40) * 30 * time.Microsecond)
			report := tree.Kill(context.Background(), time.Duration(i%2)*time.Millisecond)
			wg.Wait()
			if len(report.Survivors) > 0 {
				t.Errorf("survivors: %v", report.Survivors)
			}
			switch x := exit(t, tree); {
			case x.Lost:
				t.Error("the exit status was lost")
			case x.Code == -1 && (x.Signal == syscall.SIGKILL || x.Signal == syscall.SIGTERM):
				killed++
			case x.Code != 0:
				t.Errorf("exit %+v is neither exited nor killed", x)
			}
			if err := tree.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("signal after the end: %v", err)
			}
			tree.Release()
		}
		t.Logf("%d of %d were killed", killed, runs)
	})
}

// spin waits for less than a timer can.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		runtime.Gosched()
	}
}

// TestLeftovers: what a command leaves behind is seen, can be signalled, and can be killed after its end.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, o Options) {
		table := open(t, o)
		tree := begin(t, table, shell("sleep 999 & setsid -f sleep 999; env -i setsid -f sleep 999; exit 3"))
		if x := exit(t, tree); x.Code != 3 {
			t.Errorf("exit %+v", x)
		}
		three := func() bool {
			ms := tree.Members()
			return len(ms) == 3 && !slices.ContainsFunc(ms, func(p sallyport.Process) bool { return p.Name != "sleep" })
		}
		testenv.Eventually(t, soon, three, "three processes are left")
		left := tree.Members()
		if err := tree.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		for _, p := range left {
			testenv.Eventually(t, soon, func() bool { s, ok := readStat(p.PID); return ok && s.state == 'T' }, "it is stopped")
		}
		// A stopped process acts on TERM only because it is woken.
		report := tree.Kill(context.Background(), soon)
		if report.Killed != 3 || len(report.Survivors) > 0 || report.Took > soon/2 {
			t.Errorf("report %+v", report)
		}
		for _, p := range left {
			if testenv.Alive(p.PID) {
				t.Errorf("%v lives", p)
			}
		}
		if ms := tree.Members(); len(ms) > 0 {
			t.Errorf("members after the kill: %v", ms)
		}
		if err := tree.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("signal to nobody: %v", err)
		}
		if again := tree.Kill(context.Background(), 0); again.Killed != 0 || len(again.Survivors) != 0 {
			t.Errorf("second kill: %+v", again)
		}
		tree.Release()
	})
}

// TestGrace: a tree that ends on TERM is not waited for, one that does not gets the whole grace, and every process is
// asked exactly once.
func TestGrace(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, o Options) {
		table := open(t, o)
		dir := t.TempDir()
		s := shell(`trap 'echo main >>` + dir + `/asked; exit 5' TERM
			(trap 'echo child >>` + dir + `/asked; exit' TERM; : >` + dir + `/child; while :; do sleep 0.01; done) &
			setsid sh -c "trap 'echo daemon >>` + dir + `/asked; exit' TERM; : >` + dir + `/daemon; while :; do sleep 0.01; done" &
			: >` + dir + `/main; while :; do sleep 0.01; done`)
		tree := begin(t, table, s)
		ready := func() bool { fs, _ := filepath.Glob(dir + "/*"); return len(fs) == 3 }
		testenv.Eventually(t, soon, ready, "all three can be asked")
		report := tree.Kill(context.Background(), soon)
		if x := exit(t, tree); x.Code != 5 || len(report.Survivors) > 0 || report.Took > soon/2 {
			t.Errorf("exit %+v, report %+v", x, report)
		}
		gone(t, tree.id)
		asked, _ := os.ReadFile(dir + "/asked")
		lines := strings.Fields(string(asked))
		slices.Sort(lines)
		if diff := cmp.Diff([]string{"child", "daemon", "main"}, lines); diff != "" {
			t.Error(diff)
		}

		stubborn := begin(t, table, shell("trap '' TERM; while :; do sleep 9; done"))
		const grace = 200 * time.Millisecond
		testenv.Eventually(t, soon, func() bool { return len(stubborn.Members()) == 2 }, "it has set its trap")
		if report := stubborn.Kill(context.Background(), grace); report.Took < grace || len(report.Survivors) > 0 {
			t.Errorf("report %+v", report)
		}
		if x := exit(t, stubborn); x.Signal != syscall.SIGKILL {
			t.Errorf("exit %+v", x)
		}
	})
}

func TestSignalReachesTheGroup(t *testing.T) {
	t.Parallel()
	table := open(t, Options{Own: true})
	dir := t.TempDir()
	tree := begin(t, table, shell(`trap 'echo main >>`+dir+`/got' USR1
		sh -c "trap 'echo child >>`+dir+`/got' USR1; : >`+dir+`/child; while :; do sleep 0.01; done" &
		: >`+dir+`/main; while :; do sleep 0.01; done`))
	testenv.Eventually(t, soon, func() bool { fs, _ := filepath.Glob(dir + "/*"); return len(fs) == 2 }, "both have set their traps")
	if err := tree.Signal(syscall.SIGUSR1); err != nil {
		t.Error(err)
	}
	both := func() bool {
		got, _ := os.ReadFile(dir + "/got")
		return strings.Contains(string(got), "main") && strings.Contains(string(got), "child")
	}
	testenv.Eventually(t, soon, both, "both got the signal")
	tree.Kill(context.Background(), 0)
}

func TestHolders(t *testing.T) {
	t.Parallel()
	table := open(t, Options{Own: true})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := shell("sleep 999 & exec sleep 998 >/dev/null 2>&1")
	s.Stdout = w
	tree := begin(t, table, s)
	if held := tree.Holders(r); len(held) == 0 {
		t.Error("nobody holds the pipe of a running command")
	}
	w.Close()
	one := func() bool {
		held := tree.Holders(r)
		return len(held) == 1 && held[0].Name == "sleep" && held[0].PID != tree.PID()
	}
	testenv.Eventually(t, soon, one, "only the background process holds it")

	other := begin(t, table, shell("exec sleep 999"))
	testenv.Eventually(t, soon, func() bool { held := other.Holders(r); return len(held) == 1 }, "a stranger to the tree is found, too")
	tree.Kill(context.Background(), 0)
	if held := tree.Holders(r); held != nil {
		t.Errorf("after the kill %v hold it", held)
	}
	if held := tree.Holders(table.null); held != nil {
		t.Errorf("of no pipe: %v", held)
	}
	other.Kill(context.Background(), 0)
}

// TestBigTree: a wide and deep tree, most of it without parents.
func TestBigTree(t *testing.T) {
	t.Parallel()
	for _, rung := range []string{Mark, Cgroup} {
		t.Run(rung, func(t *testing.T) {
			t.Parallel()
			table := open(t, Options{Rung: rung, Own: true})
			s := shell(`deep() { if [ $1 -gt 0 ]; then ( deep $(($1-1)) ) & ( sleep 999 ) & setsid -f sleep 999; fi; sleep 999; }; deep 40`)
			tree := begin(t, table, s)
			testenv.Eventually(t, 3*soon, func() bool { return len(tree.Members()) >= 120 }, "it has grown")
			report := tree.Kill(context.Background(), 0)
			if report.Killed < 120 || len(report.Survivors) > 0 {
				t.Errorf("report %+v", report)
			}
			if left := proctest.Left(s.ID); len(left) > 0 {
				t.Errorf("left %v", left)
			}
			t.Logf("%d processes in %v", report.Killed, report.Took)
		})
	}
}
