package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveNoop is the floor of a call: a server of the SDK alone, with one tool that does nothing.
func serveNoop(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "noop", Version: "1"}, nil)
	schema := map[string]any{"type": "object"}
	s.AddTool(&mcp.Tool{Name: "noop", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
	})
	return s.Run(ctx, &mcp.StdioTransport{})
}

// flood writes n bytes of lines, as fast as they are taken.
func flood(w io.Writer, n string) error {
	left, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		return fmt.Errorf("flood: %w", err)
	}
	block := bytes.Repeat([]byte("a line of sixty-three characters, of which this is the last one\n"), 1024)
	for left > 0 {
		part := block[:min(left, int64(len(block)))]
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("flood: %w", err)
		}
		left -= int64(len(part))
	}
	return nil
}

// diskSync is what the disk takes to keep a row of 700 bytes in a file that was written before: no floor of the promise,
// but what explains a bad day of it.
func diskSync(dir string) (func() (time.Duration, error), error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	row, at := bytes.Repeat([]byte("r"), 700), int64(0)
	return func() (time.Duration, error) {
		start := time.Now()
		if _, err := f.WriteAt(row, at%(1<<20-1024)); err != nil {
			return 0, err
		}
		at += 700
		err := syscall.Fdatasync(int(f.Fd()))
		return time.Since(start), err
	}, nil
}

// rawRun is the floor of a run: fork, exec, wait, and nothing else.
func rawRun(path string, argv ...string) (time.Duration, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }() // nothing was written
	fd := null.Fd()
	start := time.Now()
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: []string{"PATH=/usr/bin:/bin"}, Files: []uintptr{fd, fd, fd}})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", path, err)
	}
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	took := time.Since(start)
	if status.ExitStatus() != 0 {
		return 0, fmt.Errorf("%s ended with %v", path, status)
	}
	return took, nil
}
