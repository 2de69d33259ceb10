package proc

import (
	"sync"
	"testing"
)

// What a tree was kept by goes to the next tree when it is released. A kill, a signal or a look that is under way then
// must not reach the next one: commands were killed at birth by the end of others.
func TestReleaseRacesUse(t *testing.T) {
	t.Parallel()
	eachRung(t, func(t *testing.T, o Options) {
		table := open(t, o)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { releaseRaces(t, table) })
		}
		wg.Wait()
	})
}

func releaseRaces(t *testing.T, table *Table) {
	for i := range 150 {
		tr, err := table.Start(t.Context(), shell("true"))
		if err != nil {
			t.Error(err)
			return
		}
		<-tr.Done()
		var users sync.WaitGroup
		users.Go(func() { tr.Kill(t.Context(), 0) })
		users.Go(func() { _ = tr.Signal(9) })
		users.Go(func() {
			if left := tr.Members(); len(left) > 0 {
				t.Errorf("run %d: a tree without processes has %v", i, left)
			}
		})
		tr.Release()
		next, err := table.Start(t.Context(), shell("sleep 0.002; exit 7"))
		if err != nil {
			t.Error(err)
			return
		}
		<-next.Done()
		if x := next.Exit(); x.Code != 7 {
			t.Errorf("run %d: the next command ended with %+v, want exit code 7", i, x)
		}
		next.Release()
		users.Wait()
	}
}
