package journal

import (
	"io"
	"os"
)

// A File is what the journal needs of an open file. It is the seam for faults: full disks, failing and slow syncs.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Sync brings what was written to the disk; of a file's metadata only what is needed to read it back.
	Sync() error
	// Truncate changes the size.
	Truncate(size int64) error
	io.Closer
}

// osFile is a real file.
type osFile struct {
	*os.File
	dir bool // opened to sync the entries of a directory
}

// openOS opens real files. What is opened only to read is a directory to be synced, or is never synced.
func openOS(name string, flag int, perm os.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f, flag&(os.O_WRONLY|os.O_RDWR) == 0}, nil
}

// Sync of a directory is a full one: its entries are metadata.
func (f osFile) Sync() error {
	if f.dir {
		return syncDir(f.File)
	}
	return syncData(f.File)
}
