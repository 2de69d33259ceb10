package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A stat is what /proc/PID/stat says.
type stat struct {
	pid, ppid, threads int
	name               string
	state              byte
	start              uint64 // clock ticks since boot
}

// alive reports whether the process still runs. A process whose first thread has ended looks like a zombie while its
// other threads go on.
func (s stat) alive() bool {
	switch s.state {
	case 'Z', 'X', 'x':
		return s.threads > 1
	}
	return true
}

func (s stat) member() member {
	return member{pid: s.pid, name: s.name, start: s.start, stopped: s.state == 'T'}
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// readSmall reads a file of a kernel file system whole, without the poller and the finalizer of an os.File.
func readSmall(path string, buf []byte) ([]byte, error) {
	fd, err := openRaw(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readRaw(fd, buf)
}

func openRaw(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// readRaw reads to the end of file from the descriptor's start.
func readRaw(fd int, buf []byte) ([]byte, error) {
	buf = buf[:cap(buf)]
	n := 0
	for {
		if n == len(buf) {
			buf = append(buf, make([]byte, max(512, len(buf)))...)
		}
		got, err := unix.Pread(fd, buf[n:], int64(n))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case got == 0:
			return buf[:n], nil
		default:
			n += got
		}
	}
}

// writeSmall writes a kernel file in one write, as these want it.
func writeSmall(path, text string) error {
	fd, err := openRaw(path, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		if _, err = unix.Write(fd, []byte(text)); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// readStat looks at one process; false if there is none.
func readStat(pid int) (stat, bool) {
	var buf [512]byte
	text, err := readSmall(procPath(pid, "stat"), buf[:])
	if err != nil {
		return stat{}, false
	}
	return parseStat(text)
}

// parseStat reads "pid (comm) S ppid …". comm may hold any byte, so its end is the last parenthesis.
func parseStat(text []byte) (s stat, ok bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return stat{}, false
	}
	s.name = string(text[open+1 : end])
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return stat{}, false
	}
	s.state = fields[0][0]
	var err [4]error
	s.pid, err[0] = strconv.Atoi(string(bytes.TrimSpace(text[:open])))
	s.ppid, err[1] = strconv.Atoi(string(fields[1]))
	s.threads, err[2] = strconv.Atoi(string(fields[17]))
	s.start, err[3] = strconv.ParseUint(string(fields[19]), 10, 64)
	return s, err == [4]error{}
}

// parsePids reads numbers separated by white space, as in children and cgroup.procs. A zero, which stands for a process
// outside of our namespace, is left out.
func parsePids(text []byte, pids []int) []int {
	n := 0
	for _, c := range text {
		if c >= '0' && c <= '9' {
			n = min(10*n+int(c-'0'), 1<<30)
			continue
		}
		if n > 0 {
			pids = append(pids, n)
		}
		n = 0
	}
	if n > 0 {
		pids = append(pids, n)
	}
	return pids
}

// tasks lists the threads of a process.
func tasks(pid int) []int {
	return numbered(procPath(pid, "task"))
}

// allPids lists the processes of the system.
func allPids() []int { return numbered("/proc") }

// numbered lists the entries of a directory that are numbers.
func numbered(dir string) []int {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	names, _ := f.Readdirnames(-1) // what was read before an error is still true
	_ = f.Close()
	var ns []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			ns = append(ns, n)
		}
	}
	return ns
}

// childrenOf lists the children of all threads of a process, zombies included.
func childrenOf(s stat) []int {
	ids := []int{s.pid}
	if s.threads > 1 {
		ids = tasks(s.pid)
	}
	var pids []int
	for _, tid := range ids {
		var buf [512]byte
		if text, err := readSmall(childrenPath(s.pid, tid), buf[:]); err == nil {
			pids = parsePids(text, pids)
		}
	}
	return pids
}

func childrenPath(pid, tid int) string {
	return procPath(pid, "task/") + strconv.Itoa(tid) + "/children"
}

// maxWalk bounds what is looked at of one tree. A tree this large is a fork bomb: killing it needs no list.
const maxWalk = 20_000

// walk lists the living processes at and below roots, roots first. It is a snapshot of something that moves: good for
// asking politely and for reporting, never for a proof.
func walk(roots []int) []member {
	var found []member
	seen := make(map[int]bool, len(roots))
	queue := append([]int(nil), roots...)
	for len(queue) > 0 && len(seen) < maxWalk {
		pid := queue[0]
		queue = queue[1:]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		s, ok := readStat(pid)
		if !ok || !s.alive() {
			continue
		}
		found = append(found, s.member())
		queue = append(queue, childrenOf(s)...)
	}
	return found
}

// nameOf is a process's name for a report; "?" if it has gone.
func nameOf(pid int) string {
	if s, ok := readStat(pid); ok {
		return s.name
	}
	return "?"
}

// variables returns the values of the named variables in a process's environment, as it was at its last exec. It is
// false if the environment is empty. That of a process which is not ours to read has none of them.
func variables(pid int, names []string) ([]string, bool) {
	var buf [4096]byte
	text, err := readSmall(procPath(pid, "environ"), buf[:])
	return findVariables(text, names), err != nil || len(text) > 0
}

func findVariables(text []byte, names []string) []string {
	var values []string
	for kv := range bytes.SplitSeq(text, []byte{0}) {
		for _, name := range names {
			if len(kv) > len(name) && kv[len(name)] == '=' && string(kv[:len(name)]) == name {
				values = append(values, string(kv[len(name)+1:]))
			}
		}
	}
	return values
}
