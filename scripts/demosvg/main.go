// Command demosvg turns the text of a terminal on stdin into a picture on stdout: make demo | demosvg > docs/demo.svg.
package main

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// Sizes in pixels; width is that of a 14 px monospaced font.
const (
	columns, lineHeight, charWidth, margin = 118, 18, 8.4, 16
)

func main() {
	if err := draw(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func draw() error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	var lines []string
	for in.Scan() {
		lines = append(lines, in.Text())
	}
	if err := in.Err(); err != nil {
		return err
	}
	width, height := columns*charWidth+2*margin, float64(len(lines)*lineHeight+2*margin)
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14">`+"\n", width, height)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" rx="8" fill="#1b1f24"/>`+"\n")
	for i, line := range lines {
		if line == "" {
			continue
		}
		fmt.Fprintf(out, `<text x="%d" y="%d" fill="%s" xml:space="preserve">%s</text>`+"\n",
			margin, margin+14+i*lineHeight, colour(line), escape(clip(line)))
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// colour sets calls, checks and titles apart; the signs in the text say the same.
func colour(line string) string {
	switch t := strings.TrimSpace(line); {
	case strings.HasPrefix(t, "▸"):
		return "#79c0ff"
	case strings.HasPrefix(t, "✓"), strings.HasPrefix(t, "done:"):
		return "#7ee787"
	case strings.HasPrefix(t, "✗"):
		return "#ff7b72"
	case line[0] != ' ':
		return "#f0f6fc"
	default:
		return "#9aa4ae"
	}
}

func clip(line string) string {
	if utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns-1]) + "…"
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}
