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

// starters fork, on a thread of their own where the caller's will not do. Never on the process's first thread: that one
// adopts orphans, and its list of children is to stay short. And on a thread that stays the same if it has to be in a
// cgroup before it forks.
type starters struct {
	once sync.Once
	jobs chan func()
	wg   sync.WaitGroup
}

// fork runs fn, which forks, on a suitable thread. The error is fn's, or the cause of ctx, which bounds the wait for a
// free thread.
func (s *starters) fork(ctx context.Context, tr *Tree, fn func() error) error {
	if tr.place.tasks == "" {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if unix.Gettid() != os.Getpid() {
			return fn()
		}
	}
	s.once.Do(s.begin)
	var err error
	done := make(chan struct{})
	job := func() {
		defer close(done)
		err = fn()
	}
	select {
	case s.jobs <- job:
		<-done
		return err
	case <-ctx.Done():
		return fmt.Errorf("start: %w", context.Cause(ctx))
	}
}

func (s *starters) begin() {
	s.jobs = make(chan func())
	for range runtime.GOMAXPROCS(0) {
		s.wg.Add(1)
		go s.work(nil)
	}
}

// work is a thread. Should it be the first one, it is held until the next one has another.
func (s *starters) work(ready chan struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
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

// stop ends the threads. Nothing is started any more.
func (s *starters) stop() {
	s.once.Do(func() {}) // not begun: not any more
	if s.jobs != nil {
		close(s.jobs)
	}
	s.wg.Wait()
}
