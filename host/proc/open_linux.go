package proc

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sallyport-sh/sallyport"
)

// findWays tries the rungs, best first.
func findWays(o Options) (ways, error) {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return ways{}, fmt.Errorf("this kernel has no pidfds, Linux 5.4 is needed: %w", err)
	}
	_ = unix.Close(fd)
	if o.Own {
		// Go opens nothing that a child would inherit, but we may have inherited something that was meant for us alone.
		// Before Linux 5.11 there is no such call, and the children inherit it.
		_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	}
	m := membership{marker: o.Markers[0], own: o.Own}
	switch o.Rung {
	case "", Auto:
		w, err := cgroupWays(o, m)
		if err == nil {
			return w, nil
		}
		w, err2 := markWays(m)
		if err2 != nil {
			return ways{}, fmt.Errorf("no way to keep process trees: cgroup: %w; mark: %w", err, err2)
		}
		return w, nil
	case Cgroup:
		w, err := cgroupWays(o, m)
		return w, named(Cgroup, err)
	case Mark:
		w, err := markWays(m)
		return w, named(Mark, err)
	default:
		return ways{}, fmt.Errorf("rung %q: use %q, %q or %q", o.Rung, Auto, Cgroup, Mark)
	}
}

func named(rung string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("rung %s does not work here: %w", rung, err)
}

func cgroupWays(o Options, m membership) (ways, error) {
	r, pids, err := openCgroup(m, o.CgroupParent)
	if err != nil {
		return ways{}, err
	}
	w := ways{rung: r, name: Cgroup, dirs: []string{r.top.dir}, orphans: orphansBy(r.sweeper)}
	if r.limit = (v2Limit{}); !pids {
		r.limit = w.findLimit()
	}
	return w, nil
}

func markWays(m membership) (ways, error) {
	var w ways
	limit := w.findLimit()
	r, err := openMark(m, limit)
	if err != nil {
		return ways{}, errors.Join(err, limit.close())
	}
	w.rung, w.name, w.serial, w.orphans = r, Mark, true, orphansBy(r.sweeper)
	if !m.own {
		w.caveats = append(w.caveats, "A command that forks faster than /proc can be read may outlive its kill: "+
			"this process does not own its orphans, and no cgroup is writable.")
	}
	return w, nil
}

// findLimit is the best limit on tasks besides the pids controller of v2.
func (w *ways) findLimit() taskLimit {
	if os.Geteuid() != 0 {
		w.caveats = append(w.caveats, "A limit on tasks counts all tasks of the user, as no pids controller is writable.")
		return &userLimit{}
	}
	l, err := openV1()
	if err != nil {
		w.caveats = append(w.caveats, "There is no limit on the tasks of a command: the user is root, for whom RLIMIT_NPROC "+
			"has no effect, and no pids controller is writable ("+err.Error()+").")
		return noLimit{}
	}
	w.dirs = append(w.dirs, l.top.dir)
	return l
}

func orphansBy(s *sweeper) func() []sallyport.Process {
	if s == nil {
		return func() []sallyport.Process { return nil }
	}
	return s.strangers
}
