package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/mcp"
	"github.com/sallyport-sh/sallyport/surface/tools"
)

// MCPOptions are those of "sallyport mcp".
type MCPOptions struct {
	Options
	Agent   string   // agent id; empty: <client>@<workspace>
	Tools   []string // serve these only; empty: all that the configuration serves
	Dir     string   // working directory of the process: the default workspace
	Isolate bool     // a scope of its own for this process
	In      io.Reader
	Out     io.Writer
}

// drain is how long calls that still run when input ends may take to answer. With the end of what they run after it,
// nothing of a client that went away is left 2 s later.
const drain = 750 * time.Millisecond

// errSignal ends a server that was told to end.
var errSignal = errors.New("asked to end by a signal")

// errKeeper ends a server whose keeper died.
var errKeeper = errors.New("the keeper died")

// ServeMCP serves one client on stdio until it goes away, then ends everything that was started for it.
func ServeMCP(ctx context.Context, o MCPOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	holdSignals(o.Link, func(sig syscall.Signal) {
		switch sig {
		case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
			cancel(errSignal)
		}
	})
	o.Watch = true
	a, err := Open(ctx, o.Options)
	if err != nil {
		return err
	}
	defer a.End()
	go func() {
		select {
		case <-o.Link.Gone():
			cancel(errKeeper)
		case <-ctx.Done():
		}
	}()
	family := tools.NewExec(a.Runs, func(agent string) tools.Settings { return toolSettings(a.config(), agent, o.Tools) })
	server := mcp.New(mcp.Options{
		Runs: a.Runs, Families: []tools.Family{family}, Version: o.Version, Logger: a.Log,
		Roots: true, Drain: drain, Caller: func(client mcp.Client) sallyport.Caller { return a.caller(o, client) },
	})
	a.OnEdit(server.Changed)
	err = server.ServeStdio(ctx, o.In, o.Out)
	if cause := context.Cause(ctx); errors.Is(cause, errSignal) || errors.Is(cause, errKeeper) {
		return nil
	}
	return err
}

// caller is who a stdio client is: an agent of this user. A flag can name it; nothing it sends raises its role.
func (a *App) caller(o MCPOptions, client mcp.Client) sallyport.Caller {
	s := a.config()
	c := sallyport.Caller{
		Kind: sallyport.Agent, Role: s.MCP.CallerRole(), AgentID: o.Agent, UID: uid(), Surface: "mcp",
		Workspace: s.For(o.Agent).Workspace,
	}
	if c.Workspace == "" {
		c.Workspace = cmp.Or(client.Root, o.Dir)
	}
	name := cmp.Or(o.Agent, client.Name, "client")
	c.Scope = sallyport.Scope(name + "@" + filepath.Clean(c.Workspace))
	if o.Isolate {
		c.Scope += sallyport.Scope("#" + filepath.Base(a.place.dir))
	}
	return c
}
