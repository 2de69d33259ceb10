package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// noCgroup starts a process where we are.
const noCgroup = -1

// launchIn makes the main process of a tree: vfork and exec, in a new session, with a pidfd from the first moment. It
// returns when the program has been loaded, or could not be.
func launchIn(tr *Tree, l launch, cgroup int) error {
	pidfd := -1
	attr := *l.attr
	attr.Sys = &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	if cgroup != noCgroup {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, cgroup
	}
	pid, err := syscall.ForkExec(l.path, l.argv, &attr)
	if err != nil {
		return startError(l, err)
	}
	c, err := newChild(pid, pidfd)
	if err != nil { // no pidfd: Open saw to it that there are any
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		return &StartError{Step: StepFork, Err: err}
	}
	tr.main = c
	kin.started(tr)
	return nil
}

// startError finds out which step failed: fork and exec report by the same number.
func startError(l launch, err error) error {
	e := &StartError{Step: StepExec, Path: l.path, Err: err}
	dir := l.attr.Dir
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EBADF), errors.Is(err, unix.EMFILE),
		errors.Is(err, unix.ENFILE):
		e.Step, e.Path = StepFork, ""
	case dir != "" && unix.Faccessat(unix.AT_FDCWD, dir+"/.", unix.X_OK, unix.AT_EACCESS) != nil:
		e.Step, e.Path = StepChdir, dir
	}
	return e
}

// starters are threads that start processes: not the first one, which adopts orphans, so that its list of children stays
// short; and the same ones always, so that a thread can be put into a cgroup before it forks.
type starters struct {
	jobs chan func()
	wg   sync.WaitGroup
}

func newStarters(n int) *starters {
	s := &starters{jobs: make(chan func())}
	for range n {
		s.wg.Add(1)
		go s.work(nil)
	}
	return s
}

func (s *starters) work(ready chan struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		// Held until the next one has a thread, which is then another.
		next := make(chan struct{})
		go s.work(next)
		<-next
		runtime.UnlockOSThread()
		return
	}
	if ready != nil {
		close(ready)
	}
	defer s.wg.Done()
	for job := range s.jobs {
		job()
	}
	// Still locked: the thread ends with the goroutine, and with it its place in a cgroup.
}

// run runs fn on one of the threads. The error is the cause of ctx, which bounds the wait for a free one.
func (s *starters) run(ctx context.Context, fn func()) error {
	done := make(chan struct{})
	select {
	case s.jobs <- func() { fn(); close(done) }:
		<-done
		return nil
	case <-ctx.Done():
		return fmt.Errorf("start: %w", context.Cause(ctx))
	}
}

func (s *starters) stop() {
	close(s.jobs)
	s.wg.Wait()
}
