package proc

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// stubborn starts a tree that TERM does not end, and waits until it is so.
func stubborn(t *testing.T, table *Table) *Tree {
	t.Helper()
	tree := begin(t, table, shell("trap '' TERM; sleep 999 & wait"))
	testenv.Eventually(t, soon, func() bool { return len(tree.Members()) == 2 }, "it has set its trap")
	return tree
}

// TestKillIsShared: who asks later joins in, and a shorter grace counts for all.
func TestKillIsShared(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, o Options) {
		tree := stubborn(t, open(t, o))
		reports := make(chan sallyport.KillReport, 3)
		for _, grace := range []time.Duration{time.Hour, 2 * time.Hour} {
			go func() { reports <- tree.Kill(context.Background(), grace) }()
		}
		killing := func() bool {
			tree.mu.Lock()
			defer tree.mu.Unlock()
			return tree.killing != nil && tree.killing.count() > 0
		}
		testenv.Eventually(t, soon, killing, "the kill is under way")
		reports <- tree.Kill(context.Background(), 10*time.Millisecond)
		first := <-reports
		if first.Killed < 2 || len(first.Survivors) > 0 || first.Took > soon {
			t.Errorf("report %+v", first)
		}
		for range 2 {
			if diff := cmp.Diff(first, <-reports); diff != "" {
				t.Errorf("the same kill has another report: %s", diff)
			}
		}
	})
}

// TestKillOutlivesItsCaller: a caller that goes away hears what lives at that moment, and the kill goes on.
func TestKillOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	tree := stubborn(t, open(t, Options{Own: true}))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	report := tree.Kill(ctx, 200*time.Millisecond)
	if report.Killed != 2 || len(report.Survivors) != 2 || report.Survivors[0].PID != tree.PID() {
		t.Errorf("report %+v", report)
	}
	exit(t, tree)
	testenv.Eventually(t, soon, func() bool { return len(tree.Members()) == 0 }, "the tree ends all the same")
}

// immortal is a rung whose trees cannot be killed, as if they were in an uninterruptible wait.
type immortal struct{ rung }

func (immortal) members(*Tree) []member {
	return []member{{pid: 1 << 30, name: "nfs"}, {pid: 1<<30 + 1, name: "tape"}}
}
func (immortal) empty(*Tree) bool  { return false }
func (immortal) slay(*Tree, *kill) {}
func (immortal) release(*Tree)     {}

// TestSurvivorsAreNamed: by the report, and by Close.
func TestSurvivorsAreNamed(t *testing.T) {
	t.Parallel()
	table, err := Open(Options{Rung: Mark})
	if err != nil {
		t.Fatal(err)
	}
	tree := begin(t, table, shell("exit"))
	exit(t, tree)
	real := table.ways.rung
	table.ways.rung = immortal{real}
	want := []sallyport.Process{{PID: 1 << 30, Name: "nfs"}, {PID: 1<<30 + 1, Name: "tape"}}
	r := tree.Kill(context.Background(), time.Hour) // nobody can be asked, so nobody is waited for
	if diff := cmp.Diff(want, r.Survivors); diff != "" || r.Killed != 2 || r.Rung != Mark {
		t.Errorf("report %+v\n%s", r, diff)
	}
	err = table.Close(context.Background())
	if err == nil || !strings.Contains(err.Error(), "1073741824 (nfs), 1073741825 (tape) can't be killed") {
		t.Errorf("close: %v", err)
	}
}
