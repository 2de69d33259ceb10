package keeper

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// joined is the link's descriptor, made private in init, before anything can fork.
var joined = func() bool {
	if os.Args[0] != gatewayName {
		return false
	}
	kind, err := unix.GetsockoptInt(linkFD, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_SEQPACKET {
		return false
	}
	unix.CloseOnExec(linkFD)
	// For ps and top: it was started as /proc/self/exe.
	if name, err := unix.BytePtrFromString("sallyport-gw"); err == nil {
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
	}
	return unix.SetNonblock(linkFD, true) == nil
}()

// Join returns the link to the keeper. It is called once. Without a keeper the promise that nothing outlives this
// process cannot be kept, so that is an error.
func Join() (*Link, error) {
	if !joined {
		return nil, errors.New("this process was not started by its keeper")
	}
	conn := os.NewFile(linkFD, "keeper")
	l := &Link{
		signals: make(chan syscall.Signal, 64),
		gone:    make(chan struct{}),
		send:    func(m string) error { _, err := conn.Write([]byte(m)); return err },
	}
	go l.receive(conn)
	return l, nil
}

func (l *Link) receive(conn *os.File) {
	defer close(l.gone)
	buf := make([]byte, maxMessage)
	for {
		n, err := conn.Read(buf)
		if err != nil || n == 0 {
			return
		}
		number, err := strconv.Atoi(string(buf[1:n]))
		if string(buf[:1]) != messageSignal || err != nil {
			continue
		}
		_ = l.send(messageTaken)
		select {
		case l.signals <- syscall.Signal(number):
		default: // nobody takes signals any more: it is ending
		}
	}
}
