package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-sh/sallyport"
)

func TestParse(t *testing.T) {
	t.Parallel()
	s := parse(t, `
workspace = "/srv/app"
[exec]
background_ms = 20_000
timeout_sec = 0
path_prepend = ["~/bin", "/opt/bin"]
kill = "mark"
[output]
quota = "1GiB"
finished_bytes = 1048576
[tools]
deny = ["process"]
[tools.exec]
security = "deny"
[mcp]
role = "guest"
`)
	if s.Workspace != "/srv/app" || s.Exec.Background != 20*time.Second || s.Exec.Timeout != 0 || s.Exec.Grace != 5*time.Second {
		t.Errorf("exec: %+v", s.Exec)
	}
	if s.Output.Quota != 1<<30 || s.Output.FinishedBytes != 1<<20 {
		t.Errorf("output: %+v", s.Output)
	}
	if s.Tools.Exec.Security != sallyport.SecurityDeny || s.Tools.Exec.Host != sallyport.Gateway || s.MCP.CallerRole() != sallyport.Guest {
		t.Errorf("tools: %+v, mcp: %+v", s.Tools, s.MCP)
	}
	if diff := cmp.Diff([]string{"~/bin", "/opt/bin"}, s.Exec.PathPrepend); diff != "" {
		t.Error(diff)
	}
	if s.Exec.MaxOutputLimit != 200_000 {
		t.Errorf("limit %d", s.Exec.MaxOutputLimit)
	}
}

// Each mistake is found, in one pass, with its line and what to write instead.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "[exec]\nbackgroud_ms = 1", `line 2: exec.backgroud_ms: unknown key: did you mean exec.background_ms?`},
		{"camel case", "[exec]\nbackgroundMs = 1", `line 2: exec.backgroundMs: unknown key: did you mean exec.background_ms?`},
		{"another name", "[exec]\ntimeout = 1", `line 2: exec.timeout: unknown key: did you mean exec.timeout_sec?`},
		{"another table", "[tools.exec]\npathPrepend = []", `line 2: tools.exec.pathPrepend: unknown key: did you mean exec.path_prepend?`},
		{"no table", "timeout_sec = 1", `line 1: timeout_sec: unknown key: did you mean exec.timeout_sec?`},
		{"nothing near", "colour = true", `line 1: colour: unknown key`},
		{"unknown table", "\n[outputs]\nquota = 1", `line 2: outputs: unknown key: did you mean output?`},
		{"a key with a dot", `"exec.shell" = "/bin/sh"`, `line 1: "exec.shell": unknown key: did you mean exec.shell?`},
		{"too small", "[exec]\nbackground_ms = 9", `line 2: exec.background_ms: 9 is out of range: 10 to 120000`},
		{"too large", "exec.background_ms = 120001", `line 1: exec.background_ms: 120001 is out of range: 10 to 120000`},
		{"negative", "exec.timeout_sec = -1", `line 1: exec.timeout_sec: -1 is out of range: 0 to 31536000`},
		{"fraction", "exec.timeout_sec = 1.5", `line 1: exec.timeout_sec: must be a whole number of seconds, 0 to 31536000; it is the number 1.5`},
		{"quoted number", `exec.grace_ms = "100"`, `line 1: exec.grace_ms: must be a whole number of milliseconds, 0 to 600000; it is the string "100": write it without quotes`},
		{"quoted truth", `exec.notify_on_exit = "true"`, `line 1: exec.notify_on_exit: must be true or false; it is the string "true": write it without quotes`},
		{"size", `output.quota = "64M"`, `line 1: output.quota: "64M" has no unit of bytes: KiB, MiB, GiB (powers of 1024) or kB, MB, GB (of 1000)`},
		{"size too small", `output.quota = 1`, `line 1: output.quota: 1 is out of range: 1MiB to 16GiB`},
		{"word", `exec.kill = "cgruop"`, `line 1: exec.kill: "cgruop" is not one of auto, cgroup, mark: did you mean "cgroup"?`},
		{"relative", `workspace = "app"`, `line 1: workspace: "app" must be an absolute path`},
		{"not a list", `exec.path_prepend = "/opt/bin"`, `line 1: exec.path_prepend: must be a list of strings; it is the string "/opt/bin": write ["/opt/bin"]`},
		{"item", `exec.path_prepend = ["/a", 1]`, `line 1: exec.path_prepend: must be a list of strings; an item is the number 1`},
		{"item twice", `tools.deny = ["process", "process"]`, `line 1: tools.deny: holds "process" twice`},
		{"misspelt tool", `tools.deny = ["proccess"]`, `line 1: tools.deny: "proccess" is not one of exec, process, apply_patch, run_command, execute_command, get_command_history, get_terminal_capabilities, execute_shell_command, ls, pwd: did you mean "process"?`},
		{"two directories in one", `exec.path_prepend = ["/a:/b"]`, `line 1: exec.path_prepend: "/a:/b" holds the separator of PATH: write two items`},
		{"marker that acts", `exec.shell_marker = ["BASH_ENV"]`, `line 1: exec.shell_marker: "BASH_ENV" cannot mark commands: a marker is a name of your own that ends in _SHELL`},
		{"marker that is no name", `exec.shell_marker = ["A B_SHELL"]`, `line 1: exec.shell_marker: "A B_SHELL" is not the name of an environment variable`},
		{"variable", `env.pass = ["A=B"]`, `line 1: env.pass: "A=B" is not the name of an environment variable`},
		{"key for a table", `exec = 1`, `line 1: exec: is a table, not the number 1: write [exec] and its keys below`},
		{"table for a key", "[exec.shell]", `line 1: exec.shell: must be a string; it is a table`},
		{"list of tables", "[[exec]]", `line 1: exec: is a table, not a list of tables: write [exec] and its keys below`},
		{"agents", "agents = 1", `line 1: agents: must be tables: [agents.<id>]; it is the number 1`},
		{"agent", "agents.x = 1", `line 1: agents.x: must be a table: [agents.x]; it is the number 1`},
		{"agent without id", `[agents.""]`, `line 1: agents."": is not the id of an agent: 1 to 256 bytes, no control characters`},
		{"agent's key", "[agents.\"a b\".exec]\nyieldMs = 5", `line 2: agents."a b".exec.yieldMs: unknown key: did you mean agents."a b".exec.background_ms?`},
		{"agent without output", "[agents.x.output]\nquota = 1", `line 1: agents.x.output: is the same for all agents: write output`},
		{"agent that is switched off", "[agents.x.tools.exec]\nenabled = false", `line 2: agents.x.tools.exec.enabled: is the same for all agents: write tools.exec.enabled`},
		{"syntax", "[exec]\nshell = /bin/bash", `line 2: not TOML: expected value but found '/' instead`},
		{"syntax at the end of a line", "\n[exec\nx = 1", `line 2: not TOML: expected '.' or ']' to end table name, but got '\n' instead`},
		{"key twice", "workspace = '/a'\nworkspace = '/b'", `line 2: not TOML: Key 'workspace' has already been defined.`},
		{"UTF-16", "\xff\xfe[\x00", `line 1: is UTF-16: save it as UTF-8`},
		{"not UTF-8", "workspace = '\xff'", `line 1: not TOML: invalid UTF-8 byte: 0xff`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("f", []byte(c.text))
			if err == nil || err.Error() != "f: "+c.want {
				t.Errorf("got  %v\nwant f: %s", err, c.want)
			}
		})
	}
}

// What this version does not have is refused, not ignored; its default may be written down.
func TestNotInForce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`tools.exec.security = "allowlist"`, `tools.exec.security: "allowlist" is not in force in this version, which has no policy engine`},
		{`tools.exec.ask = "always"`, `tools.exec.ask: "always" is not in force in this version, which has no approvals`},
		{`tools.exec.host = "sandbox"`, `tools.exec.host: "sandbox" is not in force in this version, which has no sandboxes or nodes`},
		{`tools.families = ["exec", "shell"]`, `tools.families: "shell" is not in force in this version, which has no other tool families`},
		{`exec.safe_bins = ["jq"]`, `exec.safe_bins: is not in force in this version, which has no policy engine: only its default, [], is accepted: leave it out`},
		{`exec.strict_inline_eval = false`, `exec.strict_inline_eval: is not in force in this version, which has no policy engine: only its default, true, is accepted: leave it out`},
		{"[exec.safe_bin_profiles.jq]\nmaxPositional = 1", `exec.safe_bin_profiles: is not in force in this version, which has no policy engine: only its default, {}, is accepted: leave it out`},
		{`agents.a.exec.apply_patch.enabled = true`, `agents.a.exec.apply_patch.enabled: is not in force in this version, which has no apply_patch: only its default, false, is accepted: leave it out`},
		{`tools.exec.node = "build-7"`, `tools.exec.node: is not in force in this version, which has no nodes: only its default, "", is accepted: leave it out`},
		{"[tools.run_command]\nenabled = false", `tools.run_command: is not in force in this version, which serves the exec family only`},
		{"[approvals]\ncall_wait = 0", `approvals: is not in force in this version, which has no approvals`},
		{"[shell]\ntimeout_seconds = 60", `shell: there is no table [shell]: settings of the run_command tool belong into [tools.run_command], the shell itself is exec.shell`},
	} {
		_, err := Parse("f", []byte(c.text))
		if want := "f: line 1: " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, want)
		}
	}
	parse(t, `
[exec]
approval_running_notice_ms = 10000
safe_bins = []
strict_inline_eval = true
[exec.apply_patch]
workspace_only = true
[tools.exec]
host = "gateway"
ask = "off"
node = ""
`)
}

func TestProblemsTogether(t *testing.T) {
	t.Parallel()
	_, err := Parse("f", []byte("# one\nstate = 'x'\n[exec]\nmax_output = 1\n\n[agents.b]\nworkspace = 1\n[mcp]\nrole = 'root'\n"))
	want := `f: 4 problems
  line 2: state: "x" must be an absolute path
  line 4: exec.max_output: 1 is out of range: 1000 to 200000
  line 7: agents.b.workspace: must be a string; it is the number 1
  line 9: mcp.role: "root" is not one of admin, user, guest`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if !errors.Is(err, sallyport.Invalid) || sallyport.AsError(err).Code != sallyport.Invalid {
		t.Errorf("its class is %v", sallyport.AsError(err).Code)
	}
}

// An agent has what its section says, then what holds for everybody, then the defaults.
func TestAgents(t *testing.T) {
	t.Parallel()
	s := parse(t, `
workspace = "/srv"
[exec]
timeout_sec = 60
grace_ms = 100
[agents."claude-code@/srv/app"]
workspace = "/srv/app"
exec.timeout_sec = 5
[agents.locked.tools.exec]
security = "deny"
[env]
pass = ["A_TOKEN"]
[agents.c.env]
pass = []
`)
	a := s.For("claude-code@/srv/app")
	if a.Workspace != "/srv/app" || a.Exec.Timeout != 5*time.Second || a.Exec.Grace != 100*time.Millisecond || a.Exec.Background != 10*time.Second {
		t.Errorf("agent: %+v", a)
	}
	if got := s.For("locked"); got.Tools.Exec.Security != sallyport.SecurityDeny || got.Workspace != "/srv" || got.Exec.Timeout != time.Minute {
		t.Errorf("locked: %+v", got)
	}
	if len(a.Env.Pass) != 1 || len(a.Exec.EnvPass) != 1 || len(s.For("c").Env.Pass) != 0 {
		t.Errorf("environment: %q, agent c %q", a.Env.Pass, s.For("c").Env.Pass)
	}
	for _, id := range []string{"", "stranger"} {
		if got := s.For(id); got.Workspace != "/srv" || got.Tools.Exec.Security != sallyport.SecurityFull || got.Exec.Timeout != time.Minute {
			t.Errorf("For(%q): %+v", id, got)
		}
	}
}

// A family that is switched off is not served, whoever looks at the list only.
func TestDisabledFamily(t *testing.T) {
	t.Parallel()
	if s := parse(t, "[tools.exec]\nenabled = false"); len(s.Tools.Families) != 0 {
		t.Errorf("families %q", s.Tools.Families)
	}
}

// Revisions follow values, not their spelling.
func TestRevision(t *testing.T) {
	t.Parallel()
	same := []string{"", "# a comment", "[exec]\ntimeout_sec = 1800", "output.quota = 67108864"}
	for _, text := range same {
		if got := parse(t, text).Revision; got != Default().Revision {
			t.Errorf("%q has another revision than the defaults", text)
		}
	}
	seen := map[string]string{Default().Revision: ""}
	for _, text := range []string{"exec.timeout_sec = 1", "exec.grace_ms = 1", "agents.a.exec.grace_ms = 1", "agents.b.exec.grace_ms = 1", "agents.a.workspace = '/'"} {
		r := parse(t, text).Revision
		if other, ok := seen[r]; ok {
			t.Errorf("%q and %q have the same revision", text, other)
		}
		seen[r] = text
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	s := parse(t, "[exec]\ntimeout_sec = 5\n[agents.a.exec]\nmax_output = 2000\n")
	for key, want := range map[string]any{
		"exec.timeout_sec": int64(5), "exec.notify_on_exit": true, "output.quota": Size(64 << 20), "tools.families": []string{"exec"},
		"agents.a.exec.max_output": int64(2000), "agents.a.exec.timeout_sec": int64(5), "agents.nobody.exec.max_output": int64(16000),
		"journal":    map[string]any{"sync": "before-answer"},
		"tools.exec": map[string]any{"enabled": true, "security": "full", "ask": "off", "host": "gateway", "node": ""},
	} {
		got, err := Get(s, key)
		if err != nil {
			t.Errorf("Get(%s): %v", key, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Get(%s): %s", key, diff)
		}
	}
	_, err := Get(s, "exec.backgroundMs")
	if got := sallyport.AsError(err); got.Code != sallyport.NotFound || got.Hint != "did you mean exec.background_ms?" {
		t.Errorf("Get of an unknown key: %+v", got)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "config.toml")
	s, err := Load(path)
	if err != nil || s.Revision != Default().Revision || s.Path != path {
		t.Fatalf("a file that is missing: %+v, %v", s, err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("a directory was read")
	}
	if _, err := Parse("f", []byte(strings.Repeat("#\n", maxFile))); err == nil || !strings.Contains(err.Error(), "larger than 4MiB") {
		t.Errorf("a huge file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad"), []byte("x = 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(filepath.Join(dir, "bad")); err == nil || !strings.HasPrefix(err.Error(), filepath.Join(dir, "bad")+": line 1: x") {
		t.Errorf("a bad file: %v", err)
	}
}
