package config

import (
	"fmt"
	"os"
	"os/user"
)

// homeOf is the profile directory of the process' token. There are no uids here.
func homeOf(int) (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("find the profile directory: %w", err)
	}
	return u.HomeDir, nil
}

// ownedBy is false: the system keeps no runtime directory.
func ownedBy(string, int) bool { return false }

// private only checks that dir is a directory: it lies in the profile, whose access list others are not on.
func private(dir string, _ int) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}
