package cli

import (
	"context"
	"os"

	"github.com/sallyport-sh/sallyport/app"
	"github.com/sallyport-sh/sallyport/host/keeper"
)

// serveMCP is the server of "sallyport mcp", if env brings no other.
func serveMCP(version string) func(context.Context, MCPOptions) error {
	return func(ctx context.Context, o MCPOptions) error {
		link, err := keeper.Join()
		if err != nil {
			return err
		}
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		return app.ServeMCP(ctx, app.MCPOptions{
			Options: app.Options{Config: o.Config, Version: version, Log: o.Stderr, Link: link},
			Agent:   o.Agent, Tools: o.Tools, Isolate: o.Isolate, Dir: dir, In: o.Stdin, Out: o.Stdout,
		})
	}
}
