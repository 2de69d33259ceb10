package output

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-sh/sallyport"
)

func TestHeaderRoundTrip(t *testing.T) {
	t.Parallel()
	h := header{quota: 1, spool: ring{2, 3}, records: ring{4, 5}, recsFrom: 6, recsTo: 7, lostFrom: -1}
	for i, f := range h.fields() {
		if *f == 0 {
			*f = int64(100 + i)
		}
	}
	got, err := parseHeader(h.encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, got, cmp.AllowUnexported(header{}, ring{}, gap{}, place{})); diff != "" {
		t.Error(diff)
	}
}

// TestIndexDamage flips every byte of a small index: no change goes unseen, and none is read as something else.
func TestIndexDamage(t *testing.T) {
	t.Parallel()
	raw := (&header{quota: 1 << 20, lostFrom: -1}).encode()
	recs := []record{{0, 1e18, sallyport.Stdout}, {10, 2e18, sallyport.Stderr}, {10, 3e18, sallyport.Stdout}}
	for _, r := range recs {
		raw = r.append(raw)
	}
	if _, got, err := readIndex(bytes.NewReader(raw), int64(len(raw))); err != nil || len(got) != 3 || got[1] != recs[1] {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range raw {
		bad := bytes.Clone(raw)
		bad[i] ^= 0x10
		_, got, err := readIndex(bytes.NewReader(bad), int64(len(bad)))
		if want := (i - headerSize) / recordSize; i < headerSize && err == nil || i >= headerSize && (err != nil || len(got) != want) {
			t.Fatalf("byte %d flipped: %d records, %v", i, len(got), err)
		}
	}
	for n := range raw {
		_, got, err := readIndex(bytes.NewReader(raw[:n]), int64(n))
		if want := (n - headerSize) / recordSize; n < headerSize && err == nil || n >= headerSize && (err != nil || len(got) != want) {
			t.Fatalf("cut to %d bytes: %d records, %v", n, len(got), err)
		}
	}
}

func FuzzIndex(f *testing.F) {
	h := header{quota: 1 << 20, records: ring{2, 4}, recsFrom: 2, recsTo: 5, lostFrom: 40}
	raw := h.encode()
	for i := range 6 {
		raw = record{int64(i * 10), 1e18, sallyport.Stdout}.append(raw)
	}
	f.Add(raw)
	f.Add(raw[:headerSize+30])
	f.Add([]byte(indexMagic))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, recs, err := readIndex(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		if len(recs) > len(raw)/recordSize {
			t.Fatalf("%d records in %d bytes", len(recs), len(raw))
		}
		for i, r := range recs {
			if r.stream != sallyport.Stdout && r.stream != sallyport.Stderr || r.off < 0 || i > 0 && r.off < recs[i-1].off {
				t.Fatalf("record %d: %+v", i, r)
			}
		}
		if again, err := parseHeader(h.encode()); err != nil || again != h {
			t.Fatalf("header %+v does not survive: %v", h, err)
		}
	})
}

// TestInterval checks the promise that a log that prints for ever keeps within its records for long.
func TestInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quota int64
		least time.Duration
	}{{64 << 20, 14 * 24 * time.Hour}, {minQuota, 3 * time.Hour}} {
		var age time.Duration
		for n := range maxRecords(c.quota) {
			d := interval(n, c.quota)
			if d < 50*time.Millisecond {
				t.Fatalf("interval %v after %d records", d, n)
			}
			age += d
		}
		t.Logf("quota %d MiB: %d records hold %v", c.quota>>20, maxRecords(c.quota), age)
		if age < c.least {
			t.Errorf("quota %d: full after %v", c.quota, age)
		}
	}
}

// TestRecordTimes checks when records are made: at each change of the stream, and else not sooner than 50 ms.
func TestRecordTimes(t *testing.T) {
	bubble(t, func(t *testing.T, l *Log) {
		for range 10 {
			write(t, l, "x")
			pass(20 * time.Millisecond)
		}
		if err := l.Append(sallyport.Stderr, []byte("y")); err != nil {
			t.Fatal(err)
		}
		var got []int64
		for i := range l.b.recs {
			v, err := l.look()
			if err != nil {
				t.Fatal(err)
			}
			r, err := l.recordAt(&v, i)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.off)
		}
		if diff := cmp.Diff([]int64{0, 3, 6, 9, 10}, got); diff != "" {
			t.Error(diff)
		}
	})
}
