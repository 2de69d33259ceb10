package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/host/proc/proctest"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestForeignChildrenAreLeftAlone: other code of this process starts children, too. Nobody takes their exit status, and
// nobody kills them, though they may have been forked while we carried a mark.
func TestForeignChildrenAreLeftAlone(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, o Options) {
		table := open(t, o)
		bystander := exec.Command("sleep", "999")
		if err := bystander.Start(); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 30 {
					err := exec.Command("/bin/sh", "-c", "exit 7").Run()
					var status *exec.ExitError
					if !errors.As(err, &status) || status.ExitCode() != 7 {
						t.Errorf("a child of ours ended with %v, want exit 7", err)
					}
				}
			})
			wg.Go(func() {
				for range 30 {
					tree := begin(t, table, shell("sleep 999 & setsid -f sleep 999; exec sleep 999"))
					if r := tree.Kill(context.Background(), 0); len(r.Survivors) > 0 {
						t.Errorf("survivors %v", r.Survivors)
					}
					tree.Release()
				}
			})
		}
		wg.Wait()
		if !testenv.Alive(bystander.Process.Pid) {
			t.Error("the bystander was killed")
		}
		if err := bystander.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := bystander.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("the bystander ended with %v", err)
		}
	})
}

// TestAdoptedZombiesAreReaped: what a tree leaves behind comes to us, ends, and is reaped.
func TestAdoptedZombiesAreReaped(t *testing.T) {
	t.Parallel()
	for _, rung := range []string{Mark, Cgroup} {
		t.Run(rung, func(t *testing.T) {
			t.Parallel()
			table := open(t, Options{Rung: rung, Own: true})
			var adopted []int
			var trees []*Tree
			for range 20 {
				tree, text := output(t, table, shell("for i in 1 2 3; do setsid sh -c 'echo $$; exec >/dev/null; sleep 0.1' & done"))
				trees = append(trees, tree)
				for word := range strings.FieldsSeq(text) {
					var pid int
					if _, err := fmt.Sscan(word, &pid); err != nil {
						t.Fatal(err)
					}
					adopted = append(adopted, pid)
				}
			}
			if len(adopted) != 60 {
				t.Fatalf("%d processes were left behind, want 60", len(adopted))
			}
			none := func() bool {
				return !slices.ContainsFunc(testenv.Children(t, os.Getpid()), func(p testenv.Process) bool { return slices.Contains(adopted, p.PID) })
			}
			testenv.Eventually(t, time.Second*testenv.Slack, none, "none of them is our child any more, not even as a zombie")
			for _, tree := range trees {
				tree.Release()
			}
		})
	}
}

// TestForgers: a process that changes its signs gains nothing by it.
func TestForgers(t *testing.T) {
	t.Parallel()
	testenv.NeedProgram(t, "prlimit")
	table := open(t, Options{Rung: Mark, Own: true})
	daemon := "setsid -f sleep 9999."
	tests := []struct{ name, text string }{
		{"no mark", "ulimit -S -R unlimited; " + daemon + "TOKEN"},
		{"a mark that nobody gave out", "ulimit -S -R 12345678901; " + daemon + "TOKEN"},
		{"no mark and no environment", "ulimit -S -R unlimited; env -i " + daemon + "TOKEN"},
		{"no environment", "env -i " + daemon + "TOKEN"},
		{"the mark of another tree", "ulimit -S -R OTHERMARK; " + daemon + "TOKEN"},
		{"the name of another tree", "SALLYPORT_SESSION=OTHERNAME " + daemon + "TOKEN"},
		{"a sibling", cloneParent + "TOKEN"},
	}
	other := begin(t, table, shell("exec sleep 999"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := shell("")
			text := strings.NewReplacer("TOKEN", s.ID, "OTHERMARK", fmt.Sprint(other.place.mark), "OTHERNAME", other.id).Replace(tt.text)
			s.Path, s.Argv = "/bin/bash", []string{"bash", "-c", text + "; read x </dev/null; sleep 9999." + s.ID}
			tree := begin(t, table, s)
			two := func() bool { return len(proctest.Left(s.ID)) >= 2 || len(table.Orphans()) > 0 }
			if !strings.Contains(tt.text, "unlimited; env -i") { // which is ended as soon as it is seen
				testenv.Eventually(t, soon, two, "the forger runs")
			}
			report := tree.Kill(context.Background(), 0)
			if len(report.Survivors) > 0 {
				t.Errorf("survivors %v", report.Survivors)
			}
			gone(t, s.ID)
			tree.Release()
		})
	}
	if other.ended() {
		t.Error("the other tree was killed")
	}
}

// cloneParent makes a child that is not its own but its parent's: our direct child, in the list of the thread that
// started the tree. (56 is clone on x86-64, 0x8011 is CLONE_PARENT|SIGCHLD.)
const cloneParent = `perl -e 'my $p = syscall(56, 0x8011, 0, 0, 0, 0); if ($p == 0) { exec "setsid", "sleep", "9999." . $ARGV[0] }' `

// TestOrphansOfNobodyEnd: a process that hides whose it is ends when it has lost its parents, while its tree lives on.
func TestOrphansOfNobodyEnd(t *testing.T) {
	t.Parallel()
	table := open(t, Options{Rung: Mark, Own: true})
	s := shell("")
	s.Path, s.Argv = "/bin/bash", []string{"bash", "-c", "(ulimit -S -R unlimited; env -i setsid -f sleep 9999." + s.ID + "); sleep 9998." + s.ID}
	tree := begin(t, table, s)
	only := func() bool {
		return len(proctest.Left(s.ID)) == 1 && len(tree.Members()) == 1 && tree.Members()[0].Name == "sleep"
	}
	testenv.Eventually(t, soon, only, "only the main process is left")
	// And what is left of a tree that is forgotten.
	leaver := begin(t, table, shell("setsid -f sleep 999"))
	exit(t, leaver)
	testenv.Eventually(t, soon, func() bool { return len(leaver.Members()) == 1 }, "it has left something")
	leaver.Release()
	testenv.Eventually(t, soon, func() bool { return len(proctest.Left(leaver.id)) == 0 }, "the released tree's process ends")
	if tree.ended() {
		t.Error("the other tree has ended")
	}
	tree.Kill(context.Background(), 0)
}

// TestEmbedder: without orphans of its own a table kills what does not outrun it, and says what it cannot do.
func TestEmbedder(t *testing.T) {
	t.Parallel()
	table := open(t, Options{Rung: Mark})
	if len(table.Caveats()) == 0 {
		t.Error("no caveats")
	}
	for _, style := range proctest.Styles() {
		if strings.HasPrefix(style.Name, "hopper") {
			continue
		}
		t.Run(style.Name, func(t *testing.T) {
			t.Parallel()
			token := proctest.Token()
			s := shell("")
			s.Path, s.Argv = "/bin/bash", []string{"bash", "-c", style.Command(token)}
			tree := begin(t, table, s)
			testenv.Eventually(t, soon, func() bool { return len(proctest.Left(token)) > 1 }, "it has spread")
			if r := tree.Kill(context.Background(), 50*time.Millisecond); len(r.Survivors) > 0 {
				t.Errorf("survivors %v", r.Survivors)
			}
			gone(t, token)
		})
	}
}
