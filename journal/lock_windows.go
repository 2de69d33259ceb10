package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockAt is the offset of the byte that is locked, high half: Windows keeps everybody from reading what is locked, so
// it lies far behind the contents.
const lockAt = 0x7fff0000

// hold locks the file at path until release or the death of the process.
func hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// release lets go at once.
func release(f *os.File) error { return f.Close() }

// held reports whether a living process holds the lock on path. Asking takes a shared lock for a moment, so that two
// who ask do not see each other.
func held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	return errors.Is(lock(f, 0), windows.ERROR_LOCK_VIOLATION)
}

func lock(f *os.File, how uint32) error {
	at := windows.Overlapped{OffsetHigh: lockAt}
	return windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
}

// fullDisk reports whether err says that there is no room left.
func fullDisk(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
