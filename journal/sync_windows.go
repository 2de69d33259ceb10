package journal

import "os"

func syncData(f *os.File) error { return f.Sync() }

// syncDir does nothing: NTFS journals directory entries itself, and a handle opened to read cannot be flushed.
func syncDir(*os.File) error { return nil }
