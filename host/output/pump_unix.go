//go:build unix

package output

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sallyport-sh/sallyport"
)

// A pipe is a source that is read without blocking, inside of a RawConn's callback.
type pipe struct {
	log    *Log
	stream sallyport.Stream
	fd     int
	copies bool // splice does not work here
	full   int  // reads in a row that found a full pipe
	grown  bool // it holds one of the store's places for large pipes
	buf    *[pumpBuffer]byte
	held   []byte // read, but not yet in the log
	err    error
}

func (l *Log) pump(r *os.File, stream sallyport.Stream) error {
	rc, err := r.SyscallConn()
	if err != nil {
		return err
	}
	p := &pipe{log: l, stream: stream, copies: !canSplice}
	defer p.close()
	err = p.run(rc, r)
	for len(p.held) > 0 && p.err == nil { // what was read must be in the log, whatever ends the pump
		_, p.err = l.write(stream, p, len(p.held))
	}
	return err
}

func (p *pipe) run(rc syscall.RawConn, r *os.File) error {
	ready := p.ready
	for p.err == nil {
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
		p.fullness(n)
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
	m, err := f.splice(p.fd, pos, n)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		p.copies = true
		return 0, errAgain
	case m == 0 && err == nil:
		return 0, io.EOF
	}
	return m, err
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
		m, err := unix.Read(p.fd, p.buf[:min(n, len(p.buf))])
		switch {
		case m > 0:
			p.held = p.buf[:m]
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
	if p.grown {
		p.log.store.grown.Add(-1)
	}
}
