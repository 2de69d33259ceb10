//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// hold locks the file at path until release or the death of the process.
func hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := flock(f, unix.LOCK_EX); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// release lets go at once. Closing alone would not: a child that another goroutine is just starting has a copy of the
// descriptor until its exec.
func release(f *os.File) error {
	return errors.Join(flock(f, unix.LOCK_UN), f.Close())
}

// held reports whether a living process holds the lock on path. Asking takes a shared lock for a moment, so that two
// who ask do not see each other.
func held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	return errors.Is(flock(f, unix.LOCK_SH), unix.EWOULDBLOCK)
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}

// fullDisk reports whether err says that there is no room left.
func fullDisk(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
