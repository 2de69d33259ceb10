package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/sallyport-sh/sallyport"
)

// Sync returns once everything up to p is on disk, and HEAD says so. The error is [sallyport.AuditUnavailable] if the
// disk fails or ctx ends first: then nothing is known of p, and [errors.Is] finds the cause in it.
func (j *Journal) Sync(ctx context.Context, p sallyport.Position) error {
	const op, unknown = "journal.Sync", "it is not known whether this is on disk"
	for tried := false; ; tried = true {
		j.mu.Lock()
		appended, synced, broken := j.appended.seq, j.synced, j.broken
		j.mu.Unlock()
		switch {
		case uint64(p) <= synced:
			return nil
		case uint64(p) > appended:
			msg := fmt.Sprintf("position %d of a journal that ends at %d", p, appended)
			return &sallyport.Error{Code: sallyport.Invalid, Op: op, Msg: msg}
		case broken != nil && tried:
			return j.refuse(op, unknown, broken)
		}
		if err := j.turn(ctx); err != nil && !j.onDisk(p) {
			return j.refuse(op, unknown, err)
		}
	}
}

func (j *Journal) onDisk(p sallyport.Position) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return uint64(p) <= j.synced
}

// turn waits until the committer has ended a turn: the present one, or one that it begins now.
func (j *Journal) turn(ctx context.Context) error {
	j.mu.Lock()
	turned := j.turned
	settled := j.synced >= j.appended.seq && j.broken == nil
	j.mu.Unlock()
	if settled {
		return nil
	}
	j.wake()
	select {
	case <-turned:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-j.done:
		return errClosed
	}
}

// wake asks the committer for a turn.
func (j *Journal) wake() {
	select {
	case j.kick <- struct{}{}:
	default: // it was asked already
	}
}

// soon asks for a turn before long, unless one is coming.
func (j *Journal) soon() {
	j.mu.Lock()
	much := j.unsynced > maxUnsynced/4
	arm := !much && !j.armed
	j.armed = j.armed || arm
	j.mu.Unlock()
	if much {
		j.wake()
	} else if arm {
		j.later.Reset(unhurried)
	}
}

// ring is what later does.
func (j *Journal) ring() {
	j.mu.Lock()
	j.armed = false
	j.mu.Unlock()
	j.wake()
}

// commit is the committer: it syncs as soon as somebody waits, or a little after something was appended.
func (j *Journal) commit() {
	defer close(j.done)
	for {
		select {
		case <-j.kick:
		case <-j.stop:
			return
		}
		j.serve()
		for err := j.writeAhead(); err != nil; err = j.writeAhead() {
			j.breakIf(err)
			j.serve()
		}
	}
}

// serve is a turn: a sync, or once the disk has failed, an attempt to mend that.
func (j *Journal) serve() {
	if j.fault() == nil {
		j.breakIf(j.syncBatch())
	}
	if j.fault() != nil {
		j.breakIf(j.mend())
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.turned)
	j.turned = make(chan struct{})
}

// breakIf stops everything if there is an error, and says so in the log: no caller may be waiting who could be told.
func (j *Journal) breakIf(err error) {
	if err != nil && j.setBroken(err) {
		j.log.Error("journal: the disk failed", "chain", j.id, "error", err)
	}
}

// A piece is what one batch has of a segment.
type piece struct {
	segment *segment
	file    File
	bytes   int
	sealed  bool
}

// syncBatch brings what was appended so far to the disk, and says so.
func (j *Journal) syncBatch() error {
	j.mu.Lock()
	to := j.appended
	if j.synced == to.seq {
		j.mu.Unlock()
		return nil
	}
	first := j.synced == 0
	dirs := slices.Clip(j.entries)
	var pieces []piece
	for _, s := range j.dirty {
		pieces = append(pieces, piece{s, s.f, len(s.tail), s.sealed})
	}
	j.mu.Unlock()
	for _, p := range pieces {
		if err := p.file.Sync(); err != nil {
			return err
		}
	}
	if first {
		if err := j.head.Sync(); err != nil {
			return err
		}
	}
	for _, dir := range dirs {
		if err := j.syncEntries(dir); err != nil {
			return err
		}
	}
	// HEAD comes last: it may reach the disk by itself at any time, and must not be ahead of it.
	if err := j.writeHead(to); err != nil {
		return err
	}
	j.acknowledge(to, pieces, len(dirs))
	return nil
}

// acknowledge makes it known that a batch is on disk, and lets go of the segments that are finished.
func (j *Journal) acknowledge(to mark, pieces []piece, entries int) {
	var finished []*segment
	j.mu.Lock()
	j.synced = to.seq
	j.entries = j.entries[entries:]
	for _, p := range pieces {
		s := p.segment
		j.unsynced -= p.bytes
		s.synced += int64(p.bytes)
		if s.tail = append(s.tail[:0], s.tail[p.bytes:]...); len(s.tail) == 0 && cap(s.tail) > maxStep {
			s.tail = nil // it grew while the disk was slow
		}
		if p.sealed {
			finished = append(finished, s)
		}
	}
	j.dirty = j.dirty[len(finished):]
	j.mu.Unlock()
	for _, s := range finished {
		// Its rows are on disk. An error here could only be of an earlier write, which the sync would have told.
		_ = s.f.Close()
	}
}

// writeHead moves HEAD. It is not synced, but when it is new and at the end: it is a lower bound that the kernel writes
// in its time.
func (j *Journal) writeHead(m mark) error {
	_, err := j.head.WriteAt(m.text(), 0)
	return err
}

// syncEntries brings the entries of a directory to the disk.
func (j *Journal) syncEntries(dir string) error {
	d, err := j.open(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		return errors.Join(err, d.Close())
	}
	return d.Close()
}

// writeAhead makes the current segment ready for more rows, once the room gets small, and syncs it, as else the next
// caller would wait for that. That there is no room on the disk is for the Append that needs it to say.
func (j *Journal) writeAhead() error {
	j.mu.Lock()
	if j.broken != nil || len(j.dirty) != 1 {
		j.mu.Unlock()
		return nil
	}
	s := j.dirty[0]
	f, end := s.f, s.synced+int64(len(s.tail))
	j.mu.Unlock()
	ready := s.ready.Load()
	if ready-end > firstStep/2+j.reserve || ready >= s.limit {
		return nil
	}
	if s.grow(ready+1) != nil || s.ready.Load() == ready {
		return nil
	}
	return f.Sync()
}
