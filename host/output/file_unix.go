//go:build unix

package output

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// private makes sure that dir is ours and that nobody else may look into it.
func private(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return err
	}
	if uid := os.Geteuid(); int(st.Uid) != uid {
		return fmt.Errorf("owned by uid %d, not by %d", st.Uid, uid)
	}
	if st.Mode&0o077 == 0 {
		return nil
	}
	return os.Chmod(dir, 0o700)
}

func (f osFile) used() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, fmt.Errorf("stat %s: %w", f.Name(), err)
	}
	return int64(st.Blocks) * 512, nil // st_blocks counts 512-byte units whatever the block size
}

func diskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}
