package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
)

// How far segments are written ahead. A step of 1 MiB would cost 0.4 ms to write and 3 ms to sync (measured), and
// whoever appends just then waits for it; 256 KiB cost 0.1 and 0.9, once in some 500 rows.
const (
	firstStep = 64 << 10
	maxStep   = 256 << 10
)

var zeros [maxStep]byte

// A segment is one file of rows.
type segment struct {
	path   string
	number int
	before string // hash of the row before its first one
	limit  int64  // bytes that are written ahead at most

	// size is held while the file grows or is trimmed. It is taken after Journal.write, if both are.
	size    sync.Mutex
	trimmed bool         // nothing is written ahead any more
	step    int64        // how much is, next time
	ready   atomic.Int64 // bytes of the file that are rows or zeros; changed under size

	// Guarded by Journal.write; mend, which holds that, may replace f.
	f    File // nil only while the journal is broken
	end  int64
	last string // hash of the last row
	rows int

	// Guarded by Journal.mu.
	synced int64  // bytes known to be on disk
	tail   []byte // the rows after them
	sealed bool   // nothing will follow
}

// segmentName is the file name of a segment, numbered from 1.
func segmentName(number int) string { return fmt.Sprintf("%08d.seg", number) }

// replacement is what is appended to the name of a segment that is being written anew.
const replacement = ".new"

// segmentNumber is the number in a segment's file name, 0 for other names.
func segmentNumber(name string) int {
	if len(name) != len(segmentName(1)) {
		return 0
	}
	n, err := strconv.Atoi(name[:8])
	if err != nil || n < 1 || segmentName(n) != name {
		return 0
	}
	return n
}

// newSegment makes the file of a segment, with a first step of zeros in it. An older file of that name holds no rows:
// it is left from an attempt that failed.
func (j *Journal) newSegment(number int) (*segment, error) {
	s := &segment{
		path: filepath.Join(j.dir, segmentName(number)), number: number,
		before: j.last.hash, last: j.last.hash, limit: j.o.Segment + j.reserve,
	}
	s.step = min(firstStep, j.o.Segment)
	f, err := j.open(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	s.f = f
	if err := s.grow(s.step); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(s.path))
	}
	return s, nil
}

// grow writes zeros until the first `to` bytes of the file are ready.
func (s *segment) grow(to int64) error {
	if s.ready.Load() >= to {
		return nil
	}
	s.size.Lock()
	defer s.size.Unlock()
	if s.trimmed {
		return nil
	}
	at := s.ready.Load()
	to = max(to, min(at+s.step, s.limit))
	for at < to {
		n, err := s.f.WriteAt(zeros[:min(maxStep, to-at)], at)
		if err != nil {
			return err // what was written is zeros: it does no harm
		}
		at += int64(n)
		s.ready.Store(at)
	}
	s.step = min(2*s.step, maxStep)
	return nil
}

// trim ends the file after size bytes, and its growing.
func (s *segment) trim(size int64) error {
	s.size.Lock()
	defer s.size.Unlock()
	if err := s.f.Truncate(size); err != nil {
		return err
	}
	s.trimmed = true
	s.ready.Store(size)
	return nil
}

// untrim lets the file grow again.
func (s *segment) untrim() {
	s.size.Lock()
	defer s.size.Unlock()
	s.trimmed = false
}

// errSpoiled means that a file holds part of a row that was not written whole, and that could not be taken away.
var errSpoiled = errors.New("part of a row is left")

// put writes a row. If that fails nothing of it is left in the file, or the error is errSpoiled.
func (s *segment) put(row []byte) error {
	_, err := s.f.WriteAt(row, s.end)
	if err == nil {
		return nil
	}
	for at := 0; at < len(row); at += maxStep {
		n := min(maxStep, len(row)-at)
		if _, again := s.f.WriteAt(zeros[:n], s.end+int64(at)); again != nil {
			return errors.Join(errSpoiled, err, again)
		}
	}
	return err
}
