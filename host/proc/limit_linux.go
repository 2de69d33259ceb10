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
	// enter puts a thread that is about to fork where its child is limited.
	enter(tr *Tree, tid int) error
	// started limits a tree that runs already; all lists what it has by then.
	started(tr *Tree, all func() []member) error
	release(tr *Tree)
	close() error
}

// noLimit is no limit.
type noLimit struct{}

func (noLimit) prepare(*Tree) error                  { return nil }
func (noLimit) enter(*Tree, int) error               { return nil }
func (noLimit) started(*Tree, func() []member) error { return nil }
func (noLimit) release(*Tree)                        {}
func (noLimit) close() error                         { return nil }

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

func (l *v1Limit) enter(tr *Tree, tid int) error {
	dir := tr.place.tasks
	if dir == "" {
		dir = l.top.dir
	}
	l.mu.Lock()
	there := l.where[tid] == dir
	l.where[tid] = dir
	l.mu.Unlock()
	if there {
		return nil
	}
	return stepLimit(writeSmall(filepath.Join(dir, "tasks"), strconv.Itoa(tid)))
}

func (l *v1Limit) started(*Tree, func() []member) error { return nil }

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

// userLimit is RLIMIT_NPROC, which counts the tasks of a user. It cannot be set in the child before the exec, and not on
// ourselves either: our own runtime would fail to make threads. So it is set on the tree once that runs.
type userLimit struct {
	noLimit

	mu    sync.Mutex
	count int // tasks of the user when they were last counted, and what was started since
	when  time.Time
}

// countLasts is how long a count of the user's tasks serves: counting reads all of /proc.
const countLasts = time.Second

func (l *userLimit) tasks() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.when) > countLasts {
		l.count, l.when = countTasks(os.Geteuid()), time.Now()
	}
	l.count++
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

// started limits the tree's processes until a whole pass finds none that is not limited. Children of a limited process
// are, so a pass without a find is a proof.
func (l *userLimit) started(tr *Tree, all func() []member) error {
	if tr.pids == 0 {
		return nil
	}
	limit := uint64(l.tasks() + tr.pids)
	for pass := range maxPasses {
		found := false
		pids := []int{tr.main.pid}
		if pass > 0 {
			pids = pids[:0]
			for _, m := range all() {
				pids = append(pids, m.pid)
			}
		}
		for _, pid := range pids {
			found = lower(pid, limit) || found
		}
		if !found && pass > 0 {
			return nil
		}
		if pass == 0 {
			// Nearly always: the program is still being loaded and has no child.
			if s, ok := readStat(tr.main.pid); ok && len(childrenOf(s)) == 0 && s.alive() {
				return nil
			}
		}
	}
	return stepLimit(errors.New("it forks faster than it can be limited"))
}

// maxPasses bounds the race of a limit against a program that forks. Each pass leaves fewer that can.
const maxPasses = 100

// lower lowers a process's limit, and reports whether that was necessary. One that has gone, or that became another
// user's (sudo), is not limited.
func lower(pid int, limit uint64) bool {
	var l unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, nil, &l); err != nil || l.Cur <= limit && l.Max <= limit {
		return false
	}
	l.Cur, l.Max = min(l.Cur, limit), min(l.Max, limit)
	return unix.Prlimit(pid, unix.RLIMIT_NPROC, &l, nil) == nil
}
