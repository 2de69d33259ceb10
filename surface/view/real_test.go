package view

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/output"
)

// A spool is the log that sessions really have, as an output that has ended.
type spool struct{ log *output.Log }

func (s spool) Status(context.Context) (sallyport.Status, error) {
	return sallyport.Status{State: sallyport.Ended, Output: s.log.Stat()}, nil
}

func (s spool) Read(_ context.Context, r sallyport.Range) (sallyport.Chunk, error) {
	return s.log.Read(r)
}

func (s spool) Lines(_ context.Context, q sallyport.LineQuery) (sallyport.LinePage, error) {
	return s.log.Lines(q)
}

func (s spool) Wait(ctx context.Context, _ sallyport.Wake) (sallyport.Woke, error) {
	st, err := s.Status(ctx)
	return sallyport.Woke{By: sallyport.WokeEnd, Status: st}, err
}

func newSpool(t testing.TB, quota int64) spool {
	t.Helper()
	store, err := output.OpenStore(t.TempDir(), 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	log, err := store.Create("amber-atlas", quota)
	if err != nil {
		t.Fatal(err)
	}
	return spool{log}
}

// The arithmetic holds on the real log, whole and with a middle that the quota took, merged and by stream.
func TestRenderSpool(t *testing.T) {
	t.Parallel()
	for _, quota := range []int64{64 << 20, 1 << 20} {
		s := newSpool(t, quota)
		var all, errs strings.Builder
		for i := range 60_000 {
			line := fmt.Sprintf("line %d of the output, with some more text in it so that it is long enough\n", i)
			stream := sallyport.Stdout
			if i%3 == 0 {
				stream = sallyport.Stderr
				errs.WriteString(line)
			}
			all.WriteString(line)
			if err := s.log.Append(stream, []byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		s.log.Seal()
		for _, budget := range []int{1000, 16_000, 200_000} {
			v, err := Render(t.Context(), s, Options{MaxChars: budget})
			if err != nil {
				t.Fatal(err)
			}
			stat := s.log.Stat()
			if v.Total() != int64(all.Len()) || v.Dropped != stat.Dropped || (quota > 4<<20) != (v.Dropped == 0) {
				t.Errorf("quota %d: shown %d, omitted %d, dropped %d of %d; the log dropped %d", quota, v.Shown, v.Omitted, v.Dropped, all.Len(), stat.Dropped)
			}
			head, tail, _ := strings.Cut(v.Text, "[…")
			_, tail, _ = strings.Cut(tail, "…]")
			tail = strings.TrimPrefix(tail, "\n")
			if !strings.HasPrefix(all.String(), head) || !strings.HasSuffix(all.String(), tail) || len(head)+len(tail) < budget*9/10 {
				t.Errorf("quota %d, budget %d: %d and %d bytes", quota, budget, len(head), len(tail))
			}
			if shown := int64(strings.Count(head, "\n") + strings.Count(tail, "\n")); v.Dropped == 0 && v.OmittedLines != 60_000-shown {
				t.Errorf("budget %d: %d lines are left out, %d shown", budget, v.OmittedLines, shown)
			}
		}
		v, err := Render(t.Context(), s, Options{Stream: sallyport.Stderr})
		if err != nil {
			t.Fatal(err)
		}
		if quota > 4<<20 && v.Total() != int64(errs.Len()) {
			t.Errorf("stderr: %d bytes of %d", v.Total(), errs.Len())
		}
		if strings.Contains(v.Text, "line 1 ") || !strings.HasPrefix(v.Text, "line 0 ") || !strings.HasSuffix(v.Text, "line 59997 of the output, with some more text in it so that it is long enough\n") {
			t.Errorf("stderr is %.100q", v.Text)
		}
	}
}

// What a view of the real log costs: of little output, and of 50 MB.
func BenchmarkRenderSpool(b *testing.B) {
	for name, size := range map[string]int{"small": 25, "50MB": 50_000_000} {
		b.Run(name, func(b *testing.B) {
			s := newSpool(b, 64<<20)
			line := []byte("the quick brown fox jumps over the lazy dog\n")
			for n := 0; n < size; n += len(line) {
				if err := s.log.Append(sallyport.Stdout, line[:min(len(line), size-n)]); err != nil {
					b.Fatal(err)
				}
			}
			s.log.Seal()
			for b.Loop() {
				if _, err := Render(b.Context(), s, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
