package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// manySessions is promise 5: five thousand commands at once, in the background, each with its own stdin.
func manySessions(ctx context.Context, b *bench) ([]row, error) {
	n := b.scale(5000)
	token := fmt.Sprintf("86%d.5", time.Now().UnixNano()%1_000_000)
	g, err := b.gateway(ctx, gatewayOptions{name: "sessions"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = g.close() }()
	if _, _, err := g.call(ctx, "exec", map[string]any{"argv": []string{"true"}}); err != nil {
		return nil, err
	}
	before, err := testenv.UsageOf(g.pid())
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := startAll(ctx, g, n, token); err != nil {
		return nil, err
	}
	started := time.Since(start)
	after, err := testenv.UsageOf(g.pid())
	if err != nil {
		return nil, err
	}
	if alive := len(testenv.ProcessesWith(token)); alive != n {
		return nil, fmt.Errorf("%d of %d sessions live", alive, n)
	}
	start = time.Now()
	if err := g.close(); err != nil {
		return nil, err
	}
	left := len(testenv.ProcessesWith(token))
	killed := time.Since(start)

	perSession := func(d int64) float64 { return float64(d) / float64(n) }
	memory, fds := perSession(after.RSS-before.RSS)/1024, perSession(int64(after.FDs-before.FDs))
	return []row{
		{5, fmt.Sprintf("memory of the gateway a session, with %d live", n), fmt.Sprintf("**%.1f KB** (%d MB in all)", memory, after.RSS>>20), "≤ 16 KB", memory <= 16},
		{5, "descriptors of the gateway a session", fmt.Sprintf("**%.2f**", fds), "≤ 3", fds <= 3.01},
		{5, "end of all of them when the client goes, verified in the process table", fmt.Sprintf("**%.1f s**, %d left", killed.Seconds(), left), "< 15 s, 0 left", killed < 15*time.Second && left == 0},
		{5, "start of all of them, for comparison", fmt.Sprintf("%.1f s, %d threads then", started.Seconds(), after.Threads), "", true},
	}, nil
}

// startAll starts n sessions, a few at a time.
func startAll(ctx context.Context, g *server, n int, token string) error {
	var wg sync.WaitGroup
	errs := make(chan error, n)
	const clients = 8
	for c := range clients {
		wg.Go(func() {
			for i := c; i < n; i += clients {
				args := map[string]any{"argv": []string{"sleep", token}, "background": true}
				if _, _, err := g.call(ctx, "exec", args); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs // nil if there was none
}
