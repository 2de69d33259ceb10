package journal

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
)

func TestNothingRecordedLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	j := newJournal(t, Options{Dir: dir})
	if j.Chain() == "" || !isID(j.Chain()) {
		t.Errorf("chain %q", j.Chain())
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", dir, err)
	}
	wantGood(t, dir)
}

func TestLife(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b", "journal")
	j := newJournal(t, Options{Dir: dir, BeforeStart: true})
	if p := add(t, j, 1); p != 2 { // after the open row
		t.Errorf("first event at %d", p)
	}
	p := add(t, j, 4)
	settle(t, j, p)
	wantGood(t, dir, ChainReport{Rows: 6, State: StateOpen})

	other := newJournal(t, Options{Dir: dir})
	settle(t, other, add(t, other, 1))
	crash(t, other)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	want := []ChainReport{{Rows: 7, State: StateClosed}, {Rows: 2, State: StateEnded}}
	if j.Chain() > other.Chain() { // made within one millisecond
		want[0], want[1] = want[1], want[0]
	}
	wantGood(t, dir, want...)
	if _, err := j.Append(event(sallyport.EventRun, "late")); !errors.Is(err, sallyport.Closed) {
		t.Errorf("append after close: %v", err)
	}
	if err := j.Sync(t.Context(), p); err != nil {
		t.Errorf("sync of what is on disk, after close: %v", err)
	}

	for path, want := range map[string]os.FileMode{
		dir: 0o700, j.dir: 0o700, filepath.Join(j.dir, headName): 0o600, filepath.Join(j.dir, segmentName(1)): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
		}
	}
}

func TestOpenRow(t *testing.T) {
	t.Parallel()
	j := newJournal(t, Options{BeforeStart: true})
	settle(t, j, add(t, j, 1))
	var open Row
	if err := Tail(t.Context(), j.o.Dir, 2, func(_ string, r Row) error {
		if r.Seq == 1 {
			open = r
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var h header
	if err := json.Unmarshal(open.Data, &h); err != nil {
		t.Fatal(err)
	}
	want := header{format, j.Chain(), 1, genesis, "test", os.Getpid(), true}
	if open.Kind != sallyport.EventOpen || h != want {
		t.Errorf("%v %+v, want %+v", open.Kind, h, want)
	}
}

func TestRefusedEvents(t *testing.T) {
	t.Parallel()
	j := newJournal(t, Options{})
	for name, e := range map[string]sallyport.Event{
		"no kind":         {},
		"our own: open":   {Kind: sallyport.EventOpen},
		"our own: close":  {Kind: sallyport.EventClose},
		"our own: link":   {Kind: kindLink},
		"no JSON":         {Kind: sallyport.EventRun, Data: func() {}},
		"not a number":    {Kind: sallyport.EventRun, Data: math.NaN()},
		"no such year":    {Kind: sallyport.EventRun, At: time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)},
		"too long":        {Kind: sallyport.EventRun, Data: strings.Repeat("x", MaxRow)},
		"too long as row": {Kind: sallyport.EventRun, Data: strings.Repeat("\u200b", MaxRow/6)},
	} {
		if p, err := j.Append(e); p != 0 || !errors.Is(err, sallyport.Invalid) {
			t.Errorf("%s: position %d, %v", name, p, err)
		}
	}
	if err := j.Sync(t.Context(), 1); !errors.Is(err, sallyport.Invalid) {
		t.Errorf("sync of a position that is none: %v", err)
	}
	if _, err := os.Stat(j.o.Dir); !os.IsNotExist(err) {
		t.Errorf("a refused event left %s: %v", j.o.Dir, err)
	}
	for _, o := range []Options{{}, {Dir: "x", Segment: minSegment - 1}, {Dir: "x", Segment: -1}} {
		if _, err := Open(o); !errors.Is(err, sallyport.Invalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestLongestRow(t *testing.T) {
	t.Parallel()
	j := newJournal(t, Options{Segment: minSegment})
	low, high := 1, MaxRow // the longest text that fits, found as a caller would
	for low < high {
		mid := (low + high + 1) / 2
		if body, err := encode(sallyport.Event{Kind: sallyport.EventRun, Data: strings.Repeat("x", mid)}); err == nil && lineLen(body) <= MaxRow {
			low = mid
		} else {
			high = mid - 1
		}
	}
	for range 3 {
		if _, err := j.Append(sallyport.Event{Kind: sallyport.EventRun, At: time.Now(), Data: strings.Repeat("x", low-10)}); err != nil {
			t.Fatal(err)
		}
		add(t, j, 2)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	r := verify(t, j.o.Dir)
	if !r.OK || r.Rows < 11 {
		t.Errorf("%+v", r)
	}
}

func TestSegments(t *testing.T) {
	t.Parallel()
	j := newJournal(t, Options{Segment: minSegment})
	const n = 100
	p := add(t, j, n)
	settle(t, j, p)
	numbers, _, err := segments(j.dir)
	if err != nil || len(numbers) < 8 {
		t.Fatalf("segments %v, %v", numbers, err)
	}
	if int(p) != n+len(numbers) { // each segment has a row of its own
		t.Errorf("position %d with %d events in %d segments", p, n, len(numbers))
	}
	for _, number := range numbers[:len(numbers)-1] {
		info, err := os.Stat(filepath.Join(j.dir, segmentName(number)))
		if err != nil || info.Size() > minSegment {
			t.Errorf("segment %d: %d bytes, %v", number, info.Size(), err)
		}
	}
	wantGood(t, j.o.Dir, ChainReport{Rows: int(p), State: StateOpen})
	j.mu.Lock()
	dirty, unsynced := len(j.dirty), j.unsynced
	j.mu.Unlock()
	if dirty != 1 || unsynced != 0 {
		t.Errorf("%d segments and %d bytes are held after a sync", dirty, unsynced)
	}
}

// TestConcurrent: many append, wait, verify and read at the same time.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	j := newJournal(t, Options{Segment: minSegment * 4})
	const writers, each = 8, 100
	var wg sync.WaitGroup
	seen := make(chan sallyport.Position, writers*each)
	for range writers {
		wg.Go(func() {
			for i := range each {
				p, err := j.Append(event(sallyport.EventRun, "true"))
				if err == nil && i%4 == 0 {
					err = j.Sync(t.Context(), p)
				}
				if err != nil {
					t.Error(err)
					return
				}
				seen <- p
			}
		})
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			r, err := Verify(t.Context(), j.o.Dir)
			if err != nil || !r.OK {
				t.Errorf("while it is written: %v %v", r, err)
				if len(r.Chains) > 0 {
					t.Log(r.Chains[0].Bad)
				}
				return
			}
			if err := Tail(t.Context(), j.o.Dir, 10, func(string, Row) error { return nil }); err != nil {
				t.Errorf("tail while it is written: %v", err)
			}
		}
	})
	wg.Wait()
	close(stop)
	readers.Wait()
	close(seen)
	positions := map[sallyport.Position]bool{}
	for p := range seen {
		if positions[p] {
			t.Errorf("position %d given twice", p)
		}
		positions[p] = true
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	r := verify(t, j.o.Dir)
	numbers, _, _ := segments(j.dir)
	if want := writers*each + len(numbers) + 1; !r.OK || r.Rows != want {
		t.Errorf("%d rows, want %d: %+v", r.Rows, want, r)
	}
}
