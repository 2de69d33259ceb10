package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"
)

// maxFile is the largest file that is read. A configuration of a thousand agents with every key set is smaller.
const maxFile = 4 << 20

// Parse reads a configuration. name stands for the file in errors, which are *[Error] and list every problem.
func Parse(name string, data []byte) (*Snapshot, error) {
	doc, err := decodeTOML(name, data)
	if err != nil {
		return nil, err
	}
	r := &reader{snapshot: newSnapshot(), layout: scan(data)}
	r.document(doc)
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key)) })
		return nil, &Error{File: name, Problems: r.problems}
	}
	return r.snapshot.finish(), nil
}

// decodeTOML reads the syntax. A mistake there hides all others.
func decodeTOML(name string, data []byte) (map[string]any, error) {
	doc := map[string]any{}
	if len(data) > maxFile {
		return nil, &Error{File: name, Problems: []Problem{{Msg: fmt.Sprintf("is larger than %s", Size(maxFile))}}}
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		// The parser would take the mark away and read on.
		return nil, &Error{File: name, Problems: []Problem{{Line: 1, Msg: "is UTF-16: save it as UTF-8"}}}
	}
	_, err := toml.Decode(string(data), &doc)
	if pe, ok := errors.AsType[toml.ParseError](err); ok {
		msg := pe.Message
		if msg == "" { // some causes are kept apart from the message
			msg = strings.TrimPrefix(pe.Error(), "toml: ")
			_, msg, _ = strings.Cut(msg, ": ")
		}
		return nil, &Error{File: name, Problems: []Problem{{Line: lineOf(data, pe.Position), Msg: "not TOML: " + msg}}}
	}
	if err != nil {
		return nil, &Error{File: name, Problems: []Problem{{Msg: "not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}}}
	}
	return doc, nil
}

// lineOf is the line of a position. The parser's own is one too high where it stumbled over the end of a line.
func lineOf(data []byte, p toml.Position) int {
	if p.Start < 0 || p.Start > len(data) {
		return p.Line
	}
	return 1 + bytes.Count(data[:p.Start], []byte{'\n'})
}

// Load reads the file at path; one that does not exist is an empty one. A file that anybody may write is refused: it
// decides what runs.
func Load(path string) (*Snapshot, error) {
	s, _, err := load(path)
	return s, err
}

// load also returns the bytes, nil if there is no file.
func load(path string) (*Snapshot, []byte, error) {
	data, warning, err := read(path)
	if err != nil {
		return nil, data, err
	}
	s, err := Parse(path, data)
	if err != nil {
		return nil, data, err
	}
	s.Path = path
	if warning != "" {
		s.Warnings = append(s.Warnings, warning)
	}
	return s, data, nil
}

// read returns the bytes of a file (nil if there is none) and what is doubtful about it.
func read(path string) (data []byte, warning string, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("open configuration: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, "", fmt.Errorf("look at configuration: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, "", fmt.Errorf("configuration %s is not a regular file", path)
	}
	warning, refuse := writers(info)
	if refuse != "" {
		return nil, "", &Error{File: path, Problems: []Problem{{Msg: refuse, Hint: "chmod 600 " + path}}}
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, "", fmt.Errorf("read configuration: %w", err)
	}
	if data == nil {
		data = []byte{}
	}
	if warning != "" {
		warning = path + ": " + warning
	}
	return data, warning, nil
}

// A reader fills a snapshot from a decoded file and collects what is wrong.
type reader struct {
	snapshot *Snapshot
	layout   *layout
	problems []Problem
}

func (r *reader) problem(path []string, msg, hint string) {
	r.problems = append(r.problems, Problem{Line: r.layout.line(path), Key: joinKey(path), Msg: msg, Hint: hint})
}

// document reads the global tables first, as agents begin with what these say.
func (r *reader) document(doc map[string]any) {
	root := reflect.ValueOf(&r.snapshot.Settings).Elem()
	global := make(map[string]any, len(doc))
	for k, v := range doc {
		if k != "agents" {
			global[k] = v
		}
	}
	r.table(target{schema: fileSchema(), root: root}, "", global)
	if agents, ok := doc["agents"]; ok {
		r.agents(agents)
	}
}

func (r *reader) agents(v any) {
	sections, ok := v.(map[string]any)
	if !ok {
		r.problem([]string{"agents"}, "must be tables: [agents.<id>]; it is "+describe(v), "")
		return
	}
	for id, v := range sections {
		path := []string{"agents", id}
		section, ok := v.(map[string]any)
		switch {
		case !ok:
			r.problem(path, "must be a table: ["+joinKey(path)+"]; it is "+describe(v), "")
			continue
		case id == "" || len(id) > 256 || strings.ContainsFunc(id, unicode.IsControl):
			r.problem(path, "is not the id of an agent: 1 to 256 bytes, no control characters", "")
			continue
		}
		agent := r.snapshot.global()
		r.table(target{schema: agentSchema(), root: reflect.ValueOf(&agent).Elem(), base: path}, "", section)
		r.snapshot.Agents[id] = agent
	}
}

// A target is where the keys of a table go.
type target struct {
	schema *schema
	root   reflect.Value // addressable struct
	base   []string      // path of root in the file
}

// table reads the keys of the table name, given relative to the target.
func (r *reader) table(to target, name string, got map[string]any) {
	for key, v := range got {
		path := append(slices.Clone(to.base), splitName(name)...)
		path = append(path, key)
		full := join(name, key)
		if strings.Contains(key, ".") { // a quoted part with a dot is no path
			full = ""
		}
		if f, ok := to.schema.byName[full]; ok {
			r.value(to, f, path, v)
			continue
		}
		if _, ok := to.schema.tables[full]; !ok {
			msg, hint := stranger(path)
			r.problem(path, msg, hint)
			continue
		}
		if sub, ok := v.(map[string]any); ok {
			r.table(to, full, sub)
			continue
		}
		r.problem(path, "is a table, not "+describe(v), "write ["+joinKey(path)+"] and its keys below")
	}
}

func splitName(name string) []string {
	if name == "" {
		return nil
	}
	return strings.Split(name, ".")
}

func (r *reader) value(to target, f *field, path []string, raw any) {
	v, err := f.decode(raw)
	if err != nil {
		r.problem(path, err.Error(), hintFor(f, raw))
		return
	}
	if f.inert() && !same(v, f.defaultValue()) {
		r.problem(path, "is not in force in this version, which has no "+withoutArticle(f.needs),
			"only its default, "+literal(f.defaultValue())+", is accepted: leave it out")
		return
	}
	f.store(to.root, v)
	r.snapshot.origin[joinKey(path)] = fromFile
}

// same compares two canonical values.
func same(a, b any) bool {
	switch a := a.(type) {
	case []string:
		return slices.Equal(a, b.([]string))
	case map[string]any:
		return len(a) == 0 && len(b.(map[string]any)) == 0
	default:
		return a == b
	}
}

// hintFor recognises a right value in a wrong form.
func hintFor(f *field, raw any) string {
	s, isText := raw.(string)
	switch {
	case isText && f.kind == kindList:
		return "write [" + quote(s) + "]"
	case isText && (f.kind == kindInt || f.kind == kindDuration || f.kind == kindBool):
		if v, err := f.text(s); err == nil && v != raw {
			return "write it without quotes"
		}
	}
	return ""
}

// stranger says what is wrong with a key that does not exist here, and what to write instead.
func stranger(path []string) (msg, hint string) {
	name := strings.Join(path, ".")
	for _, known := range elsewhere {
		if name == known.name || strings.HasPrefix(name, known.name+".") {
			return known.msg, known.hint
		}
	}
	if path[0] == "agents" && len(path) > 2 {
		rel := strings.Join(path[2:], ".")
		if _, isTable := fileSchema().tables[rel]; isTable || fileSchema().byName[rel] != nil {
			return "is the same for all agents", "write " + rel
		}
	}
	if near := suggestKey(path); near != "" {
		return "unknown key", "did you mean " + near + "?"
	}
	return "unknown key", ""
}

// elsewhere are keys of the product, and of what it replaces, that this version does not have. They are refused like
// any other stranger, but with the reason.
var elsewhere = []struct{ name, msg, hint string }{
	{"shell", "there is no table [shell]", "settings of the run_command tool belong into [tools.run_command], the shell itself is exec.shell"},
	{"tools.run_command", "is not in force in this version, which serves the exec family only", ""},
	{"tools.terminal", "is not in force in this version, which serves the exec family only", ""},
	{"tools.shell", "is not in force in this version, which serves the exec family only", ""},
	{"tools.allow", "is not in force in this version, which has no tool policy but tools.deny", ""},
	{"tools.exec.policy", "is not in force in this version, which has no policy engine", "the exec family always has the gate"},
	{"tools.exec.level", "is not in force in this version, which lists every tool", ""},
	{"tools.exec.mode", "there are no modes", "write tools.exec.security"},
	{"tools.elevated", "is not in force in this version, which has no sandboxes", ""},
	{"approvals", "is not in force in this version, which has no approvals", ""},
	{"policy", "is not in force in this version, which has no policy engine", ""},
	{"sandbox", "is not in force in this version, which has no sandboxes", ""},
	{"subagents", "is not in force in this version, which has no sub-agents", ""},
	{"on_disconnect", "is not in force in this version, which has no daemon", "all sessions end with their client"},
}
