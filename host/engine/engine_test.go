package engine

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/hosttest"
	"github.com/sallyport-sh/sallyport/host/output"
	"github.com/sallyport-sh/sallyport/host/proc"
)

// table is the test process's only one: a sub-reaper is one a process.
var table *proc.Table

func TestMain(m *testing.M) {
	var err error
	if table, err = proc.Open(proc.Options{Own: true}); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := table.Close(context.Background()); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// newEngine makes an engine that is closed with the test, and must then have left nothing.
func newEngine(t testing.TB, change ...func(*Options, *Settings)) *Engine {
	t.Helper()
	store, err := output.OpenStore(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	set := Settings{Pids: 512, Spool: 8 << 20, Retain: time.Minute, RetainMax: 50, RetainBytes: 64 << 20}
	o := Options{Table: table, Store: store, Environ: os.Environ()}
	for _, f := range change {
		f(&o, &set)
	}
	o.Settings = func(string) Settings { return set }
	e := New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if n := e.Live(); n != 0 {
			t.Errorf("%d sessions live after Close", n)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return e
}

func TestContract(t *testing.T) {
	t.Parallel()
	hosttest.Run(t, func(t *testing.T) sallyport.Host { return newEngine(t) })
}
