//go:build unix

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func signalName(sig syscall.Signal) string { return unix.SignalName(sig) }

func signalNumber(name string) syscall.Signal { return unix.SignalNum(name) }
