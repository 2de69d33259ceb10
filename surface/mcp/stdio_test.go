package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestInitialize(t *testing.T) {
	t.Parallel()
	p := serve(t)
	m := p.call("init", initLine)
	var r struct {
		ProtocolVersion string
		ServerInfo      struct{ Name, Version string }
		Capabilities    map[string]any
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatal(err)
	}
	if r.ProtocolVersion != "2025-06-18" || r.ServerInfo.Name != "sallyport" || r.ServerInfo.Version != "test" || len(r.Capabilities) != 1 {
		t.Errorf("%s", m.Result)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if m := p.call(1, tool(1, "exec", `{"command":"true"}`)); !strings.HasPrefix(m.text(t), "[exit 0, ") {
		t.Errorf("%s", m.Result)
	}
}
