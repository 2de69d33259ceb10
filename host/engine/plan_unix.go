//go:build unix

package engine

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sallyport-sh/sallyport"
)

const pathSeparators = "/"

func inode(info fs.FileInfo) (dev, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), st.Ino
	}
	return 0, 0
}

// executable asks the kernel, which knows owners, groups, ACLs and root's rule.
func executable(f sallyport.File) bool {
	return fs.FileMode(f.Mode).IsRegular() && unix.Faccessat(unix.AT_FDCWD, f.Path, unix.X_OK, unix.AT_EACCESS) == nil
}

func programNames(path string) []string { return []string{path} }

// runsDirectly says whether execve takes the file. A script without "#!" is run by shells as their own; it must go
// through one.
func runsDirectly(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true // executable but not readable: execve takes binaries so
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 4)
	n, _ := f.Read(head)
	head = head[:n]
	for _, magic := range [][]byte{[]byte("#!"), []byte("\x7fELF"), {0xcf, 0xfa, 0xed, 0xfe}, {0xca, 0xfe, 0xba, 0xbe}} {
		if bytes.HasPrefix(head, magic) {
			return true
		}
	}
	return false
}

func (e *Engine) shellPath(s Settings) (string, error) {
	return posixShell(s.Shell, prober{
		exists: func(path string) bool { return unix.Access(path, unix.X_OK) == nil },
		passwd: passwdShell,
		look:   func(name string) string { p, _ := exec.LookPath(name); return p },
	})
}

// passwdShell reads the running user's shell. os/user does not tell it.
func passwdShell() string {
	b, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return ""
	}
	uid := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		uid = u.Uid
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[2] == uid {
			return f[6]
		}
	}
	return ""
}
