package proc

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// rtMin is the first real-time signal as the C library counts: it keeps 32 and 33 to itself.
const rtMin = 34

// Name is the signal's name, "SIGTERM"; for one without a name its number, "signal 70".
func Name(sig syscall.Signal) string {
	if name := signalName(sig); name != "" {
		return name
	}
	switch {
	case maxSignal <= rtMin || sig < rtMin || sig > maxSignal:
		return "signal " + strconv.Itoa(int(sig))
	case sig == rtMin:
		return "SIGRTMIN"
	default:
		return "SIGRTMIN+" + strconv.Itoa(int(sig-rtMin))
	}
}

// ParseSignal reads a signal as people write it: "TERM", "SIGTERM", "sigterm", "15", "SIGRTMIN+2".
func ParseSignal(s string) (syscall.Signal, error) {
	word := strings.ToUpper(strings.TrimSpace(s))
	if n, err := strconv.ParseUint(word, 10, 31); err == nil {
		if n < 1 || int(n) > maxSignal {
			return 0, fmt.Errorf("signal number %d is not in 1…%d", n, maxSignal)
		}
		return syscall.Signal(n), nil
	}
	name := "SIG" + strings.TrimPrefix(word, "SIG")
	if sig := signalNumber(name); sig != 0 {
		return sig, nil
	}
	if name == "SIGRTMIN" {
		name += "+0"
	}
	if rest, ok := strings.CutPrefix(name, "SIGRTMIN+"); ok {
		if n, err := strconv.ParseUint(rest, 10, 31); err == nil && rtMin+int(n) <= maxSignal {
			return syscall.Signal(rtMin + n), nil
		}
	}
	return 0, fmt.Errorf("unknown signal %q: use a name such as TERM, or a number", s)
}
