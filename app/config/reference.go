package config

import (
	"fmt"
	"strings"
	"time"
)

// A Key describes a key, or a table, for people.
type Key struct {
	Name    string   `json:"key"`               // in full; <id> stands for the id of an agent
	Type    string   `json:"type"`              // "bool", "int", "string", "size", "list", "table"
	Unit    string   `json:"unit,omitempty"`    // of an int: "ms", "sec"
	Default string   `json:"default,omitempty"` // as TOML; empty for a table
	Allowed string   `json:"allowed,omitempty"` // range or words
	Later   []string `json:"later,omitempty"`   // words that are refused: this version lacks what Needs names
	Needs   string   `json:"needs,omitempty"`   // without Later: the key can only be set to its default
	Doc     string   `json:"doc"`               // what it is for
}

// Reference describes every key, tables first, in the order of the documentation.
func Reference() []Key {
	keys := append(reference(fileSchema(), ""), agentTable())
	for _, k := range reference(agentSchema(), "agents.<id>") {
		// What an agent's tables hold is described where the global ones are.
		switch k.Name {
		case "agents.<id>.workspace", "agents.<id>.exec", "agents.<id>.env", "agents.<id>.tools.exec":
			keys = append(keys, k)
		}
	}
	return keys
}

// agentTable is the section of an agent.
func agentTable() Key {
	return Key{
		Name: "agents.<id>", Type: "table",
		Doc: "What holds for one agent, named by its id: `[agents.\"claude-code@/srv/app\"]`. What the section does not set is as for everybody.",
	}
}

func reference(s *schema, prefix string) []Key {
	var keys []Key
	seen := map[string]bool{}
	for _, f := range s.fields {
		parts := strings.Split(f.name, ".")
		for n := 1; n < len(parts); n++ {
			name := strings.Join(parts[:n], ".")
			if !seen[name] {
				seen[name] = true
				keys = append(keys, Key{Name: join(prefix, name), Type: "table", Doc: comment(s.tables[name])})
			}
		}
		keys = append(keys, f.key(prefix))
	}
	return keys
}

func (f *field) key(prefix string) Key {
	k := Key{
		Name: join(prefix, f.name), Default: literal(f.defaultValue()), Allowed: f.allowed(), Later: f.later,
		Needs: f.needs, Doc: comment(f.goName),
	}
	switch f.kind {
	case kindBool:
		k.Type, k.Allowed = "bool", "true, false"
	case kindInt:
		k.Type = "int"
	case kindDuration:
		k.Type, k.Unit = "int", "ms"
		if f.unit == time.Second {
			k.Unit = "sec"
		}
	case kindString:
		k.Type = "string"
	case kindSize:
		k.Type = "size"
	case kindList:
		k.Type = "list"
	case kindTable:
		k.Type = "table"
	}
	return k
}

// Lookup finds a key or table by its name. That of an agent's key may hold any id.
func Lookup(name string) (Key, error) {
	parts, err := splitKey(name)
	if err != nil {
		return Key{}, unknownKey([]string{name})
	}
	switch {
	case parts[0] == "agents" && len(parts) <= 2:
		return agentTable(), nil
	case parts[0] == "agents":
		return lookup(reference(agentSchema(), "agents.<id>"), "agents.<id>."+strings.Join(parts[2:], "."), parts)
	}
	return lookup(reference(fileSchema(), ""), strings.Join(parts, "."), parts)
}

func lookup(keys []Key, name string, parts []string) (Key, error) {
	for _, k := range keys {
		if k.Name == name {
			return k, nil
		}
	}
	return Key{}, unknownKey(parts)
}

// IsTable reports whether it is a table of keys.
func (k Key) IsTable() bool { return k.Type == "table" && k.Default == "" }

// Takes says in words what a key may be set to.
func (k Key) Takes() string {
	switch {
	case k.Needs != "" && len(k.Later) == 0:
		return "only the default. Not in force, as this version has no " + withoutArticle(k.Needs)
	case len(k.Later) > 0:
		return fmt.Sprintf("%s. Not in force, as this version has no %s: %s", k.Allowed, withoutArticle(k.Needs), strings.Join(k.Later, ", "))
	case k.Unit != "":
		return k.Allowed + " " + k.Unit
	case k.Type == "list" && k.Allowed != "":
		return "a list of " + k.Allowed
	case k.Allowed == "":
		return "a " + k.Type
	default:
		return k.Allowed
	}
}
