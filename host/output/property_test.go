package output

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sallyport-sh/sallyport"
)

// ringDisk is a disk whose files can't be punched, as on most systems but Linux.
type ringDisk struct{ osDisk }

func (d ringDisk) open(path string, create bool) (file, error) {
	f, err := d.osDisk.open(path, create)
	if err != nil {
		return nil, err
	}
	return ringFile{f}, nil
}

type ringFile struct{ file }

func (ringFile) punch(int64, int64) error { return errors.ErrUnsupported }

// genText draws output: mostly short lines, some empty, some that never end.
func genText(t *rapid.T) []byte {
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return bytes.Repeat([]byte("x"), rapid.IntRange(1, 3000).Draw(t, "n"))
	case 1:
		return bytes.Repeat([]byte("\n"), rapid.IntRange(1, 40).Draw(t, "n"))
	case 2:
		return bytes.Repeat([]byte("ab\n"), rapid.IntRange(1, 900).Draw(t, "n"))
	default:
		return []byte(rapid.StringMatching(`([a-c]{0,6}\r?\n?){1,8}`).Draw(t, "text"))
	}
}

var genStream = rapid.SampledFrom([]sallyport.Stream{sallyport.Stdout, sallyport.Stderr})

var genSelect = rapid.SampledFrom([]sallyport.Stream{sallyport.AnyStream, sallyport.Stdout, sallyport.Stderr})

// trial is one log beside its model.
type trial struct {
	t   *rapid.T
	log *Log
	m   model
}

func (tr *trial) append(s sallyport.Stream, p []byte) {
	if err := tr.log.Append(s, p); err != nil {
		tr.t.Fatalf("append: %v", err)
	}
	tr.m.append(s, p)
	tr.stat()
}

// stat checks the counts and takes over from the log which bytes it keeps.
func (tr *trial) stat() {
	st := tr.log.Stat()
	if int64(st.End) != tr.m.end() {
		tr.t.Fatalf("end %d, want %d", st.End, tr.m.end())
	}
	var gaps [][2]int64
	var recs int64
	tr.log.mu.Lock()
	if b := tr.log.b; b != nil {
		recs = b.recs - (b.recsTo - b.recsFrom)
		for _, g := range []*gap{b.gap, b.lost} {
			if g.size() > 0 {
				gaps = append(gaps, [2]int64{g.from.off, g.to.off})
			}
		}
	}
	tr.log.mu.Unlock()
	var sum int64
	for _, g := range gaps {
		sum += g[1] - g[0]
	}
	if st.Dropped != sum || sum > 0 && int64(st.DropFrom) != gaps[0][0] {
		tr.t.Fatalf("stat %+v, gaps %v", st, gaps)
	}
	quota, kept := tr.log.quota, tr.m.end()-sum
	if kept+recs*recordSize > quota || recs > maxRecords(quota) {
		tr.t.Fatalf("%d bytes and %d records kept: more than the quota of %d", kept, recs, quota)
	}
	if sum > 0 && st.Incomplete == "" && kept < quota/2 && recs < maxRecords(quota)/2 {
		tr.t.Fatalf("%d bytes and %d records kept: little for a quota of %d", kept, recs, quota)
	}
	tr.m.gaps = gaps
}

func (tr *trial) read() {
	r := sallyport.Range{
		From:   sallyport.Offset(rapid.Int64Range(0, tr.m.end()+2).Draw(tr.t, "from")),
		Max:    rapid.SampledFrom([]int{0, 1, 7, 1000, 100_000}).Draw(tr.t, "max"),
		Stream: genSelect.Draw(tr.t, "stream"),
	}
	got, err := tr.log.Read(r)
	if err != nil {
		tr.t.Fatalf("read %+v: %v", r, err)
	}
	want := tr.m.read(r)
	// A filtered read may stop sooner or later among the other stream's bytes.
	if r.Stream != sallyport.AnyStream && got.Next > want.Next {
		for off := want.Next; off < got.Next; off++ {
			if !tr.m.kept(int64(off)) || tr.m.streams[off] == r.Stream {
				tr.t.Fatalf("read %+v passed over byte %d", r, off)
			}
		}
		want.Next, want.EOF = got.Next, got.EOF
	}
	if len(got.Data) == 0 {
		got.Data = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tr.t.Fatalf("read %+v (-want +got):\n%s", r, diff)
	}
}

func (tr *trial) lines() {
	t := tr.t
	total := tr.m.total()
	q := sallyport.LineQuery{
		From:    rapid.Int64Range(-total-2, total+2).Draw(t, "from"),
		Limit:   rapid.SampledFrom([]int{1, 3, 200, 5000}).Draw(t, "limit"),
		MaxByte: rapid.SampledFrom([]int{1, 5, 100, 1 << 20}).Draw(t, "maxByte"),
		Stream:  genSelect.Draw(t, "stream"),
	}
	if rapid.Bool().Draw(t, "grep") {
		q.Grep = rapid.SampledFrom([]string{"a", "^b", "c$", "x+", "^$", "ab|ca", "(?i)B", "a.c"}).Draw(t, "pattern")
		q.Context = rapid.SampledFrom([]int{0, 1, 3, 50}).Draw(t, "context")
	}
	got, err := tr.log.Lines(q)
	if err != nil {
		t.Fatalf("lines %+v: %v", q, err)
	}
	for i := range got.Lines {
		if len(got.Lines[i].Text) == 0 {
			got.Lines[i].Text = nil
		}
	}
	if diff := cmp.Diff(tr.m.lines(q), got); diff != "" {
		t.Fatalf("lines %+v, gaps %v (-want +got):\n%s", q, tr.m.gaps, diff)
	}
}

// all pages through the whole log: what is shown, cut and dropped is what was written.
func (tr *trial) all() {
	q := sallyport.LineQuery{Limit: rapid.IntRange(1, 50).Draw(tr.t, "limit"), MaxByte: 1 << 20}
	var shown, dropped, bytes int64
	for {
		p, err := tr.log.Lines(q)
		if err != nil {
			tr.t.Fatal(err)
		}
		for _, ln := range p.Lines {
			bytes += int64(len(ln.Text)) + ln.Cut
		}
		shown, dropped = shown+int64(len(p.Lines)), p.Dropped
		if !p.More {
			if shown+dropped != p.Total {
				tr.t.Fatalf("%d lines shown, %d dropped of %d", shown, dropped, p.Total)
			}
			break
		}
		q.From = p.Next
	}
	if tr.log.Stat().Dropped == 0 && bytes+int64(countByte(tr.m.data, '\n')) != tr.m.end() {
		tr.t.Fatalf("%d bytes in lines of %d", bytes, tr.m.end())
	}
}

func countByte(p []byte, c byte) int { return bytes.Count(p, []byte{c}) }

// TestLogAgainstModel drives a log and the model with the same random output and compares all that can be asked.
func TestLogAgainstModel(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, s *Store) {
		flood := s.flood
		rapid.Check(t, func(t *rapid.T) {
			s.flood = flood
			quota := rapid.SampledFrom([]int64{4 << 10, 16 << 10, 64 << 10}).Draw(t, "quota")
			l, err := s.create("log", quota)
			if err != nil {
				t.Fatal(err)
			}
			defer remove(t, l)
			tr := &trial{t: t, log: l}
			t.Repeat(map[string]func(*rapid.T){
				"append": func(t *rapid.T) {
					if !tr.m.sealed {
						tr.append(genStream.Draw(t, "stream"), genText(t))
					}
				},
				"stdout": func(t *rapid.T) {
					if !tr.m.sealed {
						tr.append(sallyport.Stdout, genText(t))
					}
				},
				"alternate": func(t *rapid.T) {
					if !tr.m.sealed {
						for range rapid.IntRange(1, 60).Draw(t, "n") {
							tr.append(sallyport.Stdout, []byte("o\n"))
							tr.append(sallyport.Stderr, []byte("e"))
						}
					}
				},
				"read":  func(*rapid.T) { tr.read() },
				"lines": func(*rapid.T) { tr.lines() },
				"all":   func(*rapid.T) { tr.all() },
				"flood": func(t *rapid.T) { // a log that was punched becomes a ring
					if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
						s.flood = 1
					}
				},
				"seal": func(t *rapid.T) {
					if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
						tr.log.Seal()
						tr.m.sealed = true
					}
				},
			})
			tr.index(s.dir)
		})
	})
}

// index reads the index file as another process would and compares it with what was written.
func (tr *trial) index(dir string) {
	raw, err := os.ReadFile(filepath.Join(dir, "log.idx"))
	if os.IsNotExist(err) {
		for _, s := range tr.m.streams {
			if s != sallyport.Stdout {
				tr.t.Fatal("no index, but not all is standard output")
			}
		}
		return
	}
	h, recs, err := readIndex(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		tr.t.Fatal(err)
	}
	if h.gap.size() > 0 && (h.gap.from.off != tr.m.gaps[0][0] || h.gap.to.off != tr.m.gaps[0][1]) {
		tr.t.Fatalf("header says gap %d…%d, log %v", h.gap.from.off, h.gap.to.off, tr.m.gaps)
	}
	if end := tr.m.end(); h.spool.size > 0 && (h.moveFrom > end || h.moveFrom+h.moveLen < end) {
		tr.t.Fatalf("header says that the log ends in %d…+%d, it ends at %d", h.moveFrom, h.moveLen, end)
	}
	spool, err := os.ReadFile(filepath.Join(dir, "log.log"))
	if err != nil {
		tr.t.Fatal(err)
	}
	for off, i := int64(0), 0; off < tr.m.end(); off++ {
		for i+1 < len(recs) && recs[i+1].off <= off {
			i++
		}
		if !tr.m.kept(off) {
			continue
		}
		pos, _ := h.spool.at(off)
		if spool[pos] != tr.m.data[off] || recs[i].stream != tr.m.streams[off] {
			tr.t.Fatalf("byte %d: found %q of stream %d, want %q of %d", off, spool[pos], recs[i].stream, tr.m.data[off], tr.m.streams[off])
		}
	}
}
