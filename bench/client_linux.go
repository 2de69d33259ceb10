package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// A server is an MCP server under the SDK's client.
type server struct {
	session *mcp.ClientSession
	cmd     *exec.Cmd
}

// facts are the part of a result beside its text that is used here.
type facts struct {
	Status    string `json:"status"`
	ExitCode  *int   `json:"exitCode"`
	SessionID string `json:"sessionId"`
	PID       int    `json:"pid"`
}

// patience is how long a server may take to end by itself. The SDK's own 5 s would cut short what is measured.
const patience = 2 * time.Minute

// dial starts a program as an MCP server and greets it.
func dial(ctx context.Context, cmd *exec.Cmd) (*server, error) {
	cmd.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: patience}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cmd.Path, err)
	}
	return &server{session, cmd}, nil
}

// gatewayOptions say how a gateway is started.
type gatewayOptions struct {
	name   string // of its directory
	config string // further lines of its configuration
	env    []string
	nobody bool
	cgroup *os.File
}

// gateway starts the program that is measured, with a state directory of its own.
func (b *bench) gateway(ctx context.Context, o gatewayOptions) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, o.name+"-")
	if err != nil {
		return nil, err
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o777); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o777); err != nil { // other users' state goes here, too
		return nil, err
	}
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("workspace = %q\nstate = %q\n%s", work, filepath.Join(dir, "state"), o.config)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, b.program, "mcp", "--standalone", "--config", config)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), o.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if o.nobody {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: testenv.Nobody, Gid: testenv.Nobody}
	}
	if o.cgroup != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(o.cgroup.Fd())
	}
	return dial(ctx, cmd)
}

// state is the directory that a gateway keeps output and records in.
func (s *server) state() string { return filepath.Join(filepath.Dir(s.cmd.Dir), "state") }

// pid is the process that answers: a child of what was started, if that only watches over it.
func (s *server) pid() int {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", s.cmd.Process.Pid))
	if err != nil {
		return s.cmd.Process.Pid
	}
	for _, p := range testenv.Processes() {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID)); err == nil && exe == own && p.PPID == s.cmd.Process.Pid {
			return p.PID
		}
	}
	return s.cmd.Process.Pid
}

// call calls a tool. An error result is an error.
func (s *server) call(ctx context.Context, tool string, args map[string]any) (string, facts, error) {
	r, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", facts{}, err
	}
	var text strings.Builder
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	var f facts
	raw, err := json.Marshal(r.Meta["sallyport/result"])
	if err != nil {
		return "", facts{}, err
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return "", facts{}, err
	}
	if r.IsError {
		return text.String(), f, fmt.Errorf("%s %v: %s", tool, args, text.String())
	}
	return text.String(), f, nil
}

// close ends the server by closing its input and waits for it.
func (s *server) close() error { return s.session.Close() }
