package proc

import (
	"context"
	"sync"
	"time"

	"github.com/sallyport-sh/sallyport"
)

const (
	// patience is how long a kill goes on while nothing changes any more. What is left by then is in an
	// uninterruptible wait, or we have no right to kill it.
	patience = 2 * time.Second
	// stamina bounds a kill in which something always changes: programs that fork faster than they are killed.
	stamina = 10 * time.Second
)

// How often a tree without a main process is looked at while its grace lasts.
const (
	glanceFirst = 500 * time.Microsecond
	glanceLast  = 20 * time.Millisecond
)

// A kill is one killing of a tree, shared by everybody who asks for it meanwhile.
type kill struct {
	began time.Time
	hurry chan struct{} // the grace has been shortened
	done  chan struct{}

	mu     sync.Mutex
	until  time.Time        // when the grace ends
	seen   map[int]struct{} // processes seen alive
	report sallyport.KillReport
}

// Kill ends the tree: TERM to every process, up to grace for them to end by themselves (none is waited for once there
// is none), KILL, and a check that nothing is left. It works on what is left after the end of the main process, too.
// Processes that could not be killed are named in the report. Concurrent calls share the work; one with a shorter grace
// shortens it for all. When ctx is done the killing goes on, and the report says what lived at that moment.
func (tr *Tree) Kill(ctx context.Context, grace time.Duration) sallyport.KillReport {
	k := tr.kill(grace)
	if k == nil {
		return sallyport.KillReport{Rung: tr.t.Rung()}
	}
	select {
	case <-k.done:
		return k.report
	case <-ctx.Done():
		return sallyport.KillReport{
			Rung: tr.t.Rung(), Killed: k.count(), Survivors: tr.Members(), Took: time.Since(k.began),
		}
	}
}

// kill joins the killing under way or begins one; nil if there is nothing left to kill.
func (tr *Tree) kill(grace time.Duration) *kill {
	now := time.Now()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.released {
		return nil
	}
	if tr.killing != nil {
		tr.killing.hasten(now.Add(grace))
		return tr.killing
	}
	if !tr.t.beginWork() {
		return nil
	}
	k := &kill{
		began: now, until: now.Add(grace), seen: map[int]struct{}{},
		hurry: make(chan struct{}, 1), done: make(chan struct{}),
	}
	tr.killing = k
	tr.users++
	go func() {
		defer tr.t.work.Done()
		tr.run(k)
		tr.mu.Lock()
		tr.killing = nil
		tr.mu.Unlock()
		tr.leave()
		close(k.done)
	}()
	return k
}

func (tr *Tree) run(k *kill) {
	r := tr.t.ways.rung
	found := r.members(tr)
	for _, m := range found {
		k.saw(m.pid)
	}
	if len(found) > 0 && k.left() > 0 && terminate(tr, found) {
		tr.await(k)
	}
	r.slay(tr, k)
	var survivors []sallyport.Process
	if tr.main.isReaped() {
		<-tr.done // its goroutine is about to say so
	}
	if !tr.ended() || !r.empty(tr) {
		survivors = processes(r.members(tr))
	}
	k.report = sallyport.KillReport{
		Rung: tr.t.Rung(), Killed: k.count(), Survivors: survivors, Took: time.Since(k.began),
	}
}

// await waits until the tree has ended by itself or the grace has.
func (tr *Tree) await(k *kill) {
	pause := glanceFirst
	done := tr.done
	for {
		rest := k.left()
		if rest <= 0 {
			return
		}
		if done == nil { // the main process has ended: only now can the tree be empty
			if tr.t.ways.rung.empty(tr) {
				return
			}
			rest = min(rest, pause)
			pause = min(2*pause, glanceLast)
		}
		timer := time.NewTimer(rest)
		select {
		case <-done:
			done = nil
		case <-k.hurry:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// left is what remains of the grace.
func (k *kill) left() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Until(k.until)
}

func (k *kill) hasten(until time.Time) {
	k.mu.Lock()
	sooner := until.Before(k.until)
	if sooner {
		k.until = until
	}
	k.mu.Unlock()
	if sooner {
		select {
		case k.hurry <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}

// saw counts a process that was seen alive.
func (k *kill) saw(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen[pid] = struct{}{}
}

func (k *kill) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.seen)
}
