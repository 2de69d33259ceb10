package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-sh/sallyport"
)

// Everything but the one key stays as it is: comments, order, spacing, line ends, quoting.
func TestEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, key, value, after string }{
		{"empty file", "", "exec.timeout_sec", "5", "[exec]\ntimeout_sec = 5\n"},
		{"empty file, no table", "", "workspace", "/srv", "workspace = \"/srv\"\n"},
		{
			"value", "# a\n[exec]\n  timeout_sec = 1800 # half an hour\nshell='/bin/sh'\n", "exec.timeout_sec", "5",
			"# a\n[exec]\n  timeout_sec = 5 # half an hour\nshell='/bin/sh'\n",
		},
		{
			"next to others", "[exec]\n\tshell = \"/bin/sh\" # why\n\n# about output\n[output]\n", "exec.grace_ms", "0",
			"[exec]\n\tshell = \"/bin/sh\" # why\n\tgrace_ms = 0\n\n# about output\n[output]\n",
		},
		{"table without keys", "[exec]\n\n[output]\n", "exec.grace_ms", "0", "[exec]\ngrace_ms = 0\n\n[output]\n"},
		{"new table", "[exec]\nshell = ''", "output.quota", "1GiB", "[exec]\nshell = ''\n\n[output]\nquota = \"1GiB\"\n"},
		{"sub-table", "[tools.exec]\n", "tools.deny", "process", "[tools.exec]\n\n[tools]\ndeny = [\"process\"]\n"},
		{"dotted", "exec.shell = ''\nmcp.role = 'user'\n", "exec.grace_ms", "0", "exec.shell = ''\nexec.grace_ms = 0\nmcp.role = 'user'\n"},
		{
			"dotted in a section", "[agents.x]\nexec.shell = ''\nworkspace = '/'\n", "agents.x.exec.grace_ms", "0",
			"[agents.x]\nexec.shell = ''\nexec.grace_ms = 0\nworkspace = '/'\n",
		},
		{"inline table", "exec = { shell = '' }\n", "exec.grace_ms", "0", "exec = { shell = '', grace_ms = 0 }\n"},
		{"empty inline table", "exec = {}\n", "exec.grace_ms", "0", "exec = { grace_ms = 0 }\n"},
		{"value in an inline table", "exec = { shell = '', grace_ms = 9 }\n", "exec.grace_ms", "0", "exec = { shell = '', grace_ms = 0 }\n"},
		{"table in an inline table", "agents = { x = { } }\n", "agents.x.exec.grace_ms", "0", "agents = { x = { exec.grace_ms = 0 } }\n"},
		{"after the preamble", "# my settings\n# (do not lose)\n\n[exec]\n", "state", "/s", "# my settings\n# (do not lose)\n\nstate = \"/s\"\n[exec]\n"},
		{"before a comment of a table", "# about exec\n[exec]\n", "state", "/s", "state = \"/s\"\n# about exec\n[exec]\n"},
		{"after other keys", "workspace = '/w'\n\n[exec]\n", "state", "/s", "workspace = '/w'\nstate = \"/s\"\n\n[exec]\n"},
		{"windows", "[exec]\r\nshell = ''\r\n", "exec.grace_ms", "0", "[exec]\r\nshell = ''\r\ngrace_ms = 0\r\n"},
		{"no line end", "workspace = '/w'", "state", "/s", "workspace = '/w'\nstate = \"/s\"\n"},
		{
			"list over lines", "[exec]\npath_prepend = [\n  '/a', # first\n]\nshell = ''\n", "exec.path_prepend", "/b, ~/bin",
			"[exec]\npath_prepend = [\"/b\", \"~/bin\"]\nshell = ''\n",
		},
		{"key in a string", "workspace = '''/x\n[exec]\ngrace_ms = 1'''\n", "exec.grace_ms", "0", "workspace = '''/x\n[exec]\ngrace_ms = 1'''\n\n[exec]\ngrace_ms = 0\n"},
		{"quoted", `"exec" . 'grace_ms' = 1`, "exec.grace_ms", "0", `"exec" . 'grace_ms' = 0`},
		{"agent", "", `agents."claude-code@/srv".workspace`, "/srv", "[agents.\"claude-code@/srv\"]\nworkspace = \"/srv\"\n"},
		{"value that needs escapes", "", "workspace", `/a "b"\c`, "workspace = \"/a \\\"b\\\"\\\\c\"\n"},
		{"repairs a mistake", "[exec]\ngrace_ms = 'x'\n", "exec.grace_ms", "0", "[exec]\ngrace_ms = 0\n"},
		{"nothing to do", "[exec]\ngrace_ms = 0\n", "exec.grace_ms", "0", "[exec]\ngrace_ms = 0\n"},
		{"byte order mark", "\ufeffstate = '/x'\n", "state", "/s", "\ufeffstate = \"/s\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := edit("f", []byte(c.before), c.key, c.value)
			if err != nil || string(got) != c.after {
				t.Errorf("got  %q, %v\nwant %q", got, err, c.after)
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, key, value, want string
		code                     sallyport.Code
	}{
		{"", "exec.backgroud_ms", "1", "unknown key exec.backgroud_ms", sallyport.NotFound},
		{"", "exec", "1", "exec is a table", sallyport.Invalid},
		{"", "agents.x", "1", "unknown key agents.x", sallyport.NotFound},
		{"", "exec.grace_ms", "-1", "exec.grace_ms: -1 is out of range", sallyport.Invalid},
		{"", "exec.grace_ms", "1.5", `exec.grace_ms: must be a whole number of milliseconds, 0 to 600000; it is the string "1.5"`, sallyport.Invalid},
		{"", "exec.notify_on_exit", "yes", "exec.notify_on_exit: must be true or false", sallyport.Invalid},
		{"", "exec.safe_bins", "jq", "exec.safe_bins: is not in force in this version", sallyport.Invalid},
		{"", "tools.exec.host", "node", `tools.exec.host: "node" is not in force`, sallyport.Invalid},
		{"", "exec.path_prepend", "[1]", "exec.path_prepend: must be a list of strings; an item is the number 1", sallyport.Invalid},
		{"", "exec.path_prepend", "[", `exec.path_prepend: "[" is not a TOML value`, sallyport.Invalid},
		{"", "exec.path_prepend", "[]\nstate = '/x'", "is not a TOML value", sallyport.Invalid},
		{"colour = 1\n", "exec.grace_ms", "1", "line 1: colour: unknown key", sallyport.Invalid},
		{"colour = \n", "exec.grace_ms", "1", "line 1: not TOML", sallyport.Invalid},
		{"[[exec]]\n", "exec.grace_ms", "1", "exec: is a table, not a list of tables", sallyport.Invalid},
	} {
		got, err := edit("f", []byte(c.before), c.key, c.value)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.code) {
			t.Errorf("set %s = %s in %q\ngot  %q, %v\nwant %s (%s)", c.key, c.value, c.before, got, err, c.want, c.code)
		}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "config.toml")
	if err := Set(path, "exec.grace_ms", "7"); err != nil {
		t.Fatal(err)
	}
	want := func(text string) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("the file is %q, %v; want %q", got, err, text)
		}
	}
	want("[exec]\ngrace_ms = 7\n")
	// A file that is refused stays as it is.
	if err := Set(path, "exec.grace_ms", "x"); err == nil {
		t.Error("a wrong value was set")
	}
	want("[exec]\ngrace_ms = 7\n")
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Edits at the same time lose nothing.
func TestSetConcurrently(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	keys := []string{"exec.grace_ms", "exec.max_output", "exec.pids_max", "output.finished_max", "agents.a.exec.max_output", "agents.b.exec.max_output"}
	var wg sync.WaitGroup
	for _, key := range keys {
		wg.Go(func() {
			if err := Set(path, key, "1234"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if got, err := Get(s, key); err != nil || got != int64(1234) {
			t.Errorf("%s = %v, %v", key, got, err)
		}
	}
}
