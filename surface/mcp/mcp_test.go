package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/surfacetest"
	"github.com/sallyport-sh/sallyport/surface/tools"
)

func TestMain(m *testing.M) {
	if code := m.Run(); code != 0 {
		os.Exit(code)
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// A pipe is a running server and the client's ends of its pipes.
type pipe struct {
	t      testing.TB
	fake   *surfacetest.Fake
	server *Server
	in     io.WriteCloser
	lines  chan string   // what the server wrote, by lines
	listen chan struct{} // the client reads once it is closed
	ended  chan error
	stop   context.CancelFunc
	once   sync.Once
}

// serve starts a server on a fake, with a client that reads. change may change its options.
func serve(t testing.TB, change ...func(*Options)) *pipe {
	t.Helper()
	p := serveDeaf(t, change...)
	close(p.listen)
	return p
}

// serveDeaf starts a server whose client reads nothing before listen is closed.
func serveDeaf(t testing.TB, change ...func(*Options)) *pipe {
	t.Helper()
	fake := surfacetest.New()
	o := Options{
		Runs: fake, Version: "test", Drain: 200 * time.Millisecond,
		Caller: func(c Client) sallyport.Caller {
			root := "/srv/app"
			if c.Root != "" {
				root = c.Root
			}
			return sallyport.Caller{Kind: sallyport.Agent, Scope: sallyport.Scope(c.Name + "@" + root), Workspace: root, Surface: "mcp"}
		},
	}
	o.Families = []tools.Family{tools.NewExec(fake, func(string) tools.Settings { return tools.DefaultSettings() })}
	for _, f := range change {
		f(&o)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &pipe{t: t, fake: fake, server: New(o), in: inW, lines: make(chan string, 10_000), listen: make(chan struct{}), ended: make(chan error, 1), stop: cancel}
	go func() {
		err := p.server.ServeStdio(ctx, inR, outW)
		_ = outW.Close()
		p.ended <- err
	}()
	go func() {
		defer close(p.lines)
		<-p.listen
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				p.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = p.close() // tests that want to know have asked
		cancel()
		fake.Close()
	})
	return p
}

// close ends input and waits for the server. It returns what the server returned.
func (p *pipe) close() (err error) {
	p.once.Do(func() {
		_ = p.in.Close()
		select {
		case err = <-p.ended:
		case <-time.After(40 * time.Second):
			p.t.Error("the server does not end")
		}
	})
	return err
}

func (p *pipe) send(lines ...string) {
	p.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.in, l+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

// A message is what a test looks at in a message of the server.
type message struct {
	ID     any `json:"id"`
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// next is the next message of the server.
func (p *pipe) next() message {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server has closed its output")
		}
		return p.parse(line)
	case <-time.After(patience):
		p.t.Fatal("no message from the server")
	}
	return message{}
}

func (p *pipe) parse(line string) message {
	p.t.Helper()
	var m message
	var version struct{ JSONRPC string }
	if err := errors.Join(json.Unmarshal([]byte(line), &m), json.Unmarshal([]byte(line), &version)); err != nil || version.JSONRPC != "2.0" {
		p.t.Fatalf("not JSON-RPC: %q, %v", line, err)
	}
	return m
}

// call sends a line and returns the next message that answers the id.
func (p *pipe) call(id any, line string) message {
	p.t.Helper()
	p.send(line)
	for {
		if m := p.next(); fmt.Sprint(m.ID) == fmt.Sprint(id) {
			return m
		}
	}
}

// text is the text of a tool result.
func (m message) text(t testing.TB) string {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	if m.Error != nil {
		return fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	if err := json.Unmarshal(m.Result, &r); err != nil || len(r.Content) != 1 {
		t.Fatalf("no result: %s, %v", m.Result, err)
	}
	return r.Content[0].Text
}

// tool is a line that calls a tool.
func tool(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

const initLine = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
