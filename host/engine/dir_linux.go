package engine

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// dirPath names an open directory so that the child's chdir gets exactly it: vfork keeps the descriptor table.
func dirPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

func openPath(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
