package mcp

import (
	"context"
	"net/url"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// rootsWait bounds the wait for a client's roots: its first call may wait for them.
const rootsWait = time.Second

// askRoots asks a client of the session era for its roots, once, if it has any and we are to ask.
func (c *conn) askRoots(req sdk.Request) {
	session, ok := req.GetSession().(*sdk.ServerSession)
	if !ok || !c.server.o.Roots {
		return
	}
	p := session.InitializeParams()
	//nolint:staticcheck // deprecated with the session era, whose clients have no other way to say it
	if p == nil || p.Capabilities == nil || p.Capabilities.RootsV2 == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.roots != nil || c.ctx.Err() != nil {
		return
	}
	known := make(chan struct{})
	c.roots = known
	c.tasks.Go(func() {
		defer close(known)
		ctx, cancel := context.WithTimeout(c.ctx, rootsWait)
		defer cancel()
		res, err := session.ListRoots(ctx, nil) //nolint:staticcheck // as above
		if err != nil || len(res.Roots) != 1 {
			return
		}
		root := rootPath(res.Roots[0].URI)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.client.Root = root
	})
}

// rootPath is the path of a file URI (RFC 8089) on this machine; empty for any other.
func rootPath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // file:///C:/work
		path = path[1:]
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}
