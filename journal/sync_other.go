//go:build !linux && !windows

package journal

import "os"

func syncData(f *os.File) error { return f.Sync() }

func syncDir(f *os.File) error { return f.Sync() }
