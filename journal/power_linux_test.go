package journal

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestPowerCut: at any moment the power may go, also on a disk whose writes and syncs fail. What was acknowledged is
// there and verifies, whatever of the rest was written.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	torn := 0
	for seed := range uint64(testenv.Scale(60, 3000)) {
		d := newDisk(t)
		r := rand.New(rand.NewPCG(seed, 0))
		d.rand = rand.New(rand.NewPCG(seed, 1))
		j := newJournal(t, Options{OpenFile: d.open, Segment: minSegment})
		acked := sallyport.Position(0)
		for range r.IntN(60) {
			d.fail(randomFaults(d, r.IntN(4)))
			p, err := j.Append(event(sallyport.EventRun, strings.Repeat("x", r.IntN(300))))
			if err == nil && r.IntN(3) > 0 && j.Sync(t.Context(), p) == nil {
				acked = p
			}
		}
		d.fail(nil, nil)
		left := d.powerCut(j)
		report := verify(t, left)
		if report.Rows < int(acked) {
			t.Fatalf("seed %d: %d rows after the power cut, %d were acknowledged: %+v", seed, report.Rows, acked, bad(report))
		}
		if acked == 0 {
			continue // then a chain without HEAD is no surprise
		}
		if b := bad(report); b != nil && !strings.HasPrefix(b.Reason, reasonTorn) {
			t.Fatalf("seed %d: %v", seed, b)
		} else if b != nil {
			torn++
		}
	}
	t.Logf("%d chains had a torn end", torn)
}

// randomFaults makes writes and syncs fail sometimes: not, rarely, or often.
func randomFaults(d *disk, often int) (writing func(string, int64, int) error, syncing func(string) error) {
	if often == 0 {
		return nil, nil
	}
	return func(string, int64, int) error {
			if d.rand.IntN(40/often) == 0 {
				return syscall.ENOSPC
			}
			return nil
		}, func(string) error {
			if d.rand.IntN(12/often) == 0 {
				return syscall.EIO
			}
			return nil
		}
}

// TestRealFullDisk: a small file system is filled, and emptied again.
func TestRealFullDisk(t *testing.T) {
	t.Parallel()
	mount := testenv.SmallDisk(t, 1<<20)
	j := newJournal(t, Options{Dir: filepath.Join(mount, "journal"), Segment: 64 << 10})
	ballast := filepath.Join(mount, "ballast")
	fill := func() {
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	fill()
	if _, err := j.Append(event(sallyport.EventRun, "true")); sallyport.AsError(err).Code != sallyport.AuditUnavailable {
		t.Fatalf("append to a full disk: %v", err)
	}
	var told []string
	for round := range 3 {
		// Not removed: a child that another test is just starting may hold it for a moment.
		if err := os.Truncate(ballast, 0); err != nil {
			t.Fatal(err)
		}
		for i := 0; ; i++ {
			if i == 5 {
				fill()
			}
			id := fmt.Sprintf("r%d-%d", round, i)
			e := event(sallyport.EventRun, strings.Repeat("x", 500))
			e.Request = sallyport.RequestID(id)
			p, err := j.Append(e)
			if err != nil {
				if e := sallyport.AsError(err); i < 5 || !strings.HasPrefix(e.Hint, "free some space") {
					t.Fatalf("round %d, row %d: %+v", round, i, e)
				}
				break
			}
			settle(t, j, p)
			told = append(told, fmt.Sprintln(j.Chain(), p, id))
		}
		if p, err := j.Append(event(sallyport.EventEnd, "true")); err != nil {
			t.Errorf("an end on a full disk: %v", err)
		} else {
			settle(t, j, p)
		}
	}
	if err := j.Close(); err != nil { // still full: the close row has its room
		t.Fatal(err)
	}
	if r := wantTold(t, j.o.Dir, told); r.Chains[0].State != StateClosed {
		t.Errorf("%+v", r)
	}
}
