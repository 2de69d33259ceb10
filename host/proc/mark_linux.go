package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// forking is held exclusively while our own limits are those of one child, and shared by other starts, so that none of
// these inherits them. (A fork by other code of this process can. Its child is no member all the same: it has our session
// and is nobody's orphan.)
var forking sync.RWMutex

// markRung keeps trees together by an inherited limit.
type markRung struct {
	m       membership
	sweeper *sweeper // nil without Own
	starter starters
	limit   taskLimit
}

func openMark(m membership, limit taskLimit) (*markRung, error) {
	// Tried by doing: a hard limit, or a kernel that only plays Linux, may forbid it.
	if err := withMark(kin.newMark(), func() error { return nil }); err != nil {
		return nil, err
	}
	s, err := kin.join(m)
	if err != nil {
		return nil, err
	}
	return &markRung{m: m, sweeper: s, limit: limit}, nil
}

// withMark runs fn while this process carries the mark.
func withMark(mark uint64, fn func() error) error {
	forking.Lock()
	defer forking.Unlock()
	var own unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &own); err != nil {
		return fmt.Errorf("read RLIMIT_RTTIME: %w", err)
	}
	marked := unix.Rlimit{Cur: mark, Max: own.Max}
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, &marked, nil); err != nil {
		return fmt.Errorf("set RLIMIT_RTTIME: %w", err)
	}
	// It was the limit a moment ago, so the kernel takes it back.
	defer func() { _ = unix.Prlimit(0, unix.RLIMIT_RTTIME, &own, nil) }()
	return fn()
}

// markOf reads the mark of a process; 0 if there is none to see. Another user's process shows its limits only as text.
func markOf(pid int) uint64 {
	var l unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &l)
	switch {
	case err == nil:
		return l.Cur
	case errors.Is(err, unix.EPERM):
		var buf [2048]byte
		text, err := readSmall(procPath(pid, "limits"), buf[:])
		if err != nil {
			return 0
		}
		return parseLimits(text)
	default:
		return 0
	}
}

// parseLimits finds the soft limit in "Max realtime timeout   123   unlimited   us"; 0 if it is unlimited.
func parseLimits(text []byte) uint64 {
	const name = "Max realtime timeout"
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			if fields := bytes.Fields(rest); len(fields) > 0 {
				n, _ := strconv.ParseUint(string(fields[0]), 10, 64)
				return n
			}
		}
	}
	return 0
}

func (r *markRung) spawn(ctx context.Context, tr *Tree, l launch) error {
	tr.place.mark = kin.newMark()
	kin.expect(tr)
	err := r.limit.prepare(tr)
	if err == nil {
		err = r.fork(ctx, tr, l)
	}
	if err != nil {
		r.release(tr)
	}
	return err
}

// fork starts the main process while we carry its mark.
func (r *markRung) fork(ctx context.Context, tr *Tree, l launch) error {
	return r.starter.fork(ctx, tr, func() error {
		return withMark(tr.place.mark, func() error {
			return r.limit.fork(tr, func() error { return launchIn(tr, l, noCgroup) })
		})
	})
}

func (r *markRung) members(tr *Tree) []member {
	if r.sweeper == nil {
		return scan(tr)
	}
	return walk(roots(tr, r.sweeper))
}

// roots are the direct children of ours that a tree has.
func roots(tr *Tree, s *sweeper) []int {
	var pids []int
	if !tr.main.isReaped() {
		pids = append(pids, tr.main.pid)
	}
	if s != nil {
		pids = append(pids, s.orphansOf(tr)...)
	}
	return pids
}

func (r *markRung) empty(tr *Tree) bool {
	if r.sweeper == nil {
		return len(scan(tr)) == 0
	}
	return len(r.sweeper.orphansOf(tr)) == 0
}

func (r *markRung) slay(tr *Tree, k *kill) {
	_ = tr.main.signalGroup(syscall.SIGKILL) // whoever is not in the group, or refuses, is found below
	if r.sweeper == nil {
		slayByScan(tr, k)
		return
	}
	r.sweeper.strike(tr, k)
}

func (r *markRung) release(tr *Tree) {
	kin.forget(tr)
	if r.sweeper != nil {
		r.sweeper.forgot()
	}
	r.limit.release(tr)
}

func (r *markRung) close() error {
	r.starter.stop()
	kin.leave(r.m)
	return r.limit.close()
}
