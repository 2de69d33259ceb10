//go:build unix

package app

import (
	"os"
	"syscall"
)

// more are further signals that would end this process. SIGPIPE is among them: a client that closes its end must be
// met by an error of write, not by death with commands running.
var more = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGPROF, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

func uid() int { return os.Getuid() }
