package gateway

import (
	"context"
	"strings"
	"sync"

	"github.com/sallyport-sh/sallyport"
)

// maxRecordedText bounds a command text in a row; the plan's digest covers the whole.
const maxRecordedText = 64 << 10

// A run is the data of a run row.
type run struct {
	Digest   string             `json:"plan"`
	Host     sallyport.HostName `json:"host"`
	Text     string             `json:"text,omitempty"`
	Argv     []string           `json:"argv,omitempty"` // with Text: left out, it is the shell's
	Exe      string             `json:"exe"`
	Dir      string             `json:"cwd"`
	Env      []string           `json:"env,omitempty"` // names the call set
	Limits   sallyport.Limits   `json:"limits"`
	Decision sallyport.Decision `json:"decision"`
}

// ended is the data of an end row.
type ended struct {
	Outcome *sallyport.Outcome  `json:"outcome"`
	Bytes   sallyport.Offset    `json:"bytes"`
	Left    []sallyport.Process `json:"left,omitempty"`
}

// failed is the data of a refusal, and of an end row for what did not start.
type failed struct {
	Error *sallyport.Error `json:"error"`
}

// refusal is the data of a refused row.
type refusal struct {
	failed
	Digest string   `json:"plan,omitempty"`
	Text   string   `json:"text,omitempty"`
	Argv   []string `json:"argv,omitempty"`
}

// act is the data of input and signal rows. What was typed is not recorded, only how much.
type act struct {
	Bytes  int    `json:"bytes,omitempty"`
	EOF    bool   `json:"eof,omitempty"`
	Signal string `json:"signal,omitempty"`
	Kill   bool   `json:"kill,omitempty"`
}

func clip(s string) string {
	if len(s) <= maxRecordedText {
		return s
	}
	return strings.ToValidUTF8(s[:maxRecordedText], "") + "…"
}

// clipAll bounds an argv as a whole.
func clipAll(argv []string) []string {
	total := 0
	for i, a := range argv {
		if total += len(a); total > maxRecordedText {
			return append(append([]string(nil), argv[:i]...), "…")
		}
	}
	return argv
}

// record writes the run's row before anything of it exists. The sync goes on beside the start.
func (gw *Gateway) record(ctx context.Context, r sallyport.Request, id sallyport.SessionID, p sallyport.Plan, d sallyport.Decision) (*syncing, error) {
	data := run{
		Digest: p.Digest(), Host: p.Host, Text: clip(p.Text), Exe: p.Exe.Real, Dir: p.Dir.Real, Limits: p.Limits, Decision: d,
	}
	if p.Text == "" {
		data.Argv = clipAll(p.Argv)
	}
	for name := range p.Env.Set {
		data.Env = append(data.Env, name)
	}
	c := r.Caller
	pos, err := gw.o.Journal.Append(sallyport.Event{
		Kind: sallyport.EventRun, At: now(), Request: r.ID, Session: id, Caller: &c, Data: data,
	})
	if err != nil {
		return nil, err
	}
	s := &syncing{done: make(chan struct{})}
	work := func() {
		s.err = gw.o.Journal.Sync(context.WithoutCancel(ctx), pos)
		close(s.done)
	}
	if gw.o.Settings(c.AgentID).BeforeStart {
		work()
		return s, s.err
	}
	gw.journal.Go(work)
	return s, nil
}

// write records a step whose record must not stop it: an end, an input, a signal.
func (gw *Gateway) write(e sallyport.Event) {
	e.At = now()
	if _, err := gw.o.Journal.Append(e); err != nil {
		gw.o.Logger.Error("not recorded", "kind", e.Kind, "session", e.Session, "err", err)
	}
}

// Configured records that another configuration is in force.
func (gw *Gateway) Configured(revision string) {
	gw.write(sallyport.Event{Kind: sallyport.EventConfig, Data: map[string]string{"revision": revision}})
}

// refused records a refusal and returns it.
func (gw *Gateway) refused(r sallyport.Request, p sallyport.Plan, err error) error {
	c := r.Caller
	data := refusal{failed: failed{sallyport.AsError(err)}, Text: clip(r.Exec.Text), Argv: clipAll(r.Exec.Argv)}
	if p.Host != "" {
		data.Digest = p.Digest()
	}
	gw.write(sallyport.Event{Kind: sallyport.EventRefused, Request: r.ID, Caller: &c, Data: data})
	return err
}

// syncing is a run's row on its way to the disk.
type syncing struct {
	done chan struct{}
	err  error
}

func (s *syncing) wait(ctx context.Context) error {
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		// Only a wait ends with ctx; whoever asked for an answer at once gets it after the disk, not before.
		<-s.done
		return s.err
	}
}

// recorded is a session whose answers wait until its row is on disk. If the disk refuses, the run is ended: it must
// not go on unrecorded.
type recorded struct {
	sallyport.Session
	record *syncing
	kill   sync.Once
}

func (s *recorded) settled(ctx context.Context) error {
	err := s.record.wait(ctx)
	if err != nil {
		s.kill.Do(func() {
			_, _ = s.Session.End(context.WithoutCancel(ctx), sallyport.Ending{Grace: 0, Cause: sallyport.Aborted})
		})
	}
	return err
}

func (s *recorded) Status(ctx context.Context) (sallyport.Status, error) {
	if err := s.settled(ctx); err != nil {
		return sallyport.Status{}, err
	}
	return s.Session.Status(ctx)
}

func (s *recorded) Read(ctx context.Context, r sallyport.Range) (sallyport.Chunk, error) {
	if err := s.settled(ctx); err != nil {
		return sallyport.Chunk{}, err
	}
	return s.Session.Read(ctx, r)
}

func (s *recorded) Lines(ctx context.Context, q sallyport.LineQuery) (sallyport.LinePage, error) {
	if err := s.settled(ctx); err != nil {
		return sallyport.LinePage{}, err
	}
	return s.Session.Lines(ctx, q)
}

func (s *recorded) Wait(ctx context.Context, w sallyport.Wake) (sallyport.Woke, error) {
	woke, err := s.Session.Wait(ctx, w)
	if err != nil {
		return woke, err
	}
	return woke, s.settled(ctx)
}

// journaled is a session as its owner controls it later: what is done to it is recorded, and never waits for that.
type journaled struct {
	sallyport.Session
	gw     *Gateway
	caller sallyport.Caller
	id     sallyport.SessionID
}

func (s *journaled) Send(ctx context.Context, in sallyport.Input) error {
	err := s.Session.Send(ctx, in)
	kind := sallyport.EventInput
	if len(in.Data) == 0 && !in.EOF {
		kind = sallyport.EventSignal
	}
	s.gw.write(sallyport.Event{
		Kind: kind, Session: s.id, Caller: &s.caller, Data: act{Bytes: len(in.Data), EOF: in.EOF, Signal: in.Signal},
	})
	return err
}

func (s *journaled) End(ctx context.Context, e sallyport.Ending) (sallyport.KillReport, error) {
	r, err := s.Session.End(ctx, e)
	s.gw.write(sallyport.Event{Kind: sallyport.EventSignal, Session: s.id, Caller: &s.caller, Data: act{Kill: true}})
	return r, err
}
