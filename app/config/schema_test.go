package config

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Every tag can be read, every default is one that its key takes, and every key is documented.
func TestSchema(t *testing.T) {
	t.Parallel()
	for _, s := range []*schema{fileSchema(), agentSchema()} {
		for _, f := range s.fields {
			_ = f.defaultValue() // panics if the tag is wrong
			if c := comment(f.goName); !strings.HasSuffix(c, ".") {
				t.Errorf("%s: the comment of %s is no sentence: %q", f.name, f.goName, c)
			}
			if (f.kind == kindInt || f.kind == kindDuration || f.kind == kindSize) && f.most < f.least {
				t.Errorf("%s: a number without a range", f.name)
			}
			if f.kind == kindDuration && f.unit == 0 {
				t.Errorf("%s: a duration without a unit", f.name)
			}
			if len(f.later) > 0 && f.needs == "" {
				t.Errorf("%s: does not say what %v need", f.name, f.later)
			}
			if suffix := map[bool]string{true: "_ms", false: "_sec"}[f.unitName() == "milliseconds"]; f.kind == kindDuration && !strings.HasSuffix(f.name, suffix) {
				t.Errorf("%s: its unit is not in its name", f.name)
			}
		}
		for name, goName := range s.tables {
			if comment(goName) == "" {
				t.Errorf("table %s: %s has no comment", name, goName)
			}
		}
	}
}

// An agent has every key of the table exec.
func TestAgentsHaveEveryKeyOfExec(t *testing.T) {
	t.Parallel()
	for _, f := range fileSchema().fields {
		if strings.HasPrefix(f.name, "exec.") && agentSchema().byName[f.name] == nil {
			t.Errorf("agents have no %s", f.name)
		}
	}
}

// The defaults that other programs' users rely on, as numbers a reader can check.
func TestDefaults(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"exec.background_ms": "10000", "exec.timeout_sec": "1800", "exec.no_output_timeout_sec": "0", "exec.grace_ms": "5000",
		"exec.cleanup_ms": "1800000", "exec.notify_on_exit": "true", "exec.notify_on_exit_empty_success": "false",
		"exec.path_prepend": "[]", "exec.leftovers": `"keep"`, "exec.max_output": "16000", "exec.pending_max_output": "30000",
		"exec.pids_max": "4096", "exec.kill": `"auto"`, "exec.shell": `""`, "exec.shell_marker": "[]",
		"exec.approval_running_notice_ms": "10000", "exec.safe_bins": "[]", "exec.safe_bin_trusted_dirs": "[]",
		"exec.safe_bin_profiles": "{}", "exec.strict_inline_eval": "true", "exec.apply_patch.enabled": "false",
		"exec.apply_patch.workspace_only": "true", "exec.apply_patch.allow_models": "[]",
		"env.pass": "[]", "tools.families": `["exec"]`, "tools.deny": "[]", "tools.exec.enabled": "true", "tools.exec.security": `"full"`,
		"tools.exec.ask": `"off"`, "tools.exec.host": `"gateway"`, "tools.exec.node": `""`,
		"output.quota": `"64MiB"`, "output.finished_max": "50", "output.finished_bytes": `"256MiB"`,
		"journal.sync": `"before-answer"`, "mcp.structured": "false", "mcp.role": `"admin"`, "workspace": `""`, "state": `""`,
	}
	got := map[string]string{}
	for _, v := range Default().Values() {
		got[v.Name] = literal(v.Value)
		if v.From != "default" {
			t.Errorf("%s comes from %s", v.Name, v.From)
		}
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s = %s, want %s", name, got[name], value)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: this test does not know it", name)
		}
	}
}

func TestSplitKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string][]string{
		"workspace":                        {"workspace"},
		"exec.shell":                       {"exec", "shell"},
		`agents."a.b".exec.shell`:          {"agents", "a.b", "exec", "shell"},
		`agents.'a"b'.workspace`:           {"agents", `a"b`, "workspace"},
		"agents.claude-code@/srv/app.exec": {"agents", "claude-code@/srv/app", "exec"},
	} {
		got, err := splitKey(key)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("splitKey(%q) = %q, %v", key, got, err)
			continue
		}
		if again, err := splitKey(joinKey(got)); err != nil || !slices.Equal(again, want) {
			t.Errorf("splitKey(joinKey(%q)) = %q, %v", got, again, err)
		}
	}
	for _, key := range []string{"", ".", "a.", ".a", "a..b", `"a`, `"a"b`, "'a", `a."`} {
		if got, err := splitKey(key); err == nil {
			t.Errorf("splitKey(%q) = %q", key, got)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Size{
		"0": 0, "1": 1, "64MiB": 64 << 20, "64 MiB": 64 << 20, "1KiB": 1024, "2GiB": 2 << 30, "10 MB": 10e6, "3kB": 3000, "7B": 7,
	} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "MiB", "1M", "1.5MiB", "-1", "+1", "1 TiB x", "9223372036854775807KiB", "0x10", "1MiBMiB"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("ParseSize(%q) = %d", s, got)
		}
	}
	for _, n := range []Size{0, 1, 1000, 1024, 1 << 20, 3 << 20, 1<<20 + 1, 5 << 30} {
		if got, err := ParseSize(n.String()); err != nil || got != n {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", n.String(), got, err, n)
		}
	}
}

// The program can print what the page says, and the page describes every key.
func TestReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Reference() {
		if !strings.Contains(string(page), k.Name) {
			t.Errorf("docs/config.md does not name %s", k.Name)
		}
		if got, err := Lookup(k.Name); err != nil || got.Doc != k.Doc {
			t.Errorf("Lookup(%q) = %+v, %v", k.Name, got, err)
		}
	}
	if k, err := Lookup(`agents."x.y".exec.grace_ms`); err != nil || k.Unit != "ms" {
		t.Errorf("Lookup of an agent's key = %+v, %v", k, err)
	}
}
