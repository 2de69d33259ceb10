package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/host/proc/proctest"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// soon is how long a test waits for what takes milliseconds.
const soon = 10 * time.Second

// open opens a table that is closed, without survivors, at the end of the test.
func open(t testing.TB, o Options) *Table {
	t.Helper()
	if o.Rung == Cgroup {
		testenv.NeedRoot(t)
	}
	table, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return table
}

// eachRung runs a test on both rungs, with and without orphans of our own.
func eachRung(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	for _, o := range []Options{{Rung: Mark, Own: true}, {Rung: Cgroup, Own: true}, {Rung: Mark}, {Rung: Cgroup}} {
		name := o.Rung
		if !o.Own {
			name += " of an embedder"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, o)
		})
	}
}

// shell is the Spec of a shell text, with a new token as its id and in its variable T.
func shell(text string) Spec {
	token := proctest.Token()
	return Spec{
		ID: token, Path: "/bin/sh", Argv: []string{"sh", "-c", text}, Env: append(os.Environ(), "T="+token), Dir: "/",
	}
}

func begin(t testing.TB, table *Table, s Spec) *Tree {
	t.Helper()
	tree, err := table.Start(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// exit waits for the end of a tree's main process.
func exit(t testing.TB, tree *Tree) Exit {
	t.Helper()
	select {
	case <-tree.Done():
	case <-time.After(soon):
		t.Fatalf("process %d does not end: %v", tree.PID(), proctest.Left(tree.id))
	}
	return tree.Exit()
}

// gone fails the test if a process with the token lives.
func gone(t testing.TB, token string) {
	t.Helper()
	if left := proctest.Left(token); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// output starts a command with a pipe as its standard output and reads that to its end.
func output(t testing.TB, table *Table, s Spec) (*Tree, string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.Stdout = w
	tree := begin(t, table, s)
	err = errors.Join(w.Close(), r.SetReadDeadline(time.Now().Add(soon)))
	all, rerr := io.ReadAll(r)
	if err = errors.Join(err, rerr); err != nil {
		t.Fatal(err)
	}
	return tree, string(all)
}

// lockForGood makes the goroutine's thread end with it.
func lockForGood() { runtime.LockOSThread() }

// descriptors is how many this process has open.
func descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
