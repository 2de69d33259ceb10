package mcp

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-sh/sallyport/surface/tools"
)

// errEnding refuses what comes too late.
var errEnding = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server is ending"}

// lastLegacy is the newest version of the session era.
const lastLegacy = "2025-11-25"

// introduce learns who the client is from the first message of an era, so that the tools are right from the start.
func (c *conn) introduce(modern bool, e envelope) {
	info := find(e.params, "clientInfo")
	if modern {
		info = find(find(e.params, "_meta"), sdk.MetaKeyClientInfo)
	}
	client := Client{Name: find(info, "name").text(), Version: find(info, "version").text()}
	c.mu.Lock()
	if c.client.Name == "" {
		c.client.Name, c.client.Version = client.Name, client.Version
	}
	c.mu.Unlock()
	c.refresh(context.Background())
}

// who is the client of a request.
func (c *conn) who(ctx context.Context, meta map[string]any) Client {
	if info, ok := meta[sdk.MetaKeyClientInfo].(map[string]any); ok {
		name, _ := info["name"].(string)
		version, _ := info["version"].(string)
		return Client{Name: name, Version: version}
	}
	c.mu.Lock()
	roots := c.roots
	c.mu.Unlock()
	if roots != nil {
		select {
		case <-roots: // within rootsWait
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// refresh brings the SDK's list of tools up to what is served now. The SDK tells clients of a change.
func (c *conn) refresh(ctx context.Context) {
	c.mu.Lock()
	client := c.client
	c.mu.Unlock()
	caller := c.server.o.Caller(client)
	info, err := c.server.o.Runs.Info(ctx, caller)
	if err != nil {
		c.server.o.Logger.Error("describe the host", "error", err)
		return
	}
	where := tools.Where{Caller: caller, Host: info}
	lists := make([][]tools.Tool, len(c.server.o.Families))
	n := 0
	for i, f := range c.server.o.Families {
		lists[i] = f.Tools(where)
		n += len(lists[i])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, list := range lists {
		for _, t := range list {
			if old, ok := c.served[t.Name]; !ok || !same(old, t) {
				c.served[t.Name] = t
				c.sdk.AddTool(toolOf(t), c.handler(c.server.o.Families[i]))
			}
		}
	}
	if len(c.served) == n {
		return
	}
	for name := range c.served {
		if !slices.ContainsFunc(slices.Concat(lists...), func(t tools.Tool) bool { return t.Name == name }) {
			delete(c.served, name)
			c.sdk.RemoveTools(name)
		}
	}
}

func same(a, b tools.Tool) bool {
	return a.Description == b.Description && a.Title == b.Title && a.Annotations == b.Annotations && bytes.Equal(a.Schema, b.Schema)
}

func toolOf(t tools.Tool) *sdk.Tool {
	return &sdk.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Schema, Meta: t.Meta,
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint: t.Annotations.ReadOnly, DestructiveHint: &t.Annotations.Destructive,
			IdempotentHint: t.Annotations.Idempotent, OpenWorldHint: &t.Annotations.OpenWorld,
		},
	}
}

// handler calls a tool of a family.
func (c *conn) handler(f tools.Family) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if c.ctx.Err() != nil {
			return nil, errEnding
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stop := context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })
		defer stop()
		res := f.Call(ctx, tools.Call{
			Name: req.Params.Name, Args: req.Params.Arguments,
			Caller: c.server.o.Caller(c.who(ctx, req.Params.Meta)), Progress: progress(ctx, req),
		})
		out := &sdk.CallToolResult{
			Content: []sdk.Content{&sdk.TextContent{Text: res.Text}}, IsError: res.IsError, Meta: sdk.Meta{},
		}
		if res.Structured != nil {
			out.Meta["sallyport/result"] = res.Structured
			if res.Shown {
				out.StructuredContent = res.Structured
			}
		}
		return out, nil
	}
}

// progress tells a client that gave a token how far its call is.
func progress(ctx context.Context, req *sdk.CallToolRequest) func(string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	began := time.Now()
	return func(line string) {
		// What a client misses of it, it does not need.
		_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: time.Since(began).Round(time.Millisecond).Seconds(), Message: line,
		})
	}
}

// middleware stands before everything that the SDK does for a request.
func (c *conn) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if r := recover(); r != nil {
				c.server.o.Logger.Error("panic", slog.String("method", method), slog.Any("value", r), slog.String("stack", string(debug.Stack())))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("internal error in %s; the server goes on", method)}
			}
		}()
		switch method {
		case "initialize":
			return c.initialize(ctx, req, next)
		case "notifications/initialized":
			c.askRoots(req)
		case "tools/list", "tools/call":
			if method == "tools/list" {
				c.who(ctx, nil) // its root is part of what the tools say
			}
			c.refresh(ctx)
		}
		return next(ctx, method, req)
	}
}

// initialize answers every initialize, not only the first: a client that has lost its state begins again.
func (c *conn) initialize(ctx context.Context, req sdk.Request, next sdk.MethodHandler) (sdk.Result, error) {
	p, ok := req.GetParams().(*sdk.InitializeParams)
	if !ok || p == nil {
		return next(ctx, "initialize", req)
	}
	c.mu.Lock()
	if p.ClientInfo != nil {
		c.client.Name, c.client.Version = p.ClientInfo.Name, p.ClientInfo.Version
	}
	c.mu.Unlock()
	session, ok := req.GetSession().(*sdk.ServerSession)
	if !ok || session.InitializeParams() == nil {
		return next(ctx, "initialize", req)
	}
	version := lastLegacy
	if p.ProtocolVersion < firstModern && slices.Contains(sdk.SupportedProtocolVersions(), p.ProtocolVersion) {
		version = p.ProtocolVersion
	}
	return &sdk.InitializeResult{
		ProtocolVersion: version, Capabilities: capabilities(), Instructions: c.server.o.Instructions,
		ServerInfo: c.server.implementation(),
	}, nil
}
