package journal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestFullDisk: while there is no room, runs are refused, ends are still recorded in the reserve, nothing breaks; with
// room again it goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	j := newJournal(t, Options{OpenFile: d.open, Segment: minSegment * 4})
	settle(t, j, add(t, j, 1))
	full := func(name string, off int64, n int) error {
		if name == headName || name == segmentName(j.current.number) && off+int64(n) <= j.current.ready.Load() {
			return nil
		}
		return &os.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
	}
	d.fail(full, nil)
	runs, ends := 0, 0
	var err error
	for ; err == nil; runs++ {
		_, err = j.Append(event(sallyport.EventRun, "true"))
	}
	e := sallyport.AsError(err)
	if e.Code != sallyport.AuditUnavailable || !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(e.Hint, "free some space on the disk of "+j.o.Dir) ||
		e.Msg != "this cannot be recorded: no space left on device" {
		t.Errorf("%+v", e)
	}
	for err = nil; err == nil; ends++ {
		_, err = j.Append(event(sallyport.EventEnd, "true"))
	}
	if ends < 5 || !errors.Is(err, sallyport.AuditUnavailable) {
		t.Errorf("%d ends on a full disk, then %v", ends, err)
	}
	wantGood(t, j.o.Dir, ChainReport{Rows: runs + ends, State: StateOpen})

	d.fail(nil, nil)
	p := add(t, j, 20)
	settle(t, j, p)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	wantGood(t, j.o.Dir, ChainReport{Rows: int(p) + 1, State: StateClosed})
}

// TestFailedWrite: a row that could not be written, or only half, leaves nothing, takes no position, and the next one
// stands in its place.
func TestFailedWrite(t *testing.T) {
	t.Parallel()
	for name, zeroing := range map[string]error{"taken away": nil, "spoiled": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t)
			j := newJournal(t, Options{OpenFile: d.open})
			before := add(t, j, 3)
			settle(t, j, before)
			for i := range 10 {
				failing := true
				d.fail(func(name string, off int64, n int) error {
					if name != segmentName(1) {
						return nil
					}
					if failing {
						failing = false
						return syscall.EIO
					}
					return zeroing
				}, nil)
				if p, err := j.Append(event(sallyport.EventRun, strings.Repeat("long ", 100))); p != 0 || !errors.Is(err, sallyport.AuditUnavailable) {
					t.Fatalf("position %d, %v", p, err)
				}
				d.fail(nil, nil)
				p, err := j.Append(event(sallyport.EventRun, "x"))
				if err != nil || p != before+1 {
					t.Fatalf("position %d, %v; want %d", p, err, before+1)
				}
				if before = p; i%2 == 0 {
					settle(t, j, p)
				}
				wantGood(t, j.o.Dir, ChainReport{Rows: int(p), State: StateOpen})
			}
		})
	}
}

// TestFailedBegin: a chain that cannot be begun is refused, leaves nothing that is bad, and is begun once it can be.
func TestFailedBegin(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		d := newDisk(t)
		j := newJournal(t, Options{OpenFile: d.open})
		calls := 0
		d.fail(func(string, int64, int) error {
			if calls++; calls > n {
				return syscall.ENOSPC
			}
			return nil
		}, nil)
		_, err := j.Append(event(sallyport.EventRun, "true"))
		if err == nil {
			if n < 3 { // HEAD, zeros, open row
				t.Errorf("%d writes began a chain", n)
			}
			d.fail(nil, nil)
			return
		}
		if !errors.Is(err, sallyport.AuditUnavailable) {
			t.Errorf("after %d writes: %v", n, err)
		}
		if r := verify(t, j.o.Dir); !r.OK {
			t.Errorf("after %d writes: %+v", n, r)
		}
		d.fail(nil, nil)
		p := add(t, j, 2)
		settle(t, j, p)
		wantGood(t, j.o.Dir, ChainReport{Rows: 3, State: StateOpen})
	}
}

// TestBeginWhereItCannot: no directory can be made; the request is told, and it goes on when it can.
func TestBeginWhereItCannot(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j := newJournal(t, Options{Dir: filepath.Join(dir, "journal")})
	if _, err := j.Append(event(sallyport.EventRun, "true")); !errors.Is(err, sallyport.AuditUnavailable) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	settle(t, j, add(t, j, 1))
}

// TestFailedSync: nothing is acknowledged and nothing appended until a new file holds everything; then the rows are
// the same, at the same positions.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	j := newJournal(t, Options{OpenFile: d.open, Segment: minSegment})
	settle(t, j, add(t, j, 3))
	dead := func(string) error { return syscall.EIO }
	d.fail(nil, dead)
	p, err := j.Append(event(sallyport.EventRun, "the last that is taken"))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Sync(t.Context(), p); !errors.Is(err, sallyport.AuditUnavailable) || !errors.Is(err, syscall.EIO) {
		t.Errorf("sync: %v", err)
	}
	for range 3 {
		if _, err := j.Append(event(sallyport.EventRun, "refused")); !errors.Is(err, sallyport.AuditUnavailable) {
			t.Errorf("append: %v", err)
		}
		if err := j.Sync(t.Context(), p); !errors.Is(err, sallyport.AuditUnavailable) {
			t.Errorf("sync: %v", err)
		}
	}
	if err := j.Sync(t.Context(), p-1); err != nil {
		t.Errorf("sync of what was on disk before: %v", err)
	}
	wantGood(t, j.o.Dir, ChainReport{Rows: int(p), State: StateOpen})

	d.fail(nil, nil)
	q := add(t, j, 1)
	if q != p+1 {
		t.Errorf("position %d after %d", q, p)
	}
	settle(t, j, q)
	after := d.powerCut(j)
	r := verify(t, after)
	if len(r.Chains) != 1 || r.Rows < int(q) || !r.OK {
		t.Errorf("after a power cut: %+v, %v", r, r.Chains[0].Bad)
	}
}

// TestFailedSyncUnseen: a sync that fails once is repaired before anybody is told.
func TestFailedSyncUnseen(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	j := newJournal(t, Options{OpenFile: d.open, Segment: minSegment})
	for i := range 40 {
		failed := false
		d.fail(nil, func(name string) error {
			if failed || i%3 == 0 {
				return nil
			}
			failed = true
			return syscall.EIO
		})
		settle(t, j, add(t, j, i%4+1))
	}
	d.fail(nil, nil)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, j.o.Dir); !r.OK || r.Chains[0].State != StateClosed {
		t.Errorf("%+v", r)
	}
}

// TestFailedWriteAhead: the sync of what was written ahead counts like any other: it could be of a new row, too.
func TestFailedWriteAhead(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	j := newJournal(t, Options{OpenFile: d.open})
	settle(t, j, add(t, j, 1))
	failed, rewritten := false, false
	d.fail(nil, func(name string) error {
		rewritten = rewritten || name == segmentName(1)+replacement
		if failed || name != segmentName(1) || j.current.ready.Load() == firstStep {
			return nil
		}
		failed = true
		return syscall.EIO
	})
	for range 60 { // 16 KiB of rows, and more
		settle(t, j, add(t, j, 1))
	}
	d.fail(nil, nil)
	if !failed || !rewritten {
		t.Errorf("failed: %v, rewritten: %v", failed, rewritten)
	}
}

// TestFailedRotation: the next segment cannot be begun, at any of its writes. The old one stays in use.
func TestFailedRotation(t *testing.T) {
	t.Parallel()
	for failing := range 2 { // zeros, link row
		d := newDisk(t)
		j := newJournal(t, Options{OpenFile: d.open, Segment: minSegment})
		writes, refused := 0, 0
		d.fail(func(name string, _ int64, _ int) error {
			if name != segmentName(2) {
				return nil
			}
			if writes++; writes-1 == failing {
				return syscall.EIO
			}
			return nil
		}, nil)
		p := sallyport.Position(1)
		for range 30 {
			q, err := j.Append(event(sallyport.EventRun, "make test"))
			if err != nil {
				if refused++; !errors.Is(err, syscall.EIO) {
					t.Error(err)
				}
				q, err = j.Append(event(sallyport.EventRun, "x"))
				if err != nil {
					t.Fatal(err)
				}
			}
			if q <= p {
				t.Errorf("position %d after %d", q, p)
			}
			p = q
			settle(t, j, p)
		}
		if refused != 1 {
			t.Errorf("%d refused", refused)
		}
		wantGood(t, j.o.Dir, ChainReport{Rows: int(p), State: StateOpen})
	}
}

// TestChangedUnderUs: a segment that does not verify any more is not written anew as if nothing had happened.
func TestChangedUnderUs(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	j := newJournal(t, Options{OpenFile: d.open})
	settle(t, j, add(t, j, 3))
	path := filepath.Join(j.dir, segmentName(1))
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	poke(t, path, 500, content[500]^1)
	failed := false
	d.fail(nil, func(name string) error {
		if failed || name != segmentName(1) {
			return nil
		}
		failed = true
		return syscall.EIO
	})
	p := add(t, j, 1)
	if err := j.Sync(t.Context(), p); !errors.Is(err, sallyport.AuditUnavailable) || !strings.Contains(err.Error(), "does not verify") {
		t.Errorf("sync: %v", err)
	}
	if b := bad(verify(t, j.o.Dir)); b == nil {
		t.Error("the change is not found")
	}
	poke(t, path, 500, content[500])
	settle(t, j, p)
	settle(t, j, add(t, j, 1))
	wantGood(t, j.o.Dir, ChainReport{Rows: 6, State: StateOpen})
}

// TestFailedCloseRow: half a close row, that cannot be taken away either, is mended before the chain is left.
func TestFailedCloseRow(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		times := 1 + i%2 // the row; its taking away too
		d := newDisk(t)
		d.rand = rand.New(rand.NewPCG(uint64(i), 0)) // nothing is written, or half
		j := newJournal(t, Options{OpenFile: d.open})
		p := add(t, j, 3)
		settle(t, j, p)
		d.fail(func(name string, _ int64, _ int) error {
			if times--; name == segmentName(1) && times >= 0 {
				return syscall.EIO
			}
			return nil
		}, nil)
		if err := j.Close(); !errors.Is(err, syscall.EIO) {
			t.Errorf("close: %v", err)
		}
		wantGood(t, j.o.Dir, ChainReport{Rows: int(p), State: StateEnded})
	}
}

// TestFailedClose: what cannot be closed says so, ends everything it started, and keeps what was recorded.
func TestFailedClose(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	j := newJournal(t, Options{OpenFile: d.open})
	p := add(t, j, 3)
	settle(t, j, p)
	d.fail(nil, func(string) error { return syscall.EIO })
	if err := j.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("close: %v", err)
	}
	r := verify(t, j.o.Dir)
	if !r.OK || r.Rows < int(p) {
		t.Errorf("%+v", r)
	}
}

// TestSlowDisk: appending goes on while the disk does not answer, up to a bound.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	j := newJournal(t, Options{OpenFile: d.open})
	settle(t, j, add(t, j, 1))
	release := d.hang()
	defer release()
	long := sallyport.Event{Kind: sallyport.EventRun, Data: strings.Repeat("x", MaxRow/2)}
	n := 0
	var err error
	for ; err == nil && n < 1000; n++ {
		_, err = j.Append(long)
	}
	if e := sallyport.AsError(err); !errors.Is(err, errSlow) || e.Code != sallyport.AuditUnavailable || n < 50 {
		t.Errorf("after %d rows: %v", n, err)
	}
	release()
	p := sallyport.Position(j.last.seq)
	settle(t, j, p)
	settle(t, j, add(t, j, 1))
}

// TestFaultsTogether: many write while everything fails now and then. What was acknowledged is there.
func TestFaultsTogether(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	j := newJournal(t, Options{OpenFile: d.open, Segment: minSegment})
	settle(t, j, add(t, j, 1))
	d.fail(
		func(name string, _ int64, _ int) error {
			if d.rand.IntN(20) == 0 && name != headName {
				return syscall.ENOSPC
			}
			return nil
		},
		func(string) error {
			if d.rand.IntN(10) == 0 {
				return syscall.EIO
			}
			return nil
		},
	)
	var mu sync.Mutex
	recorded := map[sallyport.Position]string{}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				id := fmt.Sprint(w, "-", i)
				e := event(sallyport.EventRun, "true")
				e.Request = sallyport.RequestID(id)
				p, err := j.Append(e)
				if err != nil {
					continue
				}
				mu.Lock()
				if old, ok := recorded[p]; ok {
					t.Errorf("position %d for %s and %s", p, old, id)
				}
				recorded[p] = id
				mu.Unlock()
				if i%3 == 0 {
					_ = j.Sync(t.Context(), p) // it may fail
				}
			}
		})
	}
	wg.Wait()
	d.fail(nil, nil)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, j.o.Dir); !r.OK || r.Chains[0].State != StateClosed {
		t.Fatalf("%+v %v", r, r.Chains[0].Bad)
	}
	found := 0
	err := Tail(t.Context(), j.o.Dir, 1000, func(_ string, r Row) error {
		if id, ok := recorded[sallyport.Position(r.Seq)]; ok {
			found++
			if id != string(r.Request) {
				t.Errorf("row %d is %s, want %s", r.Seq, r.Request, id)
			}
		} else if r.Kind == sallyport.EventRun && r.Seq != 2 {
			t.Errorf("row %d, %s, is there, and its Append failed", r.Seq, r.Request)
		}
		return nil
	})
	if err != nil || found != len(recorded) || found < 100 {
		t.Errorf("%d of %d rows found, %v", found, len(recorded), err)
	}
}

// TestSyncGivesUp: who waits for a disk that does not answer can leave.
func TestSyncGivesUp(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	j := newJournal(t, Options{OpenFile: d.open})
	settle(t, j, add(t, j, 1))
	release := d.hang()
	p := add(t, j, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client is gone")
	cancel(gone)
	err := j.Sync(ctx, p)
	if !errors.Is(err, gone) || !errors.Is(err, sallyport.AuditUnavailable) {
		t.Errorf("%v", err)
	}
	release()
	settle(t, j, p)
	testenv.Eventually(t, 10*time.Second, func() bool { return verify(t, j.o.Dir).Chains[0].Synced >= uint64(p) }, "HEAD follows")
}
