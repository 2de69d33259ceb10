package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-sh/sallyport/host/proc/proctest"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// completeKill is promise 6: what is left of processes that try to escape. A rung or a user that the machine has not is
// said to be missing, and nothing is claimed of it.
func completeKill(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, rung := range []string{"mark", "cgroup"} {
		for _, user := range []string{"root", "nobody"} {
			r := row{promise: 6, what: fmt.Sprintf("rung `%s` as %s", rung, user), asked: "0 left"}
			o := gatewayOptions{
				name: rung + "-" + user, config: "exec.grace_ms = 100\n",
				env: []string{"SALLYPORT_KILL=" + rung}, nobody: user == "nobody",
			}
			if os.Geteuid() != 0 {
				r.measured, r.asked = "not measured: needs root", ""
				rows = append(rows, r)
				continue
			}
			got, err := b.killOn(ctx, o, rung)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.what, err)
			}
			r.measured = fmt.Sprintf("**%d left** of %d runs, %d of 2 innocent sessions live; kill p50 %s, max %s, with a grace of 100 ms for those that ignore TERM",
				got.left, got.runs, got.innocent, ms(got.took[len(got.took)/2]), ms(got.took[len(got.took)-1]))
			r.kept = got.left == 0 && got.innocent == 2
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// kills is what came of one rung and user.
type kills struct {
	runs, left, innocent int
	took                 []time.Duration // sorted
}

func (b *bench) killOn(ctx context.Context, o gatewayOptions, rung string) (k kills, err error) {
	if rung == "cgroup" {
		uid := 0
		if o.nobody {
			uid = testenv.Nobody
		}
		dir, remove, err := testenv.MakeCgroup(uid)
		if err != nil {
			return k, err
		}
		defer func() { err = errors.Join(err, remove()) }()
		if o.cgroup, err = os.Open(dir); err != nil {
			return k, err
		}
		defer func() { _ = o.cgroup.Close() }() // only its descriptor was used
	}
	g, err := b.gateway(ctx, o)
	if err != nil {
		return k, err
	}
	defer func() { _ = g.close() }()
	innocent := fmt.Sprintf("1%06d.25", rand.IntN(1_000_000))
	for range 2 {
		if _, _, err := g.call(ctx, "exec", map[string]any{"argv": []string{"sleep", innocent}, "background": true}); err != nil {
			return k, err
		}
	}
	k.runs = b.scale(100) * len(proctest.Styles())
	const batch = 16
	for first := 0; first < k.runs; first += batch {
		took, left, err := g.killBatch(ctx, first, min(first+batch, k.runs))
		if err != nil {
			return k, err
		}
		k.left += left
		k.took = append(k.took, took...)
	}
	slices.Sort(k.took)
	k.innocent = len(testenv.ProcessesWith(innocent))
	return k, nil
}

// killBatch starts the styles from one number to another, waits until they run, and kills them all at once.
func (s *server) killBatch(ctx context.Context, from, to int) (took []time.Duration, left int, err error) {
	prefix := fmt.Sprintf("%06d", rand.IntN(1_000_000))
	styles := proctest.Styles()
	var ids []string
	for i := from; i < to; i++ {
		command := styles[i%len(styles)].Command(fmt.Sprintf("%s%06d", prefix, i))
		_, f, err := s.call(ctx, "exec", map[string]any{"command": command, "background": true})
		if err != nil {
			return nil, 0, err
		}
		ids = append(ids, f.SessionID)
	}
	if !testenv.Poll(20*time.Second, func() bool { return len(testenv.ProcessesWith(prefix)) > 2*len(ids) }) {
		return nil, 0, fmt.Errorf("the styles did not start")
	}
	took = make([]time.Duration, len(ids))
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			start := time.Now()
			_, _, errs[i] = s.call(ctx, "process", map[string]any{"action": "kill", "sessionId": id})
			took[i] = time.Since(start)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, 0, err
		}
	}
	for range 3 { // what never stands still is easily overlooked once
		left = max(left, len(testenv.ProcessesWith(prefix)))
	}
	return took, left, nil
}
