package config

import (
	"slices"
	"strings"
	"unicode"
)

// synonyms are last parts of keys as other tools and versions call them.
var synonyms = []struct{ theirs, ours string }{
	{"timeout", "timeout_sec"},
	{"timeout_seconds", "timeout_sec"},
	{"no_output_timeout", "no_output_timeout_sec"},
	{"yield_ms", "background_ms"},
	{"yield", "background_ms"},
	{"max_output_chars", "max_output"},
	{"job_ttl_ms", "cleanup_ms"},
	{"cwd", "workspace"},
	{"workdir", "workspace"},
	{"running_notice_ms", "approval_running_notice_ms"},
	{"path", "path_prepend"},
	{"kill_grace_ms", "grace_ms"},
	{"env_pass", "pass"},
}

// suggestion is the known key that somebody who wrote name (in full) probably meant; "" if none is near.
func suggestion(name string, known []string) string {
	name = snake(name)
	table, leaf := "", name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		table, leaf = name[:i+1], name[i+1:]
	}
	for _, s := range synonyms {
		if s.theirs == leaf {
			leaf = s.ours
		}
	}
	if slices.Contains(known, table+leaf) {
		return table + leaf
	}
	// The right name in the wrong table is more likely than another name in the right one.
	for _, k := range known {
		if strings.HasSuffix("."+k, "."+leaf) {
			return k
		}
	}
	return Nearest(table+leaf, known)
}

// snake turns backgroundMs and background-ms into background_ms.
func snake(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		if lower && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r)
		if r == '-' {
			r = '_'
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Nearest is the candidate that differs from word by the fewest edits (insert, delete, replace, swap two neighbours); ""
// if all differ by more than a third of its length.
func Nearest(word string, candidates []string) string {
	best, bestEdits := "", max(1, min(len(word)/3, 4))+1
	for _, c := range candidates {
		if n := edits(word, c, bestEdits); n < bestEdits {
			best, bestEdits = c, n
		}
	}
	return best
}

// edits is the distance of optimal string alignment between a and b, or some number ≥ limit.
func edits(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
