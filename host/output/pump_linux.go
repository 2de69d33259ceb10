package output

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

const (
	canSplice = true

	pipeFull  = 64 << 10 // what a pipe holds by default
	pipeLarge = 1 << 20  // /proc/sys/fs/pipe-max-size, by default: the most an ordinary user may ask for
	pipeSome  = 256 << 10

	// maxGrown bounds the large pipes of a process: an ordinary user gets EPERM from the 65th of 1 MiB on, and beyond
	// that even new pipes of 8 KiB only (/proc/sys/fs/pipe-user-pages-soft).
	maxGrown = 32
)

// available says how many bytes are in the pipe; it is never 0 without an error. Knowing it beforehand keeps the index
// free of records that stand for nothing.
func (p *pipe) available() (int, error) {
	if p.copies {
		err := p.read(pumpBuffer)
		return len(p.held), err
	}
	if n, err := unix.IoctlGetInt(p.fd, unix.TIOCINQ); err == nil && n > 0 { // FIONREAD by its other name
		return n, nil
	}
	fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case fds[0].Revents&unix.POLLIN != 0:
			return pumpBuffer, nil // they came just now, or it is no pipe
		case fds[0].Revents != 0:
			return 0, io.EOF
		}
		return 0, errAgain
	}
}

// fullness enlarges a pipe whose writer was waiting for us twice in a row: it then switches less often between the two
// (measured: twice the throughput). Pipes of quiet commands stay as they are.
func (p *pipe) fullness(n int) {
	if n < pipeFull || p.grown {
		p.full = 0
		return
	}
	if p.full++; p.full < 2 {
		return
	}
	p.full = 0
	if p.log.store.grown.Add(1) > maxGrown {
		p.log.store.grown.Add(-1)
		return
	}
	p.grown = true
	for _, size := range [...]int{pipeLarge, pipeSome} {
		if _, err := unix.FcntlInt(uintptr(p.fd), unix.F_SETPIPE_SZ, size); err == nil {
			return
		}
	}
}
