//go:build !linux

package engine

import "os"

// dirPath: there is no name for an open directory here, so the path is resolved once more at the start.
func dirPath(f *os.File) string { return f.Name() }

func openPath(path string) (*os.File, error) { return os.Open(path) }
