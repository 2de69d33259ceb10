package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// A kind is a form of value.
type kind uint8

const (
	kindBool kind = iota
	kindInt
	kindDuration
	kindString
	kindSize
	kindList
	kindTable
)

func kindOf(t reflect.Type) kind {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return kindDuration
	case t == reflect.TypeFor[Size]():
		return kindSize
	}
	switch t.Kind() {
	case reflect.Bool:
		return kindBool
	case reflect.Int:
		return kindInt
	case reflect.String:
		return kindString
	case reflect.Slice:
		return kindList
	case reflect.Map:
		return kindTable
	default:
		panic("config: no kind of value for " + t.String())
	}
}

// Values have one canonical form, in which they are checked, compared, hashed and shown: bool, int64 (numbers, and
// durations in the unit of their key), string, Size, []string, map[string]any.

// decode brings a value as TOML gives it into the canonical form, or says what is wrong with it.
func (f *field) decode(v any) (any, error) {
	switch f.kind {
	case kindBool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case kindInt, kindDuration:
		if n, ok := v.(int64); ok {
			return n, f.inRange(n)
		}
	case kindString:
		if s, ok := v.(string); ok {
			return s, f.checkText(s)
		}
	case kindSize:
		return f.decodeSize(v)
	case kindList:
		return f.decodeList(v)
	case kindTable:
		if m, ok := v.(map[string]any); ok {
			return m, nil
		}
	}
	return nil, f.mismatch(v)
}

func (f *field) decodeSize(v any) (any, error) {
	switch v := v.(type) {
	case int64:
		return Size(v), f.inRange(v)
	case string:
		size, err := ParseSize(v)
		if err != nil {
			return nil, err
		}
		return size, f.inRange(int64(size))
	}
	return nil, f.mismatch(v)
}

func (f *field) decodeList(v any) (any, error) {
	items, ok := v.([]any)
	if !ok {
		return nil, f.mismatch(v)
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("must be %s; an item is %s", f.form(), describe(item))
		}
		if err := f.checkText(s); err != nil {
			return nil, err
		}
		if slices.Contains(list, s) {
			return nil, fmt.Errorf("holds %q twice", s)
		}
		list = append(list, s)
	}
	return list, nil
}

func (f *field) inRange(n int64) error {
	if f.most >= f.least && (n < f.least || n > f.most) {
		return fmt.Errorf("%s is out of range: %s", f.show(n), f.allowed())
	}
	return nil
}

// show writes a number of this key as a person would.
func (f *field) show(n int64) string {
	if f.kind == kindSize {
		return Size(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// checkText checks one string: a value, or an item of a list.
func (f *field) checkText(s string) error {
	if slices.Contains(f.later, s) {
		return fmt.Errorf("%q is not in force in this version, which has no %s", s, withoutArticle(f.needs))
	}
	if len(f.words) > 0 && !slices.Contains(f.words, s) {
		err := fmt.Errorf("%q is not one of %s", s, strings.Join(f.words, ", "))
		if near := Nearest(s, f.words); near != "" {
			return fmt.Errorf("%w: did you mean %q?", err, near)
		}
		return err
	}
	return checkRule(f.check, s)
}

func withoutArticle(s string) string { return strings.TrimPrefix(s, "the ") }

func (f *field) mismatch(v any) error {
	return fmt.Errorf("must be %s; it is %s", f.form(), describe(v))
}

// form says in words what a value of the key looks like.
func (f *field) form() string {
	switch f.kind {
	case kindBool:
		return "true or false"
	case kindInt:
		return "a whole number, " + f.allowed()
	case kindDuration:
		return "a whole number of " + f.unitName() + ", " + f.allowed()
	case kindSize:
		return `a size such as "64MiB" or a number of bytes, ` + f.allowed()
	case kindList:
		if len(f.words) > 0 {
			return "a list of " + f.allowed()
		}
		return "a list of strings"
	case kindTable:
		return "a table"
	default:
		if len(f.words) > 0 {
			return f.allowed()
		}
		return "a string"
	}
}

// allowed is the range of a number or the words of a text; empty if there is no such limit.
func (f *field) allowed() string {
	if len(f.words) > 0 {
		quoted := make([]string, len(f.words))
		for i, w := range f.words {
			quoted[i] = quote(w)
		}
		return strings.Join(quoted, ", ")
	}
	if f.most < f.least {
		return ""
	}
	return f.show(f.least) + " to " + f.show(f.most)
}

func (f *field) unitName() string {
	if f.unit == time.Second {
		return "seconds"
	}
	return "milliseconds"
}

// describe names a value as TOML gave it, short enough for a line.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		if len(v) > 40 {
			return "a long string"
		}
		return "the string " + quote(v)
	case int64:
		return fmt.Sprintf("the number %d", v)
	case float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprintf("the truth value %v", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "a list of tables"
	default:
		return "a date or time"
	}
}

// text reads a value as a person types it for Set, or as a default stands in a tag, into what TOML would give for it.
// A list may be written as TOML does, or with commas.
func (f *field) text(s string) (any, error) {
	switch f.kind {
	case kindBool:
		if s == "true" || s == "false" {
			return s == "true", nil
		}
		return s, nil // decode says what is wrong with it
	case kindInt, kindDuration, kindSize:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
		return s, nil
	case kindList, kindTable:
		if strings.HasPrefix(s, "[") || strings.HasPrefix(s, "{") {
			return textAsTOML(s)
		}
		if f.kind == kindTable {
			return map[string]any{}, nil
		}
		list := []any{}
		for item := range strings.SplitSeq(s, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		return list, nil
	default:
		if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
			return textAsTOML(s)
		}
		return s, nil
	}
}

func textAsTOML(s string) (any, error) {
	var doc map[string]any
	if _, err := toml.Decode("v = "+s, &doc); err != nil || len(doc) != 1 {
		return nil, fmt.Errorf("%q is not a TOML value", s)
	}
	return doc["v"], nil
}

// duration is n units of the key.
func (f *field) duration(n int64) time.Duration { return time.Duration(n) * f.unit }

// store writes a canonical value into the field of the struct root.
func (f *field) store(root reflect.Value, v any) {
	dst := root.FieldByIndex(f.index)
	switch v := v.(type) {
	case int64:
		if f.kind == kindDuration {
			v = int64(f.duration(v))
		}
		dst.SetInt(v)
	case Size:
		dst.SetInt(int64(v))
	case bool:
		dst.SetBool(v)
	case string:
		dst.SetString(v)
	default:
		dst.Set(reflect.ValueOf(v))
	}
}

// load is the inverse of store.
func (f *field) load(root reflect.Value) any {
	src := root.FieldByIndex(f.index)
	switch f.kind {
	case kindBool:
		return src.Bool()
	case kindInt:
		return src.Int()
	case kindDuration:
		return src.Int() / int64(f.unit)
	case kindString:
		return src.String()
	default:
		return src.Interface()
	}
}

// defaultValue is the default in canonical form.
func (f *field) defaultValue() any {
	raw, err := f.text(f.def)
	if err == nil {
		var v any
		if v, err = f.decode(raw); err == nil {
			return v
		}
	}
	panic(fmt.Sprintf("config: default of %s: %v", f.name, err)) // a tag of ours is wrong: any test finds it
}

// literal writes a canonical value as TOML.
func literal(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case Size:
		return quote(v.String())
	case string:
		return quote(v)
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = quote(s)
		}
		return "[" + strings.Join(items, ", ") + "]"
	default:
		return "{}" // the one key that holds a table cannot be set
	}
}

// quote writes a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Format writes a value, as [Get] and [Snapshot.Values] give it, the way a file would.
func Format(v any) string { return literal(v) }
