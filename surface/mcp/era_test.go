package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/surfacetest"
	"github.com/sallyport-sh/sallyport/surface/tools"
)

const metaFields = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"new","version":"9"}`

func discover(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"server/discover","params":{"_meta":{%s}}}`, id, metaFields)
}

func modernTool(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{%s}}}`, id, name, args, metaFields)
}

func TestModern(t *testing.T) {
	t.Parallel()
	p := serve(t)
	if m := p.call(1, discover(1)); m.Error != nil || !strings.Contains(string(m.Result), `"2026-07-28"`) {
		t.Errorf("%+v %s", m.Error, m.Result)
	}
	m := p.call(2, modernTool(2, "exec", `{"command":"true"}`))
	if !strings.HasPrefix(m.text(t), "[exit 0") || !strings.Contains(string(m.Result), `"resultType":"complete"`) {
		t.Errorf("%s", m.Result)
	}
	if got := p.fake.Requests()[0].Caller.Scope; got != "new@/srv/app" {
		t.Errorf("scope %q", got)
	}
	bad := strings.Replace(modernTool(3, "exec", `{}`), "2026-07-28", "2999-01-01", 1)
	if m := p.call(3, bad); m.Error == nil {
		t.Errorf("an unknown version is served: %s", m.Result)
	}
	if m := p.call(4, fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"_meta":{%s}}}`, metaFields)); m.Error == nil {
		t.Errorf("ping is not of this era: %s", m.Result)
	}
	p.ok(5)
}

// Some clients ask with server/discover, get a good answer, and then send initialize all the same.
func TestDiscoverThenInitialize(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.call(1, discover(1))
	if m := p.call("init", initLine); m.Error != nil || !strings.Contains(string(m.Result), `"protocolVersion":"2025-06-18"`) {
		t.Fatalf("%+v %s", m.Error, m.Result)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.ok(2)
	if m := p.call(3, modernTool(3, "exec", `{"command":"true"}`)); !strings.Contains(string(m.Result), `"resultType":"complete"`) {
		t.Errorf("%s", m.Result)
	}
	if m := p.call(4, tool(4, "exec", `{"command":"true"}`)); strings.Contains(string(m.Result), `resultType`) {
		t.Errorf("one era shows in the other: %s", m.Result)
	}
}

// Clients of the session era that never begin a session are served, and may begin one later, or again.
func TestSessionless(t *testing.T) {
	t.Parallel()
	p := serve(t)
	if m := p.call(0, `{"jsonrpc":"2.0","id":0,"method":"ping"}`); m.Error != nil {
		t.Errorf("%+v", m.Error)
	}
	if m := p.call(1, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); m.Error != nil || !strings.Contains(string(m.Result), `"name":"exec"`) {
		t.Fatalf("%+v %s", m.Error, m.Result)
	}
	p.ok(2)
	for i := range 2 {
		m := p.call("init", initLine)
		if m.Error != nil || !strings.Contains(string(m.Result), `"protocolVersion":"2025-06-18"`) || !strings.Contains(string(m.Result), `"serverInfo"`) {
			t.Errorf("initialize %d: %+v %s", i, m.Error, m.Result)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	p.ok(3)
	if got := p.fake.Requests()[1].Caller.Scope; got != "t@/srv/app" {
		t.Errorf("scope %q", got)
	}
	odd := strings.Replace(initLine, "2025-06-18", "1999-01-01", 1)
	if m := p.call("init", odd); !strings.Contains(string(m.Result), `"protocolVersion":"`+lastLegacy) {
		t.Errorf("%s", m.Result)
	}
}

// A change of configuration that changes the tools is told, once, to who is to hear of it.
func TestListChanged(t *testing.T) {
	t.Parallel()
	var process atomic.Bool
	process.Store(true)
	p := serve(t, func(o *Options) {
		o.Families = []tools.Family{tools.NewExec(o.Runs, func(string) tools.Settings {
			set := tools.DefaultSettings()
			set.Process = process.Load()
			return set
		})}
	})
	p.call("init", initLine)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if m := p.call(1, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); strings.Count(string(m.Result), `"inputSchema"`) != 2 {
		t.Errorf("%s", m.Result)
	}
	p.server.Changed() // nothing that is served is another
	process.Store(false)
	p.server.Changed()
	if m := p.next(); m.Method != "notifications/tools/list_changed" {
		t.Fatalf("%+v", m)
	}
	if m := p.call(2, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); strings.Count(string(m.Result), `"inputSchema"`) != 1 {
		t.Errorf("%s", m.Result)
	}
	if m := p.call(3, tool(3, "process", `{"action":"list"}`)); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("%+v %s", m.Error, m.Result)
	}
	// Of the other era, only who subscribed hears of it, by a message that names the subscription.
	p.call(4, discover(4))
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{%s}}}`, metaFields))
	if m := p.next(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("%+v", m)
	}
	process.Store(true)
	p.server.Changed()
	var subscribed, plain int
	for range 2 {
		m := p.next()
		if m.Method != "notifications/tools/list_changed" {
			t.Fatalf("%+v", m)
		}
		if strings.Contains(string(m.Params), `"sub"`) {
			subscribed++
		} else {
			plain++
		}
	}
	if subscribed != 1 || plain != 1 {
		t.Errorf("%d and %d", subscribed, plain)
	}
	p.ok(5)
}

// The SDK's own client, in every version of the protocol.
func TestClient(t *testing.T) {
	t.Parallel()
	for _, version := range sdk.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			fake := surfacetest.New()
			fake.On("echo hi", func(s *surfacetest.Session) { s.Print("hi\n") })
			fake.On("sleep 100", hang)
			defer fake.Close()
			server := New(Options{
				Runs: fake, Version: "test", Families: []tools.Family{tools.NewExec(fake, func(string) tools.Settings { return tools.DefaultSettings() })},
				Caller: func(c Client) sallyport.Caller { return sallyport.Caller{Scope: sallyport.Scope(c.Name)} },
			})
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- server.ServeStdio(t.Context(), inR, outW) }()
			client := sdk.NewClient(&sdk.Implementation{Name: "sdk", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, &sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			list, err := session.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 2 {
				t.Fatalf("%v, %v", list, err)
			}
			for _, tool := range list.Tools {
				a := tool.Annotations
				if a == nil || a.DestructiveHint == nil || !*a.DestructiveHint || a.OpenWorldHint == nil || !*a.OpenWorldHint || a.ReadOnlyHint {
					t.Errorf("%s: %+v", tool.Name, a)
				}
			}
			res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "exec", Arguments: map[string]any{"command": "echo hi"}})
			if err != nil {
				t.Fatal(err)
			}
			if text := res.Content[0].(*sdk.TextContent).Text; !strings.HasSuffix(text, "]\nhi") || res.IsError {
				t.Errorf("%q", text)
			}
			meta, _ := json.Marshal(res.Meta["sallyport/result"])
			if !strings.Contains(string(meta), `"status":"completed"`) {
				t.Errorf("%s", meta)
			}
			if got := fake.Requests()[0].Caller.Scope; got != "sdk" {
				t.Errorf("scope %q", got)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			_ = inW.Close()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Fatal("the server goes on")
			}
			_ = outW.Close()
		})
	}
	if !slices.Contains(sdk.SupportedProtocolVersions(), firstModern) || !slices.Contains(sdk.SupportedProtocolVersions(), lastLegacy) {
		t.Error("the SDK no longer speaks a version that this package counts on")
	}
}
