package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport-sh/sallyport/app"
)

// checkKill looks at what a kill would find processes by, and then ends a small tree by it. want is exec.kill.
func checkKill(ctx context.Context, want string) Check {
	cgroup, mark := cgroupState(), markState()
	c := Check{Name: "kill", Health: OK}
	switch {
	case want != "mark" && cgroup.err == nil:
		c.Text = "cgroup v2 (writable)"
	case want == "cgroup":
		c.Health, c.Text, c.Fix = Fail, "exec.kill is cgroup, and "+cgroup.err.Error(), "sallyport config set exec.kill auto"
	case mark == nil:
		c.Text = "mark: every process inherits it"
	default:
		c.Health, c.Text = Fail, mark.Error()
		if want == "auto" {
			c.Text += "; " + cgroup.err.Error()
		}
	}
	if c.Health != OK {
		return c
	}
	p, err := app.ProbeKill(ctx, want)
	if err != nil {
		c.Health, c.Text = Fail, c.Text+", but: "+err.Error()
		return c
	}
	c.Text += ": ended a tree and verified it in " + p.Took.Round(10*time.Microsecond).String()
	for _, caveat := range p.Caveats {
		c.Health, c.Text = Warn, c.Text+"\n"+caveat
	}
	return c
}

// checkSystem looks at what the kernel offers.
func checkSystem() []Check {
	pidfd := Check{Name: "pidfd", Health: OK, Text: "there"}
	if fd, err := unix.PidfdOpen(os.Getpid(), 0); err != nil {
		pidfd.Health, pidfd.Text, pidfd.Fix = Fail, "missing: "+err.Error(), "Linux 5.4 or later is needed"
	} else {
		_ = unix.Close(fd)
	}
	mark := Check{Name: "mark", Health: OK, Text: "processes can be marked"}
	if err := markState(); err != nil {
		mark.Health, mark.Text = Warn, err.Error()
	}
	cgroup := Check{Name: "cgroup", Health: OK}
	if s := cgroupState(); s.err != nil {
		cgroup.Text = "not used: " + s.err.Error()
	} else {
		cgroup.Text = fmt.Sprintf("v2 at %s, controllers: %s", s.dir, s.controllers)
	}
	return []Check{pidfd, mark, cgroup}
}

// markState is why processes cannot be marked: the mark is a soft limit, so the hard one must leave room for it.
func markState() error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_RTTIME, &l); err != nil {
		return fmt.Errorf("no mark: %w", err)
	}
	if l.Max != unix.RLIM_INFINITY {
		return fmt.Errorf("no mark: the hard limit of RLIMIT_RTTIME is %d and must be unlimited (setrlimit(2))", l.Max)
	}
	return nil
}

// A cgroupInfo is this process' place in the v2 hierarchy.
type cgroupInfo struct {
	dir         string
	controllers string
	err         error // why none can be made there
}

func cgroupState() cgroupInfo {
	mount, err := cgroupMount()
	if err != nil {
		return cgroupInfo{err: err}
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cgroupInfo{err: err}
	}
	for line := range strings.Lines(string(own)) {
		path, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "0::")
		if !ok {
			continue
		}
		s := cgroupInfo{dir: filepath.Join(mount, path)}
		for _, file := range []string{".", "cgroup.procs"} {
			if err := unix.Access(filepath.Join(s.dir, file), unix.W_OK); err != nil {
				s.err = fmt.Errorf("no cgroup can be made in %s: %w", s.dir, err)
			}
		}
		list, err := os.ReadFile(filepath.Join(s.dir, "cgroup.controllers"))
		if s.controllers = strings.TrimSpace(string(list)); err != nil || s.controllers == "" {
			s.controllers = "none"
		}
		return s
	}
	return cgroupInfo{err: errors.New("this process is in no cgroup v2")}
}

// cgroupMount is where the v2 hierarchy is mounted, alone or beside v1.
func cgroupMount() (string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // read only
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// proc(5): the fifth field is the mount point; the type follows " - ".
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if ok && len(fields) >= 5 && strings.HasPrefix(after, "cgroup2 ") {
			return fields[4], nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read mounts: %w", err)
	}
	return "", errors.New("cgroup v2 is not mounted")
}
