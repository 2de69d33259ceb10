package config

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
)

// A Watcher keeps the snapshot of a file up to date. It is safe for concurrent use.
type Watcher struct {
	path    string
	log     *slog.Logger
	adjust  func(*Snapshot) *Snapshot
	current atomic.Pointer[Snapshot]
	failure atomic.Pointer[error]
	stop    context.CancelCauseFunc
	wait    sync.WaitGroup

	mu       sync.Mutex
	onChange []func(*Snapshot, error) // guarded by mu

	// Of the goroutine that reloads.
	data     []byte // last looked at; nil: there was no file
	existed  bool
	lastText string // of the last failure
}

// errGone is why a file that vanished changes nothing: the defaults allow more than most files do.
var errGone = errors.New("the configuration file is gone; what it said stays in force until it is back or the program starts again")

// Watch loads the file at path and watches it until ctx is done or Close. It fails if the file is wrong now. A file
// that does not exist yet is waited for, and so is its directory. adjust, if it is not nil, changes each snapshot before
// it comes into force (see Env).
//
// The system's watching begins in the background, so that it costs a server no time to start; a change in between is
// not missed.
func Watch(ctx context.Context, path string, log *slog.Logger, adjust func(*Snapshot) *Snapshot) (*Watcher, error) {
	if adjust == nil {
		adjust = func(s *Snapshot) *Snapshot { return s }
	}
	s, data, err := load(path)
	if err != nil {
		return nil, err
	}
	w := &Watcher{path: path, log: log, adjust: adjust, data: data, existed: data != nil}
	w.current.Store(adjust(s))
	ctx, w.stop = context.WithCancelCause(ctx)
	pokes := make(chan struct{}, 1)
	w.wait.Go(func() { observe(ctx, path, log, func() { poke(pokes) }) })
	w.wait.Go(func() {
		for settle(ctx, pokes) {
			w.reload()
		}
	})
	return w, nil
}

// Current is the configuration in force. Each call that needs one takes it once.
func (w *Watcher) Current() *Snapshot { return w.current.Load() }

// OnChange has f called after another configuration came into force (with a nil error), and after the file turned out
// to be wrong (with what stays in force and LastError). Calls come one at a time; Close waits for them, so f must not
// call it.
func (w *Watcher) OnChange(f func(*Snapshot, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onChange = append(w.onChange, f)
}

// changed tells those who asked. They are called without the lock.
func (w *Watcher) changed(err error) {
	w.mu.Lock()
	tell := slices.Clone(w.onChange)
	w.mu.Unlock()
	for _, f := range tell {
		f(w.Current(), err)
	}
}

// LastError is why the file, as it is now, is not in force; nil if it is.
func (w *Watcher) LastError() error {
	if err := w.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Close ends the watching and waits for its end. Current stays what it was.
func (w *Watcher) Close() {
	w.stop(errors.New("the configuration is not watched any more"))
	w.wait.Wait()
}

// reload looks at the file and puts it in force if it is another one and valid.
func (w *Watcher) reload() {
	s, data, err := load(w.path)
	switch {
	case err != nil:
		w.data = nil // so that what was in force is looked at again when it comes back
	case data == nil && w.existed:
		w.data, err = nil, errGone
	case w.LastError() == nil && bytes.Equal(data, w.data) && (data == nil) == (w.data == nil):
		return
	}
	if err != nil {
		w.fail(err)
		return
	}
	w.data, w.existed = data, data != nil
	failed := w.LastError() != nil
	w.failure.Store(nil)
	w.lastText = ""
	s = w.adjust(s)
	old := w.current.Swap(s)
	if old.Revision == s.Revision && !failed {
		return
	}
	w.log.Info("configuration in force", "path", w.path, "revision", s.Revision)
	w.changed(nil)
}

// fail keeps what is in force and says why, once for each reason.
func (w *Watcher) fail(err error) {
	text := err.Error()
	if text == w.lastText {
		return
	}
	w.lastText = text
	w.failure.Store(&err)
	w.log.Warn("configuration not changed", "path", w.path, "err", err)
	w.changed(err)
}

// poke sends unless something is waiting already.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
