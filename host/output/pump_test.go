//go:build unix

package output

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

func TestPumpSeq(t *testing.T) {
	t.Parallel()
	want, err := exec.Command("seq", "200000").Output()
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(t)
	if err := l.Pump(child(t, "seq", "200000"), sallyport.Stdout); err != nil {
		t.Fatal(err)
	}
	l.Seal()
	if got, _ := readAll(t, l, sallyport.AnyStream); !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, want the %d of seq", len(got), len(want))
	}
	p, err := l.Lines(sallyport.LineQuery{From: -1})
	if err != nil {
		t.Fatal(err)
	}
	if got := page(p); got != "199999:200000 next 200000 of 200000" {
		t.Error(got)
	}
}

// TestPumpTwoStreams has both streams of one child pumped at once: each is complete and in order, and the log as
// written is a merge of the two.
func TestPumpTwoStreams(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	pumpBoth(t, l, exec.Command("sh", "-c", `i=0; while [ $i -lt 3000 ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done`))
	for s, word := range map[sallyport.Stream]string{sallyport.Stdout: "out", sallyport.Stderr: "err"} {
		data, _ := readAll(t, l, s)
		lines := strings.Fields(string(data))
		if len(lines) != 6000 || lines[5998] != word || lines[5999] != "2999" || strings.Count(string(data), word) != 3000 {
			t.Errorf("stream %d: %d words", s, len(lines))
		}
		p, err := l.Lines(sallyport.LineQuery{From: -2, Stream: s})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Lines) != 2 || string(p.Lines[1].Text) != word+" 2999" || p.Total != 6000 {
			t.Errorf("stream %d: %s", s, page(p))
		}
	}
	all, _ := readAll(t, l, sallyport.AnyStream)
	if want := len("out 0\nerr 0\n")*10 + len("out 10\nerr 10\n")*90 + len("out 100\nerr 100\n")*900 + len("out 1000\nerr 1000\n")*2000; len(all) != want {
		t.Errorf("%d bytes, want %d", len(all), want)
	}
}

func pumpBoth(t *testing.T, l *Log, cmd *exec.Cmd) {
	t.Helper()
	var pumps sync.WaitGroup
	var ends []*os.File
	for _, s := range []sallyport.Stream{sallyport.Stdout, sallyport.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		ends = append(ends, w)
		pumps.Go(func() {
			if err := l.Pump(r, s); err != nil {
				t.Error(err)
			}
		})
	}
	cmd.Stdout, cmd.Stderr = ends[0], ends[1]
	err := cmd.Start()
	ends[0].Close()
	ends[1].Close()
	pumps.Wait()
	l.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestPumpEndsWithLastHolder shows that a pipe ends when its last holder is gone, not when the first writer is.
func TestPumpEndsWithLastHolder(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done := make(chan error, 1)
	go func() { done <- l.Pump(r, sallyport.Stdout) }()
	cmd := exec.Command("sh", "-c", "echo one")
	cmd.Stdout = w
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 10*time.Second, func() bool { return l.Stat().End == 4 }, "the first line is there")
	select {
	case err := <-done:
		t.Fatalf("the pump ended (%v) while the pipe was held", err)
	default:
	}
	if _, err := w.WriteString("two\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	l.Seal()
	if got, _ := readAll(t, l, sallyport.AnyStream); string(got) != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
}

// TestPumpStops checks both ways to end a pump whose pipe goes on: at rest, and in the middle of a flood.
func TestPumpStops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop func(*os.File)
		want error
	}{
		"deadline": {func(r *os.File) { _ = r.SetReadDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		"close":    {func(r *os.File) { _ = r.Close() }, os.ErrClosed},
	} {
		for _, then := range []string{"sleep 30", "timeout 30 yes"} {
			t.Run(name+"/"+then, func(t *testing.T) {
				t.Parallel()
				l := create(t, newStore(t), "log", 1<<20)
				r := child(t, "sh", "-c", "echo begin; exec "+then)
				done := make(chan error, 1)
				go func() { done <- l.Pump(r, sallyport.Stdout) }()
				testenv.Eventually(t, 10*time.Second, func() bool { return l.Stat().End > 0 }, "output is there")
				c.stop(r)
				if err := <-done; !errors.Is(err, c.want) {
					t.Errorf("pump ended with %v, want %v", err, c.want)
				}
			})
		}
	}
}

// TestPumpBlockingPipe pumps a pipe that is not in the poller, and a file, which can't be spliced.
func TestPumpBlockingPipe(t *testing.T) {
	t.Parallel()
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	defer r.Close()
	go func() {
		_ = flood(w, 0, 1<<20)
		w.Close()
	}()
	l := newLog(t)
	if err := l.Pump(r, sallyport.Stdout); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := l.Pump(f, sallyport.Stderr); err != nil {
		t.Fatal(err)
	}
	l.Seal()
	out, _ := readAll(t, l, sallyport.Stdout)
	if _, err := new(floodCheck).Write(out); err != nil || len(out) != 1<<20 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if st := l.Stat(); int64(st.End) != 1<<20+fi.Size() {
		t.Errorf("end %d", st.End)
	}
}

// copyDisk is a disk that can't be spliced to.
type copyDisk struct{ osDisk }

type copyFile struct{ file }

func (copyFile) splice(int, int64, int) (int, error) { return 0, errors.ErrUnsupported }

func (d copyDisk) open(path string, create bool) (file, error) {
	f, err := d.osDisk.open(path, create)
	return copyFile{f}, err
}

func TestPumpCopies(t *testing.T) {
	t.Parallel()
	s, err := openStore(t.TempDir(), 0, copyDisk{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := create(t, s, "log", 0)
	if err := l.Pump(flooder(t, 8<<20), sallyport.Stdout); err != nil {
		t.Fatal(err)
	}
	l.Seal()
	got, _ := readAll(t, l, sallyport.AnyStream)
	if _, err := new(floodCheck).Write(got); err != nil || len(got) != 8<<20 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestPumpRefuses(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, l.Pump(r, sallyport.AnyStream), sallyport.Invalid)
	l.Seal()
	wantCode(t, l.Pump(r, sallyport.Stdout), sallyport.Conflict)
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, l.Pump(r, sallyport.Stdout), sallyport.NotFound)
}
