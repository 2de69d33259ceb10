package proc

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/proc/proctest"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// How the trial of escape styles is run: short times and many at once, so that it tests races and not patience.
const (
	escapeTimeout = 150 * time.Millisecond
	escapeGrace   = 100 * time.Millisecond
	escapeAtOnce  = 16
)

// TestNothingEscapes is the promise of this package: each way to escape, many times, on each rung, as root and as an
// ordinary user. Nothing is left when Kill returns, and two other sessions live on untouched.
func TestNothingEscapes(t *testing.T) {
	runs := 100
	if testing.Short() {
		runs = 10
	}
	for _, name := range []string{"bash", "perl", "setsid", "unshare", "nohup"} {
		testenv.NeedProgram(t, name)
	}
	for _, rung := range []string{Mark, Cgroup} {
		for user, uid := range map[string]int{"root": 0, "nobody": testenv.Nobody} {
			t.Run(rung+" as "+user, func(t *testing.T) {
				testenv.NeedRoot(t)
				at := setting{order: order{Rung: rung, Runs: runs}, uid: uid}
				if rung == Cgroup {
					at.cgroup = testenv.Cgroup(t, uid)
				}
				var got escaped
				began := time.Now()
				perform(t, "escape", at, &got)
				t.Logf("%v: %s", time.Since(began).Round(time.Millisecond), got.Summary)
				for _, f := range got.Failures {
					t.Error(f)
				}
			})
		}
	}
}

// escaped is what came of a trial.
type escaped struct {
	Failures []string
	Summary  string
}

// A trier runs styles against one table.
type trier struct {
	table *Table

	mu       sync.Mutex
	failures []string
	took     []time.Duration
	spread   map[string]int // runs in which a style had more than its main process when it was killed
}

func escapes(in order) (any, error) {
	table, err := Open(Options{Rung: in.Rung, Own: true})
	if err != nil {
		return nil, err
	}
	defer table.Close(context.Background()) // should the trial not come to its end
	tr := &trier{table: table, spread: map[string]int{}}
	innocents, err := tr.innocents()
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	places := make(chan struct{}, escapeAtOnce)
	for range in.Runs { // all styles in turn, so that they meet each other
		for _, style := range proctest.Styles() {
			places <- struct{}{}
			wg.Go(func() {
				tr.try(style)
				<-places
			})
		}
	}
	wg.Wait()
	for token, before := range innocents {
		if after := proctest.Left(token); !slices.Equal(before, after) {
			tr.fail("an innocent session was %v and is %v", before, after)
		}
	}
	for _, style := range proctest.Styles() {
		if n := tr.spread[style.Name]; n < in.Runs/2 {
			tr.fail("%s: only %d of %d runs got as far as to start something", style.Name, n, in.Runs)
		}
	}
	if left := table.Orphans(); len(left) > 0 {
		tr.fail("orphans: %v", left)
	}
	if err := table.Close(context.Background()); err != nil {
		tr.fail("close: %v", err)
	}
	for token := range maps.Keys(innocents) {
		if left := proctest.Left(token); len(left) > 0 {
			tr.fail("close left %v", left)
		}
	}
	slices.Sort(tr.took)
	at := func(q int) time.Duration {
		if len(tr.took) == 0 {
			return 0
		}
		return tr.took[len(tr.took)*q/1000].Round(100 * time.Microsecond)
	}
	return escaped{tr.failures, fmt.Sprintf("%d runs, kill p50 %v, p90 %v, p99 %v, max %v",
		len(tr.took), at(500), at(900), at(990), at(999))}, nil
}

func (tr *trier) fail(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.failures = append(tr.failures, fmt.Sprintf(format, args...))
}

func (tr *trier) start(id, text string) (*Tree, error) {
	return tr.table.Start(context.Background(), Spec{
		ID: id, Path: "/bin/bash", Argv: []string{"bash", "-c", text}, Env: os.Environ(), Dir: "/",
	})
}

// innocents starts two sessions with a child, a daemon and a process without environment each.
func (tr *trier) innocents() (map[string][]sallyport.Process, error) {
	before := map[string][]sallyport.Process{}
	for i := range 2 {
		token := proctest.Token()
		sleep := "sleep 9999." + token
		text := sleep + " & setsid -f " + sleep + "; env -i setsid -f " + sleep + "; " + sleep
		if _, err := tr.start(fmt.Sprintf("innocent-%d", i), text); err != nil {
			return nil, err
		}
		spread := func() bool { // four, and the shell if it does not become the last of them
			before[token] = proctest.Left(token)
			sleeps := 0
			for _, p := range before[token] {
				if p.Name == "sleep" {
					sleeps++
				}
			}
			return sleeps == 4
		}
		if !testenv.Poll(soon, spread) {
			return nil, fmt.Errorf("an innocent session does not get going: %v", before[token])
		}
	}
	return before, nil
}

// try starts a style, lets it run for the time of a short timeout, kills it, and looks for what is left.
func (tr *trier) try(style proctest.Style) {
	token := proctest.Token()
	tree, err := tr.start("escape-"+token, style.Command(token))
	if err != nil {
		tr.fail("%s: %v", style.Name, err)
		return
	}
	defer tree.Release()
	<-time.After(escapeTimeout)
	report := tree.Kill(context.Background(), escapeGrace)
	left := proctest.Left(token)
	if len(left) > 0 || len(report.Survivors) > 0 {
		tr.fail("%s: left %v, survivors %v", style.Name, left, report.Survivors)
	}
	if !tree.ended() {
		tr.fail("%s: the main process has not been reaped", style.Name)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.took = append(tr.took, report.Took)
	if report.Killed > 1 {
		tr.spread[style.Name]++
	}
}
