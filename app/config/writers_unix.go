//go:build unix

package config

import "os"

// writers looks at who else may change the file.
func writers(info os.FileInfo) (warning, refuse string) {
	switch perm := info.Mode().Perm(); {
	case perm&0o002 != 0:
		return "", "every user may write it"
	case perm&0o020 != 0:
		return "its group may write it", ""
	default:
		return "", ""
	}
}
