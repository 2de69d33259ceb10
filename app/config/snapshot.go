package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport-sh/sallyport"
)

// A Snapshot is a configuration that is complete and valid. It is never changed, so it may be read by everybody at
// once; its slices and maps are shared and must not be written.
type Snapshot struct {
	Settings
	// Agents are the sections [agents.<id>], complete: see For.
	Agents map[string]Effective
	// Revision identifies the values in force: equal values have equal revisions, whatever their file looks like.
	Revision string
	// Path is the file that was read, whether it exists or not. It is empty for Default and Parse.
	Path string
	// Warnings are things to say once: values taken from the environment that could not be used, doubtful rights.
	Warnings []string

	origin map[string]string // where a key, in full, was set; those that were not are missing
}

// origin of a key that stands in the file.
const fromFile = "file"

// For returns what holds for an agent. One without a section, and the empty id, get the global settings.
func (s *Snapshot) For(agentID string) Effective {
	if a, ok := s.Agents[agentID]; ok {
		return a
	}
	return s.global()
}

func (s *Snapshot) global() Effective {
	return Effective{Workspace: s.Workspace, Exec: s.Exec, Env: s.Env, Tools: AgentTools{Exec: s.Tools.Exec}}
}

// CallerRole is mcp.role.
func (m MCP) CallerRole() sallyport.Role {
	switch m.Role {
	case "admin":
		return sallyport.Admin
	case "user":
		return sallyport.User
	default:
		return sallyport.Guest
	}
}

// Default is the configuration of somebody who has no file.
func Default() *Snapshot {
	s := newSnapshot()
	return s.finish()
}

func newSnapshot() *Snapshot {
	s := &Snapshot{Agents: map[string]Effective{}, origin: map[string]string{}}
	root := reflect.ValueOf(&s.Settings).Elem()
	for _, f := range fileSchema().fields {
		f.store(root, f.defaultValue())
	}
	s.Exec.MaxOutputLimit = int(fileSchema().byName["exec.max_output"].most)
	return s
}

// finish computes what follows from the other values.
func (s *Snapshot) finish() *Snapshot {
	if !s.Tools.Exec.Enabled {
		s.Tools.Families = slices.DeleteFunc(slices.Clone(s.Tools.Families), func(f string) bool { return f == "exec" })
	}
	s.Exec.EnvPass = s.Env.Pass
	for id, agent := range s.Agents {
		agent.Exec.EnvPass = agent.Env.Pass
		s.Agents[id] = agent
	}
	s.Revision = s.revision()
	return s
}

// revision is a hash of all values in force.
func (s *Snapshot) revision() string {
	sum := sha256.New()
	for _, v := range s.Values() {
		fmt.Fprintf(sum, "%s=%s\n", v.Name, literal(v.Value))
	}
	fmt.Fprintf(sum, "limit=%d\n", s.Exec.MaxOutputLimit)
	for _, id := range slices.Sorted(maps.Keys(s.Agents)) {
		agent := s.Agents[id]
		fmt.Fprintf(sum, "agent %q\n", id)
		for _, f := range agentSchema().fields {
			fmt.Fprintf(sum, "%s=%s\n", f.name, literal(f.load(reflect.ValueOf(agent))))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// A Value is a key with what holds for it.
type Value struct {
	Name  string `json:"key"` // in full
	Value any    `json:"value"`
	From  string `json:"from"` // "default", "file", or the name of an environment variable
}

// Values lists every key of the file's tables in the order of the documentation, and then what the sections of agents
// set themselves. A duration is a whole number in the unit of its key.
func (s *Snapshot) Values() []Value {
	var all []Value
	root := reflect.ValueOf(s.Settings)
	for _, f := range fileSchema().fields {
		all = append(all, Value{f.name, f.load(root), s.from(f.name)})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Agents)) {
		agent := reflect.ValueOf(s.Agents[id])
		for _, f := range agentSchema().fields {
			if name := agentKey(id, f.name); s.origin[name] != "" {
				all = append(all, Value{name, f.load(agent), s.from(name)})
			}
		}
	}
	return all
}

func (s *Snapshot) from(name string) string {
	if from := s.origin[name]; from != "" {
		return from
	}
	return "default"
}

// agentKey is the full name of an agent's key.
func agentKey(id, name string) string { return joinKey([]string{"agents", id}) + "." + name }

// Get returns what holds for a key: a bool, a string, a whole number (int64; durations in the unit of the key), a Size,
// a []string, or, for the name of a table, a map of these. A key of an agent's section gives what holds for that agent,
// whoever sets it. Unknown keys are [sallyport.NotFound] with a suggestion.
func Get(s *Snapshot, key string) (any, error) {
	parts, err := splitKey(key)
	if err != nil {
		return nil, &sallyport.Error{Code: sallyport.Invalid, Msg: err.Error()}
	}
	sch, root, name := fileSchema(), reflect.ValueOf(s.Settings), strings.Join(parts, ".")
	if parts[0] == "agents" && len(parts) >= 2 {
		sch, root, name = agentSchema(), reflect.ValueOf(s.For(parts[1])), strings.Join(parts[2:], ".")
	}
	if f, ok := sch.byName[name]; ok {
		return f.load(root), nil
	}
	if _, ok := sch.tables[name]; !ok && name != "" {
		return nil, unknownKey(parts)
	}
	table := map[string]any{}
	for _, f := range sch.fields {
		if rest, ok := below(name, f.name); ok {
			nest(table, strings.Split(rest, "."), f.load(root))
		}
	}
	return table, nil
}

// below is the rest of name if it is in table; everything is in the empty one.
func below(table, name string) (string, bool) {
	if table == "" {
		return name, true
	}
	return strings.CutPrefix(name, table+".")
}

// nest puts v at path in a tree of maps.
func nest(tree map[string]any, path []string, v any) {
	for ; len(path) > 1; path = path[1:] {
		sub, ok := tree[path[0]].(map[string]any)
		if !ok {
			sub = map[string]any{}
			tree[path[0]] = sub
		}
		tree = sub
	}
	tree[path[0]] = v
}

// Tree is everything that holds, in the shape of the file.
func (s *Snapshot) Tree() map[string]any {
	tree := map[string]any{}
	for _, v := range s.Values() {
		parts, err := splitKey(v.Name)
		if err != nil {
			panic("config: a key of ours: " + err.Error())
		}
		nest(tree, parts, v.Value)
	}
	return tree
}

// MarshalJSON writes the tree.
func (s *Snapshot) MarshalJSON() ([]byte, error) { return json.Marshal(s.Tree()) }

// unknownKey is the error for a key that does not exist, with the nearest one that does.
func unknownKey(parts []string) *sallyport.Error {
	hint := "sallyport config doc lists every key"
	if near := suggestKey(parts); near != "" {
		hint = "did you mean " + near + "?"
	}
	return &sallyport.Error{Code: sallyport.NotFound, Msg: "unknown key " + joinKey(parts), Hint: hint}
}

// suggestKey is the nearest key that exists, in full; "" if none is near.
func suggestKey(parts []string) string {
	if parts[0] == "agents" && len(parts) > 2 {
		if near := suggestion(strings.Join(parts[2:], "."), names(agentSchema())); near != "" {
			return agentKey(parts[1], near)
		}
		return ""
	}
	return suggestion(strings.Join(parts, "."), names(fileSchema()))
}

// names are the names of keys and tables.
func names(s *schema) []string {
	all := slices.Sorted(maps.Keys(s.tables))
	for _, f := range s.fields {
		all = append(all, f.name)
	}
	return all
}
