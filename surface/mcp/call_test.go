package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-sh/sallyport/internal/testenv"
	"github.com/sallyport-sh/sallyport/surface/surfacetest"
	"github.com/sallyport-sh/sallyport/surface/tools"
)

// A cancelled call is killed, not answered, and the server goes on.
func TestCancel(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.fake.On("sleep 100", hang)
	for i := range 10 {
		p.send(tool(i, "exec", `{"command":"sleep 100"}`))
	}
	testenv.Eventually(t, patience, func() bool { return p.fake.Live() == 10 }, "ten run")
	for i := range 10 {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	testenv.Eventually(t, patience, func() bool { return p.fake.Live() == 0 }, "none runs")
	p.send(tool(50, "exec", `{"command":"true"}`))
	if m := p.next(); fmt.Sprint(m.ID) != "50" {
		t.Errorf("a cancelled request was answered: %+v", m)
	}
}

func TestSameID(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.fake.On("sleep 100", hang)
	p.send(tool(1, "exec", `{"command":"sleep 100","background":false}`))
	testenv.Eventually(t, patience, func() bool { return p.fake.Live() == 1 }, "it runs")
	p.send(tool(1, "exec", `{"command":"true"}`))
	if m := p.next(); m.ID != nil || m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("%+v", m)
	}
	// The same number as a string is another id, and an id that is answered is free.
	if m := p.call("1", strings.Replace(tool(1, "exec", `{"command":"true"}`), `"id":1`, `"id":"1"`, 1)); m.ID != "1" {
		t.Errorf("%+v", m)
	}
	p.ok(2)
	p.ok(2)
}

// All calls run at once, and reading does not wait for any of them.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	p := serve(t)
	go_ := make(chan struct{})
	p.fake.On("wait", func(*surfacetest.Session) { <-go_ })
	const n = 200
	for i := range n {
		p.send(tool(i, "exec", `{"command":"wait"}`))
	}
	testenv.Eventually(t, patience, func() bool { return p.fake.Live() == n }, "all run at once")
	p.ok(n)
	close(go_)
	seen := map[string]bool{}
	for range n {
		seen[fmt.Sprint(p.next().ID)] = true
	}
	if len(seen) != n {
		t.Errorf("%d answers", len(seen))
	}
}

// A client that does not read can still cancel.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	p := serveDeaf(t)
	defer close(p.listen)
	big := strings.Repeat("y", 10_000)
	p.fake.On("big", func(s *surfacetest.Session) { s.Print("%s", big) })
	p.fake.On("sleep 100", hang)
	p.send(tool(0, "exec", `{"command":"sleep 100"}`))
	for i := 1; i < 300; i++ {
		p.send(tool(i, "exec", `{"command":"big"}`))
	}
	testenv.Eventually(t, patience, func() bool { return p.fake.Live() == 1 }, "the small ones are done")
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`)
	testenv.Eventually(t, patience, func() bool { return p.fake.Live() == 0 }, "the cancelled one is killed")
}

// panicking is a family with a fault.
type panicking struct{}

func (panicking) Tools(tools.Where) []tools.Tool {
	return []tools.Tool{{Name: "boom", Schema: json.RawMessage(`{"type":"object"}`)}}
}
func (panicking) Call(context.Context, tools.Call) tools.Result { panic("boom") }

func TestPanic(t *testing.T) {
	t.Parallel()
	p := serve(t, func(o *Options) { o.Families = append(o.Families, panicking{}) })
	if m := p.call(1, tool(1, "boom", "{}")); m.Error == nil || m.Error.Code != -32603 {
		t.Errorf("%+v", m)
	}
	p.ok(2)
}

func TestProgress(t *testing.T) {
	t.Parallel()
	p := serve(t)
	done := make(chan struct{})
	p.fake.On("build", func(s *surfacetest.Session) {
		s.Print("step 1\nstep 2\n")
		<-done
	})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":{"command":"build"},"_meta":{"progressToken":"tok"}}}`)
	last := 0.0
	for n := range 2 {
		m := p.next()
		var note struct {
			ProgressToken string
			Progress      float64
			Message       string
		}
		if err := json.Unmarshal(m.Params, &note); err != nil || m.Method != "notifications/progress" {
			t.Fatalf("%s %s", m.Method, m.Params)
		}
		if note.ProgressToken != "tok" || note.Progress <= last || !strings.HasPrefix(note.Message, "running ") {
			t.Errorf("%+v", note)
		}
		if n == 0 && !strings.HasSuffix(note.Message, ": step 2") {
			t.Errorf("%q", note.Message)
		}
		last = note.Progress
	}
	close(done)
	for m := p.next(); fmt.Sprint(m.ID) != "1"; m = p.next() {
		if m.Method != "notifications/progress" {
			t.Errorf("%+v", m)
		}
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	set := tools.DefaultSettings()
	p := serve(t, func(o *Options) {
		o.Families = []tools.Family{tools.NewExec(o.Runs, func(string) tools.Settings { return set })}
	})
	p.fake.On("x", func(s *surfacetest.Session) { s.Print("<out>\n"); s.Exit(3) })
	m := p.call(1, tool(1, "exec", `{"command":"x"}`))
	var r struct {
		IsError           bool
		StructuredContent any
		Meta              map[string]map[string]any `json:"_meta"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatal(err)
	}
	facts := r.Meta["sallyport/result"]
	if r.IsError || r.StructuredContent != nil || facts["status"] != "completed" || facts["exitCode"] != 3.0 || facts["output"] != "<out>\n" {
		t.Errorf("%s", m.Result)
	}
	if m := p.call(2, tool(2, "exec", `{"comand":"x"}`)); !strings.Contains(string(m.Result), `"isError":true`) {
		t.Errorf("%s", m.Result)
	}
	set.Structured = true
	if m := p.call(3, tool(3, "exec", `{"command":"x"}`)); !strings.Contains(string(m.Result), `"structuredContent":{"status":"completed"`) {
		t.Errorf("%s", m.Result)
	}
}

func TestRoots(t *testing.T) {
	t.Parallel()
	init := strings.Replace(initLine, `"capabilities":{}`, `"capabilities":{"roots":{"listChanged":true}}`, 1)
	const ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for _, tt := range []struct{ name, answer, want string }{
		{"one", `{"roots":[{"uri":"file:///home/me/my%20app"}]}`, "/home/me/my app"},
		{"two", `{"roots":[{"uri":"file:///a"},{"uri":"file:///b"}]}`, "/srv/app"},
		{"another machine's", `{"roots":[{"uri":"file://host/a"}]}`, "/srv/app"},
		{"none", "", "/srv/app"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, func(o *Options) { o.Roots = true })
			p.call("init", init)
			p.send(ready, tool(1, "exec", `{"command":"true"}`))
			ask := p.next()
			if ask.Method != "roots/list" {
				t.Fatalf("%+v", ask)
			}
			if tt.answer != "" {
				id, _ := json.Marshal(ask.ID)
				p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, tt.answer))
			}
			for m := p.next(); fmt.Sprint(m.ID) != "1"; m = p.next() {
				if m.Method != "notifications/cancelled" { // the question is taken back after a second
					t.Fatalf("%+v", m)
				}
			}
			if got := p.fake.Requests()[0].Caller.Workspace; got != tt.want {
				t.Errorf("workspace %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRootPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"file:///a/b/../c": "/a/c", "file://localhost/a": "/a", "http://x/a": "", "file:a": "", "::": "", "file:///": "/",
	} {
		if got := rootPath(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
