package text

import (
	"bytes"
	"unicode/utf8"
)

// A Decoder turns the bytes of one stream into UTF-8. It is the seam for code pages: one that knows the locale's
// charset takes the place of [UTF8]. A newline byte is a newline in every charset that a Decoder is for, so input is
// handed over line by line.
type Decoder interface {
	// Decode returns the text of src. Bytes at the end of src that may begin a character are kept for the next call,
	// unless last says that the line ends here. The result is valid until the next call and may be src itself.
	Decode(src []byte, last bool) []byte
	// Replaced says what could not be decoded so far.
	Replaced() Replaced
}

// Replaced counts what was not text: runs of bytes, each shown as one U+FFFD, and the bytes in them.
type Replaced struct {
	Runs  int64
	Bytes int64
}

// UTF8 is strict UTF-8: overlong forms, surrogates and stray bytes are invalid, and each run of them becomes one
// U+FFFD. The zero value is ready for use.
type UTF8 struct {
	kept     []byte // the beginning of a character, at most utf8.UTFMax-1 bytes
	bad      bool   // the last byte belonged to a run of invalid ones
	out      []byte
	replaced Replaced
}

// Decode implements [Decoder].
func (d *UTF8) Decode(src []byte, last bool) []byte {
	if len(d.kept) == 0 && !d.bad && utf8.Valid(src) {
		return src
	}
	if len(d.kept) > 0 {
		src = append(bytes.Clone(d.kept), src...)
		d.kept = d.kept[:0]
	}
	d.out = d.out[:0]
	for len(src) > 0 {
		r, size := utf8.DecodeRune(src)
		if r == utf8.RuneError && size == 1 {
			if !last && !utf8.FullRune(src) {
				d.kept = append(d.kept, src...)
				return d.out
			}
			d.invalid()
			src = src[1:]
			continue
		}
		d.bad = false
		d.out = append(d.out, src[:size]...)
		src = src[size:]
	}
	if last {
		d.bad = false
	}
	return d.out
}

// invalid takes one byte that is no character.
func (d *UTF8) invalid() {
	if !d.bad {
		d.bad = true
		d.replaced.Runs++
		d.out = utf8.AppendRune(d.out, utf8.RuneError)
	}
	d.replaced.Bytes++
}

// Replaced implements [Decoder].
func (d *UTF8) Replaced() Replaced { return d.replaced }
