package tools

import (
	"fmt"
	"strings"

	"github.com/sallyport-sh/sallyport/surface/text"
)

// unknown is the error for a parameter that a tool does not have. It names the nearest right one, or all.
func unknown(name, tool string, params []param) error {
	all := make([]string, len(params))
	for i, p := range params {
		all[i] = p.name
	}
	msg := fmt.Sprintf("unknown parameter %q", text.Label(name, 40))
	if best := nearest(fold(name), params); best != "" {
		return invalid(fmt.Sprintf("%s: did you mean %q?", msg, best), "")
	}
	return invalid(msg, tool+" takes "+strings.Join(all, ", "))
}

// nearest is the parameter whose name, or other name, is at most a third of its length away; empty if there is none.
func nearest(f string, params []param) string {
	best, least := "", 1000
	try := func(candidate, name string) {
		if d := distance(f, candidate); d < least && 3*d <= max(len(f), len(candidate)) {
			best, least = name, d
		}
	}
	if len(f) > 40 {
		return ""
	}
	for _, p := range params {
		try(strings.ToLower(p.name), p.name)
	}
	for _, p := range params {
		for _, o := range p.other {
			try(o.fold, p.name)
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour to make b of a.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows = [3][]int{last, row, before}
	}
	return rows[1][len(b)]
}
