// Package mcp serves tool families over the Model Context Protocol on stdio, on the official SDK.
//
// It owns what the protocol asks of a server and the SDK leaves open on stdio: framing that survives any input, both
// protocol eras and clients without a session on one pipe, an end that loses no answer, and panics that become errors.
// It owns no tool, no session and no policy: a caller is named by the application for each call, and what the caller
// started lives behind [sallyport.Runs], never in an MCP session.
//
// Invariants: nothing but JSON-RPC is written; a request is answered at most once, and is answered unless its client
// cancelled it or went away; reading never waits for a running call or a slow reader of our output; when ServeStdio
// returns, every call has returned.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/tools"
)

// A Client is who is at the other end, as it says of itself.
type Client struct {
	Name    string // clientInfo.name; empty if it did not say
	Version string
	// Root is the absolute path of the client's workspace, if [Options.Roots] is set and the client named exactly one.
	Root string
}

// Options are what a server needs. Runs, Families and Caller are required.
type Options struct {
	Runs     sallyport.Runs
	Families []tools.Family
	// Caller says for each call on whose behalf it is made. It must be cheap.
	Caller       func(Client) sallyport.Caller
	Version      string
	Instructions string // for models: when to use this server. At most 2,048 UTF-16 units, where clients cut
	Logger       *slog.Logger
	// Roots asks clients of the session era for their roots. The first call waits for the answer, for a second at most.
	Roots bool
	// Drain is how long calls that still run when input ends may take to answer before they are cancelled. 0: 1 s.
	Drain time.Duration
	// MaxMessage bounds a message in bytes. Longer ones are answered with an error. 0: 16 MiB.
	MaxMessage int
}

// The defaults of [Options]. The drain leaves half of the 2 s in which nothing of a client that went away may be left.
const (
	defaultDrain      = time.Second
	defaultMaxMessage = 16 << 20
)

// Server serves tool families. It is safe for concurrent use.
type Server struct {
	o Options

	mu    sync.Mutex
	conns map[*conn]bool
}

// New returns a server.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Drain == 0 {
		o.Drain = defaultDrain
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = defaultMaxMessage
	}
	return &Server{o: o, conns: map[*conn]bool{}}
}

// Changed tells clients that were served other tools before that the list has changed. Call it when configuration did.
func (s *Server) Changed() {
	s.mu.Lock()
	all := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.refresh(context.Background())
	}
}

// errGone ends the calls of a client that is not there any more.
var errGone = errors.New("the client has gone away")

const (
	// stopWait bounds the wait for calls that were cancelled: longer than the tools take to kill and verify.
	stopWait = 35 * time.Second
	// flushWait bounds the wait for a client that does not read its last answers.
	flushWait = time.Second
)

// ServeStdio serves one client over newline-delimited JSON-RPC until its input ends, its output breaks or ctx is done,
// and returns when every call has returned. Answers of what is finished by then are written; calls that still run are
// cancelled after [Options.Drain], and what they started is killed. It does not close in or out, and the goroutine that
// reads in ends when in does.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := newConn(s, out)
	s.mu.Lock()
	s.conns[c] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	go c.read(in)
	drain := time.Duration(0)
	var cause error
	select {
	case <-c.eof:
		drain = s.o.Drain
	case <-c.out.broken:
		cause = fmt.Errorf("write to the client: %w", c.out.err())
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	return errors.Join(cause, c.stop(drain))
}

// stop answers what is finished, cancels what is not, and waits for it.
func (c *conn) stop(drain time.Duration) error {
	c.pending.wait(drain, c.out.broken)
	c.cancel(errGone)
	var err error
	if !c.pending.wait(stopWait, nil) {
		err = fmt.Errorf("%d calls have not ended", c.pending.count())
	}
	if !c.out.flush(flushWait) {
		err = errors.Join(err, errSlow)
	}
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	close(c.done)
	if err == nil { // else a goroutine of the SDK's is held up, and ends when what holds it does
		c.sessions.Wait()
	}
	c.tasks.Wait()
	c.out.close()
	return err
}

// sdkOptions are those of the SDK's server. Its own log is of what happens on the pipe, which is of no interest unless
// something is wrong.
func (s *Server) sdkOptions() *sdk.ServerOptions {
	return &sdk.ServerOptions{
		Instructions: s.o.Instructions,
		Logger:       slog.New(atLeast{s.o.Logger.Handler(), slog.LevelWarn}),
		Capabilities: capabilities(),
	}
}

func capabilities() *sdk.ServerCapabilities {
	return &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}}
}

func (s *Server) implementation() *sdk.Implementation {
	return &sdk.Implementation{Name: "sallyport", Title: "Sallyport", Version: s.o.Version}
}

// atLeast passes records of a level and above.
type atLeast struct {
	slog.Handler
	level slog.Level
}

// Enabled implements [slog.Handler].
func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}
