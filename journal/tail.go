package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"
)

// Tail gives the last n rows of all chains in dir to fn, oldest first. Rows of one chain keep their order, also where
// the clock was set back; rows that only link segments are left out. An error of fn ends it and is returned.
//
// Each row's hash is verified within its segment, and rows that do not verify, or that follow such a row, are not
// given: the error, after all others were, names the chains. [Verify] says more of them.
func Tail(ctx context.Context, dir string, n int, fn func(chain string, r Row) error) error {
	ids, err := list(dir)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	var last []placed
	var bad []error
	for _, id := range ids {
		rows, err := lastRows(ctx, filepath.Join(dir, id), n)
		if ctx.Err() != nil {
			return fmt.Errorf("read journal: %w", context.Cause(ctx))
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("chain %s: %w", id, err))
		}
		if last = merge(last, id, rows); len(last) > n {
			last = slices.Delete(last, 0, len(last)-max(0, n))
		}
	}
	for _, p := range last {
		if err := fn(p.chain, p.row); err != nil {
			return err
		}
	}
	return errors.Join(bad...)
}

// placed is a row with the time by which it is merged: the latest so far in its chain.
type placed struct {
	chain string
	at    time.Time
	row   Row
}

// merge adds the rows of a chain.
func merge(to []placed, id string, rows []Row) []placed {
	var at time.Time
	for _, r := range rows {
		if r.At.After(at) {
			at = r.At
		}
		to = append(to, placed{id, at, r})
	}
	slices.SortStableFunc(to, func(a, b placed) int { return a.at.Compare(b.at) })
	return to
}

// lastRows returns the last n rows of a chain, reading its segments from the last one backwards.
func lastRows(ctx context.Context, dir string, n int) ([]Row, error) {
	live := alive(dir)
	numbers, _, err := segments(dir)
	var rows []Row
	for i := len(numbers) - 1; i >= 0 && len(rows) < n; i-- {
		more, serr := segmentRows(ctx, dir, numbers[i], live)
		if serr != nil {
			rows, err = nil, errors.Join(err, serr)
		}
		rows = append(more, rows...)
	}
	return rows[max(0, len(rows)-max(0, n)):], err
}

// segmentRows returns the rows of one segment, up to the first that does not verify.
func segmentRows(ctx context.Context, dir string, number int, live bool) ([]Row, error) {
	s, err := scan(dir, number, live)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.f.Close() }() // read only
	s.alone = true
	var rows []Row
	for {
		row, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, fmt.Errorf("row %d, %s at byte %d: %w", s.seq+1, segmentName(number), s.off, err)
		}
		if row.Kind != kindLink {
			rows = append(rows, row)
		}
	}
}

// adopt takes from a row that begins a segment what it says of the row before it.
func (s *scanner) adopt(text []byte) {
	var first struct {
		Seq  uint64
		Data header
	}
	if len(text) > hashLen && json.Unmarshal(text[hashLen+1:], &first) == nil && first.Seq > 0 {
		s.before, s.seq = first.Data.Previous, first.Seq-1
	}
}
