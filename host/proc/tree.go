package proc

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/sallyport-sh/sallyport"
)

// A Tree is a started command and everything it started. Its methods are safe for concurrent use.
type Tree struct {
	t     *Table
	id    string
	pids  int    // limit of tasks; 0: none
	main  *child // the process that Start started
	place place  // where the rung keeps the tree
	done  chan struct{}

	mu       sync.Mutex
	killing  *kill // under way
	users    int   // who looks at, signals or kills what it is kept by
	released bool
}

// A member is a process of a tree as it was seen alive.
type member struct {
	pid     int
	name    string
	start   uint64 // when it began, in the system's units: tells it from a later process with the same number
	stopped bool   // by a signal: it acts on TERM only after CONT
}

// PID is the main process's number. After the end it may come to name another process.
func (tr *Tree) PID() int { return tr.main.pid }

// Done is closed when the main process has been reaped.
func (tr *Tree) Done() <-chan struct{} { return tr.done }

// Exit is how the main process ended; the zero Exit before Done.
func (tr *Tree) Exit() Exit {
	if !tr.ended() {
		return Exit{}
	}
	return tr.main.exit
}

// Members are the processes of the tree that live, the main process first while it does. Zombies do not count.
func (tr *Tree) Members() []sallyport.Process {
	if !tr.enter() {
		return nil
	}
	defer tr.leave()
	return processes(tr.t.ways.rung.members(tr))
}

// Signal sends a signal to the main process and its group, as a terminal would, or to every process that is left when
// the main process has ended. The error is os.ErrProcessDone if there is none; else the first refusal.
func (tr *Tree) Signal(sig syscall.Signal) error {
	err := tr.main.signalGroup(sig)
	if !errors.Is(err, os.ErrProcessDone) {
		return wrapSignal(sig, err)
	}
	if !tr.enter() {
		return os.ErrProcessDone
	}
	defer tr.leave()
	sent, first := false, error(nil)
	for _, m := range tr.t.ways.rung.members(tr) {
		switch err := signalMember(m, sig); {
		case err == nil:
			sent = true
		case first == nil && !errors.Is(err, os.ErrProcessDone):
			first = err
		}
	}
	if !sent && first == nil {
		return os.ErrProcessDone
	}
	return wrapSignal(sig, first)
}

func wrapSignal(sig syscall.Signal, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("send %s: %w", Name(sig), err)
}

// enter begins a use of what the tree is kept by, such as its cgroup; false once the tree was released. Until leave it is
// given to no other tree: a kill that is still under way would reach that one.
func (tr *Tree) enter() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.released {
		return false
	}
	tr.users++
	return true
}

func (tr *Tree) leave() {
	tr.mu.Lock()
	tr.users--
	last := tr.released && tr.users == 0
	tr.mu.Unlock()
	if last {
		tr.giveBack()
	}
}

// Release forgets the tree: call it after the end, when nothing is left. What is left all the same is then nobody's,
// and with Options.Own it ends. Before the end of the main process Release does nothing.
func (tr *Tree) Release() {
	if !tr.ended() {
		return
	}
	tr.mu.Lock()
	now := !tr.released && tr.users == 0
	tr.released = true
	tr.mu.Unlock()
	if now {
		tr.giveBack()
	}
}

func (tr *Tree) isReleased() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.released
}

func (tr *Tree) giveBack() {
	tr.t.ways.rung.release(tr)
	tr.t.mu.Lock()
	delete(tr.t.trees, tr)
	tr.t.mu.Unlock()
}

// ended reports whether the main process has been reaped and Done is closed.
func (tr *Tree) ended() bool {
	select {
	case <-tr.done:
		return true
	default:
		return false
	}
}

// wait is the tree's own goroutine.
func (tr *Tree) wait(onExit func(Exit)) {
	tr.main.wait()
	if tr.main.exit.Lost {
		tr.t.log.Warn("the exit status of a command was taken by something else in this process", "session", tr.id, "pid", tr.main.pid)
	}
	close(tr.done)
	if onExit != nil {
		onExit(tr.main.exit)
	}
}

func processes(ms []member) []sallyport.Process {
	var ps []sallyport.Process
	for _, m := range ms {
		ps = append(ps, sallyport.Process{PID: m.pid, Name: m.name})
	}
	return ps
}
