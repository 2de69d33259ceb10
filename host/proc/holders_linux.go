package proc

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// holdersWithin bounds the search for holders among processes that are not the tree's.
const holdersWithin = 100 * time.Millisecond

// Holders are the processes, other than this one, that hold the write end of the pipe that f is an end of: first those
// of the tree, and if it has none, any others that can be seen, as far as a short search finds them.
func (tr *Tree) Holders(f *os.File) []sallyport.Process {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	link := "pipe:[" + strconv.FormatUint(st.Ino, 10) + "]"
	var held []sallyport.Process
	if tr.enter() {
		for _, m := range tr.t.ways.rung.members(tr) {
			if holds(m.pid, link) {
				held = append(held, sallyport.Process{PID: m.pid, Name: m.name})
			}
		}
		tr.leave()
	}
	if len(held) > 0 {
		return held
	}
	deadline := time.Now().Add(holdersWithin)
	self := os.Getpid()
	for _, pid := range allPids() {
		if time.Now().After(deadline) {
			break
		}
		if pid != self && holds(pid, link) {
			held = append(held, sallyport.Process{PID: pid, Name: nameOf(pid)})
		}
	}
	return held
}

// holds reports whether a process has the pipe open for writing: the mode of the link in /proc shows that.
func holds(pid int, link string) bool {
	dir := procPath(pid, "fd/")
	for _, fd := range numbered(dir) {
		path := dir + strconv.Itoa(fd)
		if to, err := os.Readlink(path); err != nil || to != link {
			continue
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&0o200 != 0 {
			return true
		}
	}
	return false
}
