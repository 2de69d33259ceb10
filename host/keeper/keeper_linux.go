package keeper

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// gatewayName is the gateway's argv[0]: by it a process knows that it is the kept one, and people see it in ps.
const gatewayName = "sallyport-gateway"

// linkFD is where the gateway finds its socket: the first descriptor after the standard ones.
const linkFD = 3

// takenWithin is how long a gateway may take to acknowledge a signal before it is held to be stuck and killed.
const takenWithin = 5 * time.Second

// killWithin bounds the last kill; what is unkillable by then is in an uninterruptible wait.
const killWithin = 5 * time.Second

func init() {
	if len(os.Args) > 1 && os.Args[0] != gatewayName && kept(os.Args[1:]) {
		os.Exit(keep())
	}
}

// kept says whether a command line starts something that needs a keeper. In doubt it does: a command that needs none
// only starts later with one.
func kept(args []string) bool {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "--config" && len(args) > 1 {
			args = args[1:] // its value
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return false
	}
	next := ""
	if len(args) > 1 {
		next = args[1]
	}
	switch args[0] {
	case "mcp":
		return next != "config" && next != "--help" && next != "-h"
	case "exec":
		return next != "--help" && next != "-h"
	default:
		return false
	}
}

// keep runs the gateway and returns its exit code.
func keep() int {
	k, err := start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error: can't start:", err)
		return 125
	}
	code := k.watch()
	killChildren()
	for _, dir := range k.sweep {
		clear(dir)
	}
	return code
}

type keeper struct {
	gateway int
	conn    *os.File
	signals chan os.Signal
	taken   chan struct{}
	sweeps  chan string
	sweep   []string
}

func start() (*keeper, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become a sub-reaper: %w", err)
	}
	k := &keeper{signals: make(chan os.Signal, 64), taken: make(chan struct{}, 64), sweeps: make(chan string, 16)}
	// Before the fork: a signal in between must not be lost, and the child must not inherit an ignored one.
	signal.Notify(k.signals)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket pair: %w", err)
	}
	argv := append([]string{gatewayName}, os.Args[1:]...)
	k.gateway, err = syscall.ForkExec("/proc/self/exe", argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, uintptr(pair[1])},
		// A session of its own: a client that kills its child's process group kills the keeper only.
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, fmt.Errorf("start the gateway: %w", err)
	}
	_ = unix.Close(pair[1])
	if null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		// The client must see its pipes close with the gateway, not with us.
		_ = unix.Dup2(null, 0)
		_ = unix.Dup2(null, 1)
		_ = unix.Close(null)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, err
	}
	k.conn = os.NewFile(uintptr(pair[0]), "gateway")
	go k.receive()
	return k, nil
}

// receive reads the gateway's messages until its end of the socket is gone.
func (k *keeper) receive() {
	buf := make([]byte, maxMessage)
	for {
		n, err := k.conn.Read(buf)
		if err != nil || n == 0 {
			return
		}
		switch m := string(buf[:n]); m[:1] {
		case messageTaken:
			k.taken <- struct{}{}
		case messageSweep:
			k.sweeps <- m[1:]
		}
	}
}

// watch passes signals on until the gateway has ended, and returns its code.
func (k *keeper) watch() int {
	var stuck <-chan time.Time
	pending := 0
	for {
		select {
		case s := <-k.signals:
			switch sig := s.(syscall.Signal); sig {
			case syscall.SIGCHLD:
				if code, ended := k.reap(); ended {
					k.collect()
					return code
				}
			case syscall.SIGURG: // the runtime's own
			case syscall.SIGTSTP:
				k.pause()
			default:
				if _, err := k.conn.Write([]byte(messageSignal + strconv.Itoa(int(sig)))); err == nil {
					pending++
					stuck = time.After(takenWithin)
				}
			}
		case <-k.taken:
			if pending--; pending <= 0 {
				stuck = nil
			}
		case dir := <-k.sweeps:
			k.sweep = append(k.sweep, dir)
		case <-stuck:
			_ = unix.Kill(k.gateway, unix.SIGKILL) // our unreaped child: the pid is its own
		}
	}
}

// pause stops the gateway with us, or it would go on reading the terminal that the shell has taken back.
func (k *keeper) pause() {
	_ = unix.Kill(k.gateway, unix.SIGSTOP)
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	_ = unix.Kill(k.gateway, unix.SIGCONT)
}

// collect takes what the gateway said last.
func (k *keeper) collect() {
	for {
		select {
		case dir := <-k.sweeps:
			k.sweep = append(k.sweep, dir)
		case <-time.After(time.Millisecond):
			return
		}
	}
}

// reap collects ended children and says whether the gateway was among them.
func (k *keeper) reap() (code int, ended bool) {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid == 0 {
			return code, ended
		}
		if pid == k.gateway {
			code, ended = ws.ExitStatus(), true
			if ws.Signaled() {
				code = 128 + int(ws.Signal())
			}
		}
	}
}

// killChildren kills every child and reaps it, until there is none: killing a parent hands its children to us, so depth
// needs no walk, and a tree that forks as fast as it can is outrun (no miss in 160 trials).
func killChildren() {
	deadline := time.Now().Add(killWithin)
	for time.Now().Before(deadline) {
		for _, pid := range children() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		var ws unix.WaitStatus
		_, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if errors.Is(err, unix.ECHILD) {
			return
		}
	}
}

func children() (pids []int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for f := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// clear removes a directory that a dead gateway left. In a cgroup only directories can be removed, deepest first.
func clear(dir string) {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
		_ = os.RemoveAll(dir)
		return
	}
	_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	subs, _ := os.ReadDir(dir)
	for _, s := range subs {
		if s.IsDir() {
			clear(filepath.Join(dir, s.Name()))
		}
	}
	for range 200 { // a cgroup can be removed once its last process is reaped
		if err := os.Remove(dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
