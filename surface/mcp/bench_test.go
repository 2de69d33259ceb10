package mcp

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/surfacetest"
	"github.com/sallyport-sh/sallyport/surface/tools"
)

// noop is a family that does nothing.
type noop struct{}

func (noop) Tools(tools.Where) []tools.Tool {
	return []tools.Tool{{Name: "noop", Schema: json.RawMessage(`{"type":"object"}`)}}
}

func (noop) Call(context.Context, tools.Call) tools.Result {
	return tools.Result{Text: "[exit 0, 1ms]\n(no output)"}
}

// A stdio is two pipes of the operating system.
type stdio struct{ serverIn, serverOut, clientIn, clientOut *os.File }

func newStdio(b *testing.B) stdio {
	b.Helper()
	var s stdio
	var err error
	if s.serverIn, s.clientOut, err = os.Pipe(); err != nil {
		b.Fatal(err)
	}
	if s.clientIn, s.serverOut, err = os.Pipe(); err != nil {
		b.Fatal(err)
	}
	return s
}

// measure times calls of a tool by a client on the other end.
func (s stdio) measure(b *testing.B, version, tool string) {
	b.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(b.Context(), &sdk.IOTransport{Reader: s.clientIn, Writer: s.clientOut}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		b.Fatal(err)
	}
	call := &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"command": "true"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := session.CallTool(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	_ = session.Close() // what was measured is measured
}

// bare serves the same tool on the SDK's own server and transport.
func bare(s stdio) {
	server := sdk.NewServer(&sdk.Implementation{Name: "bare", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "noop", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "[exit 0, 1ms]\n(no output)"}}}, nil
		})
	_ = server.Run(context.Background(), &sdk.IOTransport{Reader: s.serverIn, Writer: s.serverOut})
}

// ours serves a family on a fake that does nothing.
func ours(s stdio, family func(sallyport.Runs) tools.Family) {
	fake := surfacetest.New()
	server := New(Options{
		Runs: fake, Families: []tools.Family{family(fake)},
		Caller: func(c Client) sallyport.Caller { return sallyport.Caller{Scope: sallyport.Scope(c.Name)} },
	})
	_ = server.ServeStdio(context.Background(), s.serverIn, s.serverOut)
	_ = s.serverOut.Close()
}

// The round trip of a call that does nothing, against the SDK's own server, and of exec on a fake that does nothing.
func BenchmarkRoundTrip(b *testing.B) {
	for _, tt := range []struct {
		name, tool string
		serve      func(stdio)
	}{
		{"sdk", "noop", bare},
		{"noop", "noop", func(s stdio) { ours(s, func(sallyport.Runs) tools.Family { return noop{} }) }},
		{"exec", "exec", func(s stdio) {
			ours(s, func(runs sallyport.Runs) tools.Family {
				return tools.NewExec(runs, func(string) tools.Settings { return tools.DefaultSettings() })
			})
		}},
	} {
		for _, version := range []string{lastLegacy, firstModern} {
			b.Run(tt.name+"/"+version, func(b *testing.B) {
				s := newStdio(b)
				ended := make(chan struct{})
				go func() {
					tt.serve(s)
					close(ended)
				}()
				s.measure(b, version, tt.tool)
				<-ended
			})
		}
	}
}

// Making a server and its tools: what a start costs besides loading the program.
func BenchmarkStart(b *testing.B) {
	fake := surfacetest.New()
	for b.Loop() {
		s := New(Options{
			Runs: fake, Families: []tools.Family{tools.NewExec(fake, func(string) tools.Settings { return tools.DefaultSettings() })},
			Caller: func(Client) sallyport.Caller { return sallyport.Caller{} },
		})
		c := newConn(s, nil)
		c.refresh(context.Background())
	}
}
