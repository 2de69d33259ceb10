package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	readSize = 64 << 10
	// A living writer may be in the middle of a row: what does not verify is read again this often, this far apart,
	// before it is judged. A row is copied in some microseconds, unless the writer loses its processor in between.
	rereads   = 5
	rereadGap = 2 * time.Millisecond
)

// What is wrong with a segment where no row can be read.
var (
	errCut  = errors.New("a row without an end")
	errLong = errors.New("a row longer than rows can be")
	errRoom = errors.New("something stands in the room after the last row")
)

// A scanner reads the rows of one segment and verifies each. It is at the end when only zeros follow.
type scanner struct {
	f      *os.File
	live   bool
	alone  bool   // the first row is believed what it says of the one before
	before string // hash of the row before the next one
	seq    uint64 // its seq
	off    int64  // where the next row begins
	buf    []byte // what was read, from file offset at on
	at     int64
	chunk  []byte // for reading
}

// scan opens a segment of the chain in dir. The caller closes.
func scan(dir string, number int, live bool) (*scanner, error) {
	f, err := os.Open(filepath.Join(dir, segmentName(number)))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	chunk := make([]byte, min(readSize, info.Size()+1)) // no more than needed: many chains are small
	return &scanner{f: f, live: live, before: genesis, chunk: chunk}, nil
}

// next returns the next row, and [io.EOF] when no more follow. Another error says what is wrong at off.
func (s *scanner) next(ctx context.Context) (Row, error) {
	for try := 0; ; try++ {
		text, row, err := s.read()
		if err == nil {
			s.before, s.seq, s.off = row.Hash, row.Seq, s.off+int64(len(text))+1
			return row, nil
		}
		if errors.Is(err, io.EOF) {
			var end int64
			if end, err = s.dirty(); err == nil && end == 0 {
				return Row{}, io.EOF
			}
			if err == nil {
				err = errRoom
			}
		}
		if !s.live || try == rereads {
			return Row{}, err
		}
		s.buf, s.at = nil, 0
		select {
		case <-ctx.Done():
			return Row{}, context.Cause(ctx)
		case <-time.After(rereadGap):
		}
	}
}

// read returns the row at off, or io.EOF if no row begins there.
func (s *scanner) read() ([]byte, Row, error) {
	text, err := s.line()
	if err != nil {
		return nil, Row{}, err
	}
	if s.alone && s.off == 0 {
		s.adopt(text)
	}
	row, err := parse(text, s.before, s.seq)
	return text, row, err
}

// line returns the line at off without its "\n".
func (s *scanner) line() ([]byte, error) {
	for {
		have := s.buf[min(s.off-s.at, int64(len(s.buf))):]
		if len(have) > 0 && have[0] == 0 {
			return nil, io.EOF
		}
		if line, _, ok := bytes.Cut(have, []byte{'\n'}); ok {
			return line, nil
		}
		if len(have) >= MaxRow {
			return nil, errLong
		}
		n, err := s.f.ReadAt(s.chunk, s.off+int64(len(have)))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("cannot be read: %w", err)
		}
		if n == 0 && len(have) == 0 {
			return nil, io.EOF
		}
		if n == 0 {
			return nil, errCut
		}
		s.buf, s.at = slices.Concat(have, s.chunk[:n]), s.off
	}
}

// dirty returns the offset behind the last byte after off that is not zero; 0 if all are.
func (s *scanner) dirty() (end int64, err error) {
	for at := s.off; ; {
		n, err := s.f.ReadAt(s.chunk, at)
		if rest := bytes.TrimRight(s.chunk[:n], "\x00"); len(rest) > 0 {
			end = at + int64(len(rest))
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, fmt.Errorf("cannot be read: %w", err)
		}
	}
}

// padded reports whether anything, if only zeros, follows off.
func (s *scanner) padded() bool {
	n, _ := s.f.ReadAt(make([]byte, 1), s.off)
	return n > 0
}

// segments lists a chain's directory: the numbers of its segments in order, and the first name that does not belong.
func segments(dir string) (numbers []int, stranger string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, "", err
	}
	for _, e := range entries {
		name := e.Name()
		if n := segmentNumber(name); n > 0 {
			numbers = append(numbers, n)
			continue
		}
		base, isNew := strings.CutSuffix(name, replacement)
		if name != headName && !(isNew && segmentNumber(base) > 0) && stranger == "" {
			stranger = name
		}
	}
	slices.Sort(numbers)
	return numbers, stranger, nil
}

// blank reports whether a segment has no rows: it was made, and its writer died before the first.
func blank(dir string, number int) bool {
	s, err := scan(dir, number, false)
	if err != nil {
		return false
	}
	defer func() { _ = s.f.Close() }() // read only
	end, err := s.dirty()
	return err == nil && end == 0
}
