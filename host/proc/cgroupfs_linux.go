package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A mount is a cgroup file system as /proc/self/mountinfo shows it.
type mount struct {
	root string // the directory of the hierarchy that is mounted
	dir  string // where
	v2   bool
	pids bool // v1, with the pids controller
}

// parseMountinfo finds the cgroup mounts. A line is "id parent dev root dir options [tags] - type source super-options",
// and spaces in names are written as \040.
func parseMountinfo(text []byte) (mounts []mount) {
	for line := range bytes.Lines(text) {
		before, after, ok := strings.Cut(strings.TrimSpace(string(line)), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 6 || len(right) < 3 {
			continue
		}
		m := mount{root: unescape(left[3]), dir: unescape(left[4]), v2: right[0] == "cgroup2"}
		if right[0] == "cgroup" {
			for o := range strings.SplitSeq(right[2], ",") {
				m.pids = m.pids || o == "pids"
			}
		}
		if m.v2 || m.pids {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// parseCgroup finds the path of a process in the hierarchy of a controller, in lines such as "8:pids:/a" and "0::/a";
// "" is the controller of v2. It returns "" if there is none.
func parseCgroup(text []byte, controller string) string {
	for line := range bytes.Lines(text) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		if !ok || (id == "0") != (controller == "") {
			continue
		}
		for c := range strings.SplitSeq(controllers, ",") {
			if c == controller {
				return path
			}
		}
	}
	return ""
}

// cgroupOf is the path of a process in the v2 hierarchy; "" if it cannot be seen.
func cgroupOf(pid int) string {
	var buf [512]byte
	text, err := readSmall(procPath(pid, "cgroup"), buf[:])
	if err != nil {
		return ""
	}
	return parseCgroup(text, "")
}

// hierarchy finds the directory that this process is in: of v2, or of the v1 pids controller.
func hierarchy(v2 bool) (dir string, err error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	controller := "pids"
	if v2 {
		controller = ""
	}
	path := parseCgroup(self, controller)
	for _, m := range parseMountinfo(info) {
		if m.v2 != v2 {
			continue
		}
		if rel, ok := below(path, m.root); ok {
			return filepath.Join(m.dir, rel), nil
		}
	}
	if v2 {
		return "", errors.New("no cgroup v2 file system is mounted that shows this process")
	}
	return "", errors.New("there is no v1 pids controller")
}

// below is the rest of a path under a directory. A path that leads out of our namespace ("/..") is below none.
func below(path, dir string) (string, bool) {
	if path == "" || strings.HasPrefix(path, "/..") {
		return "", false
	}
	if path == dir || dir == "/" {
		return strings.TrimPrefix(path, dir), true
	}
	return strings.CutPrefix(path, dir+"/")
}

// topPrefix begins the name of every directory we make in a cgroup that is not ours.
const topPrefix = "sallyport-"

var tops atomic.Int64

// A top is the directory of one table in a cgroup hierarchy. Its lock says that the table lives, to other processes in
// whatever namespace.
type top struct {
	dir string
	fd  int
}

// makeTop makes a table's directory, and clears away what dead processes left empty beside it. Another process that
// clears at this moment may take the directory for stale before it is locked: then it is made again.
func makeTop(parent string) (t top, err error) {
	clearStale(parent)
	for range 10 {
		if t, err = lockTop(parent); err == nil || !errors.Is(err, unix.ENOENT) {
			return t, err
		}
	}
	return top{}, err
}

func lockTop(parent string) (top, error) {
	dir := filepath.Join(parent, fmt.Sprintf("%s%d-%d", topPrefix, os.Getpid(), tops.Add(1)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%s is no cgroup", parent)
		}
		return top{}, err
	}
	fd, err := openRaw(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return top{}, err
	}
	if err = unix.Flock(fd, unix.LOCK_EX); err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		_ = unix.Close(fd)
		return top{}, err
	}
	return top{dir, fd}, nil
}

func clearStale(parent string) {
	stale, _ := filepath.Glob(filepath.Join(parent, topPrefix+"[0-9]*-[0-9]*"))
	for _, dir := range stale {
		fd, err := openRaw(dir, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			continue
		}
		if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			removeDirs(dir)
		}
		_ = unix.Close(fd)
	}
}

// emptied is how long the kernel may take to let go of a directory whose last process has ended.
const emptied = time.Second

func (t top) remove() error {
	defer unix.Close(t.fd)
	deadline := time.Now().Add(emptied)
	for !removeDirs(t.dir) {
		if time.Now().After(deadline) {
			return fmt.Errorf("remove cgroup %s: %w", t.dir, unix.EBUSY)
		}
		time.Sleep(lull)
	}
	return nil
}

// removeDirs removes a directory and those below it, as far as they are empty. It reports whether all have gone.
func removeDirs(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	for _, e := range entries {
		if e.IsDir() {
			removeDirs(filepath.Join(dir, e.Name()))
		}
	}
	err = unix.Rmdir(dir)
	return err == nil || errors.Is(err, os.ErrNotExist)
}

// hasDirs reports whether there are directories below dir, made by the tree itself.
func hasDirs(dir string) bool {
	var st unix.Stat_t
	return unix.Stat(dir, &st) == nil && st.Nlink > 2
}

// procs lists the processes in a cgroup and in those below it.
func procs(dir string, pids []int) []int {
	var buf [1024]byte
	if text, err := readSmall(dir+"/cgroup.procs", buf[:]); err == nil {
		pids = parsePids(text, pids)
	}
	if !hasDirs(dir) {
		return pids
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			pids = procs(filepath.Join(dir, e.Name()), pids)
		}
	}
	return pids
}

// events reads cgroup.events. A cgroup that has gone is not populated.
func events(dir string) (populated, frozen bool) {
	var buf [256]byte
	text, err := readSmall(dir+"/cgroup.events", buf[:])
	if err != nil {
		return false, false
	}
	return bytes.Contains(text, []byte("populated 1")), bytes.Contains(text, []byte("frozen 1"))
}
