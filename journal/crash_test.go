package journal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// writer appends until it is killed, one chain after the other, and reports each row once Append has returned.
func writer(dir string) {
	for {
		j, err := Open(Options{Dir: dir, Segment: minSegment})
		if err != nil {
			fmt.Println("error:", err)
			return
		}
		var wg sync.WaitGroup
		for w := range 3 {
			wg.Go(func() {
				for i := range 20 {
					id := fmt.Sprintf("r%d-%d", w, i)
					p, err := j.Append(sallyport.Event{Kind: sallyport.EventRun, Request: sallyport.RequestID(id), Data: strings.Repeat(id, i*5)})
					if err == nil && i%2 == 1 { // as runs are; ends are not waited for
						err = j.Sync(context.Background(), p)
					}
					if err != nil {
						fmt.Println("error:", err)
						return
					}
					fmt.Println(j.Chain(), p, id) // one write: lines of goroutines do not mix
				}
			})
		}
		wg.Wait()
		if err := j.Close(); err != nil {
			fmt.Println("error:", err)
		}
	}
}

// TestKilled: SIGKILL at fifty random moments. Every row whose Append had returned is there, and the chains verify.
func TestKilled(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	states, rows := map[State]int{}, 0
	for run := range 50 {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = append(os.Environ(), "JOURNAL_TEST_WRITER="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		var told []string
		for range rand.IntN(run*4 + 1) { // soon after the start, or somewhere later
			l, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, l)
		}
		<-time.After(time.Duration(rand.IntN(1000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(lines)
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		for l := range strings.Lines(string(rest)) {
			told = append(told, l)
		}
		rows += len(told)
		for _, c := range wantTold(t, dir, told).Chains {
			states[c.State]++
		}
	}
	t.Logf("%d rows told; chains by state: %v", rows, states)
	if states[StateClosed] == 0 || states[StateEnded] < 25 || states[StateOpen] > 0 {
		t.Errorf("chains by state: %v", states)
	}
}

// wantTold checks that a directory verifies and holds the rows "chain seq request".
func wantTold(t *testing.T, dir string, told []string) Report {
	t.Helper()
	r := verify(t, dir)
	for _, c := range r.Chains {
		if c.Bad != nil {
			t.Fatalf("chain %s: %v", c.ID, c.Bad)
		}
	}
	found := map[string]bool{}
	if err := Tail(t.Context(), dir, 1<<20, func(chain string, r Row) error {
		found[fmt.Sprintln(chain, r.Seq, r.Request)] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, l := range told {
		if !found[l] {
			t.Fatalf("%q was appended and is not there", l)
		}
	}
	return r
}
