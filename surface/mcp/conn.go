package mcp

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-sh/sallyport/surface/tools"
)

// A conn is one client on one pipe. To the SDK it is two connections: one for each protocol era, made when the first
// message of its era comes. A client may use both (some send initialize after a good server/discover), and in one
// session of the SDK each era would change what the other sees.
type conn struct {
	server *Server
	sdk    *sdk.Server
	out    outlet

	pending pending
	ctx     context.Context // done when calls are to be cancelled
	cancel  context.CancelCauseFunc
	eof     chan struct{} // closed when input has ended
	done    chan struct{} // closed when nothing more is read

	sessions sync.WaitGroup // of the SDK
	tasks    sync.WaitGroup // goroutines of ours

	legacy, stateless *side // used by the reading goroutine only

	mu     sync.Mutex
	ended  bool          // no session begins any more
	client Client        // of the session era, as it said in initialize
	roots  chan struct{} // closed when the client's root is known; nil: nobody asked
	served map[string]tools.Tool
}

func newConn(s *Server, out io.Writer) *conn {
	c := &conn{
		server: s, sdk: sdk.NewServer(s.implementation(), s.sdkOptions()),
		out: outlet{w: out, broken: make(chan struct{})}, eof: make(chan struct{}), done: make(chan struct{}),
		served: map[string]tools.Tool{},
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.pending.all = map[jsonrpc.ID]*pend{}
	c.sdk.AddReceivingMiddleware(c.middleware)
	return c
}

// refuse answers a message that was not taken.
func (c *conn) refuse(r *refusal) { c.out.put(r.line()) }

// take takes one message, alone or of a batch.
func (c *conn) take(data json.RawMessage, b *batch) {
	e, bad := open(data)
	switch {
	case !e.call && (e.result != nil || e.fault != nil):
		if bad == nil {
			c.response(e)
		}
		return // a response is never answered, whatever is wrong with it
	case bad == nil && e.id == nil:
		c.notification(e)
	case bad == nil:
		bad = c.request(e, b)
	}
	switch {
	case bad == nil:
	case b != nil:
		b.add(bad.line())
	default:
		c.refuse(bad)
	}
}

// request hands a request to the SDK's session of its era.
func (c *conn) request(e envelope, b *batch) *refusal {
	if e.method == "tools/call" {
		if bad := e.checkCall(); bad != nil {
			return bad
		}
	}
	modern := e.modern()
	if e.method == "ping" && !modern && c.legacy == nil { // may come before anything else, and begins nothing
		line := answer(e.id, &jsonrpc.Response{Result: json.RawMessage("{}")})
		if b != nil {
			b.add(line)
		} else {
			c.out.put(line)
		}
		return nil
	}
	s, err := c.side(modern, e)
	if err != nil {
		return refuse(e.id, jsonrpc.CodeInternalError, "%v", err)
	}
	p := &pend{id: e.id, method: e.method, side: s, batch: b}
	if !c.pending.add(e.key, p) {
		return refuse(nil, jsonrpc.CodeInvalidRequest, "a request with id %s is in progress", e.id)
	}
	if b != nil {
		b.begin()
	}
	s.deliver(&jsonrpc.Request{ID: e.key, Method: e.method, Params: e.params})
	return nil
}

// notification hands a notification to the session that it concerns.
func (c *conn) notification(e envelope) {
	msg := &jsonrpc.Request{Method: e.method, Params: e.params}
	if e.method != "notifications/cancelled" {
		if c.legacy != nil {
			c.legacy.deliver(msg)
		}
		return
	}
	id := find(e.params, "requestId")
	if id == nil {
		return
	}
	key, bad := identify(json.RawMessage(id))
	if bad != nil {
		return
	}
	if s := c.pending.cancelled(key); s != nil {
		s.deliver(msg)
	}
}

// response hands an answer of the client to the session that asks: only sessions of the session era do.
func (c *conn) response(e envelope) {
	if c.legacy == nil || e.id == nil {
		return
	}
	r := &jsonrpc.Response{ID: e.key, Result: e.result}
	if e.fault != nil {
		fault := &jsonrpc.Error{}
		if json.Unmarshal(e.fault, fault) != nil {
			fault.Message = "malformed error"
		}
		r.Error = fault
	}
	c.legacy.deliver(r)
}

// side returns the SDK's session of an era. e is the message that needs it.
func (c *conn) side(modern bool, e envelope) (*side, error) {
	at := &c.legacy
	if modern {
		at = &c.stateless
	}
	if *at != nil {
		return *at, nil
	}
	c.introduce(modern, e)
	s := &side{conn: c, modern: modern, in: make(chan jsonrpc.Message), closed: make(chan struct{})}
	var o *sdk.ServerSessionOptions
	if !modern && e.method != "initialize" {
		// A client of the session era that has no session: it is taken as it is.
		o = &sdk.ServerSessionOptions{State: &sdk.ServerSessionState{InitializeParams: &sdk.InitializeParams{
			ProtocolVersion: lastLegacy, Capabilities: &sdk.ClientCapabilities{}, ClientInfo: &sdk.Implementation{},
		}}}
	}
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil, errEnding
	}
	c.sessions.Add(1)
	c.mu.Unlock()
	session, err := c.sdk.Connect(context.Background(), s, o)
	if err != nil {
		c.sessions.Done()
		return nil, err
	}
	go func() {
		defer c.sessions.Done()
		_ = session.Wait() // how the pipe ended is known
	}()
	*at = s
	return s, nil
}

// A side is the pipe as the SDK sees it from one session. It is its own transport.
type side struct {
	conn   *conn
	modern bool
	in     chan jsonrpc.Message
	closed chan struct{}
	once   sync.Once
}

// Connect implements [sdk.Transport].
func (s *side) Connect(context.Context) (sdk.Connection, error) { return s, nil }

// SessionID implements [sdk.Connection]: on stdio there is none.
func (s *side) SessionID() string { return "" }

func (s *side) deliver(m jsonrpc.Message) {
	select {
	case s.in <- m:
	case <-s.closed:
	case <-s.conn.done:
	}
}

// Read implements [sdk.Connection].
func (s *side) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-s.in:
		return m, nil
	case <-s.conn.done:
	case <-s.closed:
	case <-ctx.Done():
	}
	return nil, io.EOF
}

// Write implements [sdk.Connection].
func (s *side) Write(_ context.Context, m jsonrpc.Message) error {
	there := true
	switch m := m.(type) {
	case *jsonrpc.Response:
		there = s.conn.answer(m)
	case *jsonrpc.Request:
		return s.send(m)
	}
	if !there {
		return io.ErrClosedPipe
	}
	return nil
}

// answer answers a request, unless it was cancelled. It reports whether the client is still there.
func (c *conn) answer(r *jsonrpc.Response) bool {
	p := c.pending.get(r.ID)
	if p == nil {
		return true
	}
	line := answer(p.id, r)
	mine, there := c.pending.answered(r.ID, line, &c.out)
	switch {
	case !mine:
	case p.method == "tools/call": // its goroutine has nothing else to do
		c.out.drain()
	default: // others may hold up what comes after them
		go c.out.drain()
	}
	return there
}

// send sends what the client did not ask for.
func (s *side) send(r *jsonrpc.Request) error {
	if s.modern && r.Method == "notifications/tools/list_changed" && len(find(r.Params, "_meta")) == 0 {
		return nil // who has subscribed gets one of their own
	}
	b, err := jsonrpc.EncodeMessage(r)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	put := s.conn.out.chat
	if r.IsCall() {
		put = s.conn.out.put
	}
	if !put(b) {
		return io.ErrClosedPipe
	}
	return nil
}

// Close implements [sdk.Connection].
func (s *side) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// A pend is a request that has no answer yet.
type pend struct {
	id        json.RawMessage
	method    string
	side      *side
	batch     *batch
	cancelled bool
}

// pending are the requests that have no answer yet.
type pending struct {
	mu   sync.Mutex
	all  map[jsonrpc.ID]*pend
	idle chan struct{} // closed when there are none left, if somebody waits for it
}

func (p *pending) add(key jsonrpc.ID, r *pend) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[key] != nil {
		return false
	}
	p.all[key] = r
	return true
}

func (p *pending) get(key jsonrpc.ID) *pend {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[key]
}

// answered queues the answer to a request and forgets the request, in one step: its client may use the id again as soon
// as it has read the answer, and who waits until nothing is pending finds every answer in the queue.
func (p *pending) answered(key jsonrpc.ID, line []byte, out *outlet) (mine, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.all[key]
	if r == nil {
		return false, true
	}
	delete(p.all, key)
	if r.cancelled { // it needs no answer
		line = nil
	}
	if r.batch != nil {
		if line != nil {
			r.batch.add(line)
		}
		line = r.batch.end()
	}
	there = true
	if line != nil {
		mine, there = out.add(line)
	}
	if p.idle != nil && p.open() == 0 {
		close(p.idle)
		p.idle = nil
	}
	return mine, there
}

// cancelled marks a request and returns its session; nil if there is none to cancel.
func (p *pending) cancelled(key jsonrpc.ID) *side {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.all[key]
	if r == nil || r.method == "initialize" { // the protocol forbids it
		return nil
	}
	r.cancelled = true
	return r.side
}

// open counts what has no answer. Subscriptions have none until they are cancelled. mu is held.
func (p *pending) open() int {
	n := 0
	for _, r := range p.all {
		if r.method != "subscriptions/listen" {
			n++
		}
	}
	return n
}

func (p *pending) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open()
}

// wait waits until everything is answered, for so long at most or until stop, and reports whether it is.
func (p *pending) wait(most time.Duration, stop <-chan struct{}) bool {
	p.mu.Lock()
	if p.open() == 0 {
		p.mu.Unlock()
		return true
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	idle := p.idle
	p.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
	case <-stop:
	}
	return false
}
