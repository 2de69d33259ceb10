package e2e

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestTypeScriptClient runs the official TypeScript SDK's client, whose facts become subtests.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		testenv.Missing(t, "node")
	}
	install(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	text := "workspace = '" + dir + "'\nstate = '" + filepath.Join(dir, "state") + "'\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), node, "client.mjs", testenv.Binary(t), "mcp", "--standalone", "--config", config)
	cmd.Dir, cmd.Stderr = "ts", &stderr
	out, err := cmd.Output()
	if planned := tap(t, out); !planned || err != nil {
		t.Errorf("the client ended early or with a failure: %v\n%s%s", err, out, stderr.String())
	}
}

// fact is a line of the Test Anything Protocol.
var fact = regexp.MustCompile(`^(not )?ok \d+ - (.*)$`)

// tap makes a subtest of every fact and reports whether the plan, which stands at the end, was reached.
func tap(t *testing.T, out []byte) (planned bool) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	var failed string // the fact whose explanation may follow
	report := func(explanation string) {
		if failed != "" {
			t.Run(failed, func(t *testing.T) { t.Error(explanation) })
			failed = ""
		}
	}
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			report(line)
			continue
		}
		report("")
		if m := fact.FindStringSubmatch(line); m != nil {
			if m[1] != "" {
				failed = m[2]
				continue
			}
			t.Run(m[2], func(*testing.T) {})
		}
		planned = planned || strings.HasPrefix(line, "1..")
	}
	report("")
	return planned
}

// install brings the client's packages, as its lock file names them, if they are not there yet.
func install(t *testing.T) {
	t.Helper()
	want, err := os.ReadFile("ts/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	const stamp = "ts/node_modules/.installed" // a copy of the lock file that was installed from
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, want) {
		return
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		testenv.Missing(t, "npm")
	}
	cmd := exec.CommandContext(t.Context(), npm, "ci", "--no-progress")
	cmd.Dir = "ts"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("npm ci: %v\n%s", err, out)
		testenv.Missing(t, "npm packages")
	}
	if err := os.WriteFile(stamp, want, 0o600); err != nil {
		t.Fatal(err)
	}
}
