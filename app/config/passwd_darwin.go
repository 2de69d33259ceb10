package config

import (
	"errors"
	"os/user"
	"strconv"
)

// lookupHome asks the directory service, which os/user does here with and without cgo. Empty: no such user.
func lookupHome(uid int) (string, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if _, unknown := errors.AsType[user.UnknownUserIdError](err); unknown {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return u.HomeDir, nil
}
