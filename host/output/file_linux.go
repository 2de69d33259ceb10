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
	// The offset is explicit and the file not O_APPEND: splice answers EINVAL to that.
	m, err := spliceNow(pipe, int(f.Fd()), &off, n)
	if err != nil && !errors.Is(err, errAgain) && !errors.Is(err, errors.ErrUnsupported) {
		err = fmt.Errorf("splice to %s: %w", f.Name(), err)
	}
	return m, err
}

// spliceNow moves what is in a pipe, without waiting for more.
func spliceNow(pipe, to int, off *int64, n int) (int, error) {
	for {
		m, err := unix.Splice(pipe, nil, to, off, n, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		switch {
		case err == nil:
			return int(m), nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return 0, errAgain
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
			return 0, errors.ErrUnsupported
		default:
			return 0, err
		}
	}
}
