package harness

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// A Result is the answer to a tool call: the text that a model reads, and the facts beside it.
type Result struct {
	Facts
	Text    string
	IsError bool
	Err     *RPCError     // the request was not even taken as a call
	Took    time.Duration // from sending the request to its answer, as the client saw it
	Raw     json.RawMessage
}

// Facts are the object under "sallyport/result" in the answer's _meta.
type Facts struct {
	Status      string   `json:"status"`
	ExitCode    *int     `json:"exitCode"`
	Signal      string   `json:"signal"`
	FailureKind string   `json:"failureKind"`
	Reason      string   `json:"reason"`
	Hint        string   `json:"hint"`
	DurationMs  float64  `json:"durationMs"`
	CWD         string   `json:"cwd"`
	SessionID   string   `json:"sessionId"`
	PID         int      `json:"pid"`
	HeldBy      []Holder `json:"heldBy"`
	Warnings    []string `json:"warnings"`
	Code        string   `json:"code"`
}

// A Holder is a process that still holds the output of a command that has ended.
type Holder struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
}

// Result waits for the answer of a tool call and takes it apart.
func (p *Pending) Result() Result {
	p.s.t.Helper()
	raw, err := p.Raw(patience)
	r := Result{Raw: raw, Took: time.Since(p.sent)}
	if err != nil {
		rpc, ok := err.(*RPCError) //nolint:errorlint // Raw returns it as it is
		if !ok {
			p.s.t.Fatal(err)
		}
		r.Err = rpc
		return r
	}
	var answer struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		IsError bool                       `json:"isError"`
		Meta    map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		p.s.t.Fatalf("a tool's result that cannot be read: %v: %.300s", err, raw)
	}
	for _, c := range answer.Content {
		r.Text += c.Text
	}
	r.IsError = answer.IsError
	if facts := answer.Meta["sallyport/result"]; facts != nil {
		if err := json.Unmarshal(facts, &r.Facts); err != nil {
			p.s.t.Fatalf("facts that cannot be read: %v: %.300s", err, facts)
		}
	}
	return r
}

// Exit is the exit code; -1 if there is none.
func (r Result) Exit() int {
	if r.ExitCode == nil {
		return -1
	}
	return *r.ExitCode
}

// Body is the text without its header line.
func (r Result) Body() string {
	head, body, ok := strings.Cut(r.Text, "\n")
	if !ok || !strings.HasPrefix(head, "[") {
		return r.Text
	}
	return body
}

func (r Result) String() string {
	if r.Err != nil {
		return "error " + r.Err.Error()
	}
	return fmt.Sprintf("%s (isError %v)\n%s", r.Status, r.IsError, r.Text)
}
