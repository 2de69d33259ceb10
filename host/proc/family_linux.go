package proc

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// place is where a tree is kept on Linux.
type place struct {
	mark  uint64 // soft RLIMIT_RTTIME of its processes; 0: none
	dir   string // its cgroup v2 directory, absolute; empty: none
	path  string // the same as /proc/PID/cgroup shows it
	tasks string // its directory in the v1 pids hierarchy, absolute; empty: none
	// hit says that no other tree may get dir, because cgroup.kill was used on it: there are kernels (6.18 is one) that
	// kill at birth whatever is then started into it from outside.
	hit atomic.Bool
}

// A family is what a process knows of its children. There is one for all tables: marks, the list of children and the
// duty to reap belong to the process.
type family struct {
	opening sync.Mutex // held while the sweeper starts or stops

	mu       sync.Mutex
	mains    map[int]*Tree
	starting map[*Tree]bool // main process not known yet
	marks    map[uint64]*Tree
	paths    map[string]*Tree // by place.path
	ids      map[string][]*Tree
	markers  []string // first marker variables of the open tables
	tops     []string // cgroup paths that hold the open tables' trees
	base     uint64   // of marks
	issued   uint64   // marks given out so far
	owners   int      // open tables with Own
	sweeper  *sweeper // while there are owners
}

var kin = &family{
	mains: map[int]*Tree{}, starting: map[*Tree]bool{}, marks: map[uint64]*Tree{}, paths: map[string]*Tree{},
	ids: map[string][]*Tree{}, base: markBase(),
}

// markBase begins the run of this process's marks at a random place, far above what a program sets itself (2^40 µs are
// 12 days of uninterrupted real-time scheduling). Where a limit has 32 bits there is less room.
func markBase() uint64 {
	if bits.UintSize == 32 {
		return 1<<30 + uint64(rand.Uint32N(1<<29))
	}
	return 1<<40 + rand.Uint64N(1<<60)
}

// newMark is a mark that no other tree of this process has or had.
func (f *family) newMark() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.issued++
	return f.base + f.issued
}

// expect makes a tree known before its main process exists, so that no process of it is ever a stranger.
func (f *family) expect(tr *Tree) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.starting[tr] = true
	if tr.place.mark != 0 {
		f.marks[tr.place.mark] = tr
	}
	if tr.place.path != "" {
		f.paths[tr.place.path] = tr
	}
	if tr.id != "" {
		f.ids[tr.id] = append(f.ids[tr.id], tr)
	}
}

// started makes the main process known. Until then a child with the tree's signs may be it, and is left alone.
func (f *family) started(tr *Tree) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mains[tr.main.pid] = tr
	delete(f.starting, tr)
}

// forget removes a tree, or one that could not be started.
func (f *family) forget(tr *Tree) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.starting, tr)
	if tr.main != nil && f.mains[tr.main.pid] == tr {
		delete(f.mains, tr.main.pid)
	}
	if f.marks[tr.place.mark] == tr {
		delete(f.marks, tr.place.mark)
	}
	if f.paths[tr.place.path] == tr {
		delete(f.paths, tr.place.path)
	}
	f.ids[tr.id] = slices.DeleteFunc(f.ids[tr.id], func(t *Tree) bool { return t == tr })
	if len(f.ids[tr.id]) == 0 {
		delete(f.ids, tr.id)
	}
}

// isMain reports whether a child is the main process of a tree. Asking the child itself makes a number that was reaped
// and then given to an adopted orphan no main.
func (f *family) isMain(pid int) bool {
	f.mu.Lock()
	tr := f.mains[pid]
	f.mu.Unlock()
	return tr != nil && !tr.main.isReaped()
}

// signs are what a process shows of whose it is.
type signs struct {
	trees    []*Tree // live trees that a sign names
	ours     bool    // a mark or cgroup that this process gave out, be it to a tree that is forgotten
	starting bool    // one of the trees is being started: this may be its main process
}

// add is called with f.mu held.
func (s *signs) add(f *family, tr *Tree) {
	if tr == nil || slices.Contains(s.trees, tr) {
		return
	}
	s.trees = append(s.trees, tr)
	s.starting = s.starting || f.starting[tr]
}

// inherited reads the signs that outlive an exec and a cleared environment: mark and cgroup. Zombies still have them.
func (f *family) inherited(pid int) (s signs) {
	f.mu.Lock()
	marked, tops := f.issued > 0, f.tops
	f.mu.Unlock()
	var mark uint64
	if marked {
		mark = markOf(pid)
	}
	path := ""
	if len(tops) > 0 {
		path = cgroupOf(pid)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if mark != 0 {
		s.add(f, f.marks[mark])
		s.ours = mark > f.base && mark <= f.base+f.issued
	}
	for _, top := range tops {
		if rest, ok := strings.CutPrefix(path, top+"/"); ok {
			s.ours = true
			name, _, _ := strings.Cut(rest, "/") // a tree may have made cgroups below its own
			s.add(f, f.paths[top+"/"+strings.TrimSuffix(name, " (deleted)")])
		}
	}
	return s
}

// told adds what the environment says, as it was at the process's last exec. It is false if there is nothing to read,
// which is also so in the instant in which a process loads its program.
func (f *family) told(pid int, s *signs) bool {
	f.mu.Lock()
	markers := f.markers
	f.mu.Unlock()
	ids, ok := variables(pid, markers)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		for _, tr := range f.ids[id] {
			s.add(f, tr)
		}
	}
	return ok
}

// A membership is a table's part in the family.
type membership struct {
	marker string
	top    string // empty: none
	own    bool
}

// join makes a table known. The first owner makes the process a sub-reaper and starts the sweeper.
func (f *family) join(m membership) (*sweeper, error) {
	f.opening.Lock()
	defer f.opening.Unlock()
	var s *sweeper
	if m.own {
		if s = f.sweeper; s == nil {
			var err error
			if s, err = startSweeper(f); err != nil {
				return nil, fmt.Errorf("become a sub-reaper: %w", err)
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.markers = append(slices.Clone(f.markers), m.marker) // cloned: readers hold the old slice
	if m.top != "" {
		f.tops = append(slices.Clone(f.tops), m.top)
	}
	if m.own {
		f.owners++
		f.sweeper = s
	}
	return s, nil
}

// leave undoes join.
func (f *family) leave(m membership) {
	f.opening.Lock()
	defer f.opening.Unlock()
	f.mu.Lock()
	drop := func(list []string, s string) []string {
		list = slices.Clone(list)
		if i := slices.Index(list, s); i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
		return list
	}
	f.markers, f.tops = drop(f.markers, m.marker), drop(f.tops, m.top)
	var last *sweeper
	if m.own {
		if f.owners--; f.owners == 0 {
			last, f.sweeper = f.sweeper, nil
		}
	}
	f.mu.Unlock()
	if last != nil {
		last.stop()
	}
}
