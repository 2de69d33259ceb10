package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A field is one key: where its value lives in the structs, and what it takes.
type field struct {
	name   string // "exec.background_ms"
	goName string // "Exec.Background": type and field, by which the comment is found
	index  []int  // for reflect.Value.FieldByIndex, from the root of its schema
	kind   kind
	unit   time.Duration // of a kindDuration
	def    string        // as in the tag
	least  int64         // of a number, in the file's unit; most < least: no range
	most   int64
	words  []string // what a kindString or kindList takes, if not anything
	later  []string // words that are refused: see needs
	needs  string   // what this version lacks; without later: for any value but the default
	check  string   // a rule of check.go
}

// inert reports whether the key is not in force in this version.
func (f *field) inert() bool { return f.needs != "" && len(f.later) == 0 }

// A schema is the keys below one root: the file, or a section [agents.<id>].
type schema struct {
	fields []*field // in the order of the structs
	byName map[string]*field
	tables map[string]string // "exec" → "Settings.Exec"
}

// fileSchema and agentSchema are made on first use: reflection is kept out of the start of commands that read no
// configuration.
var (
	fileSchema  = sync.OnceValue(func() *schema { return newSchema(reflect.TypeFor[Settings]()) })
	agentSchema = sync.OnceValue(func() *schema { return newSchema(reflect.TypeFor[Effective]()) })
)

func newSchema(root reflect.Type) *schema {
	s := &schema{byName: map[string]*field{}, tables: map[string]string{}}
	s.add(root, "", nil, nil)
	return s
}

// add enters the fields of struct t, whose keys are below prefix, without those that are named in without.
func (s *schema) add(t reflect.Type, prefix string, index []int, without []string) {
	for i := range t.NumField() {
		sf := t.Field(i)
		key, ok := sf.Tag.Lookup("key")
		if !ok || slices.Contains(without, key) {
			continue
		}
		name := join(prefix, key)
		at := append(slices.Clone(index), i)
		goName := t.Name() + "." + sf.Name
		if sf.Type.Kind() == reflect.Struct {
			s.tables[name] = goName
			s.add(sf.Type, name, at, strings.Fields(sf.Tag.Get("without")))
			continue
		}
		f := newField(sf)
		f.name, f.goName, f.index = name, goName, at
		s.fields = append(s.fields, f)
		s.byName[name] = f
	}
}

// newField reads the tags. They are ours: a wrong one is a bug, which any test finds.
func newField(sf reflect.StructField) *field {
	f := &field{
		def: sf.Tag.Get("default"), words: strings.Fields(sf.Tag.Get("oneof")),
		later: strings.Fields(sf.Tag.Get("later")), needs: sf.Tag.Get("needs"), check: sf.Tag.Get("check"),
		least: 0, most: -1, kind: kindOf(sf.Type),
	}
	switch sf.Tag.Get("unit") {
	case "ms":
		f.unit = time.Millisecond
	case "sec":
		f.unit = time.Second
	}
	if r := sf.Tag.Get("range"); r != "" {
		least, most, _ := strings.Cut(r, "..")
		f.least, f.most = tagNumber(least), tagNumber(most)
	}
	return f
}

func tagNumber(s string) int64 {
	size, err := ParseSize(s)
	if err != nil {
		panic(fmt.Sprintf("config: tag %q: %v", s, err))
	}
	return int64(size)
}

// join puts a key below a prefix.
func join(prefix, key string) string {
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}

// splitKey takes a key apart at its dots. Parts may be quoted, as in TOML: agents."a.b".workspace.
func splitKey(key string) ([]string, error) {
	var parts []string
	for rest := key; ; {
		var part string
		switch {
		case strings.HasPrefix(rest, `"`):
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("key %q: unbalanced quotes", key)
			}
			part, err = strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("key %q: unbalanced quotes", key)
			}
			rest = rest[len(quoted):]
		case strings.HasPrefix(rest, "'"):
			end := strings.IndexByte(rest[1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("key %q: unbalanced quotes", key)
			}
			part, rest = rest[1:1+end], rest[end+2:]
		default:
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			part, rest = rest[:end], rest[end:]
		}
		if part == "" {
			return nil, fmt.Errorf("key %q: a part is empty", key)
		}
		parts = append(parts, part)
		if rest == "" {
			return parts, nil
		}
		if !strings.HasPrefix(rest, ".") {
			return nil, fmt.Errorf("key %q: expected a dot before %q", key, rest)
		}
		rest = rest[1:]
	}
}

// joinKey is the inverse of splitKey: it quotes the parts that need it, as a file would.
func joinKey(parts []string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		quoted[i] = p
		if !isBare(p) {
			quoted[i] = quote(p)
		}
	}
	return strings.Join(quoted, ".")
}

// isBare reports whether a part of a key needs no quotes.
func isBare(s string) bool {
	for i := range len(s) {
		if !isBareByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isBareByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// FormatKey writes one part of a key the way a file would: with quotes if it needs them.
func FormatKey(part string) string { return joinKey([]string{part}) }
