package journal

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sallyport-sh/sallyport"
)

// TestMain is also the writer that the crash test kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv("JOURNAL_TEST_WRITER"); dir != "" {
		writer(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// newJournal opens a journal that the test closes.
func newJournal(t testing.TB, o Options) *Journal {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "state", "journal")
	}
	o.Version = "test"
	j, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil && !t.Failed() {
			t.Logf("close: %v", err)
		}
	})
	return j
}

// event is one of some size.
func event(kind sallyport.EventKind, text string) sallyport.Event {
	return sallyport.Event{
		Kind: kind, At: time.Date(2026, 11, 30, 19, 49, 7, 5e8, time.UTC),
		Request: "r1", Session: "amber-atlas",
		Caller: &sallyport.Caller{Kind: sallyport.Agent, Role: sallyport.Admin, Scope: "test@/srv", UID: 1000, Surface: "mcp"},
		Data:   map[string]any{"command": text, "argv": []string{"sh", "-c", text}},
	}
}

// add appends n runs and returns the last position.
func add(t testing.TB, j *Journal, n int) (p sallyport.Position) {
	t.Helper()
	var err error
	for range n {
		if p, err = j.Append(event(sallyport.EventRun, "make test && echo <done> | tee log")); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// settle waits for the disk.
func settle(t testing.TB, j *Journal, p sallyport.Position) {
	t.Helper()
	if err := j.Sync(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// crash ends a journal as SIGKILL does: nothing more is written, the lock is let go.
func crash(t testing.TB, j *Journal) {
	t.Helper()
	j.closing.Do(func() {
		close(j.stop)
		<-j.done
		j.write.Lock()
		defer j.write.Unlock()
		j.closed = true
		if err := j.closeFiles(); err != nil {
			t.Error(err)
		}
	})
}

// verify verifies a directory.
func verify(t testing.TB, dir string) Report {
	t.Helper()
	r, err := Verify(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantGood checks that a directory verifies, with chains of these rows and states.
func wantGood(t testing.TB, dir string, want ...ChainReport) {
	t.Helper()
	r := verify(t, dir)
	var got []ChainReport
	for _, c := range r.Chains {
		if c.Bad != nil {
			t.Fatalf("chain %s: %v", c.ID, c.Bad)
		}
		got = append(got, ChainReport{Rows: c.Rows, State: c.State})
	}
	if diff := cmp.Diff(want, got); diff != "" || !r.OK {
		t.Fatalf("ok %v, chains (-want +got):\n%s", r.OK, diff)
	}
}

// edit changes a file.
func edit(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

// poke changes one byte of a file.
func poke(t testing.TB, path string, off int, b byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{b}, int64(off)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
