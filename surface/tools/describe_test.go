package tools

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/tiktoken-go/tokenizer"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/surfacetest"
)

// where is a host with a long name for everything.
var where = Where{
	Caller: sallyport.Caller{Workspace: "/home/somebody/projects/the-application"},
	Host: sallyport.HostInfo{
		Name: sallyport.Gateway, OS: "linux", Arch: "amd64", Shell: "/bin/bash", User: "somebody", UID: 1000,
	},
}

// What a model reads of a tool before it calls anything must be short, and whole where clients cut.
func TestDescriptionBudgets(t *testing.T) {
	t.Parallel()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	x := NewExec(surfacetest.New(), func(string) Settings { return DefaultSettings() })
	total := 0
	for _, tool := range x.Tools(where) {
		if n := len(utf16.Encode([]rune(tool.Description))); n > 2048 {
			t.Errorf("the description of %s has %d UTF-16 units", tool.Name, n)
		}
		sent, err := json.Marshal(map[string]any{
			"name": tool.Name, "title": tool.Title, "description": tool.Description, "inputSchema": tool.Schema, "_meta": tool.Meta,
			"annotations": map[string]bool{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true},
		})
		if err != nil {
			t.Fatal(err)
		}
		n, err := codec.Count(string(sent))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d tokens", tool.Name, n)
		total += n
	}
	if total > 1200 {
		t.Errorf("%d tokens, at most 1,200", total)
	}
}

func TestDescriptionSaysWhere(t *testing.T) {
	t.Parallel()
	set := DefaultSettings()
	x := NewExec(surfacetest.New(), func(string) Settings { return set })
	text := x.Tools(where)[0].Description
	for _, want := range []string{
		"Run a command on gateway (linux/amd64) as user somebody, shell /bin/bash, in /home/somebody/projects/the-application",
		"do not persist between calls", "stdin is empty", "After timeout (1800 s", "process tree is killed", "background=true", "head and tail",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	set.Process, set.Timeout = false, 0
	one := x.Tools(where)
	if len(one) != 1 || strings.Contains(string(one[0].Schema), "yieldMs") || strings.Contains(one[0].Description, "background") {
		t.Errorf("without process: %+v", one)
	}
	if !strings.Contains(one[0].Description, "No timeout by default") {
		t.Errorf("without a timeout: %q", one[0].Description)
	}
	set.Exec = false
	if all := x.Tools(where); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// Clients drop tools whose schema they do not understand: an object, no combinator at its root, every parameter that
// is understood, and no other.
func TestSchemas(t *testing.T) {
	t.Parallel()
	x := NewExec(surfacetest.New(), func(string) Settings { return DefaultSettings() })
	for i, tool := range x.Tools(where) {
		var schema struct {
			Type       string
			Properties map[string]struct{ Type string }
			Required   []string
			AnyOf      any
			OneOf      any
			AllOf      any
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		if schema.Type != "object" || schema.AnyOf != nil || schema.OneOf != nil || schema.AllOf != nil {
			t.Errorf("%s: %s", tool.Name, tool.Schema)
		}
		params := [][]param{execParams, processParams}[i]
		for _, p := range params {
			if schema.Properties[p.name].Type == "" {
				t.Errorf("%s: %s is not in the schema", tool.Name, p.name)
			}
			delete(schema.Properties, p.name)
		}
		for name := range schema.Properties {
			t.Errorf("%s: %s is not understood", tool.Name, name)
		}
		if a := tool.Annotations; a.ReadOnly || !a.Destructive || a.Idempotent || !a.OpenWorld {
			t.Errorf("%s: %+v", tool.Name, a)
		}
	}
}

// No two parameters of a tool share a name.
func TestAliases(t *testing.T) {
	t.Parallel()
	for _, params := range [][]param{execParams, processParams} {
		seen := map[string]string{}
		for _, p := range params {
			all := append([]alias{{fold(p.name), 1}}, p.other...)
			for _, a := range all {
				if a.fold != fold(a.fold) || a.per <= 0 {
					t.Errorf("%s: alias %q", p.name, a.fold)
				}
				if other := seen[a.fold]; other != "" {
					t.Errorf("%q is %s and %s", a.fold, other, p.name)
				}
				seen[a.fold] = p.name
			}
		}
	}
}
