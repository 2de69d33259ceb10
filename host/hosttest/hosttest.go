// Package hosttest is the contract that every Host keeps, as tests. An implementation's own test file makes a host and
// calls Run; what is special to it is tested there.
package hosttest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/gate"
	"github.com/sallyport-sh/sallyport/gate/policy"
)

// A Harness drives one host as a gateway would.
type Harness struct {
	Host sallyport.Host
	Dir  string // default workspace of its caller
	gate *gate.Gate
	next atomic.Int64
}

// New wraps a host. Its gate allows everything.
func New(t testing.TB, h sallyport.Host) *Harness {
	t.Helper()
	rules := policy.Rules{Level: sallyport.SecurityFull, Revision: "test"}
	return &Harness{Host: h, Dir: t.TempDir(), gate: gate.New(func() gate.Policy { return rules })}
}

// Caller is who asks in these tests.
func (h *Harness) Caller() sallyport.Caller {
	return sallyport.Caller{
		Kind: sallyport.Agent, Role: sallyport.Admin, Scope: "hosttest", UID: -1, Surface: "test", Workspace: h.Dir,
	}
}

// Start plans, admits and starts a command.
func (h *Harness) Start(ctx context.Context, c sallyport.Command) (sallyport.Session, error) {
	r := sallyport.Request{Caller: h.Caller(), Exec: c}
	p, err := h.Host.Plan(ctx, r)
	if err != nil {
		return nil, err
	}
	g, _, err := h.gate.Admit(ctx, r, p)
	if err != nil {
		return nil, err
	}
	id := sallyport.SessionID(fmt.Sprintf("test-%d", h.next.Add(1)))
	return h.Host.Start(ctx, g, sallyport.Owner{ID: id, Caller: r.Caller, Background: c.Background, Input: c.Input})
}

// MustStart is Start for commands that have to start.
func (h *Harness) MustStart(t testing.TB, c sallyport.Command) sallyport.Session {
	t.Helper()
	s, err := h.Start(t.Context(), c)
	if err != nil {
		t.Fatalf("start %q%q: %v", c.Text, c.Argv, err)
	}
	return s
}

// waitLimit is how long a test waits for what should come at once; a loaded machine is slow, not wrong.
const waitLimit = 20 * time.Second

// End waits for the end of a session and returns its status.
func End(t testing.TB, s sallyport.Session) sallyport.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	w, err := s.Wait(ctx, sallyport.Wake{EndOnly: true})
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	if w.By != sallyport.WokeEnd {
		t.Fatalf("the session has not ended after %v: %+v", waitLimit, w.Status)
	}
	return w.Status
}

// Run runs a command to its end and returns its status and output.
func (h *Harness) Run(t testing.TB, c sallyport.Command) (sallyport.Status, string) {
	t.Helper()
	s := h.MustStart(t, c)
	st := End(t, s)
	return st, All(t, s, sallyport.AnyStream)
}

// All reads a session's whole output.
func All(t testing.TB, s sallyport.Session, stream sallyport.Stream) string {
	t.Helper()
	var b strings.Builder
	for off := sallyport.Offset(0); ; {
		c, err := s.Read(t.Context(), sallyport.Range{From: off, Stream: stream})
		if err != nil {
			t.Fatalf("read at %d: %v", off, err)
		}
		if c.Skipped > 0 {
			t.Fatalf("read at %d: %d bytes are gone", off, c.Skipped)
		}
		b.Write(c.Data)
		if len(c.Data) == 0 {
			return b.String()
		}
		off = c.Next
	}
}

// WaitFor waits until output matches.
func WaitFor(t testing.TB, s sallyport.Session, pattern string) sallyport.Woke {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	w, err := s.Wait(ctx, sallyport.Wake{Until: pattern})
	if err != nil || w.By != sallyport.WokeUntil {
		t.Fatalf("waiting for %q: woke by %q, err %v, output %q", pattern, w.By, err, All(t, s, sallyport.AnyStream))
	}
	return w
}
