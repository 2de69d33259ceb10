package engine

import (
	"os"
	"syscall"
	"testing"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/hosttest"
)

// BenchmarkRunTrue is a command from the plan to its forgotten session; its floor is BenchmarkForkExec of the same
// program in the same run.
func BenchmarkRunTrue(b *testing.B) {
	h := hosttest.New(b, newEngine(b))
	for name, c := range map[string]sallyport.Command{
		"argv": {Argv: []string{"/bin/true"}}, "literal": {Text: "true"}, "shell": {Text: "true;"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := h.Start(b.Context(), c)
				if err != nil {
					b.Fatal(err)
				}
				hosttest.End(b, s)
				s.(*session).Mark(sallyport.Mark{Release: true})
			}
		})
	}
}

func BenchmarkForkExec(b *testing.B) {
	for name, argv := range map[string][]string{
		"true": {"/bin/true"}, "shell": {"/bin/bash", "--noprofile", "--norc", "-c", "true;"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
				if err != nil {
					b.Fatal(err)
				}
				var ws syscall.WaitStatus
				if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPlan is what making a request exact costs.
func BenchmarkPlan(b *testing.B) {
	e := newEngine(b)
	h := hosttest.New(b, e)
	r := sallyport.Request{Caller: h.Caller(), Exec: sallyport.Command{Text: "ls -la"}}
	for b.Loop() {
		if _, err := e.Plan(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
