package proctest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/sallyport-sh/sallyport"
)

// Left finds the living processes that carry the token in their arguments or their environment. Zombies do not count.
// It reads /proc by itself.
func Left(token string) (left []sallyport.Process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // of other users it cannot be read
		if !bytes.Contains(args, []byte(token)) && !bytes.Contains(environ, []byte(token)) {
			continue
		}
		if name, state := look(pid); state != "" && state != "Z" && state != "X" {
			left = append(left, sallyport.Process{PID: pid, Name: name})
		}
	}
	return left
}

// look returns a process's name and state; empty if it has gone.
func look(pid int) (name, state string) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "Name":
			name = strings.TrimSpace(value)
		case "State":
			return name, strings.TrimSpace(value)[:1]
		}
	}
	return name, ""
}
