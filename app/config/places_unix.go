//go:build unix

package config

import (
	"fmt"
	"os"
	"syscall"
)

// homeOf is the home directory in the password database. HOME is not read: see Find. os/user is not used where it reads
// the database itself, since it falls back to HOME without a word.
func homeOf(uid int) (string, error) {
	home, err := lookupHome(uid)
	if err != nil {
		return "", fmt.Errorf("read the password database: %w", err)
	}
	if home == "" {
		return "", &noHomeError{uid: uid}
	}
	if info, err := os.Stat(home); err != nil || !info.IsDir() {
		return "", &noHomeError{uid: uid, home: home}
	}
	return home, nil
}

// ownedBy reports whether dir is a directory of uid.
func ownedBy(dir string, uid int) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}

// private returns an error unless dir is a directory (no link) that belongs to uid and nobody else can enter.
func private(dir string, uid int) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case !ok || int(st.Uid) != uid:
		return fmt.Errorf("%s belongs to another user", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %04o: others can enter it", dir, info.Mode().Perm())
	}
	return nil
}
