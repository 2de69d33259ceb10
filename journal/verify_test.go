package journal

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// A recorded chain is one to be tampered with: some segments of rows, all of them on disk.
type recorded struct {
	dir, chain string // the journal's directory, and the chain's in it
	rows       int
	files      map[string][]byte // by name in the chain's directory
	ends       map[string]int    // where the rows of a segment end
}

// record makes a chain of some events, ten of which fill a segment, and ends it in order or by a crash.
func record(t testing.TB, closed bool, events int) *recorded {
	t.Helper()
	j := newJournal(t, Options{Segment: minSegment})
	p := add(t, j, events)
	settle(t, j, p)
	if closed {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		p++
	} else {
		crash(t, j)
	}
	c := &recorded{dir: j.o.Dir, chain: j.dir, rows: int(p), files: map[string][]byte{}, ends: map[string]int{}}
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(j.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		c.files[e.Name()] = b
		c.ends[e.Name()] = bytes.LastIndexByte(b, '\n') + 1
	}
	if r := verify(t, c.dir); !r.OK || r.Rows != c.rows {
		t.Fatalf("untouched: %+v, want %d rows", r, c.rows)
	}
	return c
}

// names are the files of the chain in order, HEAD last.
func (c *recorded) names() []string { return slices.Sorted(maps.Keys(c.files)) }

// write puts a file into the chain; nil removes it.
func (c *recorded) write(t rapid.TB, name string, content []byte) {
	t.Helper()
	path := filepath.Join(c.chain, name)
	var err error
	if content == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// wantBad verifies a chain that was changed, and puts the named files back.
func (c *recorded) wantBad(t rapid.TB, what string, names ...string) *BadRow {
	t.Helper()
	r, err := Verify(context.Background(), c.dir)
	if err != nil || r.OK || len(r.Chains) != 1 || r.Chains[0].Bad == nil || r.Chains[0].Bad.Reason == "" {
		t.Fatalf("%s: not found, %v", what, err)
	}
	for _, name := range names {
		c.write(t, name, c.files[name])
	}
	return r.Chains[0].Bad
}

// rowAt is the seq of the row that holds a byte of a segment.
func (c *recorded) rowAt(name string, off int) (segment int, row uint64) {
	for _, n := range c.names() {
		number := segmentNumber(n)
		if number == 0 {
			continue
		}
		if n == name {
			return number, row + uint64(bytes.Count(c.files[n][:off], []byte("\n"))) + 1
		}
		row += uint64(bytes.Count(c.files[n], []byte("\n")))
	}
	return 0, 0
}

// TestEveryFlippedByte: any one byte of any file, in rows, room and HEAD; and the row that is named is the one. Every
// byte of a small chain, some of a larger one and of the room.
func TestEveryFlippedByte(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		closed            bool
		events            int
		rowStep, roomStep int
	}{
		"closed":       {true, 2, 1, 1},
		"ended":        {false, 2, 1, 17},
		"two segments": {false, 13, 7, 17},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := record(t, tt.closed, tt.events)
			r := rand.New(rand.NewPCG(3, 4))
			for _, name := range c.names() {
				for i := 0; i < len(c.files[name]); {
					c.flip(t, name, i, byte(1+r.IntN(255)))
					c.flip(t, name, i, byte(1)<<r.IntN(8))
					if i += testenv.Scale(tt.rowStep, 1); i > c.ends[name] {
						i += testenv.Scale(tt.roomStep, 1) - 1
					}
				}
			}
			if r := verify(t, c.dir); !r.OK {
				t.Errorf("put back: %+v", r.Chains[0].Bad)
			}
		})
	}
}

// flip changes one byte, expects that row to be named, and puts the byte back.
func (c *recorded) flip(t *testing.T, name string, i int, with byte) {
	t.Helper()
	b := c.files[name][i]
	what := fmt.Sprintf("%s byte %d %#x → %#x", name, i, b, b^with)
	poke(t, filepath.Join(c.chain, name), i, b^with)
	bad := c.wantBad(t, what)
	if segment, row := c.rowAt(name, i); segment > 0 && (bad.Segment != segment || bad.Row != row || bad.Offset > int64(i)) {
		t.Fatalf("%s: reported as %v, want row %d", what, bad, row)
	}
	poke(t, filepath.Join(c.chain, name), i, b)
}

// TestCuts: each file cut at many places and round the end of each row. Zeros are no part of the record.
func TestCuts(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"closed": true, "ended": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := record(t, closed, 13)
			for _, name := range c.names() {
				for size := range c.ends[name] {
					nearEnd := bytes.IndexByte(c.files[name][max(0, size-2):size+1], '\n') >= 0
					if size%29 != 0 && !nearEnd {
						continue
					}
					c.write(t, name, c.files[name][:size])
					c.wantBad(t, fmt.Sprintf("%s cut to %d", name, size))
					c.write(t, name, slices.Concat(c.files[name][:size], make([]byte, len(c.files[name])-size)))
					c.wantBad(t, fmt.Sprintf("%s zeros from %d on", name, size))
				}
				c.write(t, name, c.files[name])
			}
		})
	}
}

// TestTampering: what somebody might do on purpose.
func TestTampering(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"closed": true, "ended": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, other := record(t, closed, 22), record(t, closed, 22)
			names := c.names()
			segs := names[:len(names)-1] // HEAD comes last
			last := segs[len(segs)-1]
			for i, a := range names {
				c.write(t, a, nil)
				if bad := c.wantBad(t, a+" deleted", a); i < len(segs)-1 && (bad.Segment != i+1 || bad.Reason != reasonMissing) {
					t.Errorf("%s deleted: %v", a, bad)
				}
				c.write(t, a, []byte{})
				c.wantBad(t, a+" emptied", a)
				c.write(t, a, other.files[a])
				c.wantBad(t, a+" from another chain", a)
				c.write(t, a, slices.Concat(c.files[a], []byte("x")))
				c.wantBad(t, a+" longer", a)
				for _, b := range names[i+1:] {
					c.write(t, a, c.files[b])
					c.write(t, b, c.files[a])
					c.wantBad(t, a+" and "+b+" exchanged", a, b)
				}
			}
			for i, a := range segs {
				next := segmentName(len(segs) + 1)
				c.write(t, next, c.files[a])
				c.wantBad(t, a+" copied to the end", next)
				c.write(t, a+replacement, c.files[a])
				c.write(t, a, nil)
				c.wantBad(t, a+" renamed", a, a+replacement)
				if a != last || closed {
					c.write(t, a, slices.Concat(c.files[a], []byte{0}))
					c.wantBad(t, "a zero after the end of "+a, a)
				}
				if i > 0 {
					c.write(t, segs[i-1], slices.Concat(c.files[segs[i-1]][:c.ends[segs[i-1]]], c.files[a][:c.ends[a]]))
					c.wantBad(t, a+" appended to the one before", segs[i-1])
				}
			}
			c.write(t, "notes.txt", []byte("x"))
			c.wantBad(t, "a file that does not belong", "notes.txt")
			renamed := filepath.Join(c.dir, "20261130T194907.123Z-k3f5x2ab")
			if err := os.Rename(c.chain, renamed); err != nil {
				t.Fatal(err)
			}
			c.wantBad(t, "the chain renamed to another")
			if err := os.Rename(renamed, filepath.Join(c.dir, "backup")); err != nil {
				t.Fatal(err)
			}
			c.wantBad(t, "the chain renamed to something")
		})
	}
}

// TestCutEnd: whole rows, and a whole segment, are missing at the end: HEAD knows.
func TestCutEnd(t *testing.T) {
	t.Parallel()
	c := record(t, false, 13)
	last := c.names()[len(c.files)-2]
	end := bytes.LastIndexByte(c.files[last][:c.ends[last]-1], '\n') + 1
	c.write(t, last, c.files[last][:end])
	bad := c.wantBad(t, "last row cut", last)
	want := BadRow{segmentNumber(last), uint64(c.rows), int64(end), fmt.Sprintf(reasonCut, c.rows)}
	if *bad != want {
		t.Errorf("%+v, want %+v", *bad, want)
	}
	c.write(t, last, nil)
	if bad := c.wantBad(t, "last segment deleted", last); bad.Segment != segmentNumber(last)-1 || !strings.Contains(bad.Reason, "cut off") {
		t.Errorf("%+v", *bad)
	}
}

// TestAfterHead: a power cut may leave HEAD behind, and a torn row. Rows that verify are accepted; a torn one cannot be
// told from a changed one, and is reported as what it may be.
func TestAfterHead(t *testing.T) {
	t.Parallel()
	c := record(t, false, 13)
	last := c.names()[len(c.files)-2]
	rows := c.files[last][:c.ends[last]]
	end := bytes.LastIndexByte(rows[:len(rows)-1], '\n') + 1
	hash := string(rows[bytes.LastIndexByte(rows[:end-1], '\n')+1:][:hashLen])
	c.write(t, headName, mark{uint64(c.rows) - 1, hash}.text())
	wantGood(t, c.dir, ChainReport{Rows: c.rows, State: StateEnded})

	c.write(t, last, rows[:end])
	wantGood(t, c.dir, ChainReport{Rows: c.rows - 1, State: StateEnded}) // as documented: nothing says that there was more
	for cut := end + 1; cut < len(rows); cut += 3 {
		c.write(t, last, slices.Concat(rows[:cut], make([]byte, 100)))
		r := verify(t, c.dir).Chains[0]
		if r.Bad == nil || !strings.HasPrefix(r.Bad.Reason, reasonTorn) || r.Torn != int64(cut-end) || r.State != StateEnded || r.Rows != c.rows-1 {
			t.Fatalf("cut at %d: %+v %v", cut, r, r.Bad)
		}
	}
	for i := end; i < len(rows); i += 3 {
		changed := slices.Clone(c.files[last])
		changed[i] ^= 1
		c.write(t, last, changed)
		r := verify(t, c.dir).Chains[0]
		if r.Bad == nil || !strings.HasPrefix(r.Bad.Reason, reasonTorn) || r.Bad.Row != uint64(c.rows) {
			t.Fatalf("flip at %d: %+v %v", i, r, r.Bad)
		}
	}
}

// TestUnborn: a writer that died before its first row leaves nothing that is bad.
func TestUnborn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	chain := filepath.Join(dir, newID(event(sallyport.EventRun, "").At))
	if err := os.Mkdir(chain, 0o700); err != nil {
		t.Fatal(err)
	}
	wantGood(t, dir, ChainReport{State: StateEnded})
	for _, step := range []struct {
		name    string
		content []byte
	}{{headName, nil}, {headName, mark{0, genesis}.text()}, {segmentName(1), nil}, {segmentName(1), make([]byte, 100)}} {
		if err := os.WriteFile(filepath.Join(chain, step.name), step.content, 0o600); err != nil {
			t.Fatal(err)
		}
		wantGood(t, dir, ChainReport{State: StateEnded})
	}
	if err := os.Rename(chain, filepath.Join(dir, "old")); err != nil {
		t.Fatal(err)
	}
	if b := bad(verify(t, dir)); b == nil || b.Reason != reasonName {
		t.Errorf("a directory that is no chain: %v", b)
	}
}

// TestForged: rows whose hashes are right but that no writer would write.
func TestForged(t *testing.T) {
	t.Parallel()
	id := newID(event(sallyport.EventRun, "").At)
	dir := filepath.Join(t.TempDir(), "journal")
	chain := filepath.Join(dir, id)
	if err := os.MkdirAll(chain, 0o700); err != nil {
		t.Fatal(err)
	}
	head := func(segment int) string {
		return fmt.Sprintf(`"data":{"format":1,"chain":%q,"segment":%d,"previous":%q}}`, id, segment, genesis)
	}
	open := `{"kind":"open","at":"2026-11-30T19:49:07Z",` + head(1)
	for name, tt := range map[string]struct {
		seqs []uint64
		rows []string
		want error
	}{
		"good":            {[]uint64{1, 2}, []string{open, `{"kind":"run"}`}, nil},
		"no open row":     {[]uint64{1}, []string{`{"kind":"run"}`}, errKind},
		"link first":      {[]uint64{1}, []string{`{"kind":"link",` + head(1)}, errKind},
		"another segment": {[]uint64{1}, []string{`{"kind":"open",` + head(2)}, errHeader},
		"another chain":   {[]uint64{1}, []string{strings.Replace(open, id, "x"+id[1:], 1)}, errHeader},
		"another format":  {[]uint64{1}, []string{strings.Replace(open, `"format":1`, `"format":2`, 1)}, errHeader},
		"gap":             {[]uint64{1, 3}, []string{open, `{"kind":"run"}`}, errSeq},
		"same number":     {[]uint64{1, 1}, []string{open, `{"kind":"run"}`}, errSeq},
		"from 0":          {[]uint64{0}, []string{open}, errSeq},
		"second open":     {[]uint64{1, 2}, []string{open, open}, errKind},
		"link inside":     {[]uint64{1, 2}, []string{open, `{"kind":"link"}`}, errKind},
		"after close":     {[]uint64{1, 2, 3}, []string{open, `{"kind":"close"}`, `{"kind":"run"}`}, errAfter},
		"no JSON":         {[]uint64{1, 2}, []string{open, `{"kind":`}, errJSON},
		"another type":    {[]uint64{1, 2}, []string{open, `{"kind":7}`}, errJSON},
	} {
		var rows, row []byte
		last := genesis
		for i, body := range tt.rows {
			row, last = line(last, tt.seqs[i], []byte(body))
			rows = append(rows, row...)
		}
		for file, b := range map[string][]byte{segmentName(1): rows, headName: mark{uint64(len(tt.seqs)), last}.text()} {
			if err := os.WriteFile(filepath.Join(chain, file), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b := bad(verify(t, dir))
		if (b == nil) != (tt.want == nil) || b != nil && (b.Reason != tt.want.Error() || b.Row != uint64(len(tt.seqs))) {
			t.Errorf("%s: %v, want %v", name, b, tt.want)
		}
	}
}

// bad is the first bad row of a report.
func bad(r Report) *BadRow {
	for _, c := range r.Chains {
		if c.Bad != nil {
			return c.Bad
		}
	}
	return nil
}

// mutate changes one file of a chain in a random way and says how.
func mutate(t *rapid.T, files map[string][]byte, names []string) string {
	name := rapid.SampledFrom(names).Draw(t, "file")
	b := files[name]
	rows := b[:bytes.LastIndexByte(b, '\n')+1]
	lines := bytes.SplitAfter(rows, []byte("\n"))
	lines = lines[:len(lines)-1] // what follows the last "\n"
	if len(lines) == 0 {
		return ""
	}
	at := rapid.IntRange(0, len(rows)-1).Draw(t, "at")
	to := min(at+rapid.IntRange(1, 700).Draw(t, "bytes"), len(rows))
	i := rapid.IntRange(0, len(lines)-1).Draw(t, "row")
	k := rapid.IntRange(0, len(lines)-1).Draw(t, "other row")
	kinds := []string{"cut out", "insert", "overwrite", "swap bytes", "swap rows", "drop row", "double row", "swap files", "end"}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	switch kind {
	case "cut out":
		b = slices.Concat(b[:at], b[to:])
	case "insert":
		b = slices.Concat(b[:at], rapid.SliceOfN(rapid.Byte(), 1, 10).Draw(t, "inserted"), b[at:])
	case "overwrite":
		b = slices.Concat(b[:at], bytes.Repeat([]byte{rapid.Byte().Draw(t, "with")}, to-at), b[to:])
	case "swap bytes":
		b = slices.Clone(b)
		b[at], b[to-1] = b[to-1], b[at]
	case "swap rows":
		lines[i], lines[k] = lines[k], lines[i]
		b = slices.Concat(slices.Concat(lines...), b[len(rows):])
	case "drop row":
		b = slices.Concat(slices.Concat(slices.Delete(lines, i, i+1)...), b[len(rows):])
	case "double row":
		b = slices.Concat(slices.Concat(slices.Insert(lines, k, lines[i])...), b[len(rows):])
	case "swap files":
		other := rapid.SampledFrom(names).Draw(t, "other file")
		b, files[other] = files[other], b
	case "end":
		b = slices.Clone(b[:at])
	}
	files[name] = b
	return fmt.Sprintf("%s %s at %d…%d, row %d %d", kind, name, at, to, i, k)
}

// TestMutations: random changes of all kinds, one to three at once.
func TestMutations(t *testing.T) {
	t.Parallel()
	chains := map[bool]*recorded{true: record(t, true, 22), false: record(t, false, 22)}
	rapid.Check(t, func(rt *rapid.T) {
		c := chains[rapid.Bool().Draw(rt, "closed")]
		files := maps.Clone(c.files)
		var what []string
		for range rapid.IntRange(1, 3).Draw(rt, "changes") {
			what = append(what, mutate(rt, files, c.names()))
		}
		if maps.EqualFunc(files, c.files, bytes.Equal) {
			return
		}
		for name, b := range files {
			c.write(t, name, append([]byte{}, b...)) // never nil
		}
		c.wantBad(rt, strings.Join(what, "; "), c.names()...)
	})
}

// FuzzVerify replaces bytes of one file of a closed chain: whatever is different is found.
func FuzzVerify(f *testing.F) {
	c := record(f, true, 13)
	names := c.names()
	f.Add(uint8(0), uint16(10), uint16(1), []byte("x"))
	f.Add(uint8(1), uint16(0), uint16(400), []byte{})
	f.Add(uint8(2), uint16(38), uint16(0), []byte("\n"))
	f.Add(uint8(0), uint16(4000), uint16(0), []byte{0})
	f.Fuzz(func(t *testing.T, file uint8, at, cut uint16, put []byte) {
		name := names[int(file)%len(names)]
		b := c.files[name]
		from := min(int(at), len(b))
		to := min(from+int(cut), len(b))
		changed := slices.Concat(b[:from], put, b[to:])
		if bytes.Equal(changed, b) {
			return
		}
		c.write(t, name, append([]byte{}, changed...))
		c.wantBad(t, fmt.Sprintf("%s: %d…%d replaced by %q", name, from, to, put), name)
	})
}
