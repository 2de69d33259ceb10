package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// MCPOptions are those of "sallyport mcp".
type MCPOptions struct {
	Config     string   // file of --config; empty: the user's
	Standalone bool     // serve from this process even if a daemon runs
	Agent      string   // agent id; empty: <client>@<workspace>
	Tools      []string // serve only these of the tools that the configuration serves; nil: all
	Isolate    bool     // sessions are this process' own, and end with it

	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

func newMCPCommand(env *Env, g *global) *cobra.Command {
	o := MCPOptions{Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr}
	cmd := group(&cobra.Command{
		Use: "mcp", Short: "Serve one MCP client on standard input and output",
		Long: "Serves one MCP client on standard input and output until it closes its end. Every command that was started for it\n" +
			"is then ended, and that is verified. It is started by the client: sallyport mcp config CLIENT prints how.",
	})
	cmd.Flags().BoolVar(&o.Standalone, "standalone", false, "serve from this process, also if a daemon runs")
	cmd.Flags().StringVar(&o.Agent, "agent", "", "the client is the agent `ID`: section [agents.ID] holds for it")
	cmd.Flags().StringSliceVar(&o.Tools, "tools", nil, "serve only these `TOOLS` of those that the configuration serves: exec,process")
	cmd.Flags().BoolVar(&o.Isolate, "isolate", false, "share no sessions with other servers of the same agent")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		run := env.RunMCP
		if run == nil {
			run = serveMCP(ReadBuild(env.Version).Version)
		}
		o.Config = g.config
		return run(cmd.Context(), o)
	}
	cmd.AddCommand(newMCPConfigCommand(env, g))
	return cmd
}
