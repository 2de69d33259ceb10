package e2e

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// connect starts the program under the official Go SDK's client, which speaks the given version of the protocol.
func connect(t *testing.T, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	config := harness.Config(t, "")
	cmd := exec.Command(testenv.Binary(t), "mcp", "--standalone", "--config", config)
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, o)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return session
}

// call calls a tool and returns its text and the facts beside it.
func call(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (string, harness.Facts) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	var facts harness.Facts
	raw, err := json.Marshal(r.Meta["sallyport/result"])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &facts); err != nil {
		t.Fatal(err)
	}
	return text.String(), facts
}

// TestEras: clients of the protocol's session era and of its stateless one get the same.
func TestEras(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := connect(t, version, nil)
			tools, err := s.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 2 {
				t.Fatalf("tools: %v, %v", tools, err)
			}
			if text, facts := call(t, s, "exec", map[string]any{"command": "echo hello; exit 4"}); !strings.Contains(text, "hello") || facts.ExitCode == nil || *facts.ExitCode != 4 {
				t.Errorf("exec: %q, %+v", text, facts)
			}
			_, facts := call(t, s, "exec", map[string]any{"command": "cat", "background": true})
			if facts.SessionID == "" {
				t.Fatalf("no session: %+v", facts)
			}
			// State belongs to the caller and not to a protocol session: the next request finds it in both eras.
			call(t, s, "process", map[string]any{"action": "write", "sessionId": facts.SessionID, "data": "fed\n", "eof": true})
			if text, _ := call(t, s, "process", map[string]any{"action": "poll", "sessionId": facts.SessionID, "until": "fed", "timeout": 20_000}); !strings.Contains(text, "fed") {
				t.Errorf("poll: %q", text)
			}
		})
	}
}

// TestProgress: who gave a token hears of a running command before its end.
func TestProgress(t *testing.T) {
	t.Parallel()
	var told atomic.Int32
	s := connect(t, "2025-11-25", &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { told.Add(1) },
	})
	params := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"command": "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done"}}
	params.SetProgressToken("p1")
	if _, err := s.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 5*time.Second, func() bool { return told.Load() > 0 }, "progress is told")
}

// TestNoHandshake: a client that calls without a greeting, as some do, is served.
func TestNoHandshake(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{NoHandshake: true})
	if r := s.Exec("echo without a greeting"); !strings.Contains(r.Text, "without a greeting") {
		t.Errorf("a call without a handshake: %s", r)
	}
}
