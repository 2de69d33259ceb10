package output

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/sallyport-sh/sallyport"
)

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, id := range []string{"", ".", "..", ".x", "a/b", "../x", `a\b`, "a b", "a\x00", "é", strings.Repeat("x", 129)} {
		_, err := s.Create(id, 0)
		wantCode(t, err, sallyport.Invalid)
	}
	l := create(t, s, "x", 0)
	for _, id := range []string{"x", "X"} {
		_, err := s.Create(id, 0)
		wantCode(t, err, sallyport.Conflict)
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	create(t, s, "x", 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Create("y", 0)
	wantCode(t, err, sallyport.Closed)
}

// TestLeftovers has files of a dead process in the way: they are replaced, never followed and never written through.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(s.dir, "log.log")); err != nil {
		t.Fatal(err)
	}
	l := create(t, s, "log", 0)
	write(t, l, "x")
	if got, err := os.ReadFile(victim); err != nil || string(got) != "precious" {
		t.Errorf("%q, %v", got, err)
	}
	if got, _ := readAll(t, l, sallyport.AnyStream); string(got) != "x" {
		t.Errorf("%q", got)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	l := create(t, s, "log", 0)
	write(t, l, "text\n")
	for range 2 {
		if err := l.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := os.ReadDir(s.dir); err != nil || len(names) != 0 {
		t.Errorf("%d files left, %v", len(names), err)
	}
	_, err := l.Read(sallyport.Range{})
	wantCode(t, err, sallyport.NotFound)
	_, err = l.Lines(sallyport.LineQuery{})
	wantCode(t, err, sallyport.NotFound)
	_, _, err = l.Wait(t.Context(), nil, sallyport.Wake{})
	wantCode(t, err, sallyport.NotFound)
	wantCode(t, l.Append(sallyport.Stdout, []byte("x")), sallyport.NotFound)
	if l.Disk() != 0 || l.Stat().End != 5 {
		t.Errorf("disk %d, %+v", l.Disk(), l.Stat())
	}
	l.Seal()
}

func TestSeal(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	write(t, l, "x")
	if c, err := l.Read(sallyport.Range{}); err != nil || c.EOF {
		t.Errorf("%+v, %v", c, err)
	}
	l.Seal()
	l.Seal()
	if c, err := l.Read(sallyport.Range{}); err != nil || !c.EOF || string(c.Data) != "x" {
		t.Errorf("%+v, %v", c, err)
	}
	wantCode(t, l.Append(sallyport.Stdout, []byte("y")), sallyport.Conflict)
	wantCode(t, newLog(t).Append(sallyport.AnyStream, []byte("y")), sallyport.Invalid)
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	for _, r := range []sallyport.Range{{From: -1}, {Max: -1}, {Stream: 3}} {
		_, err := l.Read(r)
		wantCode(t, err, sallyport.Invalid)
	}
}

// TestIdleLogIsSmall keeps the price of a session that prints nothing, and of one that has printed and is quiet.
func TestIdleLogIsSmall(t *testing.T) {
	s := newStore(t)
	t.Logf("a log is %d bytes, its body %d more", unsafe.Sizeof(Log{}), unsafe.Sizeof(body{}))
	const n = 10_000
	logs, names := make([]*Log, n), make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("log-%d", i)
	}
	before := heap()
	for i := range logs {
		logs[i] = create(t, s, names[i], 0)
	}
	per := (heap() - before) / n
	t.Logf("an idle log takes %d bytes of heap", per)
	if per > 300 && !raceEnabled {
		t.Errorf("an idle log takes %d bytes", per)
	}
	runtime.KeepAlive(logs)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
