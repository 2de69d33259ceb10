package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-sh/sallyport/app/config"
	"github.com/sallyport-sh/sallyport/journal"
	"github.com/sallyport-sh/sallyport/surface/text"
)

// A Health is the result of a check.
type Health string

// Healths, best first.
const (
	OK   Health = "ok"
	Warn Health = "warn" // it works, but less well than it could
	Fail Health = "fail" // something that is needed does not work
)

// A Check is one thing that doctor looked at.
type Check struct {
	Name   string `json:"name"`
	Health Health `json:"health"`
	Text   string `json:"text"`          // what was found
	Fix    string `json:"fix,omitempty"` // a command, or a sentence, that mends it
}

func newDoctorCommand(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at this machine and say what works; exit 9 if something needed does not", Args: arguments(),
	}
	out := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		checks := doctor(cmd.Context(), env, g)
		var err error
		if *out == formatJSON {
			err = printJSON(env.Stdout, checks)
		} else {
			printChecks(env.Stdout, checks)
		}
		for _, c := range checks {
			if c.Health == Fail && err == nil {
				err = &ExitError{Code: ExitUnverified}
			}
		}
		return err
	}
	return cmd
}

// printChecks writes one line a check. The mark before the name says what colour would.
func printChecks(w io.Writer, checks []Check) {
	for _, c := range checks {
		name := map[Health]string{OK: "", Warn: "! ", Fail: "x "}[c.Health] + c.Name
		fmt.Fprintf(w, "%-12s%s\n", name, text.Safe(strings.ReplaceAll(c.Text, "\n", "\n            ")))
		if c.Fix != "" {
			fmt.Fprintf(w, "  %-10s%s\n", "fix", text.Safe(c.Fix))
		}
	}
}

// doctor makes all checks. It changes nothing.
func doctor(ctx context.Context, env *Env, g *global) []Check {
	paths, s, configured := checkConfig(g)
	checks := []Check{checkAssurance(s), configured}
	if s != nil {
		s = config.Env(s, env.LookupEnv)
		for _, w := range s.Warnings {
			checks = append(checks, Check{Name: "config", Health: Warn, Text: w})
		}
		checks = append(checks, checkState(paths), checkJournal(ctx, paths))
	} else {
		s = config.Default()
	}
	checks = append(checks, checkKill(ctx, s.Exec.Kill))
	checks = append(checks, checkSystem()...)
	return append(checks, checkShells(ctx, s.Exec.Shell), checkLocale(env))
}

// checkAssurance says what stands between an agent and the person.
func checkAssurance(s *config.Snapshot) Check {
	c := Check{Name: "assurance", Health: OK, Text: "advisory: commands run as you, and are recorded"}
	if os.Geteuid() == 0 {
		c.Health, c.Text, c.Fix = Warn, "advisory: commands run as root", "start it as an ordinary user"
	}
	if s != nil && s.Tools.Exec.Security == "full" {
		c.Text += "; every command is allowed"
	}
	return c
}

// checkConfig returns a nil snapshot if there is none.
func checkConfig(g *global) (config.Paths, *config.Snapshot, Check) {
	c := Check{Name: "config", Health: OK}
	paths, s, err := config.Open(g.config)
	if err != nil {
		c.Health, c.Text, c.Fix = Fail, err.Error(), "sallyport config doc lists every key"
		return paths, nil, c
	}
	c.Text = paths.Config + ", valid"
	if _, err := os.Stat(paths.Config); errors.Is(err, os.ErrNotExist) {
		c.Text = paths.Config + " does not exist: the defaults hold"
	}
	if len(paths.Warnings) > 0 {
		c.Health, c.Text = Warn, strings.Join(paths.Warnings, "\n")
	}
	return paths, s, c
}

func checkState(paths config.Paths) Check {
	c := Check{Name: "state", Health: OK, Text: paths.State}
	if err := paths.CheckState(); err != nil {
		c.Health, c.Text, c.Fix = Fail, err.Error(), "chmod 700 "+paths.State
		return c
	}
	if _, err := os.Stat(paths.State); errors.Is(err, os.ErrNotExist) {
		c.Text += ", made by the first run"
	}
	return c
}

// verifyWithin bounds how long doctor reads the journal.
const verifyWithin = 5 * time.Second

func checkJournal(ctx context.Context, paths config.Paths) Check {
	c := Check{Name: "journal", Health: OK}
	ctx, cancel := context.WithTimeoutCause(ctx, verifyWithin, errors.New("it is long"))
	defer cancel()
	start := time.Now()
	report, err := journal.Verify(ctx, filepath.Join(paths.State, "journal"))
	switch {
	case ctx.Err() != nil:
		c.Health, c.Text, c.Fix = Warn, fmt.Sprintf("not verified: it takes longer than %v", verifyWithin), "sallyport audit verify"
	case err != nil:
		c.Health, c.Text = Fail, err.Error()
	case !report.OK:
		c.Health, c.Text, c.Fix = Fail, badChains(report).Error(), "sallyport audit verify; keep a copy of "+paths.State+" if you did not change it yourself"
	case len(report.Chains) == 0:
		c.Text = "empty"
	default:
		c.Text = fmt.Sprintf("%s, verified in %v", countRows(report), time.Since(start).Round(time.Millisecond))
	}
	return c
}

// checkLocale looks at what commands will inherit.
func checkLocale(env *Env) Check {
	c := Check{Name: "locale", Health: OK}
	name := ""
	for _, v := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if c.Text = env.getenv(v); c.Text != "" {
			name = v
			break
		}
	}
	charset := strings.ToUpper(strings.ReplaceAll(c.Text, "-", ""))
	if !strings.HasSuffix(charset, ".UTF8") {
		c.Health = Warn
		c.Fix = "set LANG=C.UTF-8 in the client's configuration of this server (\"env\")"
		c.Text = cmp.Or(c.Text, "none is set")
		c.Text += ": programs may print other than UTF-8"
	}
	if name != "" {
		c.Text += " (" + name + ")"
	}
	return c
}
