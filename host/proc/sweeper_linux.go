package proc

import (
	"os"
	"os/signal"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport-sh/sallyport"
)

const (
	// settle is how long a sweep waits for more children to end after the first.
	settle = 2 * time.Millisecond
	// lull is how long a fight in which nothing changed waits for a child to end before it looks again.
	lull = time.Millisecond
	// unclaimed is how long a dead child without any sign of ours is left to whoever may have started it.
	unclaimed = time.Second
	// loading is how long an orphan without an environment may be one that is just loading its program.
	loading = 20 * time.Millisecond
	// servings is how many requests are served between two sweeps of a fight at most, so that those cannot end it.
	servings = 256
	// wide is how often all threads' lists are read while nothing is killed.
	wide = time.Second
)

// A sweeper is the goroutine of a process that owns its orphans. It alone reaps and kills them, so a number in our list
// of children cannot change its meaning while it is looked at. Processes that lose their parent are adopted by the
// first thread of the sub-reaper's process; that thread's list of children is read at every sweep, those of all threads
// for a proof.
type sweeper struct {
	f        *family
	pid, sid int
	first    int // /proc/self/task/<pid>/children, open

	do     chan func()
	look   chan struct{} // a tree was forgotten: what is left of it is nobody's
	childs chan os.Signal
	caught chan os.Signal // HUP and INT, if they were ignored: nobody reads it
	quit   chan struct{}
	gone   chan struct{}

	orphans map[int]*orphan
	strikes []*strike
	hot     []int     // other threads in whose lists there were orphans
	wide    time.Time // when all lists were read last
	round   uint64
	strange bool // the last sweep saw somebody who may belong to anybody
	skipped bool // the last sweep left out somebody of a tree that is being started
	buf     []byte
}

// An orphan is an adopted child.
type orphan struct {
	signs
	told   bool      // the environment was read
	struck bool      // it was sent SIGKILL
	seen   time.Time // for the first time
	dead   time.Time // when it was first seen dead; only for one without signs
	round  uint64    // the sweep that saw it last
}

// A strike is the killing of one tree.
type strike struct {
	tr    *Tree
	k     *kill
	done  chan struct{}
	began time.Time
	moved time.Time // when something of the tree last changed
	main  bool      // the main process is reaped
	round uint64    // the last sweep that saw something of the tree
}

func startSweeper(f *family) (*sweeper, error) {
	s := &sweeper{
		f: f, pid: os.Getpid(), do: make(chan func()), look: make(chan struct{}, 1), childs: make(chan os.Signal, 1),
		caught: make(chan os.Signal), quit: make(chan struct{}), gone: make(chan struct{}), orphans: map[int]*orphan{}, buf: make([]byte, 4096),
	}
	var err error
	if s.sid, err = unix.Getsid(0); err != nil {
		return nil, err
	}
	if s.first, err = openRaw(childrenPath(s.pid, s.pid), unix.O_RDONLY); err != nil {
		return nil, err // the kernel was built without PROC_CHILDREN
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		_ = unix.Close(s.first)
		return nil, err
	}
	signal.Notify(s.childs, unix.SIGCHLD)
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(s.caught, sig) // a handler is reset in children, SIG_IGN is not
		}
	}
	go s.run()
	return s, nil
}

// stop ends the sweeper after what it would still have killed and reaped.
func (s *sweeper) stop() {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(lull) {
		nobodys := false
		s.call(func() {
			s.sweep(tasks(s.pid))
			for _, o := range s.orphans {
				nobodys = nobodys || len(o.trees) == 0
			}
		})
		if !nobodys {
			break
		}
	}
	close(s.quit)
	<-s.gone
	signal.Stop(s.childs)
	signal.Stop(s.caught)
	_ = unix.Close(s.first)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
}

// call runs fn on the sweeper's goroutine; false if that has ended.
func (s *sweeper) call(fn func()) bool {
	ran := make(chan struct{})
	select {
	case s.do <- func() { fn(); close(ran) }:
		<-ran
		return true
	case <-s.gone:
		return false
	}
}

// forgot tells that a tree was forgotten.
func (s *sweeper) forgot() {
	select {
	case s.look <- struct{}{}:
	default: // it has not looked since the last time
	}
}

// strike kills what belongs to the tree until nothing is left, or nothing changes.
func (s *sweeper) strike(tr *Tree, k *kill) {
	now := time.Now()
	st := &strike{tr: tr, k: k, done: make(chan struct{}), began: now, moved: now}
	if s.call(func() { s.strikes = append(s.strikes, st) }) {
		<-st.done
	}
}

// orphansOf lists the orphans of a tree.
func (s *sweeper) orphansOf(tr *Tree) (pids []int) {
	s.call(func() {
		s.sweep(s.near())
		for pid, o := range s.orphans {
			if slices.Contains(o.trees, tr) {
				pids = append(pids, pid)
			}
		}
	})
	slices.Sort(pids)
	return pids
}

// strangers lists the living orphans of no tree.
func (s *sweeper) strangers() (ps []sallyport.Process) {
	s.call(func() {
		s.sweep(s.near())
		for pid, o := range s.orphans {
			if st, ok := readStat(pid); len(o.trees) == 0 && ok && st.alive() {
				ps = append(ps, sallyport.Process{PID: pid, Name: st.name})
			}
		}
	})
	return ps
}

func (s *sweeper) run() {
	defer close(s.gone)
	var later <-chan time.Time
	look := func() {
		if later == nil {
			later = time.After(settle)
		}
	}
	for {
		if len(s.strikes) > 0 {
			if !s.fight() && !s.pause() {
				break
			}
			look() // signals were taken that were not meant for the fight
			continue
		}
		select {
		case fn := <-s.do:
			fn()
		case <-s.look:
			look()
		case <-s.childs:
			look()
		case <-later:
			later = nil
			s.tidy()
			if wait := s.undecided(); wait > 0 {
				later = time.After(wait)
			}
		case <-s.quit:
			return
		}
	}
	for _, st := range s.strikes {
		close(st.done)
	}
}

// pause waits in a fight for something to change; false if the sweeper is to end.
func (s *sweeper) pause() bool {
	timer := time.NewTimer(lull)
	defer timer.Stop()
	select {
	case fn := <-s.do:
		fn()
	case <-s.childs:
	case <-timer.C:
	case <-s.quit:
		return false
	}
	return true
}

// tidy sweeps because children have ended.
func (s *sweeper) tidy() {
	threads := s.near()
	if now := time.Now(); now.Sub(s.wide) > wide {
		s.wide, s.hot, threads = now, nil, tasks(s.pid)
	}
	s.sweep(threads)
}

// near lists the threads whose children orphans usually are.
func (s *sweeper) near() []int { return append([]int{s.pid}, s.hot...) }

// undecided is when to look again at who was left alone for the time being; 0 if there is nobody.
func (s *sweeper) undecided() (wait time.Duration) {
	if s.skipped {
		return settle
	}
	for _, o := range s.orphans {
		switch {
		case len(o.trees) > 0:
		case !o.told:
			return loading
		case !o.dead.IsZero():
			wait = unclaimed
		}
	}
	return wait
}

// fight makes one sweep for the trees that are being killed, and ends the strikes that are over. It reports whether
// anything changed: then the next sweep must follow at once, as a program may be forking against us.
func (s *sweeper) fight() bool {
	s.serve()
	for _, st := range s.strikes {
		// Before the list is read: what the main process leaves is adopted when it ends.
		if !st.main && st.tr.main.reap() {
			st.main, st.moved = true, time.Now()
		}
	}
	moved := s.sweep(s.near())
	if slices.ContainsFunc(s.strikes, s.clean) {
		before := reaps.Load()
		moved = s.sweep(tasks(s.pid)) || moved
		if reaps.Load() != before { // a list that shrinks while it is read can hide an entry
			return true
		}
	}
	now := time.Now()
	s.strikes = slices.DeleteFunc(s.strikes, func(st *strike) bool {
		over := s.clean(st) || now.Sub(st.moved) > patience || now.Sub(st.began) > stamina
		if over {
			close(st.done)
		}
		return over
	})
	return moved
}

// serve does what is asked by now. In a fight one proof then serves all that have joined it.
func (s *sweeper) serve() {
	for range servings {
		select {
		case fn := <-s.do:
			fn()
		default:
			return
		}
	}
}

// clean reports whether the last sweep saw nothing of a tree. Together with a main process that was reaped before, that
// is the proof that nothing is left: what lived when the list began to be read had an ancestor in the list, and only we
// take entries out of it.
func (s *sweeper) clean(st *strike) bool { return st.main && st.round != s.round && !s.strange }

// sweep reads the lists of children of some of our threads, kills and reaps. It reports whether anything changed.
func (s *sweeper) sweep(threads []int) (moved bool) {
	s.round++
	s.strange, s.skipped = false, false
	for _, tid := range threads {
		for _, pid := range s.children(tid) {
			o := s.orphan(pid)
			if o == nil {
				continue
			}
			if tid != s.pid && !slices.Contains(s.hot, tid) {
				s.hot = append(s.hot, tid)
			}
			moved = moved || o.round == 0
			o.round = s.round
			moved = s.meet(pid, o) || moved
		}
	}
	for pid, o := range s.orphans {
		if o.round != s.round {
			delete(s.orphans, pid)
		}
	}
	return moved
}

func (s *sweeper) children(tid int) []int {
	var text []byte
	var err error
	if tid == s.pid {
		text, err = readRaw(s.first, s.buf)
	} else {
		text, err = readSmall(childrenPath(s.pid, tid), s.buf)
	}
	if err != nil {
		return nil // the thread has ended, and its children are another's
	}
	s.buf = text[:0]
	return parsePids(text, nil)
}

// orphan is the record of an adopted child; nil for a child that is none: the main process of a tree, one that may
// become that, or one that other code of this process started, which has our session.
func (s *sweeper) orphan(pid int) *orphan {
	if s.f.isMain(pid) {
		delete(s.orphans, pid)
		return nil
	}
	if o := s.orphans[pid]; o != nil {
		return o
	}
	if sid, err := unix.Getsid(pid); err != nil || sid == s.sid {
		return nil
	}
	o := &orphan{signs: s.f.inherited(pid), seen: time.Now()}
	if len(o.trees) == 0 {
		s.tell(pid, o)
	}
	// Asked again: it may have become known as a main process since.
	if o.starting || s.f.isMain(pid) {
		s.skipped = s.skipped || o.starting
		return nil
	}
	s.orphans[pid] = o
	return o
}

// tell reads the second sign, once. An empty environment may be one that is just being made: then it is read again
// until the orphan has been known for some time.
func (s *sweeper) tell(pid int, o *orphan) {
	if !o.told {
		o.told = s.f.told(pid, &o.signs) || time.Since(o.seen) > loading
	}
}

// meet deals with one orphan: reaps it if it is dead, kills it if its tree is being killed or it is nobody's.
func (s *sweeper) meet(pid int, o *orphan) (moved bool) {
	o.trees = slices.DeleteFunc(o.trees, (*Tree).isReleased)
	if len(o.trees) == 0 {
		s.tell(pid, o)
	}
	strikes, doubt := s.against(pid, o)
	now := time.Now()
	for _, st := range strikes {
		st.round = s.round
	}
	nobody := len(o.trees) == 0
	if nobody && !o.ours && !o.struck && s.leave(pid, o, now) {
		return false
	}
	if nobody && o.dead.IsZero() {
		s.strange = true
	}
	if got, err := wait4(pid, nil); got == pid || err != nil {
		delete(s.orphans, pid)
		moved = true
	} else if !o.struck && (len(strikes) > 0 || nobody && (o.told || len(s.strikes) > 0)) {
		// In a fight nobody's orphans are not given time to show their second sign: they could fork in it.
		_ = unix.Kill(pid, unix.SIGKILL) // EPERM: it stays, and will be named
		o.struck, moved = true, true
		for _, st := range strikes {
			st.k.saw(pid)
		}
	} else if doubt {
		s.strange = true
	}
	if moved {
		for _, st := range strikes {
			st.moved = now
		}
	}
	return moved
}

// against lists the strikes that concern an orphan: each tree that one of its two signs names. There is doubt about one
// whose second sign could not be read yet; a young strike waits for that.
func (s *sweeper) against(pid int, o *orphan) (found []*strike, doubt bool) {
	for _, st := range s.strikes {
		if !slices.Contains(o.trees, st.tr) {
			s.tell(pid, o)
		}
		if slices.Contains(o.trees, st.tr) {
			found = append(found, st)
		} else if !o.told && time.Since(st.began) < loading {
			doubt = true
		}
	}
	return found, doubt
}

// leave reports whether a child without any sign must be left alone: it is dead, and perhaps somebody's in this process
// who has yet to take its status.
func (s *sweeper) leave(pid int, o *orphan, now time.Time) bool {
	st, ok := readStat(pid)
	if !ok || st.alive() {
		return false
	}
	if o.dead.IsZero() {
		o.dead = now
		s.strange = true // it may have lived when the list was read
		return true
	}
	return now.Sub(o.dead) < unclaimed
}
