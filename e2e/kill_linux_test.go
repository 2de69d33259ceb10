package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/host/proc/proctest"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestCompleteKill is promise 6 as a client sees it: twelve styles of escape, on each rung of the kill ladder, as root
// and as another user. Nothing is left of what was killed, and two other sessions live on.
func TestCompleteKill(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"perl", "setsid", "unshare"} {
		testenv.NeedProgram(t, program)
	}
	for _, rung := range []string{"mark", "cgroup"} {
		for _, nobody := range []bool{false, true} {
			user := map[bool]string{false: "root", true: "nobody"}[nobody]
			t.Run(rung+" as "+user, func(t *testing.T) {
				o := harness.Options{Config: "exec.grace_ms = 100\n", Env: []string{"SALLYPORT_KILL=" + rung}, Nobody: nobody}
				if rung == "cgroup" {
					o.Cgroup = testenv.Cgroup(t, map[bool]int{true: testenv.Nobody}[nobody])
				}
				escape(t, harness.Start(t, o), rung)
			})
		}
	}
}

// escape runs every style a number of times, sixteen at once, and kills them.
func escape(t *testing.T, s *harness.Server, rung string) {
	innocent := fmt.Sprintf("1%06d.25", rand.IntN(1_000_000))
	for range 2 {
		r := s.Background("sleep " + innocent + " & sleep " + innocent)
		if own := cgroup(t, r.PID) != cgroup(t, s.Gateway()); own != (rung == "cgroup") {
			t.Fatalf("the rung %s is not in use: command in %s, gateway in %s", rung, cgroup(t, r.PID), cgroup(t, s.Gateway()))
		}
	}
	styles := proctest.Styles()
	runs := len(styles) * testenv.Scale(20, 100)
	const batch = 16
	for first := 0; first < runs; first += batch {
		prefix := fmt.Sprintf("%06d", rand.IntN(1_000_000)) // found in the arguments of every process of the batch
		var sessions []harness.Result
		for i := first; i < min(first+batch, runs); i++ {
			sessions = append(sessions, s.Background(styles[i%len(styles)].Command(fmt.Sprintf("%s%06d", prefix, i))))
		}
		testenv.Eventually(t, 20*time.Second, func() bool { return len(testenv.ProcessesWith(prefix)) > 2*len(sessions) }, "the styles are under way")
		var wg sync.WaitGroup
		for _, b := range sessions {
			wg.Go(func() { s.Process("kill", b.SessionID) })
		}
		wg.Wait()
		for range 5 { // what never stands still is easily overlooked once
			if left := testenv.ProcessesWith(prefix); len(left) > 0 {
				t.Errorf("runs %d to %d of %d left: %v", first, first+batch, runs, left)
			}
		}
	}
	if n := sleeping(innocent); n != 4 {
		t.Errorf("%d of 4 processes of innocent sessions live", n)
	}
}

// cgroup is where a process stands in the hierarchy of cgroup v2.
func cgroup(t *testing.T, pid int) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSpace(path)
		}
	}
	return ""
}
