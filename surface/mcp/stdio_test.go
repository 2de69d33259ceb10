package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/internal/testenv"
	"github.com/sallyport-sh/sallyport/surface/surfacetest"
)

// hang is a program that runs until it is killed.
func hang(s *surfacetest.Session) { <-s.Killed() }

// ok checks that the server still works.
func (p *pipe) ok(id int) {
	p.t.Helper()
	if got := p.call(id, tool(id, "exec", `{"command":"true"}`)).text(p.t); !strings.HasPrefix(got, "[exit 0, ") {
		p.t.Errorf("the server does not work any more: %s", got)
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line, id string
		code           int
		says           string
	}{
		{"no json", `hello`, "null", -32700, "not JSON"},
		{"half a message", `{"jsonrpc":"2.0","id":1,`, "null", -32700, "not JSON"},
		{"two messages", `{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}`, "null", -32700, "not JSON"},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "null", -32700, "not UTF-8"},
		{"too deep", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "null", -32700, "not JSON"},
		{"deep arguments", tool(7, "exec", strings.Repeat(`{"a":`, 1500)+"1"+strings.Repeat("}", 1500)), "7", -32602, "depth"},
		{"a number", `42`, "null", -32600, "must be an object"},
		{"no version", `{"id":1,"method":"ping"}`, "1", -32600, "2.0"},
		{"old version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", -32600, "2.0"},
		{"nothing in it", `{"jsonrpc":"2.0"}`, "null", -32600, "neither"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, "1", -32600, "neither"},
		{"method is a number", `{"jsonrpc":"2.0","id":1,"method":5}`, "1", -32600, "method"},
		{"method is empty", `{"jsonrpc":"2.0","id":"x","method":""}`, `"x"`, -32600, "method"},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", -32600, "id"},
		{"fraction id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "null", -32600, "id"},
		{"huge id", `{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`, "null", -32600, "id"},
		{"boolean id", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, "null", -32600, "id"},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", -32600, "id"},
		{"wrong case", `{"jsonrpc":"2.0","ID":1,"method":"ping"}`, "null", -32600, `"ID"`},
		{"id twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, "null", -32600, `"id" twice`},
		{"method twice", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, "null", -32600, `"method" twice`},
		{"arguments twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":{},"arguments":{"command":"true"}}}`, "1", -32602, "twice"},
		{"wrong case in params", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"exec"}}`, "1", -32602, `"Name"`},
		{"params are a list", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`, "1", -32602, "object"},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "1", -32602, "object"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, "1", -32601, "no/such"},
		{"unknown tool", tool(1, "nope", "{}"), "1", -32602, `unknown tool "nope"`},
		{"empty batch", `[]`, "null", -32600, "batch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := serve(t)
			p.send(tt.line)
			m := p.next()
			id, _ := json.Marshal(m.ID)
			if m.Error == nil || m.Error.Code != tt.code || string(id) != tt.id || !strings.Contains(m.Error.Message, tt.says) {
				t.Errorf("answer to %.80q: id %s, %+v, result %s", tt.line, id, m.Error, m.Result)
			}
			if m.Error != nil && len(m.Error.Message) > 4*maxMessageText {
				t.Errorf("%d bytes of message", len(m.Error.Message))
			}
			p.ok(99)
		})
	}
}

// What needs no answer gets none, and is survived.
func TestSilence(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.send("", "   ", "\r", `{"jsonrpc":"2.0","method":"no/such"}`, `{"jsonrpc":"2.0","id":5,"result":{}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","id":5,"error":5}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`[{"jsonrpc":"2.0","method":"notifications/progress"}]`)
	p.send("\ufeff" + tool(1, "exec", `{"command":"true"}`) + "\r")
	if m := p.next(); fmt.Sprint(m.ID) != "1" {
		t.Errorf("something was answered: %+v", m)
	}
}

// A message may come in any pieces, as text or escaped.
func TestPieces(t *testing.T) {
	t.Parallel()
	const raw = "printf 'h\u00e9\u4e16\U0001F600'"
	escaped := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"exec","arguments":{"command":"printf 'h\u00e9\u4e16\ud83d\ude00'"}}}`
	p := serve(t)
	p.call(1, tool(1, "exec", fmt.Sprintf(`{"command":"%s"}`, raw)))
	p.call(2, escaped)
	line := tool(3, "exec", fmt.Sprintf(`{"command":"%s"}`, raw)) + "\n"
	for i := range len(line) {
		if _, err := io.WriteString(p.in, line[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if m := p.next(); fmt.Sprint(m.ID) != "3" {
		t.Errorf("%+v", m)
	}
	for _, r := range p.fake.Requests() {
		if r.Exec.Text != raw {
			t.Errorf("%q", r.Exec.Text)
		}
	}
}

func TestLargeMessages(t *testing.T) {
	t.Parallel()
	p := serve(t)
	big := strings.Repeat("x", 5<<20)
	if got := p.call(1, tool(1, "exec", `{"command":"cat","stdin":"`+big+`"}`)).text(t); !strings.HasPrefix(got, "[exit 0") {
		t.Errorf("%.200s", got)
	}
	if n := len(p.fake.Requests()[0].Exec.Input); n != 5<<20 {
		t.Errorf("%d bytes arrived", n)
	}
	// Many small ones at once.
	for i := range 500 {
		p.send(tool(1000+i, "exec", `{"command":"true"}`))
	}
	for range 500 {
		p.next()
	}
}

func TestTooLargeMessages(t *testing.T) {
	t.Parallel()
	p := serve(t, func(o *Options) { o.MaxMessage = 100_000 })
	big := strings.Repeat(`x\"}`, 50_000)
	for _, tt := range []struct{ line, id string }{
		{`{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"exec","arguments":{"command":"` + big + `","id":5}}}`, "11"},
		{`{"method":"tools/call","params":{"name":"exec","id":[1,{"id":2}],"arguments":{"command":"` + big + `"}},"jsonrpc":"2.0","id":"tail"}`, `"tail"`},
		{`{"method":"x","\"id":7,"params":"` + big + `"}`, "null"},
		{`{"method":"x","id":{"a":1},"params":"` + big + `"}`, "null"},
		{strings.Repeat("[", 200_000), "null"},
	} {
		p.send(tt.line)
		m := p.next()
		id, _ := json.Marshal(m.ID)
		if m.Error == nil || m.Error.Code != -32600 || string(id) != tt.id || !strings.Contains(m.Error.Message, "bytes") {
			t.Errorf("%.60q: id %s, want %s, %+v", tt.line, id, tt.id, m.Error)
		}
	}
	p.ok(1)
}

func TestBatch(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.send(`[` + tool(1, "exec", `{"command":"true"}`) + `,{"jsonrpc":"2.0","method":"x"},5,{"jsonrpc":"2.0","id":2,"method":"tools/list"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
	var all []message
	select {
	case line := <-p.lines:
		if err := json.Unmarshal([]byte(line), &all); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	case <-time.After(patience):
		t.Fatal("no answer")
	}
	got := map[string]bool{}
	for _, m := range all {
		got[fmt.Sprintf("%v %v", m.ID, m.Error == nil)] = true
	}
	for _, want := range []string{"1 true", "2 true", "3 true", "<nil> false"} {
		if !got[want] || len(all) != 4 {
			t.Errorf("no %q among %v", want, got)
		}
	}
	p.send("[" + strings.Repeat("1,", 5000) + "1]")
	if m := p.next(); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("%+v", m)
	}
	p.ok(9)
}

// The answers to what was asked before the end of input are written.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.send(initLine, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, tool(2, "exec", `{"command":"true"}`))
	if err := p.close(); err != nil {
		t.Error(err)
	}
	got := map[string]bool{}
	for line := range p.lines {
		got[fmt.Sprint(p.parse(line).ID)] = true
	}
	if !got["init"] || !got["1"] || !got["2"] {
		t.Errorf("answered: %v", got)
	}
}

// A last line without its end is a message.
func TestEndOfInputWithoutNewline(t *testing.T) {
	t.Parallel()
	p := serve(t)
	if _, err := io.WriteString(p.in, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil {
		t.Fatal(err)
	}
	_ = p.close()
	if line, open := <-p.lines; !open || fmt.Sprint(p.parse(line).ID) != "1" {
		t.Errorf("%q", line)
	}
}

// What still runs when input ends is cancelled, killed, and answered.
func TestEndOfInputKills(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.fake.On("sleep 100", hang)
	p.send(tool(1, "exec", `{"command":"sleep 100"}`))
	testenv.Eventually(t, patience, func() bool { return p.fake.Live() == 1 }, "it runs")
	began := time.Now()
	if err := p.close(); err != nil {
		t.Error(err)
	}
	testenv.InTime(t, time.Since(began), 2*time.Second, "the end")
	if p.fake.Live() != 0 {
		t.Error("it still runs")
	}
	if line := <-p.lines; !strings.Contains(line, "[aborted") {
		t.Errorf("%q", line)
	}
}

func TestStopByContext(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.fake.On("sleep 100", hang)
	p.send(tool(1, "exec", `{"command":"sleep 100"}`))
	testenv.Eventually(t, patience, func() bool { return p.fake.Live() == 1 }, "it runs")
	p.stop()
	select {
	case err := <-p.ended:
		p.ended <- err
	case <-time.After(patience):
		t.Fatal("the server goes on")
	}
	if p.fake.Live() != 0 {
		t.Error("it still runs")
	}
}

// A client that stops reading and goes away is noticed.
func TestBrokenOutput(t *testing.T) {
	t.Parallel()
	fake := surfacetest.New()
	fake.On("sleep 100", hang)
	p := serve(t, func(o *Options) { o.Runs = fake })
	_ = p
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- p.server.ServeStdio(t.Context(), inR, outW) }()
	_ = outR.Close()
	go func() { _, _ = io.WriteString(inW, tool(1, "exec", `{"command":"true"}`)+"\n") }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(patience):
		t.Fatal("the server goes on")
	}
	_ = inW.Close()
}
