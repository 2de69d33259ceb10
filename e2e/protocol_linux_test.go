package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport/e2e/harness"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// TestGarbageLine: a line that is no JSON is answered as the protocol says, and the next one is served.
func TestGarbageLine(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for _, line := range []string{"hello", "{", "[1,2", "\x00\xff\xfe", `{"jsonrpc":"2.0","id":1,"method":`} {
		s.WriteLine(line)
	}
	if r := s.Exec("echo alive"); !strings.Contains(r.Text, "alive") {
		t.Errorf("after garbage: %s", r)
	}
	errors := 0
	for _, answer := range s.Strays() {
		if strings.Contains(answer, "-32700") {
			errors++
		}
	}
	if errors != 5 {
		t.Errorf("%d of 5 lines of garbage were answered with -32700: %v", errors, s.Strays())
	}
}

// TestEndOfInputDrains: what was asked before the end of input is answered, as in `printf … | sallyport mcp`.
func TestEndOfInputDrains(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	list := s.Request("tools/list", map[string]any{})
	call := s.Go("exec", harness.Args{"command": "echo drained"})
	s.CloseInput()
	if raw, err := list.Raw(10 * time.Second); err != nil || !strings.Contains(string(raw), `"exec"`) {
		t.Errorf("tools/list before the end of input: %.200s, %v", raw, err)
	}
	if r := call.Result(); !strings.Contains(r.Text, "drained") {
		t.Errorf("exec before the end of input: %s", r)
	}
	if err := s.Wait(10 * time.Second); err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

// malformed makes requests that no client should send, from what clients do send.
func malformed(r *rand.Rand, i int) (tool string, args any) {
	values := []any{
		nil, true, -1, 0, 1e308, -1e-308, "", "\x00", strings.Repeat("x", 200_000),
		[]any{},
		[]any{1, "a", nil},
		map[string]any{},
		map[string]any{"a": map[string]any{}},
		"1e9", "NaN", "-5", "9999999999999999999999", 1.5,
	}
	keys := []string{
		"command", "argv", "workdir", "env", "yieldMs", "background", "timeout", "noOutputTimeout", "streams", "stdin",
		"maxOutput", "title", "action", "sessionId", "sessionIds", "offset", "limit", "grep", "signal", "data", "until",
		"comand", "cmd", "cwd", "timeout_ms", "pty", "host", "", "__proto__", strings.Repeat("k", 1000),
	}
	args = map[string]any{}
	for range r.IntN(5) {
		args.(map[string]any)[keys[r.IntN(len(keys))]] = values[r.IntN(len(values))]
	}
	switch i % 10 {
	case 0:
		args = values[r.IntN(len(values))]
	case 1: // nothing runs for long, and nothing runs that counts
		args.(map[string]any)["command"] = "exit 9"
		args.(map[string]any)["timeout"] = values[r.IntN(len(values))]
	}
	return []string{"exec", "process", "exec", "process", "no_such_tool", ""}[r.IntN(6)], args
}

// TestMalformedCalls: ten thousand of them get a typed error or a result each, and the server is as alive as before.
func TestMalformedCalls(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	r := rand.New(rand.NewPCG(1, 2)) // the same calls in every run
	s.Exec("true")
	fds := testenv.Use(t, s.Gateway()).FDs
	const batch = 100
	var answers, errors, codes int
	for n := 0; n < 10_000; n += batch {
		var calls []*harness.Pending
		for i := range batch {
			tool, args := malformed(r, n+i)
			calls = append(calls, s.Request("tools/call", map[string]any{"name": tool, "arguments": args}))
		}
		for _, c := range calls {
			answer := c.Result()
			answers++
			switch {
			case answer.Err != nil && answer.Err.Code == 0:
				t.Errorf("an error without a code: %v", answer.Err)
			case answer.Err != nil:
				codes++
			case answer.IsError:
				errors++
				if answer.Text == "" {
					t.Error("an error without a word")
				}
			}
		}
	}
	t.Logf("%d answers: %d protocol errors, %d error results", answers, codes, errors)
	if r := s.Exec("echo alive"); !strings.Contains(r.Text, "alive") {
		t.Errorf("after all of them: %s", r)
	}
	if now := testenv.Use(t, s.Gateway()).FDs; now > fds+8 {
		t.Errorf("descriptors grew from %d to %d", fds, now)
	}
}

// TestMalformedRequests: the same below the level of tools.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	lines := []string{
		`{}`, `[]`, `null`, `1`, `"x"`, `{"jsonrpc":"1.0","id":900,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":901,"method":"no/such"}`, `{"jsonrpc":"2.0","id":902,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":903,"method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","id":904,"method":"tools/call","params":{"name":7}}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":905,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}`,
		`{"jsonrpc":"2.0","id":906,"method":"tools/list","params":{"cursor":"nonsense"}}`,
		strings.Repeat(`[`, 20_000) + strings.Repeat(`]`, 20_000),
		`{"jsonrpc":"2.0","id":907,"method":"tools/call","params":{"name":"exec","arguments":` +
			strings.Repeat(`{"env":`, 10_000) + `{}` + strings.Repeat(`}`, 10_000) + `}}`,
	}
	for _, line := range lines {
		s.WriteLine(line)
	}
	if r := s.Exec("echo alive"); !strings.Contains(r.Text, "alive") {
		t.Errorf("after malformed requests: %s", r)
	}
}

// TestLongLines: five megabytes in one line, in many pieces, are taken or refused with an answer, never dropped.
func TestLongLines(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	call := s.Go("exec", harness.Args{"command": "wc -c", "stdin": strings.Repeat("x", 5<<20)})
	if r := call.Result(); r.Err == nil && !r.IsError && !strings.Contains(r.Text, "5242880") {
		t.Errorf("five megabytes of stdin: %.200s", r)
	}
	for _, text := range []string{`printf 'h\u00e9\u4e16\ud83d\ude00'`, "printf 'h\u00e9\u4e16\U0001F600'"} {
		command, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, `\u`) {
			command = []byte(`"` + text + `"`)
		}
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":"split-%d","method":"tools/call","params":{"name":"exec","arguments":{"command":%s}}}`+"\n", len(text), command)
		for i := range len(line) { // split at every byte, in characters too
			s.Write(line[i : i+1])
		}
	}
	testenv.Eventually(t, 20*time.Second, func() bool {
		return strings.Count(strings.Join(s.Strays(), "\n"), "h\u00e9\u4e16\U0001F600") >= 2
	}, "both spellings give the same characters")
}

// TestTools: what a client lists. The descriptions are what a model pays for with every call.
func TestTools(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	raw, err := s.Request("tools/list", map[string]any{}).Raw(10 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       map[string]any
			Annotations       map[string]any
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if len(tool.Description) > 2048 || tool.Description == "" {
			t.Errorf("the description of %s has %d characters", tool.Name, len(tool.Description))
		}
		for _, banned := range []string{"anyOf", "oneOf", "allOf"} { // at the root they make some clients drop the tool
			if _, ok := tool.InputSchema[banned]; ok {
				t.Errorf("the schema of %s has %s at its root", tool.Name, banned)
			}
		}
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "openWorldHint"} {
			if _, ok := tool.Annotations[hint]; !ok {
				t.Errorf("%s does not say its %s", tool.Name, hint)
			}
		}
	}
	if got := strings.Join(names, " "); got != "exec process" {
		t.Errorf("tools: %s", got)
	}
	for _, fact := range []string{"bash", s.Workspace} {
		if !strings.Contains(string(raw), fact) {
			t.Errorf("no description says where commands run: %q is missing", fact)
		}
	}
}
