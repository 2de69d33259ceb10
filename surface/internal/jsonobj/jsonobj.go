// Package jsonobj takes JSON objects apart without trusting them: members in order, with duplicates and the exact
// spelling of names seen, and strings only if they are Unicode.
//
// encoding/json keeps the last of two equal names, matches names in any case and replaces what is no character. Where a
// command is decoded, each of these would run something other than what was read.
package jsonobj

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A Member is one member of an object.
type Member struct {
	Name  string
	Value json.RawMessage // a part of the input
}

// ErrNotObject says that a JSON value is not an object.
var ErrNotObject = errors.New("not a JSON object")

// Members takes an object apart. The input may hold white space round the object and nothing else.
func Members(data []byte) ([]Member, error) {
	if !json.Valid(data) {
		return nil, errors.New("not valid JSON")
	}
	return Split(data)
}

// Split is [Members] for data that is known to be valid JSON.
func Split(data []byte) ([]Member, error) {
	i := space(data, 0)
	if data[i] != '{' {
		return nil, ErrNotObject
	}
	var all []Member
	for i = space(data, i+1); data[i] != '}'; i = space(data, i) {
		if data[i] == ',' {
			i = space(data, i+1)
		}
		end := skip(data, i)
		name, err := String(data[i:end])
		if err != nil {
			return nil, fmt.Errorf("name of a member: %w", err)
		}
		i = space(data, space(data, end)+1)
		end = skip(data, i)
		all = append(all, Member{name, data[i:end]})
		i = end
	}
	return all, nil
}

// Elements takes an array apart; data is valid JSON that begins with "[".
func Elements(data []byte) []json.RawMessage {
	var all []json.RawMessage
	for i := space(data, space(data, 0)+1); data[i] != ']'; i = space(data, i) {
		if data[i] == ',' {
			i = space(data, i+1)
		}
		end := skip(data, i)
		all = append(all, data[i:end])
		i = end
	}
	return all
}

func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value that begins at i in valid JSON.
func skip(data []byte, i int) int {
	switch data[i] {
	case '"':
		for i++; data[i] != '"'; i++ {
			if data[i] == '\\' {
				i++
			}
		}
		return i + 1
	case '{', '[':
		for depth := 0; ; i++ {
			switch data[i] {
			case '"':
				i = skip(data, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(data) && data[i] != ',' && data[i] != '}' && data[i] != ']' && data[i] > ' ' {
		i++
	}
	return i
}

// String decodes a string from valid JSON. It fails for bytes that are not UTF-8 and for half of a surrogate pair, which
// no character stands for.
func String(data []byte) (string, error) {
	if len(data) < 2 || data[0] != '"' {
		return "", errors.New("not a string")
	}
	body := data[1 : len(data)-1]
	if !utf8.Valid(body) {
		return "", errors.New("a string is not UTF-8")
	}
	plain := bytes.IndexByte(body, '\\')
	if plain < 0 {
		return string(body), nil
	}
	out := append(make([]byte, 0, len(body)), body[:plain]...)
	for i := plain; i < len(body); i++ {
		if body[i] != '\\' {
			out = append(out, body[i])
			continue
		}
		i++
		if body[i] != 'u' {
			out = append(out, unescape(body[i]))
			continue
		}
		r := hex4(body[i+1:])
		i += 4
		if r >= 0xd800 && r < 0xe000 {
			low := rune(0)
			if rest := body[i+1:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
				low = hex4(rest[2:])
			}
			if r >= 0xdc00 || low < 0xdc00 || low > 0xdfff {
				return "", errors.New("a string holds half of a surrogate pair")
			}
			r = 0x10000 + (r-0xd800)<<10 + (low - 0xdc00)
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), nil
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func hex4(b []byte) rune {
	n, _ := strconv.ParseUint(string(b[:4]), 16, 32) // valid JSON has four digits here
	return rune(n)
}
