//go:build unix

package config

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock keeps two processes from editing a file in dir at once, which would lose one of the changes. The kernel drops
// the lock with its holder, so that none can be left behind.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close() // the lock is what failed
		return nil, err
	}
	return func() { _ = f.Close() }, nil // which unlocks
}

// syncDir makes a rename in dir survive a power cut.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
