package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"
)

// Args are the arguments of a tool call.
type Args map[string]any

// message is any JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// An RPCError is an answer that says that the request itself was wrong.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// A Pending is a request whose answer has not been taken yet.
type Pending struct {
	s      *Server
	ID     int
	Method string
	answer chan message
	sent   time.Time
}

// Request sends a request of any method.
func (s *Server) Request(method string, params any) *Pending {
	s.t.Helper()
	s.mu.Lock()
	s.nextID++
	p := &Pending{s: s, ID: s.nextID, Method: method, answer: make(chan message, 1), sent: time.Now()}
	s.waiting[strconv.Itoa(p.ID)] = p.answer
	s.mu.Unlock()
	s.WriteLine(encode(s, map[string]any{"jsonrpc": "2.0", "id": p.ID, "method": method, "params": params}))
	return p
}

// Notify sends a notification.
func (s *Server) Notify(method string, params any) {
	s.t.Helper()
	s.WriteLine(encode(s, map[string]any{"jsonrpc": "2.0", "method": method, "params": params}))
}

func encode(s *Server, v any) string {
	s.t.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(line)
}

// greet does the handshake of the protocol's session era.
func (s *Server) greet() {
	s.t.Helper()
	p := s.Request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "harness", "version": "1"},
	})
	if _, err := p.Raw(patience); err != nil {
		s.t.Fatalf("initialize: %v\n%s", err, s.stderr)
	}
	s.Notify("notifications/initialized", map[string]any{})
}

// Raw waits for the answer and returns its result, or the error that it is.
func (p *Pending) Raw(within time.Duration) (json.RawMessage, error) {
	p.s.t.Helper()
	select {
	case m := <-p.answer:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-p.s.eof:
		select {
		case m := <-p.answer: // it was the last thing printed
			if m.Error != nil {
				return nil, m.Error
			}
			return m.Result, nil
		default:
			return nil, fmt.Errorf("%s: the server closed its output\n%s", p.Method, p.s.stderr)
		}
	case <-time.After(within):
		return nil, fmt.Errorf("%s: no answer within %v", p.Method, within)
	}
}

// Answered reports whether the answer has come.
func (p *Pending) Answered() bool { return len(p.answer) > 0 }

// Cancel tells the server that nobody waits any more. An answer may still come.
func (p *Pending) Cancel() {
	p.s.t.Helper()
	p.s.Notify("notifications/cancelled", map[string]any{"requestId": p.ID, "reason": "the test says so"})
}

// Go sends a tool call and does not wait.
func (s *Server) Go(tool string, args Args) *Pending {
	s.t.Helper()
	return s.Request("tools/call", map[string]any{"name": tool, "arguments": args})
}

// Call calls a tool and waits.
func (s *Server) Call(tool string, args Args) Result {
	s.t.Helper()
	return s.Go(tool, args).Result()
}

// Exec runs a shell text in the foreground with the defaults of a call.
func (s *Server) Exec(command string) Result {
	s.t.Helper()
	return s.Call("exec", Args{"command": command})
}

// Background starts a shell text in the background and returns its session.
func (s *Server) Background(command string) Result {
	s.t.Helper()
	r := s.Call("exec", Args{"command": command, "background": true})
	if r.SessionID == "" {
		s.t.Fatalf("no session for %q: %s", command, r)
	}
	return r
}

// Process calls the process tool on one session.
func (s *Server) Process(action, session string, more ...Args) Result {
	s.t.Helper()
	args := Args{"action": action}
	if session != "" {
		args["sessionId"] = session
	}
	for _, m := range more {
		maps.Copy(args, m)
	}
	return s.Call("process", args)
}

// Notifications are the notifications of a method that have come so far.
func (s *Server) Notifications(method string) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []json.RawMessage
	for _, n := range s.notes {
		if n.Method == method {
			found = append(found, n.Params)
		}
	}
	return found
}

// Strays are the answers that nobody waited for, as text: to malformed lines, or second ones.
func (s *Server) Strays() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, m := range s.strays {
		line, _ := json.Marshal(m) // it was JSON before
		found = append(found, string(line))
	}
	return found
}
