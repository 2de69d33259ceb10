package config

import (
	"strings"
	"testing"
	"time"
)

// environment is a lookup function over pairs name=value.
func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
}

func TestEnvYield(t *testing.T) {
	t.Parallel()
	file := "[agents.a.exec]\nbackground_ms = 777\n[agents.b.exec]\ngrace_ms = 1\n"
	for _, c := range []struct {
		env     string
		want    time.Duration
		warning string
	}{
		{"", 10 * time.Second, ""},
		{"SALLYPORT_YIELD_MS=2000", 2 * time.Second, ""},
		{"PI_BASH_YIELD_MS=2000", 2 * time.Second, ""},
		{"SALLYPORT_YIELD_MS=", 10 * time.Second, ""},
		{"SALLYPORT_YIELD_MS=1", 10 * time.Millisecond, "is out of range (10 to 120000): 10 is used"},
		{"SALLYPORT_YIELD_MS=99999999999999999999", 2 * time.Minute, "is out of range (10 to 120000): 120000 is used"},
		{"SALLYPORT_YIELD_MS=1e4", 10 * time.Second, "is not a whole number"},
		{"SALLYPORT_YIELD_MS= 5000", 10 * time.Second, "is not a whole number"},
		{"SALLYPORT_YIELD_MS=+5000", 10 * time.Second, "is not a whole number"},
		{"SALLYPORT_YIELD_MS=5000ms", 10 * time.Second, "is not a whole number"},
	} {
		s := Env(parse(t, file), environment(c.env))
		if s.Exec.Background != c.want || s.For("b").Exec.Background != c.want {
			t.Errorf("%s: %v, agent b %v; want %v", c.env, s.Exec.Background, s.For("b").Exec.Background, c.want)
		}
		if got := s.For("a").Exec.Background; got != 777*time.Millisecond {
			t.Errorf("%s: agent a sets its own, and has %v", c.env, got)
		}
		if got := strings.Join(s.Warnings, "\n"); (got == "") != (c.warning == "") || !strings.Contains(got, c.warning) {
			t.Errorf("%s: warnings %q, want %q", c.env, got, c.warning)
		}
	}
	if s := Env(parse(t, "exec.background_ms = 500"), environment("SALLYPORT_YIELD_MS=2000")); s.Exec.Background != 500*time.Millisecond {
		t.Errorf("the file does not win: %v", s.Exec.Background)
	}
	if s := Env(Default(), environment("SALLYPORT_YIELD_MS=20", "PI_BASH_YIELD_MS=30")); s.Exec.Background != 20*time.Millisecond {
		t.Errorf("the older name wins: %v", s.Exec.Background)
	}
}

// The variable is a ceiling: it never raises what is asked by default.
func TestEnvCeiling(t *testing.T) {
	t.Parallel()
	file := parse(t, "[agents.a.exec]\nmax_output = 50000\n")
	s := Env(file, environment("SALLYPORT_MAX_OUTPUT_CHARS=20000"))
	if x := s.Exec; x.MaxOutput != 16000 || x.MaxOutputLimit != 20000 || x.PendingMaxOutput != 20000 {
		t.Errorf("below the ceiling: %d of %d, pending %d", x.MaxOutput, x.MaxOutputLimit, x.PendingMaxOutput)
	}
	if x := s.For("a").Exec; x.MaxOutput != 20000 || x.MaxOutputLimit != 20000 {
		t.Errorf("agent above the ceiling: %d of %d", x.MaxOutput, x.MaxOutputLimit)
	}
	if s := Env(file, environment("PI_BASH_MAX_OUTPUT_CHARS=9999999")); s.Exec.MaxOutputLimit != 200000 || len(s.Warnings) != 1 {
		t.Errorf("clamped: %d, %q", s.Exec.MaxOutputLimit, s.Warnings)
	}
	if file.Exec.MaxOutputLimit != 200000 || file.For("a").Exec.MaxOutput != 50000 || len(file.Warnings) != 0 {
		t.Error("the snapshot it was made from has changed")
	}
}

func TestEnvKill(t *testing.T) {
	t.Parallel()
	s := Env(parse(t, "[exec]\nkill = 'cgroup'\n[agents.a.exec]\nkill = 'auto'\n"), environment("SALLYPORT_KILL=mark"))
	if s.Exec.Kill != "mark" || s.For("a").Exec.Kill != "mark" {
		t.Errorf("kill %s, agent %s", s.Exec.Kill, s.For("a").Exec.Kill)
	}
	if v := s.Values(); !contains(v, "exec.kill", "SALLYPORT_KILL") || !contains(v, "agents.a.exec.kill", "SALLYPORT_KILL") {
		t.Errorf("the origin is not told: %v", v)
	}
	s = Env(Default(), environment("SALLYPORT_KILL=ptrace"))
	if s.Exec.Kill != "auto" || len(s.Warnings) != 1 {
		t.Errorf("kill %s, warnings %q", s.Exec.Kill, s.Warnings)
	}
}

func contains(values []Value, name, from string) bool {
	for _, v := range values {
		if v.Name == name && v.From == from {
			return true
		}
	}
	return false
}

// Another environment is another revision; none leaves the snapshot alone.
func TestEnvRevision(t *testing.T) {
	t.Parallel()
	s := Default()
	if Env(s, environment()) != s {
		t.Error("a copy was made for nothing")
	}
	seen := map[string]bool{s.Revision: true}
	for _, e := range []string{"SALLYPORT_YIELD_MS=50", "SALLYPORT_MAX_OUTPUT_CHARS=100000", "SALLYPORT_KILL=mark"} {
		r := Env(s, environment(e)).Revision
		if seen[r] {
			t.Errorf("%s: revision %s was there before", e, r)
		}
		seen[r] = true
	}
}
