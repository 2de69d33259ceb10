package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Nobody is the uid and gid of the throw-away user that tests run dangerous or unprivileged things as.
const Nobody = 65534

// NeedRoot ends the test if it does not run as root.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "root")
	}
}

// NeedProgram ends the test if name is not on PATH, and returns where it is.
func NeedProgram(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name)
	}
	return path
}

// AsNobody makes cmd run as the throw-away user, without supplementary groups.
func AsNobody(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	NeedRoot(t)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: Nobody, Gid: Nobody}
}

// SmallDisk mounts a file system of size bytes in memory and returns where. It is unmounted with the test.
func SmallDisk(t testing.TB, size int64) string {
	t.Helper()
	NeedRoot(t)
	dir := OpenDir(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=1777,size="+strconv.FormatInt(size, 10)); err != nil {
		Missing(t, "mount")
	}
	t.Cleanup(func() {
		// Detached, as a process that the test left behind would hold it and hide what really went wrong.
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Cgroup makes a cgroup v2 directory that belongs to uid, with a leaf in it for a server to be started in, and returns
// the leaf. A server may only use cgroups below the one that it was itself started in. Both are removed with the test.
func Cgroup(t testing.TB, uid int) string {
	t.Helper()
	NeedRoot(t)
	leaf, remove, err := MakeCgroup(uid)
	if err != nil {
		t.Log(err)
		Missing(t, "cgroup2")
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	return leaf
}

// MakeCgroup is Cgroup without a test. remove waits a little for the last process to be gone.
func MakeCgroup(uid int) (leaf string, remove func() error, err error) {
	root := "/sys/fs/cgroup" // where cgroup v2 is mounted alone
	if _, err := os.Stat(root + "/cgroup.procs"); err != nil {
		root += "/unified" // and beside v1
	}
	top, err := os.MkdirTemp(root, "test-sallyport-")
	if err != nil {
		return "", nil, fmt.Errorf("make a cgroup: %w", err)
	}
	remove = func() error { return removeCgroup(top) }
	leaf = filepath.Join(top, "server")
	if err := os.Mkdir(leaf, 0o755); err != nil {
		return "", remove, fmt.Errorf("make a cgroup: %w", err)
	}
	for _, dir := range []string{top, leaf} {
		for _, name := range []string{"", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
			if err := os.Chown(filepath.Join(dir, name), uid, uid); err != nil {
				return "", remove, fmt.Errorf("give the cgroup to uid %d: %w", uid, err)
			}
		}
	}
	return leaf, remove, nil
}

// cgroupGone is how soon the kernel empties a cgroup after its last process died.
const cgroupGone = time.Second

// removeCgroup removes a directory of cgroups, deepest first. A cgroup can be removed once its last process is gone
// for good.
func removeCgroup(top string) error {
	gone := Poll(Slack*cgroupGone, func() bool {
		var dirs []string
		_ = filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			_ = syscall.Rmdir(dir) // tried again until top is gone
		}
		_, err := os.Stat(top)
		return os.IsNotExist(err)
	})
	if !gone {
		return fmt.Errorf("the cgroup %s cannot be removed: a process is left in it", top)
	}
	return nil
}
