package gateway

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/gate"
	"github.com/sallyport-sh/sallyport/gate/policy"
)

// A fakeHost starts nothing. Its sessions end when they are told to.
type fakeHost struct {
	mu       sync.Mutex
	sessions map[sallyport.SessionID]*fakeSession
	planErr  error
	startErr error
	dropped  []string
	order    *steps
}

func (h *fakeHost) Info(context.Context) (sallyport.HostInfo, error) {
	return sallyport.HostInfo{Name: sallyport.Gateway}, nil
}

func (h *fakeHost) Plan(_ context.Context, r sallyport.Request) (sallyport.Plan, error) {
	return sallyport.Plan{Host: sallyport.Gateway, Text: r.Exec.Text, Env: sallyport.Env{Dropped: h.dropped}}, h.planErr
}

func (h *fakeHost) Start(_ context.Context, g sallyport.Grant, o sallyport.Owner) (sallyport.Session, error) {
	if err := g.Redeem(time.Now()); err != nil {
		return nil, err
	}
	if h.startErr != nil {
		return nil, h.startErr
	}
	h.order.add("start")
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &fakeSession{st: sallyport.Status{
		ID: o.ID, Scope: o.Caller.Scope, State: sallyport.Running, Background: o.Background, Warnings: g.Plan().Warnings,
	}}
	h.sessions[o.ID] = s
	return s, nil
}

func (h *fakeHost) Session(_ context.Context, id sallyport.SessionID) (sallyport.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.sessions[id]; s != nil {
		return s, nil
	}
	return nil, &sallyport.Error{Code: sallyport.NotFound, Msg: "No session found for " + string(id)}
}

func (h *fakeHost) Sessions(context.Context) ([]sallyport.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []sallyport.Session
	for _, s := range h.sessions {
		out = append(out, s)
	}
	return out, nil
}

// A fakeSession has a status and an output.
type fakeSession struct {
	mu     sync.Mutex
	st     sallyport.Status
	out    string
	marks  []sallyport.Mark
	inputs []sallyport.Input
	ends   int
}

func (s *fakeSession) Status(context.Context) (sallyport.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st, nil
}

func (s *fakeSession) Read(_ context.Context, r sallyport.Range) (sallyport.Chunk, error) {
	return sallyport.Chunk{Data: []byte(s.out)[r.From:], Next: sallyport.Offset(len(s.out))}, nil
}

func (s *fakeSession) Lines(context.Context, sallyport.LineQuery) (sallyport.LinePage, error) {
	return sallyport.LinePage{}, nil
}

func (s *fakeSession) Wait(ctx context.Context, _ sallyport.Wake) (sallyport.Woke, error) {
	st, err := s.Status(ctx)
	return sallyport.Woke{By: sallyport.WokeEnd, Status: st}, err
}

func (s *fakeSession) Send(_ context.Context, in sallyport.Input) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inputs = append(s.inputs, in)
	return nil
}

func (s *fakeSession) End(context.Context, sallyport.Ending) (sallyport.KillReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends++
	return sallyport.KillReport{}, nil
}

func (s *fakeSession) Mark(m sallyport.Mark) { s.marks = append(s.marks, m) }

// A fakeJournal keeps events in memory and fails on demand.
type fakeJournal struct {
	mu      sync.Mutex
	events  []sallyport.Event
	full    bool
	syncErr error
	held    chan struct{} // if set, Sync waits for it
	order   *steps
}

var errFull = &sallyport.Error{Code: sallyport.AuditUnavailable, Msg: "the disk is full"}

func (j *fakeJournal) Append(e sallyport.Event) (sallyport.Position, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.full {
		return 0, errFull
	}
	j.order.add("append " + string(e.Kind))
	j.events = append(j.events, e)
	return sallyport.Position(len(j.events)), nil
}

func (j *fakeJournal) Sync(context.Context, sallyport.Position) error {
	if j.held != nil {
		<-j.held
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.order.add("sync")
	return j.syncErr
}

func (j *fakeJournal) kinds() (kinds []sallyport.EventKind) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// steps is what happened, in order.
type steps struct {
	mu  sync.Mutex
	all []string
}

func (s *steps) add(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, step)
}

// A bench is a gateway over fakes.
type bench struct {
	*Gateway
	host    *fakeHost
	journal *fakeJournal
	level   sallyport.Security
	set     Settings
	order   steps // what happened, in order
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{level: sallyport.SecurityFull, set: Settings{NotifyOnExit: true}}
	b.host = &fakeHost{sessions: map[sallyport.SessionID]*fakeSession{}, order: &b.order}
	b.journal = &fakeJournal{order: &b.order}
	b.Gateway = New(Options{
		Host: b.host, Journal: b.journal,
		Gate:     gate.New(func() gate.Policy { return policy.Rules{Level: b.level} }),
		Settings: func(string) Settings { return b.set },
	})
	t.Cleanup(b.Wait)
	return b
}

func caller(scope sallyport.Scope) sallyport.Caller {
	return sallyport.Caller{Kind: sallyport.Agent, Role: sallyport.Admin, Scope: scope}
}

func request(text string) sallyport.Request {
	return sallyport.Request{Caller: caller("a"), Exec: sallyport.Command{Text: text}}
}

// run starts a session and returns the fake behind it.
func (b *bench) run(t *testing.T, r sallyport.Request) (sallyport.Session, *fakeSession) {
	t.Helper()
	s, err := b.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, b.host.sessions[st.ID]
}

var errTest = errors.New("test")
