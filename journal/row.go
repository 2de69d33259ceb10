package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport-sh/sallyport"
)

const (
	format  = 1               // of the rows and files; others are not read
	hashLen = 2 * sha256.Size // hexadecimal digits

	// MaxRow is the most bytes a row may have, its hash and line end included. Command texts are bounded by what one
	// execve takes (128 KiB); twice that leaves room for their escapes and the rest of the row.
	MaxRow = 256 << 10
)

// kindLink is the kind of the first row of each segment but the first.
const kindLink sallyport.EventKind = "link"

// genesis stands for the hash of the row before the first.
var genesis = strings.Repeat("0", hashLen)

// A Row is one event as it was read back.
type Row struct {
	Seq     uint64              `json:"seq"` // 1 for the first of its chain
	Kind    sallyport.EventKind `json:"kind"`
	At      time.Time           `json:"at"`
	Request sallyport.RequestID `json:"request,omitempty"`
	Session sallyport.SessionID `json:"session,omitempty"`
	Caller  *sallyport.Caller   `json:"caller,omitempty"`
	Data    json.RawMessage     `json:"data,omitempty"`
	Hash    string              `json:"hash"` // 64 hexadecimal digits
}

// header is the data of the first row of a segment.
type header struct {
	Format   int    `json:"format"`
	Chain    string `json:"chain"`
	Segment  int    `json:"segment"`
	Previous string `json:"previous"`
	// Of open rows only.
	Version     string `json:"version,omitempty"`
	PID         int    `json:"pid,omitempty"`
	BeforeStart bool   `json:"beforeStart,omitempty"`
}

// encode is the JSON of an event but for its seq, which is known only when it has its place.
func encode(e sallyport.Event) ([]byte, error) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	e.At = e.At.UTC()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "a && b > c" is to be read by people
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	body := printable(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	if n := lineLen(body); n > MaxRow {
		return nil, fmt.Errorf("encode event: a row of %d bytes, at most %d", n, MaxRow)
	}
	return body, nil
}

// printable escapes what the JSON encoder leaves as it is: terminals act on some of it (C1 controls), and people are
// misled by some (directions, zero widths). Outside of strings JSON is ASCII, so that every such rune is in a string.
func printable(b []byte) []byte {
	clean := true
	for _, c := range b {
		clean = clean && c >= ' ' && c < 0x7f
	}
	if clean {
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/4)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case unicode.IsPrint(r):
			out = append(out, b[:n]...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		b = b[n:]
	}
	return out
}

// lineLen is the most bytes that the row of body can have.
func lineLen(body []byte) int {
	return hashLen + len(` {"seq":18446744073709551615,`) + len(body) - len(`{`) + len("\n")
}

// line makes the row with the given seq after the row with hash before.
func line(before string, seq uint64, body []byte) (row []byte, hash string) {
	row = make([]byte, hashLen, lineLen(body))
	row = append(row, ` {"seq":`...)
	row = strconv.AppendUint(row, seq, 10)
	row = append(row, ',')
	row = append(row, body[1:]...)
	hash = chain(before, row[hashLen+1:])
	copy(row, hash)
	return append(row, '\n'), hash
}

// chain is the hash of the row with the JSON text after the row with hash before.
func chain(before string, text []byte) string {
	h := sha256.New()
	h.Write([]byte(before))
	h.Write([]byte{' '})
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}

// What is wrong with a row. They are told to people as they stand.
var (
	errShape = errors.New("this is not a row")
	errHash  = errors.New("the hash does not match: this row was changed, or one before it was taken away or put in")
	errJSON  = errors.New("the row's JSON is not what this version writes")
	errSeq   = errors.New("the row has another number than the next one")
)

// parse reads a row without its "\n", which must follow the row with the given hash and seq.
func parse(text []byte, before string, seq uint64) (Row, error) {
	if len(text) < hashLen+len(" {}") || text[hashLen] != ' ' || text[hashLen+1] != '{' {
		return Row{}, errShape
	}
	hash, body := string(text[:hashLen]), text[hashLen+1:]
	if chain(before, body) != hash {
		return Row{}, errHash
	}
	var r Row
	if err := json.Unmarshal(body, &r); err != nil {
		return Row{}, errJSON
	}
	if r.Seq != seq+1 {
		return Row{}, errSeq
	}
	r.Hash = hash
	return r, nil
}
