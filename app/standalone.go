package app

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A place is the directory of one process under the state directory. It is locked while the process lives, so that
// the next one can tell what a killed one has left.
type place struct {
	dir  string
	lock *os.File
}

// takePlace makes a fresh locked directory under root and, beside the caller's path, clears dead ones away.
func takePlace(root string) (*place, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	name := strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:8]
	// Under a hidden name until it is locked: another process must not take it for a dead one's.
	hidden, dir := filepath.Join(root, "."+name), filepath.Join(root, name)
	if err := os.Mkdir(hidden, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(hidden, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = tryLock(lock)
	}
	if err == nil {
		err = os.Rename(hidden, dir)
	}
	if err != nil {
		_ = os.RemoveAll(hidden)
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	return &place{dir, lock}, nil
}

const lockName = "lock"

// hiddenFor is how long a directory may be in the making.
const hiddenFor = time.Hour

// clearDead removes the directories of processes that are gone.
func clearDead(root, own string) {
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		if dir == own || !e.IsDir() {
			continue
		}
		if strings.HasPrefix(e.Name(), ".") {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > hiddenFor {
				_ = os.RemoveAll(dir)
			}
			continue
		}
		lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if tryLock(lock) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}

func (p *place) Close() error {
	err := os.RemoveAll(p.dir)
	_ = p.lock.Close()
	return err
}
