// Package keeper makes a gateway's death harmless. The process that a client starts is the keeper: tiny, a child
// sub-reaper, with the gateway as its only child. If the gateway dies, even by SIGKILL, everything it ran becomes the
// keeper's child and is killed and reaped until nothing is left. If the keeper dies, the gateway sees its socket close
// and ends everything itself. Signals from outside go to the keeper, which passes them on; the gateway takes none, so
// that a command's "kill $PPID" ends nothing but the command.
//
// It is Linux's; elsewhere Join reports that there is no keeper. Importing this package turns any program whose first
// word is "mcp" or "exec" into a keeper of itself, from an init function, before anything heavy is initialised: only the
// program's own composition root may import it.
package keeper

import "syscall"

// A Link is the gateway's end of the socket to its keeper. A nil *Link is one without a keeper; its methods work.
type Link struct {
	signals chan syscall.Signal
	gone    chan struct{}
	send    func(message string) error
}

// Signals delivers what the outside sent to the keeper. It is nil without a keeper.
func (l *Link) Signals() <-chan syscall.Signal {
	if l == nil {
		return nil
	}
	return l.signals
}

// Gone is closed when the keeper has died: end everything at once. It is nil without a keeper.
func (l *Link) Gone() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.gone
}

// Sweep names a directory that the keeper clears away should the gateway die: a cgroup, whose processes are killed
// first, or a directory of files. Without a keeper it does nothing.
func (l *Link) Sweep(dir string) error {
	if l == nil || dir == "" {
		return nil
	}
	return l.send(messageSweep + dir)
}

// Messages are single SEQPACKET datagrams: a letter, then the value.
const (
	messageSignal = "s" // keeper → gateway: decimal signal number
	messageTaken  = "t" // gateway → keeper: a signal was taken
	messageSweep  = "d" // gateway → keeper: absolute directory
	maxMessage    = 4096
)
