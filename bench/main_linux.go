// Command bench measures the promises that docs/promises.md prints, on the machine that it runs on, and writes the
// figures between that file's markers.
//
// Every ratio is taken against a raw floor in the same run, turn by turn, since a machine that runs benchmarks is
// rarely quiet for long: single figures move with its load, ratios hardly do. The gateway is the released program under
// the official Go SDK's client; what is compared with it has the same client.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Words by which this program starts itself as something else.
const (
	noopWord  = "noop-server" // a bare MCP server with a tool that does nothing
	floodWord = "flood"       // prints as many bytes as it is told
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case noopWord:
			exit(serveNoop(context.Background()))
		case floodWord:
			exit(flood(os.Stdout, os.Args[2]))
		}
	}
	var o options
	flag.StringVar(&o.write, "write", "", "the file whose figures are replaced; empty: print them")
	flag.StringVar(&o.program, "sallyport", "", "the program to measure; empty: build it")
	flag.StringVar(&o.only, "only", "", "promises to measure, such as 1,3; empty: all. Nothing is written then")
	flag.IntVar(&o.percent, "percent", 100, "how much of the full counts to do, in percent")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(run(ctx, o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

type options struct {
	write, program, only string
	percent              int
}

// scale is a share of a full count, at least one.
func (o options) scale(full int) int { return max(1, full*o.percent/100) }

// measurements are in the order of the promises.
var measurements = []struct {
	promise int
	measure func(context.Context, *bench) ([]row, error)
}{
	{1, latency},
	{3, throughput},
	{5, manySessions},
	{6, completeKill},
}

// A bench is what all measurements share.
type bench struct {
	options
	self string // this program
	dir  string // temporary, on the disk that is measured
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "sallyport-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is temporary
	b := &bench{options: o, dir: dir}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.program == "" {
		b.program = filepath.Join(dir, "sallyport")
		build := exec.CommandContext(ctx, "go", "build", "-o", b.program, "./cmd/sallyport")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the program: %w\n%s", err, out)
		}
	}
	// The commands of other users must be able to reach what is in it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	var rows []row
	for _, m := range measurements {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), strconv.Itoa(m.promise)) {
			continue
		}
		fmt.Fprintf(os.Stderr, "promise %d …\n", m.promise)
		got, err := m.measure(ctx, b)
		if err != nil {
			return fmt.Errorf("promise %d: %w", m.promise, err)
		}
		rows = append(rows, got...)
	}
	text := render(machine(), rows)
	if o.write == "" || o.only != "" {
		fmt.Print(text)
		return nil
	}
	return replace(o.write, text)
}
