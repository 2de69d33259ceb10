// Command demo shows the main job, readable by a person: a real MCP client starts the gateway, runs commands through
// it, and checks what it is promised. It touches nothing outside its workspace.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	bin := flag.String("bin", "bin/sallyport", "the gateway's binary")
	workspace := flag.String("workspace", "demo-workspace", "directory to work in; it is made anew")
	flag.Parse()
	if err := run(*bin, *workspace); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(bin, workspace string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	config, err := prepare(workspace)
	if err != nil {
		return err
	}
	fmt.Printf("sallyport demo: a real MCP client drives a real gateway. Nothing outside %s is touched.\n", workspace)
	server := exec.CommandContext(ctx, bin, "mcp", "--standalone", "--config", config)
	server.Dir, server.Stderr = workspace, os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", bin, err)
	}
	d := &demo{ctx: ctx, session: session}
	for _, step := range []func(){d.foreground, d.yield, d.background, d.timeout, d.leftover, d.flood} {
		step()
	}
	if err := session.Close(); err != nil {
		return fmt.Errorf("the gateway did not end in order: %w", err)
	}
	if d.failed > 0 {
		return fmt.Errorf("%d of %d steps went otherwise than promised", d.failed, d.steps)
	}
	fmt.Printf("\ndone: %d of %d as promised. Add it to your agent:  %s mcp config claude-code\n", d.steps, d.steps, flag.Lookup("bin").Value)
	return nil
}

// prepare makes the workspace, with the state directory inside it.
func prepare(workspace string) (config string, err error) {
	dir, err := filepath.Abs(workspace)
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(filepath.Join(dir, ".sallyport")); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(dir, ".sallyport"), 0o700); err != nil {
		return "", err
	}
	for name, text := range map[string]string{"README": "a file\n", "notes.txt": "another\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	config = filepath.Join(dir, ".sallyport", "config.toml")
	return config, os.WriteFile(config, fmt.Appendf(nil, "state = %q\n", filepath.Join(dir, ".sallyport", "state")), 0o600)
}

// A demo runs the steps and counts those that went otherwise than promised.
type demo struct {
	ctx           context.Context //nolint:containedctx // one run, one context
	session       *mcp.ClientSession
	steps, failed int
}

// A result is what one call came back with.
type result struct {
	text string
	meta struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
	}
}

func (d *demo) title(text string) {
	d.steps++
	fmt.Printf("\n%d  %s\n", d.steps, text)
}

// call makes one tool call and prints it as a person would want to read it.
func (d *demo) call(tool string, args map[string]any) result {
	var shown strings.Builder
	enc := json.NewEncoder(&shown)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(args) // plain data
	fmt.Printf("   ▸ %s %s", tool, shown.String())
	res, err := d.session.CallTool(d.ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		d.check(false, err.Error())
		return result{}
	}
	var r result
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			r.text += t.Text
		}
	}
	if b, err := json.Marshal(res.Meta["sallyport/result"]); err == nil {
		_ = json.Unmarshal(b, &r.meta) // a missing field is a failed check below
	}
	printText(r.text)
	return r
}

// printText prints a result, the middle of a long one left out: the demo is to fit a screen.
func printText(text string) {
	const head, tail = 9, 4
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if len(lines) > head+tail+1 && i == head {
			fmt.Printf("     … %d lines of the result are not printed here …\n", len(lines)-head-tail)
		}
		if len(lines) > head+tail+1 && i >= head && i < len(lines)-tail {
			continue
		}
		if r := []rune(line); len(r) > 150 {
			line = string(r[:150]) + "…"
		}
		fmt.Println("     " + line)
	}
}

func (d *demo) check(ok bool, promise string) {
	if ok {
		fmt.Println("   ✓ " + promise)
		return
	}
	d.failed++
	fmt.Println("   ✗ NOT AS PROMISED: " + promise)
}

func (d *demo) foreground() {
	d.title("a command")
	r := d.call("exec", map[string]any{"command": "uname -s; ls | head -3"})
	d.check(strings.HasPrefix(r.text, "[exit 0") && strings.Contains(r.text, "README"), "exit code, duration and output in one answer")
}

func (d *demo) yield() {
	d.title("one that takes longer than you want to wait")
	r := d.call("exec", map[string]any{"command": "for i in 1 2 3; do echo building part $i; sleep 0.5; done; echo built", "yieldMs": 600})
	d.check(r.meta.Status == "running", "it yields and goes on in the background")
	r = d.call("process", map[string]any{"action": "poll", "sessionId": r.meta.SessionID, "timeout": 10000, "until": "^built$"})
	d.check(strings.Contains(r.text, "built"), "one poll waits for the line that matters, on the server")
}

func (d *demo) background() {
	d.title("a background program, fed by stdin")
	r := d.call("exec", map[string]any{"command": "while read -r x; do echo \"$x squared is $((x * x))\"; done; echo no more", "background": true})
	id := r.meta.SessionID
	d.call("process", map[string]any{"action": "write", "sessionId": id, "data": "7\n12\n"})
	d.call("process", map[string]any{"action": "poll", "sessionId": id, "timeout": 5000, "until": "144"})
	d.call("process", map[string]any{"action": "write", "sessionId": id, "data": "", "eof": true})
	r = d.call("process", map[string]any{"action": "poll", "sessionId": id, "timeout": 5000})
	d.check(strings.Contains(r.text, "no more"), "its stdin is open until eof, which ends it")
}

func (d *demo) timeout() {
	d.title("a tree that must die")
	r := d.call("exec", map[string]any{"command": "setsid sleep 998877 & trap '' TERM; (sleep 998877; true) & echo begun; sleep 998877", "timeout": 1})
	d.check(strings.Contains(r.text, "timed out") && strings.Contains(r.text, "begun"), "what it printed before the timeout is kept")
	d.check(living("998877") == 0, "no process of it is left, not even the one in a session of its own")
}

func (d *demo) leftover() {
	d.title("a server started with &")
	r := d.call("exec", map[string]any{"command": "(while :; do echo serving; sleep 0.2; done) & echo started"})
	d.check(strings.Contains(r.text, "started") && r.meta.SessionID != "", "the call returns at once and names who still holds the output")
	r = d.call("process", map[string]any{"action": "kill", "sessionId": r.meta.SessionID})
	d.check(strings.Contains(r.text, "0 left"), "the session's kill ends it")
}

func (d *demo) flood() {
	d.title("50 MB of output, with the error in the middle")
	r := d.call("exec", map[string]any{"command": "seq 1 3500000; echo 'ERROR: the disk is on fire'; seq 1 3500000"})
	d.check(len(r.text) < 20_000 && regexp.MustCompile(`[0-9,]+ .*left out`).MatchString(r.text), "head and tail, exact counts, and the call that shows the rest")
	r = d.call("process", map[string]any{"action": "log", "sessionId": r.meta.SessionID, "grep": "ERROR", "context": 1})
	d.check(strings.Contains(r.text, "on fire"), "the rest is there: grep finds the line")
}

// living counts processes whose command line holds token. It asks the kernel, not the gateway.
func living(token string) (n int) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		panic(errors.New("bad pattern"))
	}
	for _, name := range lines {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), token) {
			n++
		}
	}
	return n
}
