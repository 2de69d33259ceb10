//go:build unix && !darwin

package config

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// lookupHome reads /etc/passwd, and asks getent for users that are kept elsewhere (LDAP, systemd-homed). Empty: no such
// user.
func lookupHome(uid int) (string, error) {
	data, err := os.ReadFile("/etc/passwd")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if home, ok := passwdHome(string(data), uid); ok {
		return home, nil
	}
	// A directory server may not answer; and its absence is no reason to fail.
	ctx, cancel := context.WithTimeoutCause(context.Background(), 5*time.Second, errors.New("getent takes too long"))
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/getent", "passwd", strconv.Itoa(uid))
	cmd.Env, cmd.Dir = []string{}, "/"
	out, err := cmd.Output()
	if err != nil {
		return "", nil // no getent, no such user, no answer: all the same here
	}
	home, _ := passwdHome(string(out), uid)
	return home, nil
}

// passwdHome finds the home directory of uid in the form of passwd(5).
func passwdHome(data string, uid int) (home string, ok bool) {
	id := strconv.Itoa(uid)
	for line := range strings.Lines(data) {
		f := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(f) == 7 && f[2] == id && !strings.HasPrefix(f[0], "+") && !strings.HasPrefix(f[0], "-") {
			return f[5], true
		}
	}
	return "", false
}
