package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// latency is promise 1: what a command costs over the protocol, against the two things that it cannot do without.
func latency(ctx context.Context, b *bench) ([]row, error) {
	noop, err := dial(ctx, exec.CommandContext(ctx, b.self, noopWord))
	if err != nil {
		return nil, err
	}
	defer func() { _ = noop.close() }() // it holds nothing
	answer, err := b.gateway(ctx, gatewayOptions{name: "before-answer"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.close() }()
	start, err := b.gateway(ctx, gatewayOptions{name: "before-start", config: "journal.sync = \"before-start\"\n"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = start.close() }()

	// A program without a shell, the same as shell text that needs none, and a text that needs one.
	argv := map[string]any{"argv": []string{"/bin/true"}}
	literal := map[string]any{"command": "/bin/true"}
	shell := map[string]any{"command": "true; true"}
	disk, err := diskSync(b.dir)
	if err != nil {
		return nil, err
	}
	m := interleave{
		{"raw", func() (time.Duration, error) { return rawRun("/bin/true", "true") }},
		{"bash", func() (time.Duration, error) {
			return rawRun("/bin/bash", "bash", "--noprofile", "--norc", "-c", "true; true")
		}},
		{"sync", disk},
		{"noop", noop.timed(ctx, "noop", map[string]any{})},
		{"argv, answer", answer.timed(ctx, "exec", argv)},
		{"literal, answer", answer.timed(ctx, "exec", literal)},
		{"shell, answer", answer.timed(ctx, "exec", shell)},
		{"argv, start", start.timed(ctx, "exec", argv)},
		{"literal, start", start.timed(ctx, "exec", literal)},
		{"shell, start", start.timed(ctx, "exec", shell)},
	}
	got, err := m.run(b.scale(100), b.scale(1500))
	if err != nil {
		return nil, err
	}
	return got.latencies(), nil
}

// latencies puts the samples of promise 1 into rows.
func (s samples) latencies() []row {
	floor, bash := s.p50("raw")+s.p50("noop"), s.p50("bash")+s.p50("noop")
	var rows []row
	for _, form := range []struct {
		what, key string
		floor     time.Duration
		limit     float64 // 0: printed beside it
	}{
		{"`argv`, no shell", "argv", floor, 1.7},
		{"text of one literal command", "literal", floor, 1.7},
		{"text for the shell, against a bash floor", "shell", bash, 0},
	} {
		for _, sync := range []string{"answer", "start"} {
			p50, limit := s.p50(form.key+", "+sync), form.limit
			if sync == "start" {
				limit = 0
			}
			ratio := float64(p50) / float64(form.floor)
			rows = append(rows, row{
				promise: 1, what: form.what + ", journal on disk before the " + sync,
				measured: fmt.Sprintf("**%.2f ×** (%s of %s)", ratio, ms(p50), ms(form.floor)),
				asked:    atMost(limit, " ×"), kept: limit == 0 || ratio <= limit,
			})
		}
	}
	rows = append(rows, row{promise: 1, what: "floors, p50: fork+exec of true · of bash · call of a tool that does nothing · (sync of a row by itself)", measured: fmt.Sprintf(
		"%s · %s · %s · (%s)", ms(s.p50("raw")), ms(s.p50("bash")), ms(s.p50("noop")), ms(s.p50("sync")),
	), kept: true})
	return rows
}

// timed makes a call into something that can be measured.
func (s *server) timed(ctx context.Context, tool string, args map[string]any) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		start := time.Now()
		_, _, err := s.call(ctx, tool, args)
		return time.Since(start), err
	}
}
