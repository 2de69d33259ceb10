package config

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport-sh/sallyport"
)

// Set changes one key in the file at path, which is created (with its directory) if it does not exist. Comments, order
// and everything else stay as they are. The value is written as a person types it: a list as ["a", "b"] or a,b; a
// string without quotes. Nothing is written unless the result is valid; then it is written as a whole, for its owner
// only (0600). A symbolic link stays one.
func Set(path, key, value string) error {
	path, err := followLink(path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory of configuration: %w", err)
	}
	unlock, err := lock(dir)
	if err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	defer unlock()
	data, _, err := read(path)
	if err != nil {
		return err
	}
	changed, err := edit(path, data, key, value)
	if err != nil || data != nil && bytes.Equal(changed, data) {
		return err
	}
	return replace(path, changed)
}

// followLink returns the file that path stands for: what is renamed over path would replace a link, not its target.
func followLink(path string) (string, error) {
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		return path, nil // whatever else is wrong with it, reading will say
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("follow link: %w", err)
	}
	return real, nil
}

// replace writes data beside path and renames it over path, so that a reader sees the old or the new file, and a crash
// leaves one of them.
func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // what matters is the error before
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// edit returns data with one key set.
func edit(name string, data []byte, key, value string) ([]byte, error) {
	path, text, err := assignment(key, value)
	if err != nil {
		return nil, err
	}
	before, err := decodeTOML(name, data)
	if err != nil {
		return nil, err
	}
	e := &editor{src: data, layout: scan(data), path: path, text: text, newline: newlineOf(data)}
	want := withKey(before, path, text)
	for _, change := range []func() ([]byte, bool){e.inPlace, e.inInlineTable, e.inTable, e.besideDotted, e.atRoot, e.inNewTable} {
		out, ok := change()
		if !ok {
			continue
		}
		// The layout is found by a scanner of ours: the parser has the last word on whether this key, and nothing
		// else, is now different.
		after, err := decodeTOML(name, out)
		if err != nil || !reflect.DeepEqual(after, want) {
			continue
		}
		if _, err := Parse(name, out); err != nil {
			return nil, err
		}
		return out, nil
	}
	if _, err := Parse(name, data); err != nil {
		return nil, err
	}
	return nil, &sallyport.Error{
		Code: sallyport.Conflict, Msg: "the form of " + name + " leaves no place for " + joinKey(path),
		Hint: "write it by hand: " + joinKey(path) + " = " + text,
	}
}

// assignment checks a key and its value and returns both as a file would hold them.
func assignment(key, value string) (path []string, text string, err error) {
	path, err = splitKey(key)
	if err != nil {
		return nil, "", &sallyport.Error{Code: sallyport.Invalid, Msg: err.Error()}
	}
	sch, rel := fileSchema(), path
	if path[0] == "agents" && len(path) > 2 {
		sch, rel = agentSchema(), path[2:]
	}
	f, ok := sch.byName[strings.Join(rel, ".")]
	if !ok {
		if _, ok := sch.tables[strings.Join(rel, ".")]; ok || key == "agents" {
			return nil, "", &sallyport.Error{Code: sallyport.Invalid, Msg: key + " is a table", Hint: "set one key of it: sallyport config doc lists them"}
		}
		return nil, "", unknownKey(path)
	}
	raw, err := f.text(value)
	if err == nil {
		var v any
		if v, err = f.decode(raw); err == nil {
			return path, literal(v), nil
		}
	}
	return nil, "", &sallyport.Error{Code: sallyport.Invalid, Msg: key + ": " + err.Error()}
}

// withKey is a copy of a decoded file with one key set, which is what an edit has to result in.
func withKey(doc map[string]any, path []string, text string) map[string]any {
	v, err := textAsTOML(text)
	if err != nil {
		panic("config: a literal of ours: " + err.Error())
	}
	var set func(any, []string) any
	set = func(old any, path []string) any {
		if len(path) == 0 {
			return v
		}
		tree := map[string]any{}
		if before, ok := old.(map[string]any); ok {
			maps.Copy(tree, before)
		}
		tree[path[0]] = set(tree[path[0]], path[1:])
		return tree
	}
	return set(doc, path).(map[string]any)
}

// An editor knows the places in a file where a key can be set. Each method tries one and reports whether it applies.
type editor struct {
	src     []byte
	layout  *layout
	path    []string
	text    string // the value, as TOML
	newline string
}

// inPlace replaces the value of a key that is there.
func (e *editor) inPlace() ([]byte, bool) {
	i := e.layout.find(e.path)
	if i < 0 {
		return nil, false
	}
	return e.splice(e.layout.entries[i].value, e.text), true
}

// inInlineTable adds to table = { … }.
func (e *editor) inInlineTable() ([]byte, bool) {
	for n := len(e.path) - 1; n > 0; n-- {
		i := e.layout.find(e.path[:n])
		if i < 0 {
			continue
		}
		in := e.layout.entries[i]
		if in.value.to <= in.value.from || e.src[in.value.from] != '{' {
			return nil, false
		}
		pair := joinKey(e.path[n:]) + " = " + e.text
		if len(in.children) == 0 {
			at := in.value.from + 1
			if e.src[at] == '}' {
				pair += " "
			}
			return e.splice(span{at, at}, " "+pair), true
		}
		last := e.layout.entries[in.children[len(in.children)-1]].value.to
		return e.splice(span{last, last}, ", "+pair), true
	}
	return nil, false
}

// inTable adds a line to the table that has the key's header.
func (e *editor) inTable() ([]byte, bool) {
	parent := e.path[:len(e.path)-1]
	for i, t := range e.layout.tables {
		if i > 0 && !t.array && slices.Equal(t.path, parent) {
			return e.insertLine(t.end, i, e.path[len(e.path)-1:]), true
		}
	}
	return nil, false
}

// besideDotted adds a line after table.key = … when that is how the file defines the table.
func (e *editor) besideDotted() ([]byte, bool) {
	parent := e.path[:len(e.path)-1]
	for _, other := range slices.Backward(e.layout.entries) {
		in := e.layout.tables[other.table]
		if other.inline || len(in.path) >= len(parent) || len(other.path) <= len(parent) || !slices.Equal(other.path[:len(parent)], parent) {
			continue
		}
		at := other.value.to
		if n := bytes.IndexByte(e.src[at:], '\n'); n >= 0 {
			at += n + 1
		} else {
			at = len(e.src)
		}
		return e.insertLine(at, other.table, e.path[len(in.path):]), true
	}
	return nil, false
}

// atRoot adds a key that is in no table: behind the others, else behind the comment that the file begins with.
func (e *editor) atRoot() ([]byte, bool) {
	if len(e.path) > 1 {
		return nil, false
	}
	at := e.layout.tables[0].end
	if at == 0 {
		at = e.preamble()
	}
	return e.insertLine(at, 0, e.path), true
}

// preamble is the end of a comment at the start of the file that an empty line separates from what follows.
func (e *editor) preamble() int {
	at := 0
	for line := range bytes.Lines(e.src) {
		trimmed := bytes.TrimSpace(line)
		at += len(line)
		if len(trimmed) == 0 {
			return at
		}
		if trimmed[0] != '#' {
			return 0
		}
	}
	return at
}

// inNewTable adds a header and the key at the end.
func (e *editor) inNewTable() ([]byte, bool) {
	n := len(e.path) - 1
	if n == 0 {
		return nil, false
	}
	out := e.closed()
	if len(bytes.TrimSpace(out)) > 0 {
		out = append(out, e.newline...)
	}
	out = append(out, "["+joinKey(e.path[:n])+"]"+e.newline...)
	return append(out, joinKey(e.path[n:])+" = "+e.text+e.newline...), true
}

// closed is the source with its last line ended.
func (e *editor) closed() []byte {
	out := slices.Clone(e.src)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, e.newline...)
	}
	return out
}

// insertLine puts key = value at an offset where a line begins, indented as the last entry of its table.
func (e *editor) insertLine(at, table int, key []string) []byte {
	indent := ""
	for _, other := range e.layout.entries {
		if other.table == table && !other.inline {
			indent = e.indentOf(other.start)
		}
	}
	line := indent + joinKey(key) + " = " + e.text + e.newline
	if at > 0 && e.src[at-1] != '\n' {
		line = e.newline + line
	}
	return e.splice(span{at, at}, line)
}

// indentOf is the white space before an offset on its line.
func (e *editor) indentOf(at int) string {
	from := bytes.LastIndexByte(e.src[:at], '\n') + 1
	if lead := e.src[from:at]; len(bytes.TrimLeft(lead, " \t")) == 0 {
		return string(lead)
	}
	return ""
}

func (e *editor) splice(s span, text string) []byte {
	return slices.Concat(e.src[:s.from], []byte(text), e.src[s.to:])
}

// newlineOf is how the lines of a file end.
func newlineOf(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
