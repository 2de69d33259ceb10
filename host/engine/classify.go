package engine

import (
	"bytes"
	"context"
	"path/filepath"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/proc"
)

// Exit codes that POSIX shells use for commands they could not run (XCU 2.8.2).
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// messageTail is how much of the output's end is searched for the shell's message.
const messageTail = 4096

// shellFailure tells the shell's own 126 and 127 from a program's: the shell says so, in a line that begins with its
// name. A program that merely exits with such a code is no failure of ours to classify.
func (s *session) shellFailure(x proc.Exit) sallyport.FailureKind {
	if s.shell == "" || x.Signal != 0 || (x.Code != exitNotFound && x.Code != exitNotExecutable) {
		return ""
	}
	from := max(0, s.log.Stat().End-messageTail)
	c, err := s.Read(context.Background(), sallyport.Range{From: from, Max: messageTail})
	if err != nil || !hasShellMessage(c.Data, filepath.Base(s.shell)) {
		return ""
	}
	if x.Code == exitNotFound {
		return sallyport.CommandNotFound
	}
	return sallyport.NotExecutable
}

// hasShellMessage looks for a line such as "bash: nosuch: command not found" or "sh: 1: eval: nosuch: not found".
func hasShellMessage(tail []byte, shell string) bool {
	for line := range bytes.Lines(tail) {
		if bytes.HasPrefix(line, []byte(shell+": ")) {
			return true
		}
	}
	return false
}
