package output

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func (f osFile) punch(off, n int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return errors.ErrUnsupported
		default:
			return fmt.Errorf("punch %s: %w", f.Name(), err)
		}
	}
}

func (f osFile) splice(pipe int, off int64, n int) (int, error) {
	for {
		// The offset is explicit and the file not O_APPEND: splice answers EINVAL to that.
		m, err := unix.Splice(pipe, nil, int(f.Fd()), &off, n, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		switch {
		case err == nil:
			return int(m), nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return 0, errAgain
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
			return 0, errors.ErrUnsupported
		default:
			return 0, fmt.Errorf("splice to %s: %w", f.Name(), err)
		}
	}
}
