package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// A State says what became of a chain's writer.
type State string

// States of a chain.
const (
	StateOpen   State = "open"   // the writer lives
	StateClosed State = "closed" // it closed the chain in order
	StateEnded  State = "ended"  // it died: killed, crashed, power cut
)

// A Report is what [Verify] found.
type Report struct {
	Chains []ChainReport `json:"chains"` // oldest first
	Rows   int           `json:"rows"`   // that verify, of all chains
	OK     bool          `json:"ok"`     // no chain is bad
}

// A ChainReport is what was found in one chain.
type ChainReport struct {
	ID     string    `json:"id"`
	Rows   int       `json:"rows"`   // that verify, from the first on
	Synced uint64    `json:"synced"` // seq of the last row known to be on disk, as HEAD says
	First  time.Time `json:"first,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	State  State     `json:"state"`
	// Torn counts the bytes after the last row that verifies, if they come after the last synced row. A power cut may
	// leave them, and so may somebody who changes the file.
	Torn int64   `json:"torn,omitempty"`
	Bad  *BadRow `json:"bad,omitempty"` // the first one
}

// A BadRow is the first place of a chain that does not verify.
type BadRow struct {
	Segment int    `json:"segment"` // number of the file; 0 if it is no segment that is wrong
	Row     uint64 `json:"row"`     // seq of the row that should stand there; 0 if it is no row that is wrong
	Offset  int64  `json:"offset"`  // where it begins in the segment, in bytes
	Reason  string `json:"reason"`  // for people
}

func (b *BadRow) String() string {
	if b.Segment == 0 {
		return b.Reason
	}
	return fmt.Sprintf("row %d, %s at byte %d: %s", b.Row, segmentName(b.Segment), b.Offset, b.Reason)
}

// What is wrong with a chain whose rows verify one by one.
const (
	reasonTorn    = "torn or changed after the last synced row: "
	reasonMissing = "the segment is missing"
	reasonCut     = "the chain was on disk up to row %d: its end was cut off"
	reasonMark    = "HEAD has another hash for this row"
	reasonNoHead  = "HEAD is missing or damaged: nothing says how long the chain was"
	reasonAfter   = "something stands after the end of a finished segment"
	reasonName    = "this is not the name of a chain"
)

var (
	errHeader = errors.New("the first row of a segment does not name this chain, segment and format")
	errKind   = errors.New("a row of this kind does not belong here")
	errAfter  = errors.New("a row after the chain was closed")
)

// Verify reads every chain in dir, the journal's directory, and names the first bad row of each. The package comment
// says what it finds. It may run while chains are written. The error is that dir cannot be listed, or the cause of
// ctx; a directory that is missing has no chains.
func Verify(ctx context.Context, dir string) (Report, error) {
	r := Report{OK: true}
	ids, err := list(dir)
	if err != nil {
		return Report{}, fmt.Errorf("verify journal: %w", err)
	}
	for _, id := range ids {
		c, err := verifyChain(ctx, dir, id)
		if err != nil {
			return Report{}, fmt.Errorf("verify journal: %w", err)
		}
		r.Chains = append(r.Chains, c)
		r.Rows += c.Rows
		r.OK = r.OK && c.Bad == nil
	}
	return r, nil
}

// list returns the directories in the journal's directory, and whatever else has the name of a chain. Other files are
// none of ours.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() || isID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// verifyChain verifies one chain, and once more if it is bad and its writer lives: it may have begun meanwhile.
func verifyChain(ctx context.Context, dir, id string) (ChainReport, error) {
	for try := 0; ; try++ {
		c := &check{dir: filepath.Join(dir, id), before: genesis}
		c.ID = id
		c.live = alive(c.dir)
		c.run(ctx)
		if ctx.Err() != nil {
			return ChainReport{}, context.Cause(ctx)
		}
		if c.Bad == nil || try > 0 || !alive(c.dir) {
			return c.ChainReport, nil
		}
	}
}

// A check is the verification of one chain.
type check struct {
	ChainReport
	dir  string
	live bool

	head  mark
	known bool // HEAD could be read
	// Of the last row that verifies: its segment, where it ends in it, and what it is.
	number int
	off    int64
	before string
	seq    uint64
	kind   sallyport.EventKind
	// padded is the segment before this one, if zeros follow its last row. They are the trace of a power cut if HEAD
	// does not cover what follows.
	padded *BadRow
}

// run verifies the chain up to the first fault.
func (c *check) run(ctx context.Context) {
	raw, err := readMark(c.dir)
	c.head, c.known = parseMark(raw)
	c.Synced = c.head.seq
	numbers, stranger, lerr := segments(c.dir)
	switch {
	case !isID(c.ID):
		c.fault(0, 0, reasonName)
	case lerr != nil || err != nil:
		c.fault(0, 0, "cannot be read: "+errors.Join(lerr, err).Error())
	default:
		c.rows(ctx, numbers)
	}
	// HEAD is empty for the moment between its making and the lock; the first segment comes later.
	unborn := len(raw) == 0 && len(numbers) == 0
	switch {
	case c.Bad != nil || unborn:
	case !c.known:
		c.fault(0, 0, reasonNoHead)
	case c.seq < c.head.seq:
		c.fault(max(1, c.number), c.off, fmt.Sprintf(reasonCut, c.head.seq))
	case stranger != "":
		c.fault(0, 0, fmt.Sprintf("there is a file that does not belong: %q", stranger))
	}
	c.State = StateEnded
	if c.live {
		c.State = StateOpen
	} else if c.kind == sallyport.EventClose {
		c.State = StateClosed
	}
}

// fault notes what is wrong, unless something was found before.
func (c *check) fault(segment int, off int64, reason string) {
	if c.Bad != nil {
		return
	}
	c.Bad = &BadRow{Segment: segment, Offset: off, Reason: reason}
	if segment > 0 {
		c.Bad.Row = c.seq + 1
	}
}

// rows verifies the segments.
func (c *check) rows(ctx context.Context, numbers []int) {
	for i, n := range numbers {
		if n != i+1 {
			c.fault(i+1, 0, reasonMissing)
			return
		}
		if i > 0 && i == len(numbers)-1 && blank(c.dir, n) {
			return
		}
		c.segment(ctx, n)
		if c.Bad != nil || ctx.Err() != nil {
			return
		}
	}
}

// segment verifies one segment.
func (c *check) segment(ctx context.Context, number int) {
	s, err := scan(c.dir, number, c.live)
	if err != nil {
		c.fault(number, 0, "cannot be read: "+err.Error())
		return
	}
	defer func() { _ = s.f.Close() }() // read only
	s.before, s.seq = c.before, c.seq
	for first := true; ctx.Err() == nil; first = false {
		at := s.off
		row, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = c.place(row, number, first)
		}
		if err != nil {
			c.broken(s, number, at, err)
			return
		}
		if c.accept(row, number, at); c.Bad != nil {
			return
		}
		c.number, c.off = number, s.off
	}
	if s.padded() {
		c.padded = &BadRow{number, c.seq + 1, s.off, reasonAfter}
	}
	if c.kind == sallyport.EventClose && !c.live && c.head.seq == c.seq {
		c.Bad = c.padded
	}
}

// place checks that a row may stand where it stands: the first of each segment, and only that, names it.
func (c *check) place(row Row, number int, first bool) error {
	names := row.Kind == kindLink || row.Kind == sallyport.EventOpen
	switch {
	case c.kind == sallyport.EventClose:
		return errAfter
	case names != first, first && (number == 1) != (row.Kind == sallyport.EventOpen):
		return errKind
	case !first:
		return nil
	}
	var h header
	if json.Unmarshal(row.Data, &h) != nil || h.Format != format || h.Chain != c.ID || h.Segment != number || h.Previous != c.before {
		return errHeader
	}
	return nil
}

// accept counts a row that verifies.
func (c *check) accept(row Row, number int, at int64) {
	if c.padded != nil && (row.Seq <= c.head.seq || !c.known) {
		c.Bad = c.padded
		return
	}
	if c.known && row.Seq == c.head.seq && row.Hash != c.head.hash {
		c.fault(number, at, reasonMark)
		return
	}
	c.padded = nil
	c.before, c.seq, c.kind = row.Hash, row.Seq, row.Kind
	c.Rows++
	c.Last = row.At
	if c.First.IsZero() {
		c.First = row.At
	}
}

// broken notes a row that does not verify.
func (c *check) broken(s *scanner, number int, at int64, err error) {
	reason := err.Error()
	if c.known && c.seq >= c.head.seq {
		reason = reasonTorn + reason
		s.off = at
		if end, err := s.dirty(); err == nil {
			c.Torn = max(0, end-at)
		}
	}
	c.fault(number, at, reason)
}
