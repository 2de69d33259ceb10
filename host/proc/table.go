package proc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// A Table starts process trees and keeps them until they are released. Its methods are safe for concurrent use.
type Table struct {
	o    Options
	log  *slog.Logger
	ways ways
	null *os.File      // what a missing standard descriptor becomes
	slot chan struct{} // a start holds one: more at once than the cores can do only queue, and a queue is fairer

	mu     sync.Mutex
	closed bool // no more starts
	down   bool // no more kills
	trees  map[*Tree]struct{}

	starts sync.WaitGroup // starts under way
	work   sync.WaitGroup // the goroutines of trees: waiting, killing
}

// ways are what Open found to work on this system.
type ways struct {
	rung    rung
	name    string
	serial  bool // one start at a time
	caveats []string
	dirs    []string
	orphans func() []sallyport.Process
}

// A rung keeps trees together in one way.
type rung interface {
	// spawn starts the main process so that it and all it will ever start can be found again.
	spawn(ctx context.Context, tr *Tree, l launch) error
	// members lists what lives of the tree, zombies excepted.
	members(tr *Tree) []member
	// empty reports that nothing is left of the tree. It is called when the main process has been reaped, and is cheap.
	empty(tr *Tree) bool
	// slay kills everything in the tree and returns once nothing is left, which it has verified, or once nothing has
	// changed for patience.
	slay(tr *Tree, k *kill)
	// release takes back what the tree had.
	release(tr *Tree)
	close() error
}

// A launch is a Spec in the form that the system wants.
type launch struct {
	path string
	argv []string
	line string // Windows only
	attr *syscall.ProcAttr
}

// Open finds out how process trees can be kept here. Close must be called.
func Open(o Options) (*Table, error) {
	if len(o.Markers) == 0 {
		o.Markers = []string{DefaultMarker}
	}
	for _, name := range o.Markers {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("open process table: %q can't be the name of a variable", name)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Table{o: o, log: o.Logger, trees: map[*Tree]struct{}{}}
	var err error
	if t.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open process table: %w", err)
	}
	if t.ways, err = findWays(o); err != nil {
		_ = t.null.Close()
		return nil, fmt.Errorf("open process table: %w", err)
	}
	slots := 2 * runtime.GOMAXPROCS(0) // measured: p99 halves at 64 callers, throughput stays
	if t.ways.serial {
		slots = 1
	}
	t.slot = make(chan struct{}, slots)
	return t, nil
}

// Rung names how trees are kept: "cgroup" or "mark" on Linux, "job" on Windows, "group" elsewhere.
func (t *Table) Rung() string { return t.ways.name }

// Caveats says in whole sentences what this table cannot promise on this system; none is the best case.
func (t *Table) Caveats() []string { return t.ways.caveats }

// Dirs are directories outside of the table's own files (cgroups) that remain if this process is killed, and that
// somebody who survives it should then clear away.
func (t *Table) Dirs() []string { return t.ways.dirs }

// Orphans are adopted processes that belong to no live tree. With Options.Own they are about to end.
func (t *Table) Orphans() []sallyport.Process { return t.ways.orphans() }

// Start starts a tree. It waits for its turn no longer than ctx, which has no further effect. The error is a
// [*StartError] when the system refused, [sallyport.Closed] after Close, or the cause of ctx.
func (t *Table) Start(ctx context.Context, s Spec) (*Tree, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if !t.beginStart() {
		return nil, fmt.Errorf("start %s: %w", s.Path, sallyport.Closed)
	}
	defer t.starts.Done()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, context.Cause(ctx))
	}
	select {
	case t.slot <- struct{}{}:
		defer func() { <-t.slot }()
	case <-ctx.Done():
		return nil, fmt.Errorf("start %s: %w", s.Path, context.Cause(ctx))
	}
	tr := &Tree{t: t, id: s.ID, pids: s.Pids, done: make(chan struct{})}
	if tr.pids == 0 {
		tr.pids = t.o.Pids
	}
	files := [3]*os.File{s.Stdin, s.Stdout, s.Stderr}
	fds := make([]uintptr, len(files))
	for i, f := range files {
		if f == nil {
			f = t.null
		}
		fds[i] = f.Fd() // and makes it blocking, which is what a program expects of its own end
	}
	err := t.ways.rung.spawn(ctx, tr, launch{s.Path, s.Argv, s.Line, &syscall.ProcAttr{
		Dir: s.Dir, Env: mark(s.Env, t.o.Markers, s.ID), Files: fds,
	}})
	runtime.KeepAlive(files)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.trees[tr] = struct{}{}
	t.mu.Unlock()
	onExit := s.OnExit
	t.work.Go(func() { tr.wait(onExit) })
	return tr, nil
}

func (t *Table) beginStart() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.starts.Add(1)
	}
	return !t.closed
}

// beginWork admits a goroutine of a tree; it calls t.work.Done at its end.
func (t *Table) beginWork() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.down {
		t.work.Add(1)
	}
	return !t.down
}

// closers is how many trees Close kills at once: enough to keep all cores busy.
const closers = 64

// Close kills every tree without grace, verifies that, and gives back everything. Callbacks have returned when it has.
// ctx bounds it. The error names the processes that survived. Calls after the first do nothing.
func (t *Table) Close(ctx context.Context) error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.mu.Unlock()
	if err := t.awaitStarts(ctx); err != nil {
		return fmt.Errorf("close process table: a start does not return: %w", err)
	}
	survivors := t.killAll(ctx)
	t.mu.Lock()
	t.down = true
	t.mu.Unlock()
	var errs []error
	if len(survivors) > 0 {
		errs = append(errs, fmt.Errorf("close process table: %s can't be killed", list(survivors)))
	} else if err := waitFor(ctx, &t.work); err != nil {
		errs = append(errs, fmt.Errorf("close process table: %w", err))
	}
	for _, tr := range t.all() {
		tr.Release()
	}
	if err := t.ways.rung.close(); err != nil {
		errs = append(errs, fmt.Errorf("close process table: %w", err))
	}
	return errors.Join(append(errs, t.null.Close())...)
}

// hangs is how long a start may take before it is held to hang: an exec from a file system that does not answer.
const hangs = time.Second

// awaitStarts waits for the starts under way. Should one hang, the trees that there are do not live on because of it.
func (t *Table) awaitStarts(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, hangs)
	defer cancel()
	if waitFor(short, &t.starts) == nil {
		return nil
	}
	t.killAll(ctx)
	return waitFor(ctx, &t.starts)
}

func (t *Table) killAll(ctx context.Context) []sallyport.Process {
	var (
		mu        sync.Mutex
		survivors []sallyport.Process
		wg        sync.WaitGroup
	)
	places := make(chan struct{}, closers)
	for _, tr := range t.all() {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			r := tr.Kill(ctx, 0)
			mu.Lock()
			defer mu.Unlock()
			survivors = append(survivors, r.Survivors...)
		})
	}
	wg.Wait()
	return survivors
}

func (t *Table) all() []*Tree {
	t.mu.Lock()
	defer t.mu.Unlock()
	trees := make([]*Tree, 0, len(t.trees))
	for tr := range t.trees {
		trees = append(trees, tr)
	}
	return trees
}

// waitFor waits for a group as long as ctx allows.
func waitFor(ctx context.Context, wg *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// list shows processes for a message: "17 (sleep), 18 (sh)".
func list(ps []sallyport.Process) string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d (%s)", p.PID, p.Name)
	}
	return b.String()
}
