package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport-sh/sallyport"
)

// maxSignal is the highest signal with a meaning that is the same everywhere.
const maxSignal = 31

// place is nothing here: a tree is known by its main process's number, which is its group's, and by its marker.
type place struct{}

// A child is the main process of a tree. It is reaped under mu, so that its number is its own while mu is held and
// reaped is false.
type child struct {
	pid int

	mu     sync.Mutex
	reaped bool
	exit   Exit // valid once reaped
	over   chan struct{}
}

func (c *child) wait() { <-c.over }

// reap takes the exit status if there is one, and reports whether the process is over.
func (c *child) reap() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return true
	}
	var status syscall.WaitStatus
	var pid int
	var err error
	for {
		if pid, err = syscall.Wait4(c.pid, &status, syscall.WNOHANG, nil); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if pid == 0 && err == nil {
		return false
	}
	c.reaped = true
	c.exit = Exit{Code: -1, At: time.Now(), Lost: err != nil}
	switch {
	case err != nil:
	case status.Signaled():
		c.exit.Signal, c.exit.Core = status.Signal(), status.CoreDump()
	default:
		c.exit.Code = status.ExitStatus()
	}
	close(c.over)
	return true
}

func (c *child) isReaped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reaped
}

func (c *child) signalGroup(sig syscall.Signal) error { return c.signal(-c.pid, sig) }

func (c *child) signal(target int, sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return os.ErrProcessDone
	}
	return done(syscall.Kill(target, sig))
}

// signalMember signals a process that was seen just now. There are no pidfds here: the check of its start leaves an
// instant in which the number could change hands.
func signalMember(m member, sig syscall.Signal) error {
	if now, ok := look(m.pid); !ok || now.start != m.start {
		return os.ErrProcessDone
	}
	return done(syscall.Kill(m.pid, sig))
}

func done(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// terminate asks every process of the tree to end, and reports whether any was asked.
func terminate(tr *Tree, members []member) (asked bool) {
	asked = tr.main.signalGroup(syscall.SIGTERM) == nil
	for _, m := range members {
		if group, err := unix.Getpgid(m.pid); err == nil && group == tr.main.pid && asked {
			continue
		}
		asked = signalMember(m, syscall.SIGTERM) == nil || asked
	}
	return asked
}

// groupRung keeps a tree together by its process group and, where environments can be read, by its marker.
type groupRung struct {
	queue int // a kqueue that tells of exits

	mu       sync.Mutex
	children map[int]*child
	ended    sync.WaitGroup
}

func findWays(o Options) (ways, error) {
	if o.Rung != "" && o.Rung != Auto {
		return ways{}, fmt.Errorf("rung %s does not work here: it is Linux's", o.Rung)
	}
	q, err := unix.Kqueue()
	if err != nil {
		return ways{}, fmt.Errorf("make a kqueue: %w", err)
	}
	unix.CloseOnExec(q)
	r := &groupRung{queue: q, children: map[int]*child{}}
	wake := unix.Kevent_t{}
	unix.SetKevent(&wake, 0, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR)
	if _, err := unix.Kevent(q, []unix.Kevent_t{wake}, nil, nil); err != nil {
		return ways{}, errors.Join(fmt.Errorf("prepare a kqueue: %w", err), unix.Close(q))
	}
	r.ended.Go(r.watch)
	return ways{
		rung: r, name: "group", orphans: func() []sallyport.Process { return nil },
		caveats: []string{
			"A command that leaves its process group and clears its environment cannot be found or killed.",
			"There is no limit on the tasks of a command.",
		},
	}, nil
}

// watch reaps main processes as they end, until it is woken.
func (r *groupRung) watch() {
	events := make([]unix.Kevent_t, 16)
	for {
		n, err := unix.Kevent(r.queue, nil, events, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		for _, e := range events[:max(n, 0)] {
			if e.Filter == unix.EVFILT_USER {
				return
			}
			r.mu.Lock()
			c := r.children[int(e.Ident)]
			delete(r.children, int(e.Ident))
			r.mu.Unlock()
			if c != nil {
				c.reap()
			}
		}
	}
}

func (r *groupRung) spawn(_ context.Context, tr *Tree, l launch) error {
	attr := *l.attr
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	pid, err := syscall.ForkExec(l.path, l.argv, &attr)
	if err != nil {
		return startError(l, err)
	}
	c := &child{pid: pid, over: make(chan struct{})}
	tr.main = c
	r.mu.Lock()
	r.children[pid] = c
	r.mu.Unlock()
	e := unix.Kevent_t{Fflags: unix.NOTE_EXIT}
	unix.SetKevent(&e, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	if _, err := unix.Kevent(r.queue, []unix.Kevent_t{e}, nil, nil); err != nil {
		// It has ended before it could be watched. EVFILT_PROC fails for nothing else here.
		for !c.reap() {
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// startError finds out which step failed: fork and exec report by the same number.
func startError(l launch, err error) error {
	e := &StartError{Step: StepExec, Path: l.path, Err: err}
	dir := l.attr.Dir
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		e.Step, e.Path = StepFork, ""
	case dir != "" && unix.Access(dir+"/.", unix.X_OK) != nil:
		e.Step, e.Path = StepChdir, dir
	}
	return e
}

func (r *groupRung) members(tr *Tree) []member { return find(tr) }

func (r *groupRung) empty(tr *Tree) bool { return len(find(tr)) == 0 }

func (r *groupRung) slay(tr *Tree, k *kill) {
	began, moved, last := time.Now(), time.Now(), -1
	for {
		_ = tr.main.signalGroup(syscall.SIGKILL)
		found := find(tr)
		for _, m := range found {
			k.saw(m.pid)
			if m.pid != tr.main.pid {
				_ = signalMember(m, syscall.SIGKILL)
			}
		}
		if tr.main.reap() && len(found) == 0 {
			return
		}
		if len(found) != last {
			moved, last = time.Now(), len(found)
		}
		if time.Since(moved) > patience || time.Since(began) > stamina {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (r *groupRung) release(*Tree) {}

func (r *groupRung) close() error {
	wake := unix.Kevent_t{Fflags: unix.NOTE_TRIGGER}
	unix.SetKevent(&wake, 0, unix.EVFILT_USER, 0)
	if _, err := unix.Kevent(r.queue, []unix.Kevent_t{wake}, nil, nil); err != nil {
		return err
	}
	r.ended.Wait()
	return unix.Close(r.queue)
}

// Holders are not known here: nil.
func (tr *Tree) Holders(*os.File) []sallyport.Process { return nil }
