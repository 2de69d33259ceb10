package testenv

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Process is one entry of /proc, as a test sees it. The zero Process is none.
type Process struct {
	PID, PPID int
	State     byte   // R, S, D, T, Z …
	Name      string // comm
	Cmdline   string // arguments joined by spaces; empty for a zombie
}

func (p Process) String() string {
	return fmt.Sprintf("%d %c %s (%s)", p.PID, p.State, p.Name, p.Cmdline)
}

// Processes is every process that this test may see, zombies included.
func Processes() []Process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := Look(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// Look reads one process. It reports false if there is none (any more).
func Look(pid int) (Process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, false
	}
	// comm is in parentheses and may hold any byte, parentheses too: the last one ends it.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return Process{}, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 2 {
		return Process{}, false
	}
	ppid, _ := strconv.Atoi(fields[1])
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return Process{
		PID: pid, PPID: ppid, State: fields[0][0], Name: string(stat[open+1 : end]),
		Cmdline: string(bytes.TrimRight(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}), " ")),
	}, true
}

// Alive reports whether pid is a process that still runs: a zombie does not.
func Alive(pid int) bool {
	p, ok := Look(pid)
	return ok && p.State != 'Z' && p.State != 'X'
}

// Children are the direct children of pid, zombies included.
func Children(t testing.TB, pid int) []Process {
	t.Helper()
	var children []Process
	for _, p := range Processes() {
		if p.PPID == pid {
			children = append(children, p)
		}
	}
	return children
}

// Descendants are all processes below pid, zombies included.
func Descendants(t testing.TB, pid int) []Process {
	t.Helper()
	all := Processes()
	below := map[int]bool{pid: true}
	var found []Process
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if below[p.PPID] && !below[p.PID] {
				below[p.PID], grew = true, true
				found = append(found, p)
			}
		}
	}
	return found
}

// ProcessesWith finds the processes, other than this one, whose environment or arguments hold token: a look at /proc
// that owes nothing to the code under test. Zombies have neither and are not found.
func ProcessesWith(token string) []Process {
	self := os.Getpid()
	return slices.DeleteFunc(Processes(), func(p Process) bool {
		if p.PID == self {
			return true
		}
		if strings.Contains(p.Cmdline, token) {
			return false
		}
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		return !bytes.Contains(environ, []byte(token))
	})
}

// A Usage is what a process has of the machine.
type Usage struct {
	RSS     int64 // resident memory in bytes
	Peak    int64 // the most that it has had resident
	FDs     int   // open descriptors
	Threads int
}

// UsageOf looks at a process.
func UsageOf(pid int) (Usage, error) {
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	u := Usage{FDs: len(fds)}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		value, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			u.RSS = n << 10
		case "VmHWM":
			u.Peak = n << 10
		case "Threads":
			u.Threads = int(n)
		}
	}
	if u.RSS == 0 {
		return Usage{}, fmt.Errorf("process %d has ended", pid)
	}
	return u, nil
}

// Use is UsageOf for a process that must be there.
func Use(t testing.TB, pid int) Usage {
	t.Helper()
	u, err := UsageOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
