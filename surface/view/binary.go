package view

import (
	"bytes"
	"unicode/utf8"
)

const (
	sampleSize = 8 << 10
	// tooSmall is up to where output is shown whatever it is.
	tooSmall = 64
)

// binary says what kind of binary data output is, in words that follow its size, or nothing if it can be shown as text.
func binary(head, tail []byte) string {
	for _, b := range [][]byte{head[:min(len(head), sampleSize)], tail[max(0, len(tail)-sampleSize):]} {
		if !looksBinary(b) {
			continue
		}
		for _, m := range magic {
			if bytes.HasPrefix(head, m.prefix) {
				return " (" + m.name + ")"
			}
		}
		return " (unknown format)"
	}
	return ""
}

// looksBinary judges a sample. Text in a charset that is not known has many invalid bytes and no control characters;
// lists separated by NUL have single NULs. Neither is binary.
func looksBinary(b []byte) bool {
	if len(b) < tooSmall {
		return false
	}
	var control, invalid int
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			invalid++
		case r == 0 && i > 0 && b[i-1] == 0:
			control++
		case r != 0 && r < 0x20 && !bytes.ContainsRune([]byte("\t\n\v\f\r\b\a\x1b"), r):
			control++
		}
		i += size
	}
	return control*33 >= len(b) && (control+invalid)*5 >= len(b)
}

// magic are the beginnings of common formats, so that a model knows what it has got.
var magic = []struct {
	prefix []byte
	name   string
}{
	{[]byte("\x7fELF"), "ELF program"},
	{[]byte("MZ"), "Windows program"},
	{[]byte("\x89PNG"), "PNG image"},
	{[]byte("\xff\xd8\xff"), "JPEG image"},
	{[]byte("GIF8"), "GIF image"},
	{[]byte("%PDF"), "PDF document"},
	{[]byte("PK\x03\x04"), "ZIP archive"},
	{[]byte("\x1f\x8b"), "gzip data"},
	{[]byte("BZh"), "bzip2 data"},
	{[]byte("\xfd7zXZ"), "xz data"},
	{[]byte("\x28\xb5\x2f\xfd"), "zstd data"},
	{[]byte("SQLite format 3"), "SQLite database"},
}
