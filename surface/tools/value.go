package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-sh/sallyport/surface/internal/jsonobj"
	"github.com/sallyport-sh/sallyport/surface/text"
)

// kind names the type of a JSON value for an error.
func kind(v json.RawMessage) string {
	for _, c := range v {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			return "a string"
		case '{':
			return "an object"
		case '[':
			return "a list"
		case 't', 'f':
			return "a boolean"
		case 'n':
			return "null"
		}
		return "a number"
	}
	return "nothing"
}

func (a argument) mustBe(what string) error {
	return invalid(fmt.Sprintf("%q must be %s, not %s", a.as, what, kind(a.value)), "")
}

// string is text that may hold anything but NUL, which no argument, file name or variable can.
func (a argument) string() (string, error) {
	if a.value[0] != '"' {
		return "", a.mustBe("a string")
	}
	s, err := jsonobj.String(a.value)
	if err != nil {
		return "", invalid(fmt.Sprintf("%q: %v", a.as, err), "")
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", invalid(fmt.Sprintf("%q holds a NUL character", a.as), "")
	}
	return s, nil
}

// data is text that may hold NUL, too.
func (a argument) data() ([]byte, error) {
	if a.value[0] != '"' {
		return nil, a.mustBe("a string")
	}
	s, err := jsonobj.String(a.value)
	if err != nil {
		return nil, invalid(fmt.Sprintf("%q: %v", a.as, err), "")
	}
	return []byte(s), nil
}

func (a argument) bool() (bool, error) {
	switch strings.ToLower(strings.Trim(string(a.value), `"`)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, a.mustBe("true or false")
}

// number is a finite number, or a string that is one.
func (a argument) number(what string) (float64, error) {
	s := string(a.value)
	if a.value[0] == '"' {
		var err error
		if s, err = jsonobj.String(a.value); err != nil {
			return 0, invalid(fmt.Sprintf("%q: %v", a.as, err), "")
		}
		s = strings.TrimSpace(s)
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || strings.ContainsAny(s, "xX_") {
		if a.value[0] == '"' {
			return 0, invalid(fmt.Sprintf("%q must be %s, not %q", a.as, what, text.Label(s, 40)), "")
		}
		if err != nil && kind(a.value) == "a number" {
			return 0, invalid(fmt.Sprintf("%q is out of range", a.as), "")
		}
		return 0, a.mustBe(what)
	}
	return n / a.per, nil
}

// seconds is a duration of 0 or more.
func (a argument) seconds() (time.Duration, error) {
	n, err := a.number("a number of seconds")
	if err != nil {
		return 0, err
	}
	if n < 0 || n > maxSeconds {
		return 0, invalid(fmt.Sprintf("%q must be 0 (none) to %d seconds", a.as, maxSeconds), "")
	}
	return time.Duration(n * float64(time.Second)), nil
}

// millis is a number of milliseconds, brought into a range.
func (a argument) millis(least, most time.Duration) (time.Duration, error) {
	n, err := a.number("a number of milliseconds")
	if err != nil {
		return 0, err
	}
	n = min(max(n, float64(least.Milliseconds())), float64(most.Milliseconds()))
	return time.Duration(n * float64(time.Millisecond)), nil
}

// whole is a whole number in a range.
func (a argument) whole(least, most int64) (int64, error) {
	n, err := a.number("a whole number")
	if err != nil {
		return 0, err
	}
	if n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		return 0, invalid(fmt.Sprintf("%q must be a whole number from %d to %d", a.as, least, most), "")
	}
	return int64(n), nil
}

// word is one of some words.
func (a argument) word(words ...string) (string, error) {
	s, err := a.string()
	if err != nil {
		return "", err
	}
	for _, w := range words {
		if strings.EqualFold(s, w) {
			return w, nil
		}
	}
	return "", invalid(fmt.Sprintf("%q must be %s, not %q", a.as, strings.Join(words, " or "), text.Label(s, 40)), "")
}

// scalar is a string, or a number or boolean as it is written: models write {"PORT": 3000}.
func (a argument) scalar() (string, error) {
	switch kind(a.value) {
	case "a number", "a boolean":
		return string(a.value), nil
	}
	return a.string()
}

// list is a list of strings.
func (a argument) list() ([]string, error) {
	if a.value[0] != '[' {
		return nil, a.mustBe("a list of strings")
	}
	var all []string
	for i, v := range jsonobj.Elements(a.value) {
		s, err := argument{value: v, as: fmt.Sprintf("%s[%d]", a.as, i)}.scalar()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// strings is an object of strings.
func (a argument) strings() (map[string]string, error) {
	if a.value[0] != '{' {
		return nil, a.mustBe("an object of strings")
	}
	members, err := jsonobj.Split(a.value)
	if err != nil {
		return nil, invalid(fmt.Sprintf("%q: %v", a.as, err), "")
	}
	all := make(map[string]string, len(members))
	for _, m := range members {
		label := text.Label(m.Name, 40)
		if m.Name == "" || strings.ContainsAny(m.Name, "=\x00") {
			return nil, invalid(fmt.Sprintf("%q holds %q, which is no name of a variable", a.as, label), "")
		}
		if _, twice := all[m.Name]; twice {
			return nil, invalid(fmt.Sprintf("%q holds %q twice", a.as, label), "")
		}
		s, err := argument{value: m.Value, as: a.as + "." + label}.scalar()
		if err != nil {
			return nil, err
		}
		all[m.Name] = s
	}
	return all, nil
}

// strays are closing tags that models leave at the end of arguments when they mix up two call syntaxes.
var strays = []string{"</arg_value>", "</arg_value", "</parameter>", "</argument>", "</invoke>", "</tool_call>", "</function_calls>"}

// withoutStrays cuts such tags off the end of s and returns what was cut.
func withoutStrays(s string) (clean, cut string) {
	rest := s
	for {
		trimmed := strings.TrimRight(rest, " \t\r\n>")
		before := rest
		for _, tag := range strays {
			if t, ok := strings.CutSuffix(trimmed, strings.TrimSuffix(tag, ">")); ok {
				rest = t
				break
			}
		}
		if rest == before {
			break
		}
	}
	if rest == s {
		return s, ""
	}
	return strings.TrimRight(rest, " \t\r\n"), strings.TrimSpace(s[len(rest):])
}
