//go:build unix

package app

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock that lasts as long as this process, or fails at once.
func tryLock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
