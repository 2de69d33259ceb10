package journal

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-sh/sallyport"
)

// tail collects "chain request" of the last n rows.
func tail(t *testing.T, dir string, n int, names map[string]string) ([]string, error) {
	t.Helper()
	var got []string
	err := Tail(t.Context(), dir, n, func(chain string, r Row) error {
		what := string(r.Request)
		if what == "" {
			what = string(r.Kind)
		}
		got = append(got, names[chain]+" "+what)
		return nil
	})
	return got, err
}

// at appends an event at a second of a day.
func at(t *testing.T, j *Journal, second int, request string) {
	t.Helper()
	e := sallyport.Event{Kind: sallyport.EventRun, At: time.Date(2100, 1, 1, 0, 0, second, 0, time.UTC), Request: sallyport.RequestID(request)}
	if _, err := j.Append(e); err != nil {
		t.Fatal(err)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	a, b := newJournal(t, Options{Dir: dir}), newJournal(t, Options{Dir: dir})
	names := map[string]string{a.Chain(): "a", b.Chain(): "b"}
	at(t, a, 1, "1")
	at(t, b, 2, "2")
	at(t, a, 3, "3")
	at(t, a, 0, "4, clock set back")
	at(t, b, 4, "5")
	at(t, a, 5, "6")
	for _, tt := range []struct {
		n    int
		want []string
	}{
		{3, []string{"a 4, clock set back", "b 5", "a 6"}},
		{6, []string{"a 1", "b 2", "a 3", "a 4, clock set back", "b 5", "a 6"}},
		{0, nil},
		{-1, nil},
	} {
		got, err := tail(t, dir, tt.n, names)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("last %d: %v (-want +got):\n%s", tt.n, err, diff)
		}
	}
	if got, err := tail(t, dir, 100, names); len(got) != 8 || err != nil { // and two open rows
		t.Errorf("all: %v, %v", got, err)
	}
	stop := errors.New("enough")
	calls := 0
	if err := Tail(t.Context(), dir, 3, func(string, Row) error { calls++; return stop }); !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if got, err := tail(t, filepath.Join(dir, "none"), 3, names); got != nil || err != nil {
		t.Errorf("no directory: %v, %v", got, err)
	}
}

// TestTailOverSegments: rows come from as many segments as it takes, in order, without the links.
func TestTailOverSegments(t *testing.T) {
	t.Parallel()
	j := newJournal(t, Options{Segment: minSegment})
	add(t, j, 60)
	for n := 1; n < 70; n += 4 {
		var last uint64
		count := 0
		if err := Tail(t.Context(), j.o.Dir, n, func(_ string, r Row) error {
			if count++; r.Seq <= last || r.Kind == kindLink || r.Caller == nil && r.Kind != sallyport.EventOpen || len(r.Hash) != hashLen {
				t.Errorf("row %+v after %d", r, last)
			}
			last = r.Seq
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if count != min(n, 61) {
			t.Errorf("%d rows, want %d", count, min(n, 61))
		}
	}
}

// TestTailOfBadChain: what does not verify is not shown, and said.
func TestTailOfBadChain(t *testing.T) {
	t.Parallel()
	c := record(t, true, 22)
	name := segmentName(2)
	changed := append([]byte{}, c.files[name]...)
	changed[c.ends[name]/2] ^= 1
	c.write(t, name, changed)
	_, badRow := c.rowAt(name, c.ends[name]/2)
	var seqs []uint64
	err := Tail(t.Context(), c.dir, 100, func(_ string, r Row) error { seqs = append(seqs, r.Seq); return nil })
	if err == nil || !strings.Contains(err.Error(), "the hash does not match") {
		t.Errorf("%v", err)
	}
	if len(seqs) == 0 || seqs[len(seqs)-1] != badRow-1 {
		t.Errorf("rows %v, the bad one is %d", seqs, badRow)
	}
}
