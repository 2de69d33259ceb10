package proc

import (
	"context"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkStart starts and waits for /bin/true, in turn with a bare fork, exec and wait of the same program. The ratio
// of the medians is what a tree costs.
func BenchmarkStart(b *testing.B) {
	for _, bb := range []struct {
		name string
		o    Options
	}{
		{"mark", Options{Rung: Mark, Own: true}},
		{"mark with a limit", Options{Rung: Mark, Own: true, Pids: 1000}},
		{"cgroup", Options{Rung: Cgroup, Own: true}},
		{"cgroup with a limit", Options{Rung: Cgroup, Own: true, Pids: 1000}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			table := open(b, bb.o)
			null := table.null.Fd()
			var raw, ours []time.Duration
			for b.Loop() {
				began := time.Now()
				pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{null, null, null}})
				if err == nil {
					_, err = syscall.Wait4(pid, nil, 0, nil)
				}
				if err != nil {
					b.Fatal(err)
				}
				raw = append(raw, time.Since(began))
				began = time.Now()
				tree := begin(b, table, Spec{ID: "b", Path: "/bin/true", Argv: []string{"true"}, Env: os.Environ()})
				<-tree.Done()
				tree.Release()
				ours = append(ours, time.Since(began))
			}
			b.ReportMetric(float64(median(ours))/float64(median(raw)), "ratio")
			b.ReportMetric(float64(median(ours).Microseconds()), "µs-p50")
			b.ReportMetric(float64(median(raw).Microseconds()), "µs-raw-p50")
		})
	}
}

// BenchmarkKill kills a shell and its child, without grace.
func BenchmarkKill(b *testing.B) {
	for _, rung := range []string{Mark, Cgroup} {
		b.Run(rung, func(b *testing.B) {
			table := open(b, Options{Rung: rung, Own: true})
			var took []time.Duration
			for b.Loop() {
				r, w, err := os.Pipe()
				if err != nil {
					b.Fatal(err)
				}
				s := shell("sleep 999 & setsid sleep 999 & echo; wait")
				s.Stdout = w
				tree := begin(b, table, s)
				w.Close()
				if _, err := r.Read(make([]byte, 1)); err != nil {
					b.Fatal(err)
				}
				r.Close()
				report := tree.Kill(context.Background(), 0)
				if len(report.Survivors) > 0 {
					b.Fatal(report)
				}
				took = append(took, report.Took)
				tree.Release()
			}
			b.ReportMetric(float64(median(took).Microseconds()), "µs-p50")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
		})
	}
}

// median sorts.
func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// BenchmarkKillAll kills 5,000 trees at once.
func BenchmarkKillAll(b *testing.B) {
	for _, rung := range []string{Mark, Cgroup} {
		b.Run(rung, func(b *testing.B) {
			var got lived
			for b.Loop() {
				perform(b, "live", setting{order: order{Rung: rung, Trees: 5_000}}, &got)
				if len(got.Failures) > 0 {
					b.Fatal(got.Failures)
				}
			}
			b.ReportMetric(got.KillAll.Seconds(), "s-kill")
			b.ReportMetric(got.StartAll.Seconds(), "s-start")
			b.ReportMetric(float64(got.PerTree), "B/tree")
		})
	}
}
