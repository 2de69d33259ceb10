package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-sh/sallyport/app/config"
	"github.com/sallyport-sh/sallyport/surface/text"
)

func newConfigCommand(env *Env, g *global) *cobra.Command {
	cmd := group(&cobra.Command{Use: "config", Short: "Show, check and change the configuration"})
	cmd.AddCommand(
		newConfigPathCommand(env, g),
		newConfigShowCommand(env, g),
		newConfigCheckCommand(env, g),
		newConfigGetCommand(env, g),
		newConfigSetCommand(env, g),
		newConfigDocCommand(env),
	)
	return cmd
}

func newConfigPathCommand(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "path", Short: "Print where the configuration file is", Args: arguments()}
	out := formatFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		paths, err := config.Find(g.config)
		if err != nil {
			return err
		}
		if *out == formatTable {
			warn(env, paths.Warnings)
			fmt.Fprintln(env.Stdout, paths.Config)
			return nil
		}
		// The state may be elsewhere, by the file. One that is wrong has been asked where it is, not what it says.
		if s, err := config.Load(paths.Config); err == nil {
			if paths, err = paths.With(s); err != nil {
				return err
			}
		}
		_, err = os.Stat(paths.Config)
		return printJSON(env.Stdout, struct {
			config.Paths
			Exists bool `json:"exists"`
		}{paths, err == nil})
	}
	return cmd
}

// effective loads the file and applies the environment, as a server that is started here would.
func effective(env *Env, g *global) (*config.Snapshot, error) {
	paths, err := config.Find(g.config)
	if err != nil {
		return nil, err
	}
	s, err := config.Load(paths.Config)
	if err != nil {
		return nil, err
	}
	s = config.Env(s, env.LookupEnv)
	warn(env, paths.Warnings)
	warn(env, s.Warnings)
	return s, nil
}

// warn says each warning on a line of standard error.
func warn(env *Env, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(env.Stderr, "warning:", text.Safe(w))
	}
}

func newConfigShowCommand(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Print what holds, and where each value comes from", Args: arguments(),
		Long: "Prints every key with the value that holds for a server started here and now, and where it comes from: default,\n" +
			"file, or a variable of the environment.",
	}
	out := formatFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		s, err := effective(env, g)
		if err != nil {
			return err
		}
		if *out == formatJSON {
			from := map[string]string{}
			for _, v := range s.Values() {
				if v.From != "default" {
					from[v.Name] = v.From
				}
			}
			return printJSON(env.Stdout, struct {
				File     string            `json:"file"`
				Revision string            `json:"revision"`
				Settings *config.Snapshot  `json:"settings"`
				From     map[string]string `json:"from"` // of what is no default
			}{s.Path, s.Revision, s, from})
		}
		rows := table{{"KEY", "VALUE", "FROM"}}
		for _, v := range s.Values() {
			rows = append(rows, []string{v.Name, config.Format(v.Value), v.From})
		}
		return rows.print(env.Stdout)
	}
	return cmd
}

func newConfigCheckCommand(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check [FILE]", Short: "List every mistake in the configuration file", Args: arguments("[FILE]"),
	}
	out := formatFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		file := g.config
		if len(args) == 1 {
			file = args[0]
		}
		paths, err := config.Find(file)
		if err != nil {
			return err
		}
		s, err := config.Load(paths.Config)
		problems, listed := errors.AsType[*config.Error](err)
		if err != nil && !listed {
			return err
		}
		if *out == formatTable {
			if err != nil {
				return err
			}
			warn(env, s.Warnings)
			fmt.Fprintf(env.Stdout, "%s: ok\n", s.Path)
			return nil
		}
		result := checkResult{File: paths.Config, OK: err == nil, Problems: []config.Problem{}}
		if err == nil {
			result.Revision, result.Warnings = s.Revision, s.Warnings
		} else {
			result.Problems = problems.Problems
		}
		if err := printJSON(env.Stdout, result); err != nil {
			return err
		}
		if !result.OK {
			return &ExitError{Code: ExitUsage}
		}
		return nil
	}
	return cmd
}

type checkResult struct {
	File     string           `json:"file"`
	OK       bool             `json:"ok"`
	Revision string           `json:"revision,omitempty"`
	Problems []config.Problem `json:"problems"`
	Warnings []string         `json:"warnings,omitempty"`
}

func newConfigGetCommand(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use: "get KEY", Short: "Print what holds for one key or table", Args: arguments("KEY"), ValidArgsFunction: completeKey,
		Long: "Prints the value of a key as it is, a list one item a line, and a table as its keys. A key of an agent's section,\n" +
			"such as agents.ID.exec.timeout_sec, gives what holds for that agent, whoever sets it.",
	}
	out := formatFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, err := effective(env, g)
		if err != nil {
			return err
		}
		v, err := config.Get(s, args[0])
		if err != nil {
			return err
		}
		if *out == formatJSON {
			return printJSON(env.Stdout, v)
		}
		return printValue(env.Stdout, v)
	}
	return cmd
}

// printValue prints a value for a shell to read.
func printValue(w io.Writer, v any) error {
	switch v := v.(type) {
	case []string:
		for _, item := range v {
			fmt.Fprintln(w, item)
		}
	case map[string]any:
		rows := table{}
		flatten("", v, func(name string, v any) { rows = append(rows, []string{name, config.Format(v)}) })
		return rows.print(w)
	default:
		fmt.Fprintln(w, v)
	}
	return nil
}

// flatten visits the values of a tree in the order of their names.
func flatten(prefix string, tree map[string]any, visit func(name string, v any)) {
	names := make([]string, 0, len(tree))
	for name := range tree {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		full := strings.TrimPrefix(prefix+"."+name, ".")
		if sub, ok := tree[name].(map[string]any); ok && len(sub) > 0 {
			flatten(full, sub, visit)
			continue
		}
		visit(full, tree[name])
	}
}

func newConfigSetCommand(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set KEY VALUE", Short: "Change one key in the configuration file", Args: arguments("KEY", "VALUE"), ValidArgsFunction: completeKey,
		Long: "Changes one key and leaves the rest of the file, comments too, as it is. Nothing is written if the result would not\n" +
			"be valid. A list is written as a,b or as [\"a\", \"b\"].",
		Example: "  sallyport config set exec.timeout_sec 600\n  sallyport config set tools.deny process\n" +
			"  sallyport config set 'agents.\"claude-code@/srv/app\".tools.exec.security' deny",
	}
	out := formatFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		paths, err := config.Find(g.config)
		if err != nil {
			return err
		}
		if err := config.Set(paths.Config, args[0], args[1]); err != nil {
			return err
		}
		s, err := config.Load(paths.Config)
		if err != nil {
			return err
		}
		v, err := config.Get(s, args[0])
		if err != nil {
			return err
		}
		if *out == formatJSON {
			return printJSON(env.Stdout, map[string]any{"file": paths.Config, "key": args[0], "value": v})
		}
		fmt.Fprintf(env.Stdout, "%s = %s\n", args[0], config.Format(v))
		fmt.Fprintf(env.Stderr, "written to %s\n", paths.Config)
		return nil
	}
	return cmd
}

func newConfigDocCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "doc [KEY]", Short: "Explain every key, one key, or the keys of a table", Args: arguments("[KEY]"), ValidArgsFunction: completeKey,
	}
	out := formatFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		keys := config.Reference()
		if len(args) == 1 {
			k, err := config.Lookup(args[0])
			if err != nil {
				return err
			}
			keys = slices.DeleteFunc(keys, func(other config.Key) bool { return !strings.HasPrefix(other.Name, k.Name+".") })
			keys = append([]config.Key{k}, keys...)
		}
		if *out == formatJSON {
			return printJSON(env.Stdout, keys)
		}
		for i, k := range keys {
			if i > 0 {
				fmt.Fprintln(env.Stdout)
			}
			printKey(env.Stdout, k)
		}
		return nil
	}
	return cmd
}

// printKey explains a key in a few lines.
func printKey(w io.Writer, k config.Key) {
	if k.IsTable() {
		fmt.Fprintf(w, "[%s]\n", k.Name)
	} else {
		fmt.Fprintf(w, "%s = %s\n    takes %s\n", k.Name, k.Default, k.Takes())
	}
	for _, line := range wrap(strings.ReplaceAll(k.Doc, "`", ""), 96) {
		fmt.Fprintf(w, "    %s\n", line)
	}
}

// wrap breaks a text into lines of at most width bytes, at spaces.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// completeKey completes the first argument to the name of a key.
func completeKey(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, k := range config.Reference() {
		if !strings.Contains(k.Name, "<") {
			names = append(names, cobra.CompletionWithDesc(k.Name, k.Doc))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
