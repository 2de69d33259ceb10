package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pooled is how many empty cgroups are kept for the next trees. Making and removing one costs 0.25 ms.
const pooled = 64

// strikers is how many trees are hit at once: killing a cgroup is a millisecond's work of the kernel, and more at once
// only wait for each other.
const strikers = 4

// cgroupRung keeps every tree in a cgroup v2 directory.
type cgroupRung struct {
	m       membership
	top     top
	sweeper *sweeper // nil without Own
	limit   taskLimit
	hitting chan struct{} // a hit holds one

	starter starters

	mu    sync.Mutex
	made  int
	free  []string // names of empty directories
	stale []string // directories to be removed once they are empty
}

// openCgroup makes the table's directory and tries everything that will be done with it.
func openCgroup(m membership, parent string) (r *cgroupRung, pids bool, err error) {
	if parent == "" {
		if parent, err = hierarchy(true); err != nil {
			return nil, false, err
		}
	}
	t, err := makeTop(parent)
	if err != nil {
		return nil, false, err
	}
	pids = enablePids(parent, t.dir)
	if m.top, err = trial(t.dir); err != nil {
		return nil, false, errors.Join(err, t.remove())
	}
	r = &cgroupRung{m: m, top: t, hitting: make(chan struct{}, strikers)}
	if r.sweeper, err = kin.join(m); err != nil {
		return nil, false, errors.Join(err, t.remove())
	}
	return r, pids, nil
}

// enablePids passes the pids controller on to the trees' directories. It needs a parent that has it and holds no
// process itself.
func enablePids(parent, top string) bool {
	_ = writeSmall(filepath.Join(parent, "cgroup.subtree_control"), "+pids") // it may be on already
	return writeSmall(filepath.Join(top, "cgroup.subtree_control"), "+pids") == nil
}

// trial starts a process in a cgroup, sees it live, kills it there, and returns the path of top as /proc shows it.
func trial(top string) (path string, err error) {
	dir := filepath.Join(top, "trial")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	defer func() {
		if e := unix.Rmdir(dir); err == nil && e != nil {
			err = fmt.Errorf("remove trial cgroup: %w", e)
		}
	}()
	pid, link, err := startTrial(dir)
	if err != nil {
		return "", fmt.Errorf("start in a cgroup: %w", err)
	}
	defer func() { _ = link.Close() }()
	if _, err = link.Read(make([]byte, 1)); err != nil {
		err = errors.New("a process started in a cgroup does not live")
	}
	path = cgroupOf(pid)
	if e := writeSmall(filepath.Join(dir, "cgroup.kill"), "1"); e != nil {
		err = errors.Join(err, e, syscall.Kill(pid, syscall.SIGKILL))
	}
	var status syscall.WaitStatus
	if _, e := syscall.Wait4(pid, &status, 0, nil); err == nil && (e != nil || status.Signal() != syscall.SIGKILL) {
		err = errors.New("cgroup.kill did not kill")
	}
	if err == nil && filepath.Base(path) != "trial" {
		err = fmt.Errorf("a process started in the cgroup is in %q", path)
	}
	if err == nil && !emptyWithin(dir, patience) {
		err = errors.New("the cgroup stays populated")
	}
	return filepath.Dir(path), err
}

// startTrial starts a shell that writes a line and then waits for one which never comes. It stays in our session, so the
// sweeper leaves it be. The link is our end of a socket that is its standard input and output.
func startTrial(dir string) (pid int, link *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, err
	}
	link = os.NewFile(uintptr(pair[0]), "trial")
	defer unix.Close(pair[1])
	fd, err := openRaw(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return 0, nil, errors.Join(err, link.Close())
	}
	defer unix.Close(fd)
	forking.RLock()
	defer forking.RUnlock()
	theirs := uintptr(pair[1])
	pid, err = syscall.ForkExec("/bin/sh", []string{"sh", "-c", "echo; read x"}, &syscall.ProcAttr{
		Files: []uintptr{theirs, theirs, theirs},
		Sys:   &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd},
	})
	if err != nil {
		return 0, nil, errors.Join(err, link.Close())
	}
	return pid, link, nil
}

func emptyWithin(dir string, limit time.Duration) bool {
	for deadline := time.Now().Add(limit); ; briefly(lull / 10) {
		if populated, _ := events(dir); !populated {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// briefly sleeps for less than the poller's resolution of a millisecond. It takes a thread for that time.
func briefly(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil)
}

func (r *cgroupRung) spawn(ctx context.Context, tr *Tree, l launch) error {
	err := r.spawnIn(ctx, tr, l, r.take())
	if spoiled(err) {
		tr.place.hit.Store(false)
		err = r.spawnIn(ctx, tr, l, "")
	}
	return err
}

// spoiled reports whether a start failed for what the last tenant did to the directory: made it threaded, or removed it.
func spoiled(err error) bool { return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENODEV) }

// spawnIn starts the tree in the named directory; empty: in a new one.
func (r *cgroupRung) spawnIn(ctx context.Context, tr *Tree, l launch, name string) error {
	if name == "" {
		r.mu.Lock()
		r.made++
		name = strconv.Itoa(r.made)
		r.mu.Unlock()
		if err := os.Mkdir(filepath.Join(r.top.dir, name), 0o755); err != nil {
			return &StartError{Step: StepFork, Err: err}
		}
	}
	tr.place.dir, tr.place.path = filepath.Join(r.top.dir, name), r.m.top+"/"+name
	kin.expect(tr)
	err := r.limit.prepare(tr)
	if err == nil {
		err = r.fork(ctx, tr, l)
	}
	if err != nil {
		tr.place.hit.Store(spoiled(err))
		r.release(tr)
	}
	return err
}

// fork starts the main process in the tree's directory.
func (r *cgroupRung) fork(ctx context.Context, tr *Tree, l launch) error {
	fd, err := openRaw(tr.place.dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return &StartError{Step: StepFork, Err: unix.ENODEV}
	}
	defer unix.Close(fd)
	err = r.starter.fork(ctx, tr, func() error {
		if r.limit.alone(tr) {
			forking.Lock()
			defer forking.Unlock()
		} else {
			forking.RLock()
			defer forking.RUnlock()
		}
		return r.limit.fork(tr, func() error { return launchIn(tr, l, fd) })
	})
	if errors.Is(err, unix.ENOENT) {
		if _, gone := os.Stat(tr.place.dir); gone != nil { // it was the directory, not the program
			return &StartError{Step: StepFork, Err: unix.ENODEV}
		}
	}
	return err
}

// take is the name of an empty directory; "" if there is none.
func (r *cgroupRung) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.free) == 0 {
		return ""
	}
	name := r.free[len(r.free)-1]
	r.free = r.free[:len(r.free)-1]
	return name
}

// members are what is in the cgroup, and what was moved out of it (as login managers do) but descends from the tree.
func (r *cgroupRung) members(tr *Tree) []member {
	found := walk(roots(tr, r.sweeper))
	for _, pid := range procs(tr.place.dir, nil) {
		if slices.ContainsFunc(found, func(m member) bool { return m.pid == pid }) {
			continue
		}
		if s, ok := readStat(pid); ok && s.alive() {
			found = append(found, s.member())
		}
	}
	return found
}

func (r *cgroupRung) empty(tr *Tree) bool {
	populated, _ := events(tr.place.dir)
	return !populated && (r.sweeper == nil || len(r.sweeper.orphansOf(tr)) == 0)
}

func (r *cgroupRung) slay(tr *Tree, k *kill) {
	if populated, _ := events(tr.place.dir); populated || !tr.main.isReaped() {
		r.hit(tr, k)
	}
	if r.sweeper != nil {
		r.sweeper.strike(tr, k) // what has left the cgroup
	}
}

// hit kills what is in the cgroup and waits until it is empty, or nothing changes any more.
func (r *cgroupRung) hit(tr *Tree, k *kill) {
	began := time.Now()
	over := func() bool {
		populated, _ := events(tr.place.dir)
		return tr.main.reap() && !populated
	}
	r.hitting <- struct{}{}
	for _, pid := range procs(tr.place.dir, nil) {
		k.saw(pid)
	}
	tr.place.hit.Store(true)
	_ = writeSmall(tr.place.dir+"/cgroup.kill", "1") // what it could not do is seen below
	_ = tr.main.signalGroup(syscall.SIGKILL)         // it may have left the cgroup
	gone := false
	for !gone && time.Since(began) < 5*lull {
		briefly(lull / 10)
		gone = over()
	}
	<-r.hitting
	moved, last := began, -1
	for pause := lull; !gone; pause = min(2*pause, glanceLast) {
		time.Sleep(pause)
		gone = over()
		if n := len(procs(tr.place.dir, nil)); n != last {
			moved, last = time.Now(), n
		}
		if time.Since(moved) > patience || time.Since(began) > stamina {
			return
		}
	}
}

func (r *cgroupRung) release(tr *Tree) {
	kin.forget(tr)
	if r.sweeper != nil {
		r.sweeper.forgot()
	}
	r.limit.release(tr)
	populated, frozen := events(tr.place.dir)
	reuse := !populated && !frozen && !tr.place.hit.Load() && !hasDirs(tr.place.dir)
	r.mu.Lock()
	if reuse = reuse && len(r.free) < pooled; reuse {
		r.free = append(r.free, filepath.Base(tr.place.dir))
	}
	stale := r.stale
	r.stale = nil
	r.mu.Unlock()
	if !reuse {
		stale = append(stale, tr.place.dir)
	}
	stale = slices.DeleteFunc(stale, removeDirs) // what is not empty yet stays for the next time
	if len(stale) > 0 {
		r.mu.Lock()
		r.stale = append(r.stale, stale...)
		r.mu.Unlock()
	}
}

func (r *cgroupRung) close() error {
	r.starter.stop()
	kin.leave(r.m)
	return errors.Join(r.limit.close(), r.top.remove())
}
