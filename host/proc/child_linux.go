package proc

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxSignal is SIGRTMAX.
const maxSignal = 64

// A child is the main process of a tree: a direct child of this process that nobody else waits for. Its number is its
// own until it is reaped, which happens under mu.
type child struct {
	pid   int
	pidfd *os.File

	mu     sync.Mutex
	reaped bool
	exit   Exit // valid once reaped
}

// reaps counts main processes reaped. Who reads a list of our children uses it to see whether the list shrank meanwhile.
var reaps atomic.Uint64

// newChild takes over a started process and its pidfd. The descriptor is non-blocking, so that waiting parks a goroutine
// in the poller and not a thread.
func newChild(pid, pidfd int) (*child, error) {
	if err := unix.SetNonblock(pidfd, true); err != nil {
		return nil, err
	}
	return &child{pid: pid, pidfd: os.NewFile(uintptr(pidfd), "pidfd")}, nil
}

// wait reaps the process when it has ended.
func (c *child) wait() {
	conn, err := c.pidfd.SyscallConn()
	if err == nil {
		err = conn.Read(func(uintptr) bool { return c.reap() })
	}
	if err != nil { // not pollable: cannot be, as Open tried it. A thread is better than a lost status
		var info unix.Siginfo
		for {
			err := unix.Waitid(unix.P_PID, c.pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		c.reap()
	}
	_ = c.pidfd.Close()
}

// reap takes the exit status if there is one, and reports whether the process is over.
func (c *child) reap() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return true
	}
	var status syscall.WaitStatus
	pid, err := wait4(c.pid, &status)
	if pid == 0 && err == nil {
		return false
	}
	c.reaped = true
	reaps.Add(1)
	c.exit = Exit{Code: -1, At: time.Now(), Lost: err != nil}
	switch {
	case err != nil:
	case status.Signaled():
		c.exit.Signal, c.exit.Core = status.Signal(), status.CoreDump()
	default:
		c.exit.Code = status.ExitStatus()
	}
	return true
}

// wait4 is a wait for one child that does not wait: pid is 0 if it lives.
func wait4(pid int, status *syscall.WaitStatus) (int, error) {
	for {
		got, err := syscall.Wait4(pid, status, syscall.WNOHANG, nil)
		if !errors.Is(err, syscall.EINTR) {
			return got, err
		}
	}
}

// isReaped reports whether the number may by now be another process's.
func (c *child) isReaped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reaped
}

// signalGroup signals the process and its group, which it leads as long as it has not been reaped.
func (c *child) signalGroup(sig syscall.Signal) error { return c.signal(-c.pid, sig) }

// signalAlone signals the process only.
func (c *child) signalAlone(sig syscall.Signal) error { return c.signal(c.pid, sig) }

func (c *child) signal(target int, sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return os.ErrProcessDone
	}
	err := syscall.Kill(target, sig)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// signalMember signals a process that is not our child. Its number may have been given to another one since it was
// seen: the pidfd pins whoever has it now, and the time of its start tells whether it is the one.
func signalMember(m member, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(m.pid, 0)
	if err != nil {
		if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) { // EINVAL: a thread has the number
			return os.ErrProcessDone
		}
		return err
	}
	defer unix.Close(fd)
	if st, ok := readStat(m.pid); !ok || st.start != m.start {
		return os.ErrProcessDone
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	} else if err != nil {
		return err
	}
	return nil
}

// terminate asks every process of the tree to end, each of them once, and reports whether any was asked. A stopped one is
// woken, as it could not act before. Who refuses or has gone is for the kill that follows.
func terminate(tr *Tree, members []member) (asked bool) {
	for _, m := range members {
		send := func(sig syscall.Signal) error { return signalMember(m, sig) }
		if m.pid == tr.main.pid {
			send = tr.main.signalAlone
		}
		if send(unix.SIGTERM) != nil {
			continue
		}
		asked = true
		if m.stopped {
			_ = send(unix.SIGCONT)
		}
	}
	return asked
}
