package text

import "unicode/utf8"

// Len is the length of s in code points.
func Len(s string) int { return utf8.RuneCountInString(s) }

// Head is the first n code points of s.
func Head(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Tail is the last n code points of s.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

// Middle is s in at most n code points: if it is longer, an ellipsis stands for what is left out of its middle.
func Middle(s string, n int) string {
	if n < 1 {
		return ""
	}
	if len(s) <= n || Len(s) <= n {
		return s
	}
	head := (n - 1) / 2
	return Head(s, head) + "…" + Tail(s, n-1-head)
}

// incompleteRune is the length of what may be the beginning of a character at the end of b.
func incompleteRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if !utf8.RuneStart(tail[0]) {
			continue
		}
		if utf8.FullRune(tail) {
			return 0
		}
		return n
	}
	return 0
}
