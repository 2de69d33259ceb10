package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A row is one line of the table of figures.
type row struct {
	promise  int
	what     string
	measured string
	asked    string // empty: the figure is printed for comparison only
	kept     bool
}

// The figures stand between these lines of the file.
const (
	begin = "<!-- figures: begin (make bench writes them) -->"
	end   = "<!-- figures: end -->"
)

// render makes the part of the file that is replaced.
func render(machine string, rows []row) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\nMeasured %s on %s.\n\n", begin, time.Now().UTC().Format("2006-01-02 15:04 UTC"), machine)
	out.WriteString("| promise | what | measured | promised | |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		mark := ""
		switch {
		case r.asked == "":
		case r.kept:
			mark = "kept"
		default:
			mark = "**not kept**"
		}
		fmt.Fprintf(&out, "| %d | %s | %s | %s | %s |\n", r.promise, r.what, r.measured, r.asked, mark)
	}
	fmt.Fprintf(&out, "\n%s", end)
	return out.String()
}

// replace puts text between the markers of a file.
func replace(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(old, []byte(begin))
	if !ok {
		return fmt.Errorf("%s has no line %q", path, begin)
	}
	_, tail, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return fmt.Errorf("%s has no line %q", path, end)
	}
	return os.WriteFile(path, slices.Concat(head, []byte(text), tail), 0o644)
}

// machine says what the figures were taken on. Names and addresses are nobody's business.
func machine() string {
	kernel := "unknown"
	if out, err := exec.Command("uname", "-r").Output(); err == nil {
		release, _, _ := strings.Cut(string(out), "-") // what follows is a distribution's or a provider's name for it
		kernel = "Linux " + strings.TrimSpace(release)
	}
	load := "unknown"
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(data), " ")
	}
	memory := "unknown"
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kb int64
		if _, err := fmt.Sscanf(string(data), "MemTotal: %d kB", &kb); err == nil {
			memory = fmt.Sprintf("%d GiB", (kb+1<<19)>>20)
		}
	}
	return fmt.Sprintf("%d cores, %s of memory, %s, %s/%s, %s, load %s at the end",
		runtime.NumCPU(), memory, kernel, runtime.GOOS, runtime.GOARCH, runtime.Version(), load)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }

func atMost(limit float64, unit string) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf("≤ %g%s", limit, unit)
}
