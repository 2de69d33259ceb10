// Command gen writes docs/tools.md from what the tools say of themselves, so that the page is what a model reads.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/tools"
)

// example is where commands run in the descriptions on the page.
var example = tools.Where{
	Caller: sallyport.Caller{Workspace: "/srv/app"},
	Host:   sallyport.HostInfo{Name: sallyport.Gateway, OS: "linux", Arch: "amd64", User: "ana", Shell: "/bin/bash"},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE")
		os.Exit(2)
	}
	page, err := markdown()
	if err == nil {
		err = os.WriteFile(os.Args[1], page, 0o644) //nolint:gosec // a page of documentation
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

const intro = `# Tools

What a model reads of each tool, as it would on a machine like this: host gateway, linux/amd64, user ana, /srv/app. This
page is generated from the schemas (` + "`make generate`" + `).

Names and types that other tools use for the same thing are understood (` + "`cmd`, `cwd`, `timeoutSeconds`, `timeout_ms`" + `, numbers
and booleans in strings); any other unknown parameter is an error that names the nearest right one. Every result is text
for the model; the same facts for machines are in ` + "`_meta[\"sallyport/result\"]`" + `.
`

func markdown() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(intro)
	family := tools.NewExec(nil, func(string) tools.Settings { return tools.DefaultSettings() })
	for _, t := range family.Tools(example) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n> %s\n\n", t.Name, t.Title, t.Description)
		if err := parameters(&b, t.Schema); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", t.Name, err)
		}
		fmt.Fprintf(&b, "\nAnnotations: read-only %t, destructive %t, idempotent %t, open world %t.\n",
			t.Annotations.ReadOnly, t.Annotations.Destructive, t.Annotations.Idempotent, t.Annotations.OpenWorld)
	}
	return b.Bytes(), nil
}

// parameters writes the table of a schema's properties in the order of the schema.
func parameters(b *bytes.Buffer, schema json.RawMessage) error {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return err
	}
	names, err := keys(s.Properties)
	if err != nil {
		return err
	}
	var properties map[string]struct {
		Type        string   `json:"type"`
		Enum        []string `json:"enum"`
		Description string   `json:"description"`
	}
	if err := json.Unmarshal(s.Properties, &properties); err != nil {
		return err
	}
	b.WriteString("| parameter | type | |\n|---|---|---|\n")
	for _, name := range names {
		p := properties[name]
		about := p.Description
		if len(p.Enum) > 0 {
			about = strings.TrimSpace(about + " " + strings.Join(p.Enum, ", "))
		}
		if slices.Contains(s.Required, name) {
			name += " (required)"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, p.Type, about)
	}
	return nil
}

// keys are the names of an object's members in their order, which a map would lose.
func keys(object json.RawMessage) (names []string, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err = d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		names = append(names, fmt.Sprint(name))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return nil, err
		}
	}
	return names, nil
}
