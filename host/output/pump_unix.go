//go:build unix

package output

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport-sh/sallyport"
)

// A pipe is a source that is read without blocking, inside of a RawConn's callback.
type pipe struct {
	log     *Log
	stream  sallyport.Stream
	fd      int
	copies  bool // splice does not work here
	moved   int  // bytes, in the last step
	full    int  // steps in a row that found a full pipe
	quick   int  // steps in a row that followed the one before at once
	stepped time.Time
	grown   bool // it holds one of the store's places for large pipes
	buf     *[pumpBuffer]byte
	held    []byte // read, but not yet in the log
	err     error

	scratch [2]int // both ends of a pipe that the bytes of a flood pass through; 0: none
	staged  int    // bytes in it
}

func (l *Log) pump(r *os.File, stream sallyport.Stream) error {
	rc, err := r.SyscallConn()
	if err != nil {
		return err
	}
	p := &pipe{log: l, stream: stream, copies: !canSplice}
	defer p.close()
	err = p.run(rc, r)
	for p.taken() > 0 && p.err == nil { // what left the pipe must be in the log, whatever ends the pump
		_, p.err = l.write(stream, p, p.taken())
	}
	return err
}

// taken is how many bytes have left the pipe and are not yet in the log.
func (p *pipe) taken() int { return len(p.held) + p.staged }

func (p *pipe) run(rc syscall.RawConn, r *os.File) error {
	ready := p.ready
	for p.err == nil {
		p.nap()
		// One step a call: in between, the poller looks whether r was closed and its deadline is past.
		if err := rc.Read(ready); err != nil {
			if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
			return p.log.pumpReader(r, p.stream) // not in the poller: a blocking pipe, a file
		}
	}
	if errors.Is(p.err, io.EOF) {
		return nil
	}
	return p.err
}

// ready makes one step. False: wait until the pipe is readable.
func (p *pipe) ready(fd uintptr) bool {
	p.fd = int(fd)
	copies := p.copies
	n, err := p.available()
	if err == nil {
		n, err = p.log.write(p.stream, p, n)
		p.moved = n
		p.fullness()
	}
	if len(p.held) == 0 {
		p.drop()
	}
	switch {
	case err == nil, p.copies != copies:
		return true
	case errors.Is(err, errAgain):
		return false
	}
	p.err = err
	return true
}

// move is for the log: it moves bytes to the spool.
func (p *pipe) move(f file, pos int64, n int) (int, error) {
	if p.copies {
		m, err := f.WriteAt(p.held[:min(n, len(p.held))], pos)
		p.held = p.held[m:]
		return m, err
	}
	if err := p.stage(n); err != nil {
		return 0, err
	}
	m, err := f.splice(p.source(), pos, n)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		p.copies = true
		return 0, errAgain
	case m == 0 && err == nil:
		return 0, io.EOF
	case p.staged > 0:
		p.staged -= m
	}
	return m, err
}

// source is the pipe that the next bytes are in.
func (p *pipe) source() int {
	if p.staged > 0 {
		return p.scratch[0]
	}
	return p.fd
}

// take is for the log: it reads bytes that cannot be kept.
func (p *pipe) take(n int) ([]byte, error) {
	if err := p.read(n); err != nil {
		return nil, err
	}
	b := p.held[:min(n, len(p.held))]
	p.held = p.held[len(b):]
	return b, nil
}

// read makes sure that bytes are held.
func (p *pipe) read(n int) error {
	if len(p.held) > 0 {
		return nil
	}
	if p.buf == nil {
		p.buf = pumpBuffers.Get().(*[pumpBuffer]byte)
	}
	for {
		m, err := unix.Read(p.source(), p.buf[:min(n, len(p.buf))])
		switch {
		case m > 0:
			p.held = p.buf[:m]
			p.staged = max(p.staged-m, 0)
			return nil
		case err == nil:
			return io.EOF
		case errors.Is(err, unix.EAGAIN):
			return errAgain
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}

// drop gives the buffer back: an idle pump has none.
func (p *pipe) drop() {
	if p.buf != nil {
		pumpBuffers.Put(p.buf)
		p.buf = nil
	}
}

func (p *pipe) close() {
	p.drop()
	if p.scratch[0] > 0 {
		_ = unix.Close(p.scratch[0])
		_ = unix.Close(p.scratch[1])
	}
	if p.grown {
		p.log.store.grown.Add(-1)
	}
}
