package output

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// maxMove bounds one write, so that writers of the other stream get their turn and the room made beforehand is small.
const maxMove = 1 << 20

// errAgain says that a source has nothing at the moment.
var errAgain = errors.New("no output there yet")

// A source is where output comes from: a pipe or a piece of memory.
type source interface {
	// move brings at most n bytes to f at pos and returns how many. With errAgain or io.EOF nothing was there; any
	// other error is the file's.
	move(f file, pos int64, n int) (int, error)
	// take brings at most n bytes into memory instead. They are valid until the next call.
	take(n int) ([]byte, error)
}

// Append writes p behind what is there. p is not kept. A disk that fails is no error here: the bytes are counted as
// lost and [Log.Stat] says so, because the command must go on. Errors: [sallyport.Invalid] for a stream that is none;
// [sallyport.Conflict] after Seal; [sallyport.NotFound] after Remove; [sallyport.Closed].
func (l *Log) Append(stream sallyport.Stream, p []byte) error {
	src := memory{p}
	for len(src.p) > 0 {
		if _, err := l.write(stream, &src, len(src.p)); err != nil {
			return err
		}
	}
	return nil
}

// memory is a source of bytes in hand.
type memory struct{ p []byte }

func (m *memory) move(f file, pos int64, n int) (int, error) {
	n, err := f.WriteAt(m.p[:n], pos)
	m.p = m.p[n:]
	return n, err
}

func (m *memory) take(n int) ([]byte, error) {
	b := m.p[:n]
	m.p = m.p[n:]
	return b, nil
}

// write moves at most n bytes of s from src to the end of the log and returns how many.
func (l *Log) write(s sallyport.Stream, src source, n int) (int, error) {
	if s != sallyport.Stdout && s != sallyport.Stderr {
		return 0, &sallyport.Error{Code: sallyport.Invalid, Op: "output.Append", Msg: fmt.Sprintf("no stream %d", s)}
	}
	l.wmu.Lock()
	defer l.wmu.Unlock()
	b, err := l.writable()
	if err != nil {
		return 0, err
	}
	n = min(n, maxMove, int(max(l.quota/8, 1)))
	if b.lost != nil {
		return l.void(b, s, src, n)
	}
	moved, err := l.keep(b, s, src, n)
	switch {
	case err == nil || moved > 0: // an error after some bytes comes again with the next ones
		return moved, nil
	case errors.Is(err, errAgain), errors.Is(err, io.EOF), errors.Is(err, sallyport.Closed):
		return 0, err
	}
	l.fail(b, err)
	return l.void(b, s, src, n)
}

func (l *Log) writable() (*body, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over != nil:
		return nil, l.over
	case l.sealed:
		return nil, &sallyport.Error{Code: sallyport.Conflict, Op: "output.Append", Msg: "the output has ended"}
	case l.b == nil:
		b := new(body)
		b.data.log, b.data.ext = l, ".log"
		b.idx.log, b.idx.ext = l, ".idx"
		l.b = b
	}
	return l.b, nil
}

// keep writes to the spool.
func (l *Log) keep(b *body, s sallyport.Stream, src source, n int) (int, error) {
	f, err := l.store.acquire(&b.data, true)
	if err != nil {
		return 0, fmt.Errorf("open spool: %w", err)
	}
	defer l.store.release(&b.data)
	now := time.Now()
	if l.end == 0 {
		b.w.dropped = now
	}
	if err := l.makeRoom(b, f, int64(n)); err != nil {
		return 0, err
	}
	recorded, err := l.record(b, s, now)
	if err != nil {
		return 0, err
	}
	pos, run := b.spool.at(l.end)
	n = int(min(int64(n), run))
	if err := l.announce(b, n); err != nil {
		return 0, err
	}
	moved, err := src.move(f, pos, n)
	if moved == 0 {
		return 0, err
	}
	if recorded {
		b.w.recs++
		b.w.stream, b.w.recorded = s, now
	}
	l.mu.Lock()
	b.recs, b.indexed = b.w.recs, b.w.indexed
	l.seen |= 1 << s
	l.grow(int64(moved), now)
	l.mu.Unlock()
	return moved, err
}

// announce says in the header of the index that n bytes will be written into the ring. A file that grows tells by itself
// where the log ends; a ring does not.
func (l *Log) announce(b *body, n int) error {
	if b.spool.size == 0 {
		return nil
	}
	b.w.moving = int64(n)
	return l.writeHeader(b)
}

// grow tells readers of n more bytes. wmu and mu are held.
func (l *Log) grow(n int64, now time.Time) {
	l.end += n
	l.last = now
	l.signal()
}

// fail gives the disk up: from the end on, output is read and counted, but not kept, so that the command does not block
// on a full pipe.
func (l *Log) fail(b *body, cause error) {
	l.count(b, l.end)
	why := cause
	if diskFull(cause) {
		why = errors.New("disk full")
	}
	l.mu.Lock()
	b.lost, b.why = &gap{from: b.pos, to: b.pos}, why
	l.mu.Unlock()
	if b.w.indexed {
		// For a later process. If this fails, too, the spool that is shorter than the log says the same.
		_ = l.writeIndex(b, l.header(b).encode(), 0)
	}
}

// void takes bytes that cannot be kept and counts them.
func (l *Log) void(b *body, s sallyport.Stream, src source, n int) (int, error) {
	p, err := src.take(n)
	if len(p) == 0 {
		return 0, err
	}
	g := *b.lost
	g.add(p, s)
	l.mu.Lock()
	b.lost, b.pos = &g, g.to
	l.grow(int64(len(p)), time.Now())
	l.mu.Unlock()
	return len(p), nil
}
