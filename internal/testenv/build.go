package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// built is the binary of this test process. It is made on first use and removed by Main.
var built struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// Binary builds cmd/sallyport once in this test process, as it is released (no cgo), and returns its path. The
// directory can be entered by every uid. A package that calls it has a TestMain that calls Main.
func Binary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() { built.path, built.err = build() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func build() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	if built.dir, err = os.MkdirTemp("", "sallyport-test-"); err != nil {
		return "", fmt.Errorf("make build directory: %w", err)
	}
	if err := os.Chmod(built.dir, 0o755); err != nil { // tests run the binary as other users, too
		return "", fmt.Errorf("open build directory: %w", err)
	}
	path := filepath.Join(built.dir, "sallyport"+exeSuffix)
	cmd := exec.Command("go", "build", "-o", path, "./cmd/sallyport")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/sallyport: %w\n%s", err, out)
	}
	return path, nil
}

// Root is the directory of the module: the nearest one upwards of the working directory that holds a go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find module root: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("find module root: no go.mod above the working directory")
		}
		dir = parent
	}
}

// Main runs the tests and then removes what Binary built. Call it from TestMain; it does not return.
func Main(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		if err := os.RemoveAll(built.dir); err != nil {
			fmt.Fprintln(os.Stderr, "testenv:", err)
		}
	}
	os.Exit(code)
}

// OpenDir is a temporary directory that every uid can enter and write, as /tmp is: for what a server or a command that
// runs as another user needs. It is removed with the test.
func OpenDir(t testing.TB) string {
	t.Helper()
	prefix := strings.Map(func(r rune) rune {
		if r == '/' || r == os.PathSeparator || r == '*' {
			return '-'
		}
		return r
	}, t.Name())
	dir, err := os.MkdirTemp("", prefix+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}
