package output

import (
	"errors"

	"golang.org/x/sys/windows"
)

// private does nothing: a directory below the user's profile inherits an access list for that user alone.
func private(string) error { return nil }

func (f osFile) used() (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
