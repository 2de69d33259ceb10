package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// begin makes the chain: directory, HEAD, lock, first segment, open row, in this order, so that whoever reads finds at
// any moment either a chain that has no rows yet or one that verifies. It is called with write held.
func (j *Journal) begin() (err error) {
	entries, err := makeDirs(j.dir)
	if err != nil && !(j.made && errors.Is(err, os.ErrExist)) {
		return err
	}
	j.made = true
	var s *segment
	defer func() {
		if err != nil {
			j.abandon(s)
		}
	}()
	head := filepath.Join(j.dir, headName)
	if j.head, err = j.open(head, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	// The lock comes before the first byte of HEAD: who finds HEAD empty knows that it says nothing of the writer.
	if j.lock, err = hold(head); err != nil {
		return err
	}
	if _, err = j.head.WriteAt(j.last.text(), 0); err != nil {
		return err
	}
	if s, err = j.newSegment(1); err != nil {
		return err
	}
	row, err := j.put(s, j.structural(sallyport.EventOpen, s))
	if err != nil {
		return err
	}
	j.publish(s, row, append(entries, j.dir)...)
	go j.commit()
	return nil
}

// abandon takes back a chain that could not be begun, so that the next Append can try again.
func (j *Journal) abandon(s *segment) {
	var errs []error
	if s != nil {
		errs = append(errs, s.f.Close())
	}
	if j.head != nil {
		errs = append(errs, j.head.Close())
	}
	if j.lock != nil {
		errs = append(errs, release(j.lock))
	}
	j.head, j.lock = nil, nil
	errs = append(errs, os.RemoveAll(j.dir)) // its name is random: nobody else's files are in it
	if err := errors.Join(errs...); err != nil {
		j.log.Warn("journal: an unfinished chain is left", "chain", j.id, "error", err)
	}
}

// makeDirs makes the directory of a chain and what is missing above it, and returns the directories that got a new
// entry.
func makeDirs(dir string) (entries []string, err error) {
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		entries = append(entries, above)
		if _, err := os.Stat(above); err == nil || above == filepath.Dir(above) {
			break
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	return entries, os.Mkdir(dir, 0o700)
}

// structural is the body of a row of the journal's own: one that names the segment s, or the one that closes the chain.
func (j *Journal) structural(kind sallyport.EventKind, s *segment) []byte {
	e := sallyport.Event{Kind: kind, At: time.Now()}
	h := header{Format: format, Chain: j.id, Segment: s.number, Previous: s.before}
	switch kind {
	case sallyport.EventOpen:
		h.Version, h.PID, h.BeforeStart = j.o.Version, os.Getpid(), j.o.BeforeStart
		e.Data = h
	case kindLink:
		e.Data = h
	}
	body, err := encode(e)
	if err != nil {
		panic("journal: a header is plain data: " + err.Error())
	}
	return body
}

// rotate goes on in a new segment. The old one is trimmed before the new one has a row, so that a segment that another
// follows has nothing after its last row. It is called with write held.
func (j *Journal) rotate() error {
	s, err := j.newSegment(j.current.number + 1)
	if err != nil {
		return err
	}
	var row []byte
	old := j.current
	if err = old.trim(old.end); err == nil {
		row, err = j.put(s, j.structural(kindLink, s))
	}
	if err != nil {
		old.untrim()
		return errors.Join(err, s.f.Close(), os.Remove(s.path))
	}
	j.publish(s, row, j.dir)
	return nil
}

// Close writes the close row, trims the segment, waits for the disk, and ends what the journal started. It waits as
// long as the disk takes. Later Appends fail with [sallyport.Closed]; a second Close returns what the first did. An
// error means that the chain is not closed in order; what was recorded stays recorded.
func (j *Journal) Close() error {
	j.closing.Do(func() {
		if err := j.close(); err != nil {
			j.failed = fmt.Errorf("close journal: %w", err)
		}
	})
	return j.failed
}

func (j *Journal) close() error {
	if j.fault() != nil {
		_ = j.turn(context.Background()) // finish sees whether it helped
	}
	j.write.Lock()
	j.closed = true
	if j.current == nil {
		j.write.Unlock()
		return nil
	}
	err := j.finish()
	if errors.Is(err, errSpoiled) {
		j.setBroken(err) // for the committer to mend
	}
	last := sallyport.Position(j.last.seq)
	j.write.Unlock() // the committer needs it if it has to mend
	if errors.Is(err, errSpoiled) {
		_ = j.turn(context.Background()) // err is returned anyway
	}
	err = errors.Join(err, j.Sync(context.Background(), last))
	j.later.Stop()
	close(j.stop)
	<-j.done
	if err == nil {
		err = j.head.Sync()
	}
	return errors.Join(err, j.closeFiles())
}

// finish writes the close row as the last bytes of the segment: trimming first needs no room, and leaves no moment in
// which a closed chain has something after its end.
func (j *Journal) finish() error {
	if err := j.fault(); err != nil {
		return err
	}
	s := j.current
	body := j.structural(sallyport.EventClose, s)
	row, _ := line(j.last.hash, j.last.seq+1, body)
	size := s.end + int64(len(row))
	if err := s.grow(size); err != nil {
		return err
	}
	if err := s.trim(size); err != nil {
		return err
	}
	row, err := j.put(s, body)
	if err != nil {
		return err
	}
	j.publish(s, row)
	return nil
}

// closeFiles lets go of everything; the lock last, as it says that the writer lives. The committer has ended.
func (j *Journal) closeFiles() error {
	var errs []error
	for _, s := range j.dirty {
		if s.f != nil {
			errs = append(errs, s.f.Close())
		}
	}
	return errors.Join(append(errs, j.head.Close(), release(j.lock))...)
}
