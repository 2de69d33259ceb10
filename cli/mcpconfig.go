package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-sh/sallyport/app/config"
)

// A server is how a client starts us.
type server struct {
	Name    string   `json:"name"`
	Command string   `json:"command"` // absolute: clients do not have the PATH of a person's shell
	Args    []string `json:"args"`
}

// An mcpClient is a program that can start MCP servers.
type mcpClient struct {
	where   string                  // the file that the snippet belongs into
	snippet func(s server) string   // in the form of that file
	command func(s server) []string // a command that does the same; nil: there is none
}

// mcpClients are the clients we know the form of.
func mcpClients() map[string]mcpClient {
	return map[string]mcpClient{
		"claude-desktop": {
			where:   "claude_desktop_config.json (Settings, Developer, Edit Config), then start Claude again",
			snippet: func(s server) string { return serverJSON("mcpServers", "", s) },
		},
		"claude-code": {
			where:   ".mcp.json",
			snippet: func(s server) string { return serverJSON("mcpServers", "stdio", s) },
			command: func(s server) []string {
				return slices.Concat([]string{"claude", "mcp", "add", s.Name, "--", s.Command}, s.Args)
			},
		},
		"cursor": {
			where:   "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
			snippet: func(s server) string { return serverJSON("mcpServers", "", s) },
		},
		"vscode": {
			where:   ".vscode/mcp.json, or the user's (command MCP: Open User Configuration)",
			snippet: func(s server) string { return serverJSON("servers", "stdio", s) },
		},
		"codex": {
			where:   "~/.codex/config.toml",
			snippet: codexTOML,
		},
	}
}

func newMCPConfigCommand(env *Env, g *global) *cobra.Command {
	clients := mcpClients()
	names := slices.Sorted(maps.Keys(clients))
	cmd := &cobra.Command{
		Use:   "config CLIENT [-- ARGS]",
		Short: "Print what to paste into a client's configuration",
		Long: "Prints what to paste into the configuration of an MCP client so that it starts this program. CLIENT is one of\n" +
			strings.Join(names, ", ") + ". ARGS are passed to sallyport mcp, as is --config.",
		Example:   "  sallyport mcp config claude-code\n  sallyport mcp config vscode -- --agent reviewer --tools exec",
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			hint := "one of " + strings.Join(names, ", ")
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
				return &usageError{msg: "missing argument: CLIENT", hint: hint}
			}
			if _, ok := clients[args[0]]; !ok {
				if near := config.Nearest(args[0], names); near != "" {
					hint = "did you mean " + near + "?"
				}
				return &usageError{msg: fmt.Sprintf("unknown client %q", args[0]), hint: hint}
			}
			if cmd.ArgsLenAtDash() < 0 && len(args) > 1 {
				return &usageError{msg: fmt.Sprintf("too many arguments: %q", args[1]), hint: "put arguments of sallyport mcp behind --"}
			}
			return nil
		},
	}
	name := cmd.Flags().String("name", "sallyport", "`NAME` of the server in the client")
	out := formatFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, err := newServer(env, g, *name, args[1:])
		if err != nil {
			return err
		}
		return printClient(env, clients[args[0]], s, *out)
	}
	return cmd
}

// newServer is this program as a client is to start it.
func newServer(env *Env, g *global, name string, extra []string) (server, error) {
	command, err := executable(env)
	if err != nil {
		return server{}, err
	}
	s := server{Name: name, Command: command, Args: []string{"mcp"}}
	if g.config != "" {
		paths, err := config.Find(g.config) // absolute, as the client starts us elsewhere
		if err != nil {
			return server{}, err
		}
		s.Args = append(s.Args, "--config", paths.Config)
	}
	s.Args = append(s.Args, extra...)
	return s, nil
}

func printClient(env *Env, c mcpClient, s server, out format) error {
	snippet := c.snippet(s)
	if out == formatJSON {
		data := struct {
			server
			Where   string   `json:"where"`
			Snippet string   `json:"snippet"`
			Run     []string `json:"run,omitempty"`
		}{server: s, Where: c.where, Snippet: snippet}
		if c.command != nil {
			data.Run = c.command(s)
		}
		return printJSON(env.Stdout, data)
	}
	if c.command != nil {
		words := c.command(s)
		for i, w := range words {
			words[i] = shellWord(w)
		}
		fmt.Fprintf(env.Stdout, "%s\n(or put this into %s)\n%s\n", strings.Join(words, " "), c.where, snippet)
		return nil
	}
	// The place is said beside the answer, so that the answer can be redirected into a file.
	fmt.Fprintf(env.Stderr, "put this into %s:\n", c.where)
	fmt.Fprintln(env.Stdout, snippet)
	return nil
}

// serverJSON is one line, as it is to be found again after it was pasted; the files hold others' servers, too.
func serverJSON(key, kind string, s server) string {
	entry := struct {
		Type    string   `json:"type,omitempty"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{kind, s.Command, s.Args}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]any{key: map[string]any{s.Name: entry}}); err != nil {
		panic("cli: strings are JSON: " + err.Error())
	}
	return strings.TrimRight(b.String(), "\n")
}

func codexTOML(s server) string {
	return "[mcp_servers." + config.FormatKey(s.Name) + "]\n" +
		"command = " + config.Format(s.Command) + "\n" +
		"args = " + config.Format(s.Args) + "\n\n" +
		"# So that there is one shell, this one:\n# [features]\n# shell_tool = false"
}

// shellWord quotes a word for a POSIX shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// executable is the path of this program. A link is kept if the program was called by it: it will outlive the version
// that it points to.
func executable(env *Env) (string, error) {
	real, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	called := findCalled(env)
	if called == "" {
		return real, nil
	}
	a, err := filepath.EvalSymlinks(called)
	if err != nil {
		return real, nil
	}
	b, err := filepath.EvalSymlinks(real)
	if err != nil || a != b {
		return real, nil
	}
	return called, nil
}

// findCalled is the absolute path that the program was called by, or empty.
func findCalled(env *Env) string {
	if len(env.Args) == 0 || env.Args[0] == "" {
		return ""
	}
	name := env.Args[0]
	if strings.ContainsRune(name, filepath.Separator) {
		abs, err := filepath.Abs(name)
		if err != nil {
			return ""
		}
		return abs
	}
	for _, dir := range filepath.SplitList(env.getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
