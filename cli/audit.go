package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-sh/sallyport/app/config"
	"github.com/sallyport-sh/sallyport/journal"
	"github.com/sallyport-sh/sallyport/surface/text"
)

func newAuditCommand(env *Env, g *global) *cobra.Command {
	cmd := group(&cobra.Command{Use: "audit", Short: "Verify and read the record of what was asked and done"})
	cmd.AddCommand(newAuditVerifyCommand(env, g), newAuditTailCommand(env, g))
	return cmd
}

// journalDir is where the configuration in force keeps the journal.
func journalDir(g *global) (string, error) {
	paths, _, err := config.Open(g.config)
	if err != nil {
		return "", err
	}
	return filepath.Join(paths.State, "journal"), nil
}

func newAuditVerifyCommand(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify", Short: "Check every row of every chain; exit 9 if one does not verify", Args: arguments(),
		Long: "Reads the whole journal and checks every hash. Each process that writes has a chain of its own. A row that was\n" +
			"changed, cut off or swapped is named, and the exit code is 9. It may run while servers write.",
	}
	out := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dir, err := journalDir(g)
		if err != nil {
			return err
		}
		report, err := journal.Verify(cmd.Context(), dir)
		if err != nil {
			return err
		}
		if *out == formatJSON {
			err = printJSON(env.Stdout, report)
		} else {
			err = printReport(env, report)
		}
		if err != nil || report.OK {
			return err
		}
		return &ExitError{Code: ExitUnverified, Err: badChains(report)}
	}
	return cmd
}

func printReport(env *Env, report journal.Report) error {
	rows := table{{"CHAIN", "ROWS", "STATE", "FIRST", "LAST", "RESULT"}}
	for _, c := range report.Chains {
		result := "ok"
		if c.Bad != nil {
			result = "BAD"
		}
		rows = append(rows, []string{c.ID, fmt.Sprint(c.Rows), string(c.State), stamp(c.First), stamp(c.Last), result})
	}
	if len(report.Chains) > 0 {
		if err := rows.print(env.Stdout); err != nil {
			return err
		}
	}
	if report.OK {
		fmt.Fprintf(env.Stdout, "ok: %s\n", countRows(report))
	}
	return nil
}

// countRows is "3 rows in 1 chain".
func countRows(report journal.Report) string {
	return plural(report.Rows, "row") + " in " + plural(len(report.Chains), "chain")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// badChains names the first bad row of each chain.
func badChains(report journal.Report) error {
	var bad []string
	for _, c := range report.Chains {
		if c.Bad != nil {
			bad = append(bad, fmt.Sprintf("chain %s: %s", c.ID, c.Bad))
		}
	}
	return fmt.Errorf("the journal does not verify: %s", text.Safe(strings.Join(bad, "; ")))
}

// stamp is a time for a table: UTC, to the second.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateTime)
}

func newAuditTailCommand(env *Env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use: "tail", Short: "Print the last rows of all chains, oldest first", Args: arguments(),
		Long: "Prints the last rows of all chains, oldest first. With -o json they are whole.",
	}
	n := cmd.Flags().IntP("lines", "n", 20, "print the last `N` rows")
	out := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *n < 1 {
			return &usageError{msg: fmt.Sprintf("-n %d: must be at least 1", *n)}
		}
		dir, err := journalDir(g)
		if err != nil {
			return err
		}
		found := []chainRow{}
		bad := journal.Tail(cmd.Context(), dir, *n, func(chain string, r journal.Row) error {
			found = append(found, chainRow{chain, r})
			return nil
		})
		if *out == formatJSON {
			err = printJSON(env.Stdout, found)
		} else {
			err = tailTable(found).print(env.Stdout)
		}
		if err == nil {
			err = tailError(bad)
		}
		return err
	}
	return cmd
}

// tailError is bad with its exit code: a journal that cannot be read is another thing than one that does not verify.
func tailError(bad error) error {
	if bad == nil || errors.Is(bad, context.Canceled) {
		return bad
	}
	if _, unreadable := errors.AsType[*fs.PathError](bad); unreadable {
		return bad
	}
	return &ExitError{Code: ExitUnverified, Err: fmt.Errorf("rows that do not verify were left out: %w", bad)}
}

// A chainRow is a row with the chain it is of.
type chainRow struct {
	Chain string `json:"chain"`
	journal.Row
}

// labelLength is how much of a command a table shows.
const labelLength = 80

func tailTable(rows []chainRow) table {
	t := table{{"TIME", "EVENT", "SESSION", "CALLER", "WHAT"}}
	for _, r := range rows {
		caller := "-"
		if r.Caller != nil {
			caller = string(r.Caller.Scope)
		}
		session := string(r.Session)
		if session == "" {
			session = "-"
		}
		t = append(t, []string{stamp(r.At), string(r.Kind), session, text.Label(caller, labelLength), text.Label(what(r.Data), labelLength)})
	}
	return t
}

// what says in short what a row is about: the command, how it ended, or the data as it is.
func what(data json.RawMessage) string {
	var d struct {
		Text    string   `json:"text"`
		Argv    []string `json:"argv"`
		Outcome *struct {
			Kind   string `json:"kind"`
			Code   int    `json:"exitCode"`
			Signal string `json:"signal"`
		} `json:"outcome"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
		PID     int    `json:"pid"` // of who began the chain
		Version string `json:"version"`
	}
	if json.Unmarshal(data, &d) != nil {
		return string(data)
	}
	switch {
	case d.Outcome != nil && d.Outcome.Kind == "exited":
		return fmt.Sprintf("exit %d", d.Outcome.Code)
	case d.Outcome != nil:
		return strings.TrimSpace(d.Outcome.Kind + " " + d.Outcome.Signal)
	case d.Error != nil:
		return d.Error.Message
	case d.Text != "":
		return d.Text
	case len(d.Argv) > 0:
		words := make([]string, len(d.Argv))
		for i, w := range d.Argv {
			words[i] = shellWord(w)
		}
		return strings.Join(words, " ")
	case d.PID > 0:
		return strings.TrimSpace(fmt.Sprintf("by process %d, sallyport %s", d.PID, d.Version))
	default:
		return string(data)
	}
}
