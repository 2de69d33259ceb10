package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// A file is a spool or an index. Tests put faults behind it.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// punch gives n bytes at off back to the file system; they read as zeros. errors.ErrUnsupported where it can't.
	punch(off, n int64) error
	// splice moves at most n bytes from a pipe to off without passing user memory. It returns errAgain if the pipe
	// is empty and errors.ErrUnsupported where there is no such call for this pair.
	splice(pipe int, off int64, n int) (int, error)
	// used is how many bytes of disk the file takes.
	used() (int64, error)
}

// A disk opens and removes files.
type disk interface {
	// open opens path. With create it makes a new file of mode 0600, taking the place of one that is left there.
	open(path string, create bool) (file, error)
	remove(path string) error
}

type osDisk struct{}

func (osDisk) open(path string, create bool) (file, error) {
	if !create {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		return osFile{f}, nil
	}
	// Exclusive: a link that somebody put there is never followed, and the left-over file of a dead process that
	// another still reads is not truncated under it.
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	f, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(path, flags, 0o600)
	}
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osDisk) remove(path string) error { return os.Remove(path) }

// osFile is a file of the operating system; punch, splice and used stand in the platform files.
type osFile struct{ *os.File }
