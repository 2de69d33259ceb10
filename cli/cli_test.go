package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport-sh/sallyport"
)

// A run is what a command did.
type run struct {
	exit           int
	stdout, stderr string
}

// command runs a command in this process; change may fill in what the application provides.
func command(change func(*Env), args ...string) run {
	var out, errs bytes.Buffer
	env := &Env{
		Args: append([]string{"sallyport"}, args...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		LookupEnv: func(string) (string, bool) { return "", false },
	}
	if change != nil {
		change(env)
	}
	exit := Main(env)
	return run{exit, out.String(), errs.String()}
}

func TestMCPOptions(t *testing.T) {
	t.Parallel()
	var got MCPOptions
	r := command(func(env *Env) {
		env.RunMCP = func(_ context.Context, o MCPOptions) error {
			got = o
			return &sallyport.Error{Code: sallyport.Closed, Msg: "done"}
		}
	}, "mcp", "--standalone", "--config", "/c.toml", "--agent", "reviewer", "--tools", "exec,process", "--isolate")
	if r.exit != int(ExitUnavailable) || r.stderr != "error: done\n" || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	want := MCPOptions{Config: "/c.toml", Standalone: true, Agent: "reviewer", Tools: []string{"exec", "process"}, Isolate: true}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(MCPOptions{}, "Stdin", "Stdout", "Stderr")); diff != "" {
		t.Error(diff)
	}
	if got.Stdin == nil || got.Stdout == nil || got.Stderr == nil {
		t.Error("a stream is missing")
	}
	// No server may start with an option that it does not know.
	for _, args := range [][]string{{"mcp", "--readonly"}, {"mcp", "standalone"}} {
		got = MCPOptions{}
		if r := command(nil, args...); r.exit != int(ExitUsage) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// Every command that prints data does so as JSON, too, and every command has a short description.
func TestEveryCommand(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.toml")
	state := filepath.ToSlash(filepath.Join(t.TempDir(), "state"))
	if r := command(nil, "--config", config, "config", "set", "state", state); r.exit != 0 {
		t.Fatalf("%+v", r)
	}
	for _, args := range [][]string{
		{"version"},
		{"config", "path"},
		{"config", "show"},
		{"config", "check"},
		{"config", "get", "exec"},
		{"config", "doc"},
		{"config", "set", "exec.grace_ms", "5"},
		{"mcp", "config", "cursor"},
		{"audit", "verify"},
		{"audit", "tail"},
		{"doctor"},
	} {
		r := command(nil, append(args, "--config", config, "-o", "json")...)
		if r.exit != 0 || !json.Valid([]byte(r.stdout)) || strings.Contains(r.stderr, "error") {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// A command line is no place to drive a terminal from either.
func TestErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	r := command(nil, "config", "get", "exec.\x1b[2J\nfoo")
	if r.exit != int(ExitNotFound) || strings.Contains(r.stderr, "\x1b") || strings.Count(r.stderr, "\n") != 2 {
		t.Errorf("%+v", r)
	}
}
