package journal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sallyport-sh/sallyport"
)

const (
	defaultSegment = 4 << 20
	minSegment     = 4 << 10

	// maxReserve is the pre-written room that only ends and signals may use. One takes some 500 bytes.
	maxReserve = 16 << 10
	// maxUnsynced bounds the rows that are kept in memory while the disk does not answer.
	maxUnsynced = 8 << 20
	// unhurried is how long a row that nobody waits for is left to be synced together with later ones. Two thirds of the
	// rows are such: ends, inputs. (Measured: with a sync of its own for each end, the next command's row waits for it.)
	unhurried = 10 * time.Millisecond
)

// Options say where and how a journal is kept.
type Options struct {
	// Dir holds the chains: "journal" in the state directory. It is made, with mode 0700, if it is missing.
	Dir string
	// Segment is the size in bytes at which the next segment begins; a row or two may go over it. 0: 4 MiB; at least
	// 4 KiB.
	Segment int64
	// BeforeStart is recorded: runs wait for the disk before they start.
	BeforeStart bool
	// Version of the program is recorded.
	Version string
	// OpenFile opens files and, to be synced, directories. nil: os.OpenFile, syncing by fdatasync.
	OpenFile func(name string, flag int, perm os.FileMode) (File, error)
	// Logger gets what no caller is told: that the disk failed, and works again. nil: nothing is logged.
	Logger *slog.Logger
}

// A Journal is the record of one writing process: one chain. It is safe for concurrent use.
//
// Of the two locks, write orders the chain and is held over the write of a row: writing one row after the other is
// what it is for, and nothing that stops a command ever takes it. mu is never held over I/O, and is taken last.
type Journal struct {
	o       Options
	open    func(name string, flag int, perm os.FileMode) (File, error)
	log     *slog.Logger
	id      string
	dir     string // of the chain
	reserve int64

	write   sync.Mutex
	last    mark     // the last row
	current *segment // nil until the first Append
	made    bool     // dir is ours
	closed  bool

	closing sync.Once
	failed  error // what Close returned

	kick  chan struct{} // asks the committer for a turn; never blocks
	later *time.Timer   // kicks; runs while armed
	stop  chan struct{} // ends the committer
	done  chan struct{} // closed when it has ended

	// Of the committer, and of who began the chain before it started.
	head File
	lock *os.File

	mu       sync.Mutex
	appended mark
	synced   uint64
	armed    bool          // later will kick
	unsynced int           // bytes in the tails of dirty
	dirty    []*segment    // the current one, and before it sealed ones that are not synced yet
	entries  []string      // directories whose entries must be synced before anything is acknowledged
	broken   error         // since a sync failed, or half a row was left, and until mend has worked
	turned   chan struct{} // closed and replaced at the end of each turn of the committer
}

var _ sallyport.Journal = (*Journal)(nil)

// Open prepares a journal. It touches no file: the chain is made by the first Append, so that a program that records
// nothing leaves nothing, and so that a full or missing disk is an answer to a request and not a failure to start.
// The error is [sallyport.Invalid] options.
func Open(o Options) (*Journal, error) {
	if o.Dir == "" {
		return nil, &sallyport.Error{Code: sallyport.Invalid, Op: "journal.Open", Msg: "no directory for the journal"}
	}
	if o.Segment == 0 {
		o.Segment = defaultSegment
	}
	if o.Segment < minSegment {
		msg := fmt.Sprintf("a journal segment of %d bytes, at least %d", o.Segment, minSegment)
		return nil, &sallyport.Error{Code: sallyport.Invalid, Op: "journal.Open", Msg: msg}
	}
	j := &Journal{
		o: o, open: o.OpenFile, log: o.Logger, id: newID(time.Now()),
		reserve: min(maxReserve, o.Segment/4),
		last:    mark{hash: genesis},
		kick:    make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		turned: make(chan struct{}),
	}
	j.later = time.AfterFunc(unhurried, j.ring)
	j.later.Stop()
	if j.open == nil {
		j.open = openOS
	}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	j.dir = filepath.Join(o.Dir, j.id)
	return j, nil
}

// idTime is the part of a chain's id by which ids sort.
const idTime = "20060102T150405.000Z"

// newID names a chain: when it began, and eight random characters of base32 (40 bits).
func newID(now time.Time) string {
	return now.UTC().Format(idTime) + "-" + strings.ToLower(rand.Text()[:8])
}

// isID reports whether name has the form of a chain's id.
func isID(name string) bool {
	at, random, ok := strings.Cut(name, "-")
	if _, err := time.Parse(idTime, at); !ok || err != nil || len(at) != len(idTime) || len(random) != 8 {
		return false
	}
	return strings.Trim(random, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// Chain is the id of the chain that this journal writes, and the name of its directory in [Options].Dir.
func (j *Journal) Chain() string { return j.id }

// Append writes e, so that it survives the death of every process of ours, and returns its position. A zero At is set
// to now. Events of kinds open, link and close are the journal's own.
//
// Errors: [sallyport.Invalid] if e cannot be a row (see [MaxRow]), [sallyport.Closed], and
// [sallyport.AuditUnavailable] if it could not be written. With an error nothing is recorded.
func (j *Journal) Append(e sallyport.Event) (sallyport.Position, error) {
	switch e.Kind {
	case "", sallyport.EventOpen, kindLink, sallyport.EventClose:
		msg := fmt.Sprintf("an event of kind %q cannot be appended", e.Kind)
		return 0, &sallyport.Error{Code: sallyport.Invalid, Op: "journal.Append", Msg: msg}
	}
	body, err := encode(e)
	if err != nil {
		return 0, &sallyport.Error{Code: sallyport.Invalid, Op: "journal.Append", Msg: err.Error(), Err: err}
	}
	p, err := j.add(e.Kind, body)
	if errors.Is(err, errBroken) { // the disk may work again: try once
		_ = j.turn(context.Background()) // it ends: as the disk answers, or not
		p, err = j.add(e.Kind, body)
	}
	if err != nil {
		return 0, j.refuse("journal.Append", "this cannot be recorded", err)
	}
	j.soon()
	return sallyport.Position(p), nil
}

// Why an event is refused, besides faults of the disk.
var (
	errBroken = errors.New("the disk failed and what was recorded since is not on it yet")
	errClosed = errors.New("the journal is closed")
	errSlow   = errors.New("the disk does not keep up")
)

// add writes a row.
func (j *Journal) add(kind sallyport.EventKind, body []byte) (uint64, error) {
	j.write.Lock()
	defer j.write.Unlock()
	if j.closed {
		return 0, errClosed
	}
	if err := j.ready(); err != nil {
		return 0, err
	}
	if j.current == nil {
		if err := j.begin(); err != nil {
			return 0, err
		}
	}
	if err := j.makeRoom(kind, int64(lineLen(body))); err != nil {
		return 0, err
	}
	row, err := j.put(j.current, body)
	if err != nil {
		if errors.Is(err, errSpoiled) {
			j.setBroken(err)
		}
		return 0, err
	}
	j.publish(j.current, row)
	return j.last.seq, nil
}

// ready returns why nothing may be appended now.
func (j *Journal) ready() error {
	if err := j.fault(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unsynced > maxUnsynced {
		return errSlow
	}
	return nil
}

// makeRoom sees to it that n bytes are ready for a row: in this segment or the next. All but ends and signals leave the
// reserve: what was started before the disk was full also ends.
func (j *Journal) makeRoom(kind sallyport.EventKind, n int64) error {
	var err error
	if s := j.current; s.end+n > j.o.Segment && s.rows > 1 {
		err = j.rotate()
	}
	s := j.current
	if err == nil {
		err = s.grow(s.end + n + j.reserve)
	}
	last := kind == sallyport.EventEnd || kind == sallyport.EventSignal
	if last && s.end+n <= s.ready.Load() {
		return nil
	}
	return err
}

// put writes the next row into s; with an error there is no such row. Who calls publishes it.
func (j *Journal) put(s *segment, body []byte) (row []byte, err error) {
	row, hash := line(j.last.hash, j.last.seq+1, body)
	if err := s.put(row); err != nil {
		return nil, err
	}
	j.last = mark{j.last.seq + 1, hash}
	s.end += int64(len(row))
	s.last = hash
	s.rows++
	return row, nil
}

// publish hands the last row, which stands in s, to the committer. The first row of a segment makes it the current
// one, and has changed the entries of some directories.
func (j *Journal) publish(s *segment, row []byte, entries ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s != j.current {
		for _, old := range j.dirty {
			old.sealed = true
		}
		j.current = s
		j.dirty = append(j.dirty, s)
		j.entries = append(j.entries, entries...)
	}
	j.appended = j.last
	j.unsynced += len(row)
	s.tail = append(s.tail, row...)
}

// fault is errBroken with its cause while the journal is broken.
func (j *Journal) fault() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil {
		return nil
	}
	return errors.Join(errBroken, j.broken)
}

// setBroken ends acknowledging and appending, and reports whether it had not ended before.
func (j *Journal) setBroken(err error) (first bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	first = j.broken == nil
	j.broken = err
	return first
}

// refuse makes the error that a caller is told of err.
func (j *Journal) refuse(op, what string, err error) error {
	if errors.Is(err, errClosed) {
		return &sallyport.Error{Code: sallyport.Closed, Op: op, Msg: "the journal is closed"}
	}
	why := err.Error()
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		why = errno.Error() // without the path, which the hint has
	}
	hint := "check the disk and the rights of " + j.o.Dir + ", then send the request again"
	switch {
	case fullDisk(err):
		hint = "free some space on the disk of " + j.o.Dir + ", then send the request again"
	case errors.Is(err, errSlow):
		hint = "wait a little, then send the request again"
	}
	return &sallyport.Error{Code: sallyport.AuditUnavailable, Op: op, Msg: what + ": " + why, Hint: hint, Err: err}
}
