package keeper

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestKept(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"mcp":                        true,
		"mcp --standalone":           true,
		"--config f mcp":             true,
		"--config=f mcp --agent x":   true,
		"exec -- true":               true,
		"--config f exec -c mcp":     true,
		"--config mcp":               false, // the file's name
		"mcp config claude-code":     false,
		"mcp --help":                 false,
		"exec --help":                false,
		"config get mcp.role":        false,
		"doctor":                     false,
		"--config f":                 false,
		"":                           false,
		"version mcp":                false,
		"--unknown mcp":              true, // the command line is judged later
		"completion exec":            false,
		"mcp --config f":             true,
		"--config f --config g exec": true,
	} {
		if got := kept(strings.Fields(line)); got != want {
			t.Errorf("kept(%q) = %v, want %v", line, got, want)
		}
	}
}

// A test binary called with the words of a server becomes a keeper like any other program, and its child, which is no
// gateway, shows that exit codes pass through.
func TestExitCodePasses(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "exec", "-test.run=^TestNothing$")
	cmd.Env = append(os.Environ(), helperEnv+"=7")
	err = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d (%v), want 7", code, err)
	}
	cmd = exec.CommandContext(t.Context(), self, "exec")
	cmd.Env = append(os.Environ(), helperEnv+"=kill")
	err = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 128+9 {
		t.Errorf("exit code %d (%v), want 137", code, err)
	}
}

const helperEnv = "KEEPER_TEST_GATEWAY"

func TestMain(m *testing.M) {
	if how := os.Getenv(helperEnv); how != "" && os.Args[0] == gatewayName {
		os.Exit(gateway(how))
	}
	os.Exit(m.Run())
}

// gateway stands in for one: it joins, names a directory to clear away, and ends.
func gateway(how string) int {
	link, err := Join()
	if err != nil {
		return 1
	}
	if dir := os.Getenv(helperEnv + "_DIR"); dir != "" {
		if link.Sweep(dir) != nil {
			return 2
		}
	}
	if how == "kill" {
		p, err := os.FindProcess(os.Getpid())
		if err != nil || p.Kill() != nil {
			return 3
		}
		select {}
	}
	return int(how[0] - '0')
}

// What a dead gateway named is cleared away.
func TestSweep(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.MkdirAll(filepath.Join(dir, "output"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "mcp")
	cmd.Env = append(os.Environ(), helperEnv+"=kill", helperEnv+"_DIR="+dir)
	if err := cmd.Run(); err == nil {
		t.Error("a killed gateway's keeper reports success")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there (%v)", err)
	}
}
