// Package app is the composition root: the one place that knows every part, joins them, and takes them down again. It
// reads the process environment, which nothing below does, and maps the configuration in force to each part's settings.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/app/config"
	"github.com/sallyport-sh/sallyport/gate"
	"github.com/sallyport-sh/sallyport/gate/policy"
	"github.com/sallyport-sh/sallyport/gateway"
	"github.com/sallyport-sh/sallyport/host/engine"
	"github.com/sallyport-sh/sallyport/host/keeper"
	"github.com/sallyport-sh/sallyport/host/output"
	"github.com/sallyport-sh/sallyport/host/proc"
	"github.com/sallyport-sh/sallyport/journal"
)

// SessionMarker is the variable by which every command's processes carry their session's name.
const SessionMarker = "SALLYPORT_SESSION"

// Options say what to build.
type Options struct {
	Config  string // file named by --config; empty: the user's
	Version string
	Log     io.Writer // where warnings go
	Link    *keeper.Link
	// Watch: follow changes of the configuration file. A program that runs one command need not.
	Watch bool
}

// An App is a standalone gateway: everything in one process, for one client. Close ends what it started.
type App struct {
	Runs *gateway.Gateway
	Log  *slog.Logger

	config  func() *config.Snapshot
	watcher *config.Watcher
	onEdit  atomic.Pointer[func()]
	paths   config.Paths
	place   *place
	table   *proc.Table
	store   *output.Store
	engine  *engine.Engine
	record  *journal.Journal
}

// Open builds a standalone gateway. Nothing runs yet.
func Open(ctx context.Context, o Options) (a *App, err error) {
	a = &App{Log: slog.New(slog.NewTextHandler(o.Log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	defer func() {
		if err != nil {
			_ = a.Close(ctx)
		}
	}()
	if err := a.configure(ctx, o); err != nil {
		return a, err
	}
	if a.place, err = takePlace(filepath.Join(a.paths.State, "standalone")); err != nil {
		return a, unavailable("can't use the state directory "+a.paths.State, err)
	}
	if err := o.Link.Sweep(a.place.dir); err != nil {
		return a, unavailable("the keeper does not answer", err)
	}
	s := a.config()
	if a.table, err = openTable(s, a.Log); err != nil {
		return a, err
	}
	for _, dir := range a.table.Dirs() {
		if err := o.Link.Sweep(dir); err != nil {
			return a, unavailable("the keeper does not answer", err)
		}
	}
	if a.store, err = output.OpenStore(filepath.Join(a.place.dir, "output"), 0); err != nil {
		return a, unavailable("can't keep output", err)
	}
	a.record, err = journal.Open(journal.Options{
		Dir: filepath.Join(a.paths.State, "journal"), BeforeStart: s.Journal.Sync == "before-start", Version: o.Version, Logger: a.Log,
	})
	if err != nil {
		return a, err
	}
	a.join()
	go clearDead(filepath.Dir(a.place.dir), a.place.dir)
	return a, nil
}

// join makes the parts one.
func (a *App) join() {
	// The engine tells the gateway of every end, and the gateway starts everything by the engine.
	var gw *gateway.Gateway
	a.engine = engine.New(engine.Options{
		Table: a.table, Store: a.store, Environ: os.Environ(), Logger: a.Log,
		Settings: func(agent string) engine.Settings { return a.engineSettings(a.config(), agent) },
		OnEnd:    func(st sallyport.Status) { gw.Ended(st) },
	})
	gw = gateway.New(gateway.Options{
		Host: a.engine, Journal: a.record, Logger: a.Log,
		Gate:     gate.New(a.rules),
		Settings: func(agent string) gateway.Settings { return gatewaySettings(a.config(), agent) },
	})
	a.Runs = gw
	if a.watcher == nil {
		return
	}
	a.watcher.OnChange(func(_ *config.Snapshot, err error) {
		if err == nil {
			a.edited()
		}
	})
}

// configure reads the configuration and, if asked, follows it.
func (a *App) configure(ctx context.Context, o Options) error {
	paths, err := config.Find(o.Config)
	if err != nil {
		return err
	}
	adjust := func(s *config.Snapshot) *config.Snapshot { return config.Env(s, os.LookupEnv) }
	var s *config.Snapshot
	if o.Watch {
		w, err := config.Watch(ctx, paths.Config, a.Log, adjust)
		if err != nil {
			return err
		}
		a.watcher, a.config = w, w.Current
		s = w.Current()
	} else {
		if s, err = config.Load(paths.Config); err != nil {
			return err
		}
		s = adjust(s)
		a.config = func() *config.Snapshot { return s }
	}
	if a.paths, err = paths.With(s); err != nil {
		return err
	}
	for _, w := range append(a.paths.Warnings, s.Warnings...) {
		a.Log.Warn("configuration", "warning", w)
	}
	return a.paths.MakeState()
}

// edited records that another configuration is in force, and tells who asked to know.
func (a *App) edited() {
	a.Runs.Configured(a.config().Revision)
	if f := a.onEdit.Load(); f != nil {
		(*f)()
	}
}

// OnEdit has f called whenever another configuration has come into force.
func (a *App) OnEdit(f func()) { a.onEdit.Store(&f) }

func openTable(s *config.Snapshot, log *slog.Logger) (*proc.Table, error) {
	t, err := proc.Open(proc.Options{
		Rung: s.Exec.Kill, Own: true, Markers: []string{SessionMarker}, Logger: log,
	})
	if err != nil {
		return nil, unavailable("can't make sure that commands can be ended", err)
	}
	return t, nil
}

func unavailable(what string, err error) error {
	return &sallyport.Error{Code: sallyport.Unavailable, Msg: fmt.Sprintf("%s: %v", what, err), Hint: "sallyport doctor shows what is missing"}
}

// rules are the policy in force.
func (a *App) rules() gate.Policy {
	s := a.config()
	return policy.Rules{Level: s.Tools.Exec.Security, Agents: agentLevels(s), Revision: s.Revision}
}

// Close ends every session, verifies that, and takes the parts down. The error names what could not be ended.
func (a *App) Close(ctx context.Context) error {
	var errs []error
	do := func(set bool, f func() error) {
		if set {
			if err := f(); err != nil {
				errs = append(errs, err)
			}
		}
	}
	do(a.engine != nil, func() error { return a.engine.Close(ctx) })
	do(a.table != nil, func() error { return a.table.Close(ctx) })
	if a.watcher != nil {
		a.watcher.Close()
	}
	if a.Runs != nil {
		a.Runs.Wait()
	}
	do(a.record != nil, func() error { return within(ctx, a.record.Close) })
	do(a.store != nil, a.store.Close)
	do(a.place != nil, func() error { return a.place.Close() })
	return errors.Join(errs...)
}

// within gives up on a disk that does not answer. What was recorded is in the page cache and survives us.
func within(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("close the journal: %w", context.Cause(ctx))
	}
}

// closeWithin bounds a shutdown. What still lives then is in an uninterruptible wait, and the error names it.
const closeWithin = 10 * time.Second

// End is Close with a bound, and what could not be ended in the log.
func (a *App) End() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		a.Log.Error("not everything could be ended", "err", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// A KillProbe is how trees of processes are ended on this machine.
type KillProbe struct {
	Rung    string
	Took    time.Duration // to end a small tree and verify it
	Caveats []string      // what can't be promised here, in whole sentences
}

// ProbeKill finds out by ending a small tree. rung is exec.kill of the configuration.
func ProbeKill(ctx context.Context, rung string) (KillProbe, error) {
	t, err := proc.Open(proc.Options{Rung: rung, Own: true, Markers: []string{SessionMarker}})
	if err != nil {
		return KillProbe{}, err
	}
	defer func() { _ = t.Close(ctx) }()
	tree, err := t.Start(ctx, proc.Spec{ID: "probe", Path: "/bin/sh", Argv: []string{"sh", "-c", "sleep 60 & sleep 60"}, Dir: "/"})
	if err != nil {
		return KillProbe{}, err
	}
	r := tree.Kill(ctx, 0)
	if len(r.Survivors) > 0 {
		return KillProbe{}, fmt.Errorf("a killed tree left %v", r.Survivors)
	}
	return KillProbe{t.Rung(), r.Took, t.Caveats()}, nil
}
