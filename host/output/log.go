package output

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// A Log is what one session prints, addressed by offset. It is safe for concurrent use: any number of pumps and
// appends take turns, and no reader can hold them up.
type Log struct {
	store *Store
	id    string
	quota int64

	// wmu lets one writer in at a time. It is held across file I/O on purpose: the order of offsets must be the
	// order on disk. It is taken before mu; readers never take it.
	wmu sync.Mutex

	mu     sync.Mutex    // guards what follows; nothing waits under it
	end    int64         // changed under wmu and mu, so a writer may read it under wmu alone
	last   time.Time     // of the last byte, with its monotonic reading
	b      *body         // nil before the first byte
	over   error         // why the log answers nothing any more
	grown  chan struct{} // closed and forgotten when end or sealed change; made by who waits
	left   chan struct{} // closed when over is set; made by who waits
	seen   uint8         // bit s: the spool holds bytes of stream s
	sealed bool
}

// A body is the part of a log that exists from its first byte on.
type body struct {
	data, idx slot // guarded by the store
	w         writer
	first     record // record 0; fixed once it counts

	// What follows is changed under wmu and Log.mu, like Log.end.
	gap            *gap  // the middle that the quota took
	lost           *gap  // from where the disk failed up to the end
	why            error // of lost
	spool, records ring
	recs           int64 // records that count
	recsFrom       int64 // records of the gap
	recsTo         int64
	indexed        bool // the index file is there

	scan   sync.Mutex // readers count lines one at a time; the writer does not take it
	pos    place      // lines are counted up to here
	marks  []place    // places before pos, in order, at multiples of grain: a coarse line index
	broken error      // lines could not be counted: the spool was unreadable
}

// A writer is the writing side's own memory, guarded by Log.wmu.
type writer struct {
	recs     int64 // as body.recs
	stream   sallyport.Stream
	recorded time.Time // of the last record
	indexed  bool      // as body.indexed
	dropped  time.Time // of the last drop, or of the first byte
	dropEnd  int64     // end of the log then
	moving   int64     // bytes that are about to be written into the ring
	punched  int64     // the spool is punched up to here, in whole blocks
	cleared  int64     // the index is punched up to this byte
}

// A view is the log at one moment.
type view struct {
	b         *body
	end       int64
	last      time.Time
	only      sallyport.Stream // the stream that wrote all that is kept; AnyStream if both did
	sealed    bool
	gap, lost *gap
	records   ring
	recs      int64
	recsFrom  int64
	recsTo    int64
	indexed   bool
	pos       place
	marks     []place
	broken    error
}

// look takes a view.
func (l *Log) look() (view, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return view{}, l.over
	}
	v := view{end: l.end, last: l.last, sealed: l.sealed, only: onlyStream(l.seen)}
	if b := l.b; b != nil {
		v.b, v.gap, v.lost = b, b.gap, b.lost
		v.records, v.recs, v.recsFrom, v.recsTo, v.indexed = b.records, b.recs, b.recsFrom, b.recsTo, b.indexed
		v.pos, v.marks, v.broken = b.pos, b.marks, b.broken
	}
	return v, nil
}

func onlyStream(seen uint8) sallyport.Stream {
	if seen == 1<<sallyport.Stdout|1<<sallyport.Stderr {
		return sallyport.AnyStream
	}
	return sallyport.Stream(seen >> 1) // bits 1 and 2 are the streams 1 and 2
}

// hole returns the first gap that ends behind off, or nil.
func (v *view) hole(off int64) *gap {
	for _, g := range [...]*gap{v.gap, v.lost} {
		if g != nil && g.to.off > off {
			return g
		}
	}
	return nil
}

// stop is where the kept bytes that begin at off end.
func (v *view) stop(off int64) int64 {
	if g := v.hole(off); g != nil {
		return min(g.from.off, v.end)
	}
	return v.end
}

// moved says whether the middle has grown since the view was taken.
func (l *Log) moved(v *view) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.gap != v.gap
}

// Seal says that no more output will come: readers see the end. Appending is a [sallyport.Conflict] from then on. A
// second Seal does nothing.
func (l *Log) Seal() {
	l.wmu.Lock() // a write in progress gets its bytes in before readers are told that nothing follows
	defer l.wmu.Unlock()
	l.mu.Lock()
	l.sealed = true
	l.signal()
	l.mu.Unlock()
}

// Stat counts the output. It does no I/O. Dropped counts every byte that is not on disk, so that End - Dropped are; if
// the disk failed after the quota had taken a middle, these are two stretches, and Incomplete names the second.
func (l *Log) Stat() sallyport.OutputStat {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := sallyport.OutputStat{End: sallyport.Offset(l.end), Last: l.last}
	if l.b == nil {
		return st
	}
	if g := l.b.gap; g != nil {
		st.Dropped, st.DropFrom = g.size(), sallyport.Offset(g.from.off)
	}
	if g := l.b.lost; g != nil {
		if st.Dropped == 0 {
			st.DropFrom = sallyport.Offset(g.from.off)
		}
		st.Dropped += g.size()
		st.Incomplete = fmt.Sprintf("%v: the last %d bytes, from offset %d on, were not kept", l.b.why, g.size(), g.from.off)
	}
	return st
}

// Disk is how many bytes of disk the log takes now; 0 if that cannot be found out.
func (l *Log) Disk() int64 {
	v, err := l.look()
	if err != nil || v.b == nil {
		return 0
	}
	var sum int64
	for _, sl := range [...]*slot{&v.b.data, &v.b.idx} {
		f, err := l.store.acquire(sl, false)
		if err != nil {
			continue // not made yet, or gone
		}
		n, err := f.used()
		if err == nil {
			sum += n
		}
		l.store.release(sl)
	}
	return sum
}

// Remove deletes the log's files and frees its id. It waits for reads and writes in progress, which are short; all
// later calls answer [sallyport.NotFound], and so do waiters at once. A second Remove does nothing.
func (l *Log) Remove() error {
	if !l.finish(errGone()) {
		return nil
	}
	b := l.b // fixed from now on
	var err error
	if b == nil {
		err = l.store.forget(l)
	} else {
		err = l.store.forget(l, &b.data, &b.idx)
	}
	if err != nil {
		return &sallyport.Error{Code: sallyport.Internal, Op: "output.Remove", Msg: "the output could not be deleted", Err: err}
	}
	return nil
}

// signal wakes whoever waits for news. l.mu is held; a close never blocks.
func (l *Log) signal() {
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}

// finish makes the log answer err from now on, after a write in progress. Removal may follow closing.
func (l *Log) finish(err error) bool {
	l.wmu.Lock()
	defer l.wmu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.over, sallyport.NotFound) || l.over != nil && !errors.Is(err, sallyport.NotFound) {
		return false
	}
	if l.over == nil && l.left != nil {
		close(l.left)
	}
	l.over = err
	return true
}

// edge turns a fault of ours into an error that may cross a surface.
func edge(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*sallyport.Error](err); ok {
		return err
	}
	return &sallyport.Error{Code: sallyport.Internal, Op: op, Msg: "the session's output could not be read", Err: err}
}
