package mcp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport-sh/sallyport/surface/surfacetest"
)

// Whatever a message holds, it is a request, a response, a notification or refused with a code; and what the SDK would
// make of it is what is handed to the SDK.
func FuzzOpen(f *testing.F) {
	for _, s := range []string{
		initLine, discover(1), modernTool(2, "exec", "{}"), tool(3, "exec", `{"command":"ls"}`), `{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}`, `{"jsonrpc":"2.0","method":"x","params":[]}`, `{"id":1e2,"jsonrpc":"2.0","method":"\u0061"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) || !utf8.Valid(data) {
			return
		}
		e, bad := open(data)
		_ = e.modern()
		_ = e.checkCall()
		if bad != nil {
			var m message
			if err := json.Unmarshal(bad.line(), &m); err != nil || m.Error == nil || m.Error.Code > -32600 || m.Error.Message == "" {
				t.Fatalf("%q is refused with %q", data, bad.line())
			}
			return
		}
		if !e.call {
			return
		}
		want, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			return // we are not stricter everywhere
		}
		r, ok := want.(*jsonrpc.Request)
		if !ok || r.Method != e.method || r.ID != e.key || string(r.Params) != string(e.params) {
			t.Fatalf("%q is %+v for the SDK and %+v here", data, want, e)
		}
	})
}

// The id that is found in a message in pieces is the one that it has.
func FuzzIDFinder(f *testing.F) {
	f.Add([]byte(`{"method":"x","params":{"id":1,"a":"\"id\":2"},"jsonrpc":"2.0","id":"\u00e9\"}"}`), uint8(3))
	f.Add([]byte(` { "id" : -5e1 , "x":[{"id":7}]}`), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		var finder idFinder
		for rest := data; len(rest) > 0; {
			n := min(len(rest), int(step)+1)
			finder.write(rest[:n])
			rest = rest[n:]
		}
		got := finder.id()
		if !json.Valid(data) || !utf8.Valid(data) {
			return // it is asked for the best it can
		}
		e, bad := open(data)
		if bad != nil || e.id == nil || len(e.id) > maxID || strings.Contains(string(data), `\u`) {
			return
		}
		if string(got) != string(e.id) {
			t.Fatalf("%q in %q, want %q", got, data, e.id)
		}
	})
}

// Ten thousand damaged messages: every line of the answer is JSON-RPC, and the server goes on.
func TestDamagedMessages(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.fake.On("ls", func(s *surfacetest.Session) { s.Print("x\n") })
	r := rand.New(rand.NewPCG(5, 6))
	lines := []string{
		initLine, discover(1), modernTool(2, "exec", `{"command":"ls","timeout":5}`), tool(3, "exec", `{"command":"ls","env":{"A":"b"}}`),
		tool(4, "process", `{"action":"poll","sessionId":"x","timeout":5}`), `{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, `[` + tool(6, "exec", `{}`) + `]`,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10_000 {
			b := []byte(lines[r.IntN(len(lines))])
			for range 1 + r.IntN(4) {
				switch i := r.IntN(len(b)); r.IntN(4) {
				case 0:
					b[i] = byte(32 + r.IntN(95))
				case 1:
					b[i] = byte(r.IntN(256))
				case 2:
					b = append(b[:i], b[min(i+1+r.IntN(9), len(b)):]...)
				default:
					b = append(b[:i], append([]byte(`"id":9,{}[]`)[:r.IntN(11)], b[i:]...)...)
				}
				if len(b) == 0 {
					b = []byte{'{'}
				}
			}
			p.send(strings.ReplaceAll(string(b), "\n", " "))
		}
	}()
	answers := 0
	for sent := false; !sent; {
		select {
		case line := <-p.lines:
			if !strings.HasPrefix(line, "[") {
				p.parse(line)
			}
			answers++
		case <-done:
			sent = true
		case <-time.After(patience):
			t.Fatal("the server does not answer")
		}
	}
	if answers < 1000 {
		t.Errorf("%d answers", answers)
	}
	p.send(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	for line := range p.lines {
		if strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,`, "last")) {
			return
		}
	}
	t.Error("the server does not work any more")
}
