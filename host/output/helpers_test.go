package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sallyport-sh/sallyport"
)

// TestMain also is the child of some tests: a program that prints as much as it is told.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "flood" {
		n, _ := strconv.ParseInt(os.Args[2], 10, 64)
		if err := flood(os.Stdout, 0, n); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// flood writes the bytes from…to of a text whose every line is its number in 15 hexadecimal digits: so what belongs at
// an offset is known.
func flood(w io.Writer, from, to int64) error {
	const digits = "0123456789abcdef"
	buf := make([]byte, 0, 256<<10)
	for no := from / 16; no*16 < to; no++ {
		for shift := 56; shift >= 0; shift -= 4 {
			buf = append(buf, digits[no>>shift&15])
		}
		buf = append(buf, '\n')
		if len(buf) == cap(buf) || (no+1)*16 >= to {
			first := (no + 1) * 16
			first -= int64(len(buf))
			part := buf[max(from-first, 0):min(to-first, int64(len(buf)))]
			if _, err := w.Write(part); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return nil
}

// floodCheck compares what is written to it with the flood from off on.
type floodCheck struct{ off int64 }

func (c *floodCheck) Write(p []byte) (int, error) {
	var want bytes.Buffer
	if err := flood(&want, c.off, c.off+int64(len(p))); err != nil {
		return 0, err
	}
	if !bytes.Equal(p, want.Bytes()) {
		return 0, fmt.Errorf("wrong bytes in %d…%d", c.off, c.off+int64(len(p)))
	}
	c.off += int64(len(p))
	return len(p), nil
}

// child starts a command that prints into a pipe, and returns the pipe's read end. Its end is awaited.
func child(tb testing.TB, argv ...string) *os.File {
	tb.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		r.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it says that it was killed, or that nobody read its last words
	})
	return r
}

func flooder(tb testing.TB, n int64) *os.File {
	return child(tb, os.Args[0], "flood", strconv.FormatInt(n, 10))
}

func newStore(tb testing.TB) *Store {
	tb.Helper()
	s, err := OpenStore(tb.TempDir(), 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// ways runs f with a store for each way to bound a log: holes where the middle was, a ring because there can be no
// holes, and a ring because of a flood.
func ways(t *testing.T, f func(t *testing.T, s *Store)) {
	t.Helper()
	for name, way := range map[string]struct {
		disk  disk
		flood int64
	}{"punch": {osDisk{}, 0}, "ring": {ringDisk{}, 0}, "flood": {osDisk{}, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := openStore(t.TempDir(), 3, way.disk)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			s.flood = way.flood
			f(t, s)
		})
	}
}

func create(tb testing.TB, s *Store, id string, quota int64) *Log {
	tb.Helper()
	l, err := s.Create(id, quota)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func remove(t interface{ Error(...any) }, l *Log) {
	if err := l.Remove(); err != nil {
		t.Error(err)
	}
}

func newLog(tb testing.TB) *Log {
	tb.Helper()
	return create(tb, newStore(tb), "log", 0)
}

func write(tb testing.TB, l *Log, texts ...string) {
	tb.Helper()
	for _, text := range texts {
		if err := l.Append(sallyport.Stdout, []byte(text)); err != nil {
			tb.Fatal(err)
		}
	}
}

// readAll reads all that is kept of a stream, and says how much was skipped.
func readAll(tb testing.TB, l *Log, s sallyport.Stream) (data []byte, skipped int64) {
	tb.Helper()
	var from sallyport.Offset
	for {
		c, err := l.Read(sallyport.Range{From: from, Stream: s, Max: 1 << 20})
		if err != nil {
			tb.Fatal(err)
		}
		data, skipped = append(data, c.Data...), skipped+c.Skipped
		if c.EOF || c.Next == from && c.Skipped == 0 {
			return data, skipped
		}
		from = c.Next
	}
}

// page renders lines for comparison: number, text, what was cut, and an asterisk for a match.
func page(p sallyport.LinePage) string {
	var b strings.Builder
	for _, ln := range p.Lines {
		fmt.Fprintf(&b, "%d:%s", ln.No, ln.Text)
		if ln.Cut > 0 {
			fmt.Fprintf(&b, "[-%d]", ln.Cut)
		}
		if ln.Match {
			b.WriteByte('*')
		}
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "next %d of %d", p.Next, p.Total)
	if p.More {
		b.WriteString(", more")
	}
	if p.Matches > 0 {
		fmt.Fprintf(&b, ", %d matches", p.Matches)
	}
	if p.Dropped > 0 {
		fmt.Fprintf(&b, ", %d dropped", p.Dropped)
	}
	return b.String()
}

func wantCode(tb testing.TB, err error, code sallyport.Code) {
	tb.Helper()
	if !errors.Is(err, code) {
		tb.Errorf("error %v, want %s", err, code)
	}
}
