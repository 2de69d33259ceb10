package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport-sh/sallyport/surface/text"
)

// A format is how data is printed: the value of -o.
type format string

const (
	formatTable format = "table"
	formatJSON  format = "json"
)

// formatFlag gives cmd the flag -o and returns where its value will be.
func formatFlag(cmd *cobra.Command) *format {
	f := formatTable
	cmd.Flags().VarP(&f, "output", "o", "print `FORMAT`: table or json")
	return &f
}

// String, Set and Type make it a flag's value.
func (f *format) String() string { return string(*f) }

// Set accepts the two words.
func (f *format) Set(s string) error {
	switch format(s) {
	case formatTable, formatJSON:
		*f = format(s)
		return nil
	}
	return fmt.Errorf("must be table or json")
}

// Type names the value in help texts.
func (f *format) Type() string { return "FORMAT" }

// printJSON writes data, indented, as one JSON document.
func printJSON(w io.Writer, data any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(data)
}

// A table is rows of columns, the first row being the heads. Cells are made safe to show: they may hold what an agent
// wrote.
type table [][]string

func (t table) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range t {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = text.Safe(strings.NewReplacer("\t", `\t`, "\n", `\n`).Replace(cell))
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	return tw.Flush()
}
