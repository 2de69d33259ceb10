package proc

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A taskLimit keeps trees from having more tasks than they may. Trees without a limit pass through it, too.
type taskLimit interface {
	// prepare makes what the limit needs before the start.
	prepare(tr *Tree) error
	// alone reports whether nothing else may fork while fork runs.
	alone(tr *Tree) bool
	// fork runs fn, which forks on this thread, in such a way that the child is limited.
	fork(tr *Tree, fn func() error) error
	release(tr *Tree)
	close() error
}

// noLimit is no limit.
type noLimit struct{}

func (noLimit) prepare(*Tree) error                 { return nil }
func (noLimit) alone(*Tree) bool                    { return false }
func (noLimit) fork(_ *Tree, fn func() error) error { return fn() }
func (noLimit) release(*Tree)                       {}
func (noLimit) close() error                        { return nil }

// v2Limit is the pids controller in the tree's cgroup. It is written for trees without a limit, too: the directory may
// have had another tenant.
type v2Limit struct{ noLimit }

func (v2Limit) prepare(tr *Tree) error {
	limit := "max"
	if tr.pids > 0 {
		limit = strconv.Itoa(tr.pids)
	}
	return stepLimit(writeSmall(filepath.Join(tr.place.dir, "pids.max"), limit))
}

func stepLimit(err error) error {
	if err == nil {
		return nil
	}
	return &StartError{Step: StepLimit, Err: err}
}

// v1Limit is the v1 pids hierarchy. A thread can be in another directory than the rest of its process, and its children
// begin where it is.
type v1Limit struct {
	noLimit
	top top // directory of this table, without a limit

	mu    sync.Mutex
	made  int
	free  []string       // directories without a tree
	where map[int]string // of our threads
}

// openV1 makes a directory below the one this process is in, and tries it but for a thread's entry: the first one after
// a pause takes the kernel 10 ms.
func openV1() (*v1Limit, error) {
	parent, err := hierarchy(false)
	if err != nil {
		return nil, err
	}
	t, err := makeTop(parent)
	if err != nil {
		return nil, err
	}
	l := &v1Limit{top: t, where: map[int]string{}}
	tr := &Tree{pids: 1}
	if err := l.prepare(tr); err != nil {
		return nil, errors.Join(err, l.close())
	}
	l.release(tr)
	return l, nil
}

func (l *v1Limit) prepare(tr *Tree) error {
	if tr.pids == 0 {
		return nil
	}
	l.mu.Lock()
	dir := ""
	if n := len(l.free); n > 0 {
		dir, l.free = l.free[n-1], l.free[:n-1]
	} else {
		l.made++
		dir = filepath.Join(l.top.dir, strconv.Itoa(l.made))
	}
	l.mu.Unlock()
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return stepLimit(err)
	}
	tr.place.tasks = dir
	return stepLimit(writeSmall(filepath.Join(dir, "pids.max"), strconv.Itoa(tr.pids+1))) // and the thread that forks
}

func (l *v1Limit) fork(tr *Tree, fn func() error) error {
	if err := l.enter(tr, unix.Gettid()); err != nil {
		return stepLimit(err)
	}
	return fn()
}

// enter puts one of the starters' threads where its child belongs. Any other thread, which starts what has no limit, is
// nowhere.
func (l *v1Limit) enter(tr *Tree, tid int) error {
	dir := tr.place.tasks
	l.mu.Lock()
	at, starter := l.where[tid]
	l.mu.Unlock()
	if dir == "" && starter {
		dir = l.top.dir
	}
	if dir == at {
		return nil
	}
	err := writeSmall(filepath.Join(dir, "tasks"), strconv.Itoa(tid))
	if err == nil {
		l.mu.Lock()
		l.where[tid] = dir
		l.mu.Unlock()
	}
	return err
}

// release gives a directory to the next tree. What may be left in it counts against that one's limit, no more.
func (l *v1Limit) release(tr *Tree) {
	if tr.place.tasks == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, tr.place.tasks)
}

func (l *v1Limit) close() error { return l.top.remove() }

// userLimit is RLIMIT_NPROC, which counts the tasks of a user. A child inherits it, so it is set on ourselves for the time
// of the fork. Should the user have that many tasks just then, our own runtime cannot make threads; it tries again for
// 0.2 s, and by then the limit is lifted.
type userLimit struct {
	noLimit

	mu    sync.Mutex
	count int // tasks of the user when they were last counted, and what was started since
	when  time.Time
}

const (
	// countLasts is how long a count of the user's tasks serves: counting reads all of /proc.
	countLasts = time.Second
	// lowFor is how long our own limit is low at most, should the fork or the exec hang.
	lowFor = 100 * time.Millisecond
)

func (l *userLimit) alone(tr *Tree) bool { return tr.pids > 0 }

func (l *userLimit) fork(tr *Tree, fn func() error) error {
	if tr.pids == 0 {
		return fn()
	}
	err := l.forkLow(tr, l.tasks(countLasts), fn)
	if errors.Is(err, unix.EAGAIN) { // the user's tasks may have become more than the limit since they were counted
		err = l.forkLow(tr, l.tasks(0), fn)
	}
	return err
}

func (l *userLimit) forkLow(tr *Tree, tasks int, fn func() error) error {
	var own unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NPROC, nil, &own); err != nil {
		return stepLimit(err)
	}
	low := min(uint64(tasks+tr.pids), own.Max)
	if err := unix.Prlimit(0, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: min(low, own.Cur), Max: own.Max}, nil); err != nil {
		return stepLimit(err)
	}
	// It was the limit a moment ago, so the kernel takes it back.
	reset := sync.OnceFunc(func() { _ = unix.Prlimit(0, unix.RLIMIT_NPROC, &own, nil) })
	timer := time.AfterFunc(lowFor, reset)
	err := fn()
	timer.Stop()
	reset()
	if err == nil {
		// Now that it has one, it may not raise it either. EPERM: it has become another user (sudo).
		_ = unix.Prlimit(tr.main.pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: low, Max: low}, nil)
	}
	return err
}

// tasks is how many tasks the user has, by a count that is not older than age.
func (l *userLimit) tasks(age time.Duration) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.when) > age {
		l.count, l.when = countTasks(os.Geteuid()), time.Now()
	}
	l.count++ // the one that is started now
	return l.count
}

func countTasks(uid int) (n int) {
	for _, pid := range allPids() {
		var st syscall.Stat_t
		if syscall.Stat("/proc/"+strconv.Itoa(pid), &st) == nil && int(st.Uid) == uid {
			if s, ok := readStat(pid); ok {
				n += s.threads
			}
		}
	}
	return n
}
