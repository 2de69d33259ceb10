// Package gateway is the flow: the one way from a surface to a host. It routes a request, has the host plan it, the
// gate judge the plan, the journal record it, and the host start it; then it watches the end. It decides nothing itself
// and starts nothing itself.
//
// Nothing runs that was not granted, and nothing runs that was not recorded; stopping needs neither gate nor journal.
package gateway

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// An Admitter turns plans into grants; gate.Gate is one.
type Admitter interface {
	Admit(ctx context.Context, r sallyport.Request, p sallyport.Plan) (sallyport.Grant, sallyport.Decision, error)
}

// Settings are the parts of the configuration that the flow reads, anew for each call.
type Settings struct {
	BeforeStart  bool // the run's row is on disk before the start, not only before the answer
	NotifyOnExit bool
	NotifyQuiet  bool // announce a silent success, too
}

// Options are what a gateway needs. All fields but Logger are required.
type Options struct {
	Host     sallyport.Host // this machine
	Gate     Admitter
	Journal  sallyport.Journal
	Settings func(agentID string) Settings
	Logger   *slog.Logger
}

// Gateway implements [sallyport.Runs] in process. It is safe for concurrent use.
type Gateway struct {
	o Options

	mu      sync.Mutex
	names   namer
	scopes  map[sallyport.Scope]*scope
	journal sync.WaitGroup
}

// A scope is what a conversation owns besides its sessions.
type scope struct {
	notices []sallyport.Notice
	dropped map[string]bool // environment names it was told of
}

var _ sallyport.Runs = (*Gateway)(nil)

// New makes a gateway. The host must call [Gateway.Ended] for every session's end.
func New(o Options) *Gateway {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Gateway{o: o, scopes: map[sallyport.Scope]*scope{}}
}

// Run implements [sallyport.Runs]. It is the whole flow.
func (gw *Gateway) Run(ctx context.Context, r sallyport.Request) (sallyport.Session, error) {
	if r.ID == "" {
		r.ID = sallyport.RequestID("r_" + rand.Text())
	}
	host, err := gw.route(r)
	if err != nil {
		return nil, gw.refused(r, sallyport.Plan{}, err)
	}
	plan, err := host.Plan(ctx, r)
	if err != nil {
		return nil, gw.refused(r, sallyport.Plan{}, err)
	}
	plan.Warnings = append(plan.Warnings, gw.droppedNotice(r.Caller.Scope, plan.Env.Dropped)...)
	grant, decision, err := gw.o.Gate.Admit(ctx, r, plan)
	if err != nil {
		return nil, gw.refused(r, plan, err)
	}
	owner := sallyport.Owner{
		ID: gw.name(ctx, host), Caller: r.Caller, Request: r.ID, Title: r.Exec.Title, Family: r.Exec.Family,
		Background: r.Exec.Background, Input: r.Exec.Input,
	}
	record, err := gw.record(ctx, r, owner.ID, plan, decision)
	if err != nil {
		return nil, err // unrecorded: it does not run
	}
	s, err := host.Start(ctx, grant, owner)
	if err != nil {
		gw.write(sallyport.Event{Kind: sallyport.EventEnd, Request: r.ID, Session: owner.ID, Data: failed{sallyport.AsError(err)}})
		return nil, err
	}
	return &recorded{Session: s, record: record}, nil
}

// route finds the host of a request. This version has one.
func (gw *Gateway) route(r sallyport.Request) (sallyport.Host, error) {
	if r.Host != "" && r.Host != sallyport.Gateway {
		return nil, &sallyport.Error{
			Code: sallyport.Unavailable, Op: "gateway.route", Failure: sallyport.SpawnError,
			Msg: "there is no host " + string(r.Host) + " in this version", Hint: "leave host out: commands run on host gateway",
		}
	}
	return gw.o.Host, nil
}

// name picks a session name that is free on the host.
func (gw *Gateway) name(ctx context.Context, host sallyport.Host) sallyport.SessionID {
	gw.mu.Lock()
	defer gw.mu.Unlock()
	return gw.names.next(func(id sallyport.SessionID) bool {
		_, err := host.Session(ctx, id)
		return err == nil
	})
}

// droppedNotice tells a conversation once what its commands do not inherit.
func (gw *Gateway) droppedNotice(sc sallyport.Scope, names []string) []string {
	if len(names) == 0 {
		return nil
	}
	gw.mu.Lock()
	defer gw.mu.Unlock()
	s := gw.scope(sc)
	if s.dropped == nil {
		s.dropped = map[string]bool{}
	}
	var fresh []string
	for _, n := range names {
		if !s.dropped[n] {
			s.dropped[n] = true
			fresh = append(fresh, n)
		}
	}
	return removedText(fresh)
}

// scope returns a conversation's state. mu is held.
func (gw *Gateway) scope(sc sallyport.Scope) *scope {
	s := gw.scopes[sc]
	if s == nil {
		s = &scope{}
		gw.scopes[sc] = s
	}
	return s
}

// Info implements [sallyport.Runs].
func (gw *Gateway) Info(ctx context.Context, _ sallyport.Caller) (sallyport.HostInfo, error) {
	return gw.o.Host.Info(ctx)
}

// Find implements [sallyport.Runs].
func (gw *Gateway) Find(ctx context.Context, c sallyport.Caller, id sallyport.SessionID) (sallyport.Session, error) {
	s, _, err := gw.own(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return &journaled{Session: s, gw: gw, caller: c, id: id}, nil
}

// own finds a session and checks that it is the caller's. Another scope's behaves as not found.
func (gw *Gateway) own(ctx context.Context, c sallyport.Caller, id sallyport.SessionID) (sallyport.Session, sallyport.Status, error) {
	s, err := gw.o.Host.Session(ctx, id)
	if err != nil {
		return nil, sallyport.Status{}, err
	}
	st, err := s.Status(ctx)
	if err != nil {
		return nil, st, err
	}
	if st.Scope != c.Scope {
		return nil, st, &sallyport.Error{
			Code: sallyport.NotFound, Msg: "No session found for " + string(id), Hint: "process list shows the sessions there are",
		}
	}
	return s, st, nil
}

// List implements [sallyport.Runs].
func (gw *Gateway) List(ctx context.Context, c sallyport.Caller) ([]sallyport.Status, error) {
	all, err := gw.o.Host.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	var out []sallyport.Status
	for _, s := range all {
		if st, err := s.Status(ctx); err == nil && st.Scope == c.Scope {
			out = append(out, st)
		}
	}
	return out, nil
}

// Mark implements [sallyport.Runs].
func (gw *Gateway) Mark(ctx context.Context, c sallyport.Caller, id sallyport.SessionID, m sallyport.Mark) error {
	s, _, err := gw.own(ctx, c, id)
	if err != nil {
		return err
	}
	if m.SawEnd {
		gw.unnotify(c.Scope, id)
	}
	if k, ok := s.(interface{ Mark(sallyport.Mark) }); ok {
		k.Mark(m)
	}
	return nil
}

// Wait returns when everything that was recorded in passing has been handed to the journal.
func (gw *Gateway) Wait() { gw.journal.Wait() }

func now() time.Time { return sallyport.Instant(time.Now()) }
