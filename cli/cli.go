package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sallyport-sh/sallyport/app/config"
)

// An Env is what a command has of the process it runs in, and of the application. All fields of the first group are
// required.
type Env struct {
	Args   []string // as the operating system gives them: the program as it was called, then the arguments
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// LookupEnv reads the environment.
	LookupEnv func(string) (string, bool)

	// Version of a release, set by its build. Empty: what the build recorded.
	Version string

	// RunMCP serves one client until it goes away. nil: the server of package app.
	RunMCP func(ctx context.Context, o MCPOptions) error
}

// getenv is a variable of the environment, empty if it is not set.
func (e *Env) getenv(name string) string {
	v, _ := e.LookupEnv(name)
	return v
}

// Main runs the command that env asks for and returns the exit code of the process.
func Main(env *Env) int {
	root := newRoot(env)
	root.SetArgs(env.Args[min(1, len(env.Args)):])
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	return int(report(env.Stderr, root.ExecuteContext(context.Background())))
}

// A global holds the flags that every command has.
type global struct {
	config string // file of --config
}

// newRoot is the tree of commands.
func newRoot(env *Env) *cobra.Command {
	g := &global{}
	root := group(&cobra.Command{
		Use:   "sallyport",
		Short: "The guarded door between an LLM agent and a shell",
		Long: "Sallyport is the guarded door between an LLM agent and a shell: commands run through it are bounded, recorded,\n" +
			"observable and killable.\n\nTo add it to an agent: sallyport mcp config CLIENT",
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	})
	root.DisableSuggestions = true // they are hints: see group
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&g.config, "config", "", "use this configuration `FILE` instead of the user's")
	root.AddCommand(
		newMCPCommand(env, g),
		newExecCommand(env, g),
		newConfigCommand(env, g),
		newAuditCommand(env, g),
		newDoctorCommand(env, g),
		newVersionCommand(env),
		newCompletionCommand(env),
	)
	return root
}

// group makes cmd one that only holds others: alone it prints its help, and a word that is none of them is an error that
// names the nearest.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var known []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				known = append(known, c.Name())
			}
		}
		hint := cmd.CommandPath() + " --help lists the commands"
		if near := config.Nearest(args[0], known); near != "" {
			hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
		}
		return &usageError{msg: fmt.Sprintf("unknown command %q", cmd.CommandPath()+" "+args[0]), hint: hint}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// flagError turns what the flag parser says into a usage error, with the nearest flag for one that does not exist.
func flagError(cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help lists the flags"
	if unknown, ok := asUnknownFlag(err); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := config.Nearest(unknown, known); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return &usageError{msg: err.Error(), hint: hint}
}

// arguments checks the number of arguments; names are those that must be there, then, in brackets, those that may.
func arguments(names ...string) cobra.PositionalArgs {
	least := 0
	for _, n := range names {
		if !strings.HasPrefix(n, "[") {
			least++
		}
	}
	return func(cmd *cobra.Command, args []string) error {
		usage := "usage: " + strings.Join(append([]string{cmd.CommandPath()}, names...), " ")
		switch {
		case len(args) < least:
			return &usageError{msg: "missing argument: " + names[len(args)], hint: usage}
		case len(args) > len(names):
			return &usageError{msg: fmt.Sprintf("too many arguments: %q", args[len(names)]), hint: usage}
		}
		return nil
	}
}
