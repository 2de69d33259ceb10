package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/journal"
)

// TestMain lets this test binary stand for the program, so that scripts run it as a process of its own.
func TestMain(m *testing.M) {
	program := func() {
		os.Exit(Main(&Env{Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv}))
	}
	// The keeper starts the program again by its second name.
	testscript.Main(m, map[string]func(){"sallyport": program, "sallyport-gateway": program})
}

// TestScript runs the product as a user types it.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("LANG", "C.UTF-8")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector's program sleeps a second at its end
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":  exits,
			"expand": expand,
			"mode":   mode,
			"record": record,
			"forge":  forge,
		},
	})
}

// exits runs a program and checks its exit code: exits CODE PROGRAM ARGS…
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	program := args[1]
	if strings.Contains(program, "/") {
		program = ts.MkAbs(program)
	}
	err = ts.Exec(program, args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// expand replaces $WORK in files.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "$WORK", filepath.ToSlash(ts.Getenv("WORK")))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// mode checks the permissions of a file: mode 0600 FILE.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("mode %s, want %s", got, args[0])
	}
}

// record writes a chain with one run for each command: record DIR COMMAND…
func record(ts *testscript.TestScript, _ bool, args []string) {
	j, err := journal.Open(journal.Options{Dir: ts.MkAbs(args[0]), Version: "test"})
	ts.Check(err)
	var last sallyport.Position
	for _, command := range args[1:] {
		last, err = j.Append(sallyport.Event{
			Kind: sallyport.EventRun, Session: "amber-atlas", Caller: &sallyport.Caller{Scope: "cc@/srv"},
			Data: map[string]string{"text": command},
		})
		ts.Check(err)
	}
	ts.Check(j.Sync(context.Background(), last))
	ts.Check(j.Close())
}

// forge changes a text in every file below a directory: forge DIR OLD NEW, of the same length.
func forge(ts *testscript.TestScript, _ bool, args []string) {
	found := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), args[1]) {
			return err
		}
		found++
		return os.WriteFile(path, []byte(strings.ReplaceAll(string(data), args[1], args[2])), 0o600)
	}))
	if found == 0 {
		ts.Fatalf("no file holds %q", args[1])
	}
}
