package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// mend writes the segments anew whose sync failed: after that the kernel may have thrown away what was not on disk,
// and would report success for what is left. What was on disk before and the rows in memory make the new file. It
// holds write, so that nothing is appended meanwhile.
func (j *Journal) mend() error {
	j.write.Lock()
	defer j.write.Unlock()
	j.mu.Lock()
	segments := j.dirty
	entries := j.entries
	j.mu.Unlock()
	for _, s := range segments {
		if err := j.rewrite(s); err != nil {
			return err
		}
	}
	for _, dir := range slices.Concat(entries, []string{j.dir}) {
		if err := j.syncEntries(dir); err != nil {
			return err
		}
	}
	head, err := j.open(filepath.Join(j.dir, headName), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_ = j.head.Close() // replaced because it may have failed
	j.head = head
	if err := j.writeHead(j.last); err != nil {
		return err
	}
	if err := j.head.Sync(); err != nil {
		return err
	}
	j.mu.Lock()
	j.synced, j.unsynced, j.broken = j.appended.seq, 0, nil
	j.entries = nil
	for _, s := range segments {
		s.synced, s.tail = s.end, nil
	}
	j.dirty = segments[len(segments)-1:]
	j.mu.Unlock()
	for _, s := range segments[:len(segments)-1] {
		_ = s.f.Close() // sealed, synced, and opened only a moment ago
	}
	j.log.Info("journal: the disk works again", "chain", j.id)
	return nil
}

// rewrite replaces a segment's file by a new one with the same rows, and syncs it.
func (j *Journal) rewrite(s *segment) error {
	content, err := j.content(s)
	if err != nil {
		return err
	}
	name := s.path + replacement
	f, err := j.open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		return errors.Join(err, f.Close())
	}
	ready := s.end
	if s == j.current && !j.closed {
		if n, err := f.WriteAt(zeros[:min(firstStep, s.limit)], s.end); err == nil { // else the next Append says so
			ready += int64(n)
		}
	}
	if err := f.Truncate(ready); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	// Closed first: Windows renames only over what nobody has open.
	if s.f != nil {
		_ = s.f.Close() // it has failed
		s.f = nil
	}
	if err := os.Rename(name, s.path); err != nil {
		return err
	}
	if f, err = j.open(s.path, os.O_RDWR, 0); err != nil {
		return err
	}
	s.f = f
	s.size.Lock()
	s.ready.Store(ready)
	s.step = firstStep
	s.size.Unlock()
	return nil
}

// content is everything that a segment holds: from the disk what was synced, from memory the rest. It must verify.
func (j *Journal) content(s *segment) ([]byte, error) {
	j.mu.Lock()
	onDisk, tail := s.synced, s.tail
	j.mu.Unlock()
	b := make([]byte, onDisk, onDisk+int64(len(tail)))
	if onDisk > 0 {
		f, err := j.open(s.path, os.O_RDONLY, 0)
		if err != nil {
			return nil, err
		}
		_, err = f.ReadAt(b, 0)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read back: %w", err)
		}
	}
	b = append(b, tail...)
	if last, ok := hashes(b, s.before); !ok || last != s.last {
		return nil, fmt.Errorf("read back: %s does not verify any more", filepath.Base(s.path))
	}
	return b, nil
}

// hashes returns the hash of the last of some rows, the first of which follows the row with hash before. ok is false
// if they are not a chain.
func hashes(rows []byte, before string) (last string, ok bool) {
	for len(rows) > 0 {
		text, rest, found := bytes.Cut(rows, []byte("\n"))
		if !found || len(text) <= hashLen || chain(before, text[hashLen+1:]) != string(text[:hashLen]) {
			return before, false
		}
		before, rows = string(text[:hashLen]), rest
	}
	return before, true
}
