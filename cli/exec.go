package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/app"
	"github.com/sallyport-sh/sallyport/host/keeper"
	"github.com/sallyport-sh/sallyport/surface/view"
)

// execFlags are those of "sallyport exec".
type execFlags struct {
	text    string
	env     []string
	dir     string
	timeout string
	format  *format
}

func newExecCommand(env *Env, g *global) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use: "exec [flags] (-c TEXT | -- ARGV...)", Short: "Run one command as an agent's would run",
		Long: "Runs one command under the same gate, record and bounds as an agent's. Output is streamed, standard input and signals\n" +
			"are passed on, and the exit code is the command's: 128+n if signal n killed it, 124 if its time was over. What the\n" +
			"command leaves running is ended with it.",
		Example: "  sallyport exec -- make test\n  sallyport exec --timeout 30 -c 'make test | tail -5'",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := execOptions(env, g, f, args)
			if err != nil {
				return err
			}
			if o.Link, err = keeper.Join(); err != nil {
				return err
			}
			return runExec(cmd.Context(), env, o, *f.format)
		},
	}
	cmd.Flags().SetInterspersed(false) // flags after the program's name are the program's
	cmd.Flags().StringVarP(&f.text, "command", "c", "", "run shell `TEXT` instead of a program with arguments")
	cmd.Flags().StringArrayVarP(&f.env, "env", "e", nil, "set `NAME=VALUE`, or pass on NAME; may be repeated")
	cmd.Flags().StringVar(&f.dir, "cwd", "", "run in `DIR` instead of the working directory")
	cmd.Flags().StringVar(&f.timeout, "timeout", "", "kill the command after `TIME`: seconds, or 90s, 5m, 1h")
	f.format = formatFlag(cmd)
	return cmd
}

func execOptions(env *Env, g *global, f execFlags, args []string) (app.ExecOptions, error) {
	o := app.ExecOptions{Options: app.Options{
		Config: g.config, Version: ReadBuild(env.Version).Version, Log: env.Stderr,
	}}
	switch {
	case f.text == "" && len(args) == 0:
		return o, &usageError{msg: "no command", hint: "usage: sallyport exec -- PROGRAM ARGUMENTS, or sallyport exec -c TEXT"}
	case f.text != "" && len(args) > 0:
		return o, &usageError{msg: "both -c and a program are given", hint: "give one of them"}
	}
	timeout, err := parseTimeout(f.timeout)
	if err != nil {
		return o, err
	}
	vars, err := parseEnv(f.env, env.LookupEnv)
	if err != nil {
		return o, err
	}
	o.Command = sallyport.Command{Text: f.text, Argv: args, Dir: f.dir, Env: vars, Limits: sallyport.Limits{Timeout: timeout}}
	if o.Dir, err = os.Getwd(); err != nil {
		return o, fmt.Errorf("find the working directory: %w", err)
	}
	o.In = env.Stdin
	if *f.format == formatTable {
		o.Out, o.Err = env.Stdout, env.Stderr
		if out, ok := env.Stdout.(*os.File); ok {
			if errs, ok := env.Stderr.(*os.File); ok && app.SameFile(out, errs) {
				o.Err = o.Out // one file: the exact order is worth more than two streams
			}
		}
	}
	return o, nil
}

// parseTimeout reads seconds or a duration. The empty string is no timeout.
func parseTimeout(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if seconds, e := strconv.ParseFloat(s, 64); e == nil && seconds < math.MaxInt64/float64(time.Second) {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return 0, &usageError{msg: fmt.Sprintf("--timeout %s is no time", s), hint: "give seconds (30, 0.5) or a time such as 5m"}
	}
	return d, nil
}

// parseEnv reads NAME=VALUE, and NAME for a variable that is passed on as it is here.
func parseEnv(list []string, lookup func(string) (string, bool)) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	vars := map[string]string{}
	for _, kv := range list {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			if value, ok = lookup(name); !ok {
				return nil, &usageError{msg: fmt.Sprintf("-e %s: there is no such variable here", name), hint: "give -e " + name + "=VALUE"}
			}
		}
		vars[name] = value
	}
	return vars, nil
}

// runExec runs the command and exits as it did.
func runExec(ctx context.Context, env *Env, o app.ExecOptions, f format) error {
	code := ExitOK
	err := app.Exec(ctx, o, func(r app.ExecResult) error {
		code = outcomeExit(r.Status.Outcome)
		if f == formatJSON {
			return printExec(ctx, env.Stdout, r)
		}
		tellExec(env.Stderr, r)
		return nil
	})
	if e, ok := errors.AsType[*sallyport.Error](err); ok && e.Code == sallyport.NotStarted {
		return &ExitError{Code: startExit(e.Failure), Err: err}
	}
	if err != nil {
		return err
	}
	if code != ExitOK {
		return &ExitError{Code: code}
	}
	return nil
}

// signalBase is what shells add to the number of the signal that killed a command.
const signalBase = 128

// outcomeExit is the exit code for how a command ended.
func outcomeExit(o *sallyport.Outcome) Exit {
	switch o.Kind {
	case sallyport.TimedOut:
		return ExitTimeout
	case sallyport.Exited:
		return Exit(o.Code)
	case sallyport.Signalled, sallyport.Killed, sallyport.Aborted:
	}
	if n := app.SignalNumber(o.Signal); n > 0 {
		return Exit(signalBase + n)
	}
	return ExitFailed
}

// startExit is the exit code for a command that did not start, as shells and docker have it.
func startExit(f sallyport.FailureKind) Exit {
	switch f {
	case sallyport.CommandNotFound:
		return ExitNoCommand
	case sallyport.NotExecutable:
		return ExitNotExecutable
	default:
		return ExitFailed
	}
}

// tellExec says on standard error what the command itself could not.
func tellExec(w io.Writer, r app.ExecResult) {
	o := r.Status.Outcome
	if o.Kind == sallyport.TimedOut {
		fmt.Fprintln(w, "error: "+o.Reason)
		fmt.Fprintln(w, "hint: give more by --timeout")
	}
	if n := len(r.Left); n > 0 {
		fmt.Fprintf(w, "note: the command left %d running, ended with it: %s\n", n, processNames(r.Left))
	}
	if d := r.Status.Output.Dropped; d > 0 {
		fmt.Fprintf(w, "note: %d bytes of output were over the quota\n", d)
	}
}

func processNames(ps []sallyport.Process) string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = fmt.Sprintf("%s (pid %d)", p.Name, p.PID)
	}
	return strings.Join(names, ", ")
}

// execJSON is what -o json prints.
type execJSON struct {
	sallyport.Status
	Stdout string `json:"stdout"` // both streams, if they were not told apart
	// Omitted are the bytes of output that Stdout leaves out of its middle.
	Omitted int64 `json:"omittedBytes,omitempty"`
}

// maxJSONOutput is the length of the output in the JSON document, in characters.
const maxJSONOutput = 200_000

func printExec(ctx context.Context, w io.Writer, r app.ExecResult) error {
	v, err := view.Render(ctx, r.Output, view.Options{MaxChars: maxJSONOutput})
	if err != nil {
		return err
	}
	return printJSON(w, execJSON{Status: r.Status, Stdout: cmp.Or(v.Text, v.Binary), Omitted: v.Omitted})
}
