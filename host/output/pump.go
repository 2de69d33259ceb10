package output

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/sallyport-sh/sallyport"
)

// pumpBuffer is what a copy goes through where bytes can't move inside the kernel: the size of a full default pipe.
const pumpBuffer = 64 << 10

var pumpBuffers = sync.Pool{New: func() any { return new([pumpBuffer]byte) }}

// Pump moves bytes from the read end of a pipe into the log until the pipe ends (nil), or r is closed or its read
// deadline passes (that error). What is read is in the log when Pump returns. r stays open. Two pumps may run at once,
// one a stream; the order of their bytes is the order in which they were seen.
//
// On Linux the bytes do not pass through this process, so that its death loses none. The pipe should be non-blocking,
// as [os.Pipe] makes it; another one works, but holds a thread.
//
// A failing disk does not end it: see [Log.Append], whose errors are Pump's, too.
func (l *Log) Pump(r *os.File, stream sallyport.Stream) error {
	if stream != sallyport.Stdout && stream != sallyport.Stderr {
		return invalid("output.Pump", "no such stream")
	}
	return l.pump(r, stream)
}

// pumpReader copies by plain reads. It holds a buffer as long as it runs.
func (l *Log) pumpReader(r io.Reader, stream sallyport.Stream) error {
	buf := pumpBuffers.Get().(*[pumpBuffer]byte)
	defer pumpBuffers.Put(buf)
	for {
		n, err := r.Read(buf[:])
		if werr := l.Append(stream, buf[:n]); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
