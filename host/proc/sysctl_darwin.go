package proc

import (
	"bytes"
	"slices"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// find finds the living processes of a tree: its group, and those whose environment carries its marker.
func find(tr *Tree) (found []member) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	self := unix.Getpid()
	for i := range all {
		m, ok := describe(&all[i])
		if !ok || m.pid == self {
			continue
		}
		if m.pid == tr.main.pid && !tr.main.isReaped() {
			found = slices.Insert(found, 0, m)
			continue
		}
		if int(all[i].Eproc.Pgid) == tr.main.pid || tr.id != "" && tells(m.pid, tr.t.o.Markers[0]+"="+tr.id) {
			found = append(found, m)
		}
	}
	return found
}

func look(pid int) (member, bool) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return member{}, false
	}
	return describe(p)
}

// describe is false for a zombie.
func describe(p *unix.KinfoProc) (member, bool) {
	name, _, _ := bytes.Cut(p.Proc.P_comm[:], []byte{0})
	start := uint64(p.Proc.P_starttime.Sec)*1e6 + uint64(p.Proc.P_starttime.Usec)
	return member{pid: int(p.Proc.P_pid), name: string(name), start: start}, p.Proc.P_stat != zombie
}

// tells reports whether a process was started with the variable. Only the user's own processes can be read.
func tells(pid int, variable string) bool {
	args, err := unix.SysctlRaw("kern.procargs2", pid)
	return err == nil && bytes.Contains(args, append(append([]byte{0}, variable...), 0))
}
