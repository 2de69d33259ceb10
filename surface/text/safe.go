package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendEscape appends the visible form of a character: \x1b, \u202e, \U000e0001.
func appendEscape(dst []byte, r rune) []byte {
	kind, digits := byte('x'), 2
	switch {
	case r > 0xffff:
		kind, digits = 'U', 8
	case r >= 0x80:
		kind, digits = 'u', 4
	}
	dst = append(dst, '\\', kind)
	for i := digits - 1; i >= 0; i-- {
		dst = append(dst, hexDigits[r>>(4*i)&0xf])
	}
	return dst
}

// invisible are characters that Unicode counts as printable and that show nothing, or look like a plain space.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, // combining grapheme joiner
		{Lo: 0x115f, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x180b, Hi: 0x180f, Stride: 1}, // Mongolian variation selectors
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // blank Braille pattern
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1}, // variation selectors
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1}, // halfwidth Hangul filler
		{Lo: 0xfffc, Hi: 0xfffc, Stride: 1}, // object replacement
	},
	R32: []unicode.Range32{
		{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // null note head
		{Lo: 0xe0100, Hi: 0xe01ef, Stride: 1}, // variation selectors supplement
	},
}

// Safe is s as a person may be shown it, however hostile it is: characters that act on a terminal, reorder text (bidi),
// show nothing (zero width, fillers, tags) or only look like a space are made visible, as are bytes that are no UTF-8.
// Newlines and tabs stay. A text that spells out such an escape itself looks the same.
func Safe(s string) string {
	if plainASCII(s) {
		return s
	}
	var out []byte
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			out = append(out, '\\', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&0xf])
		case r == '\n' || r == '\t' || unicode.IsPrint(r) && !unicode.Is(invisible, r):
			out = append(out, s[i:i+size]...)
		default:
			out = appendEscape(out, r)
		}
		i += size
	}
	return string(out)
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if b := s[i]; b >= 0x7f || b < 0x20 && b != '\n' && b != '\t' {
			return false
		}
	}
	return true
}

// Label is s as [Safe] shows it, on one line of at most n characters: runs of white space become one space, and what
// is too long is cut in the middle.
func Label(s string, n int) string {
	if len(s) > 16*n { // so that a huge text costs no more than its label
		s = Middle(s, 4*n)
	}
	space := func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }
	return Middle(strings.Join(strings.FieldsFunc(Safe(s), space), " "), n)
}
