package proc

import "syscall"

// maxSignal is the highest number that Go knows here. Windows has no signals: TERM and INT become CTRL_BREAK, KILL ends
// the job.
const maxSignal = 15

var signals = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
	syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV", syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM",
	syscall.SIGTERM: "SIGTERM",
}

func signalName(sig syscall.Signal) string { return signals[sig] }

func signalNumber(name string) syscall.Signal {
	for sig, n := range signals {
		if n == name {
			return sig
		}
	}
	return 0
}
