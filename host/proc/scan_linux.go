package proc

import (
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// scan finds the living processes of a tree by reading all of /proc for its mark or its marker variable: what is left
// to do when orphans do not come to us.
func scan(tr *Tree) (found []member) {
	self := unix.Getpid()
	session, _ := unix.Getsid(0)
	for _, pid := range allPids() {
		if pid == self || pid != tr.main.pid && !carries(pid, session, tr) {
			continue
		}
		s, ok := readStat(pid)
		switch {
		case !ok || pid == tr.main.pid && tr.main.isReaped():
		case s.alive():
			found = append(found, s.member())
		case s.ppid == self && pid != tr.main.pid:
			_, _ = wait4(pid, nil) // we are a sub-reaper or init, so it came to us
		}
	}
	slices.SortStableFunc(found, func(a, b member) int { return before(a, b, tr.main.pid) })
	return found
}

// before puts the main process first.
func before(a, b member, main int) int {
	switch {
	case a.pid == main:
		return -1
	case b.pid == main:
		return 1
	default:
		return a.pid - b.pid
	}
}

// carries reports whether a process is the tree's: it has the mark, or none at all and the tree's id in its environment.
// (One with another mark may be of a tree of that name elsewhere.) A process of our own session is none of ours: it
// inherited the mark because other code of this process forked while we were marked.
func carries(pid, session int, tr *Tree) bool {
	switch markOf(pid) {
	case tr.place.mark:
	case 0, unix.RLIM_INFINITY:
		ids, _ := variables(pid, tr.t.o.Markers[:1])
		if tr.id == "" || !slices.Contains(ids, tr.id) {
			return false
		}
	default:
		return false
	}
	sid, err := unix.Getsid(pid)
	return err == nil && sid != session
}

// slayByScan kills what a scan finds until two scans in a row find nothing. Unlike a strike it can be outrun.
func slayByScan(tr *Tree, k *kill) {
	began, moved := time.Now(), time.Now()
	struck := map[int]uint64{} // by start time
	for clean := 0; clean < 2; {
		over := tr.main.reap() // before the scan: what it leaves must be seen
		found := scan(tr)
		for _, m := range found {
			if struck[m.pid] == m.start {
				continue
			}
			struck[m.pid], moved = m.start, time.Now()
			k.saw(m.pid)
			if m.pid == tr.main.pid {
				_ = tr.main.signalAlone(syscall.SIGKILL)
			} else {
				_ = signalMember(m, syscall.SIGKILL)
			}
		}
		if len(found) == 0 && over {
			clean++
			continue
		}
		clean = 0
		if now := time.Now(); now.Sub(moved) > patience || now.Sub(began) > stamina {
			return
		}
		time.Sleep(lull)
	}
}
