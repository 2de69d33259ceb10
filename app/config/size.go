package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Size is a number of bytes.
type Size int64

// ParseSize reads a number of bytes with an optional unit: "1048576", "64MiB", "10 MB". KiB, MiB, GiB are powers of
// 1024, kB, MB, GB powers of 1000; K, M and G alone could be either and are refused.
func ParseSize(s string) (Size, error) {
	digits := strings.TrimRight(s, "BGKMTikmgt ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || digits[0] == '+' {
		return 0, fmt.Errorf(`%q is not a size: write "64MiB" or a number of bytes`, s)
	}
	var unit int64
	switch strings.TrimLeft(s[len(digits):], " ") {
	case "", "B":
		unit = 1
	case "KiB":
		unit = 1 << 10
	case "MiB":
		unit = 1 << 20
	case "GiB":
		unit = 1 << 30
	case "kB", "KB":
		unit = 1e3
	case "MB":
		unit = 1e6
	case "GB":
		unit = 1e9
	default:
		return 0, fmt.Errorf("%q has no unit of bytes: KiB, MiB, GiB (powers of 1024) or kB, MB, GB (of 1000)", s)
	}
	if n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return Size(n * unit), nil
}

// String writes the size with the largest unit that divides it, so that ParseSize gives the same size back.
func (s Size) String() string {
	for _, u := range []struct {
		name string
		size Size
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if s != 0 && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText writes the size as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
