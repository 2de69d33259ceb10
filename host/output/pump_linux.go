package output

import (
	"errors"
	"io"
	"time"

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
	switch {
	case p.copies:
		err := p.read(pumpBuffer)
		return len(p.held), err
	case p.staged > 0:
		return p.staged, nil
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
func (p *pipe) fullness() {
	if p.moved < pipeFull || p.grown {
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
			break
		}
	}
	if unix.Pipe2(p.scratch[:], unix.O_NONBLOCK|unix.O_CLOEXEC) != nil {
		p.scratch = [2]int{} // without it all works, but slower
		return
	}
	_, _ = unix.FcntlInt(uintptr(p.scratch[1]), unix.F_SETPIPE_SZ, pipeSome) // EPERM leaves it small
}

const (
	napAfter = 16                     // steps; a command that prints a page has done so in fewer
	napTime  = 100 * time.Microsecond // what an enlarged pipe takes at 10 GB/s
)

// nap lets output pile up when it comes in a stream of small pieces: each step has a price, and a fuller pipe costs fewer
// of them. (Measured: a third of the processor time, for a command that writes 8 KiB at a time.)
func (p *pipe) nap() {
	now := time.Now()
	small := p.moved > 0 && p.moved < 2*pipeFull
	if p.quick++; !small || now.Sub(p.stepped) > time.Millisecond {
		p.quick = 0
	}
	switch {
	case small && p.grown:
		// A thread for it: the runtime's timers are too coarse, and wake it with each write to the pipe.
		ts := unix.NsecToTimespec(int64(napTime))
		_ = unix.Nanosleep(&ts, nil) // cut short by a signal: all the better
		now = time.Now()
	case small && p.quick >= napAfter:
		time.Sleep(napTime)
		now = time.Now()
	}
	p.stepped = now
}

// stage moves up to n bytes of a flood into the scratch pipe, a matter of page references. Splice holds the lock of the
// pipe it reads for as long as it writes to the file, and the command could write nothing meanwhile: so it gets a pipe
// that the command does not know. (Measured: half the time, for a command that writes 8 KiB at a time.)
//
// Who wants these bytes to survive this process must hold the ends of the scratch pipe, too.
func (p *pipe) stage(n int) error {
	if p.scratch[0] == 0 || p.staged > 0 {
		return nil
	}
	m, err := spliceNow(p.fd, p.scratch[1], nil, n)
	if err == nil && m == 0 {
		err = io.EOF
	}
	p.staged = m
	return err
}
