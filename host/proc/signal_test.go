package proc

import (
	"syscall"
	"testing"
)

func TestParseSignal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "SIGTERM": syscall.SIGTERM, "sigterm": syscall.SIGTERM, " Int ": syscall.SIGINT,
		"15": 15, "9": 9, "1": 1, "HUP": syscall.SIGHUP,
	} {
		if got, err := ParseSignal(text); got != want || err != nil {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "SIG", "0", "-1", "+9", "65", "999999999999999999999", "TERMINATE", "SIGSIGTERM", "RTMIN-1", "RTMIN+", "RTMIN+31", "signal 9", "9 9",
	} {
		if got, err := ParseSignal(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func FuzzParseSignal(f *testing.F) {
	for _, s := range []string{"TERM", "SIGKILL", "15", "RTMIN+3", "SIGRTMIN", "rtmin+30", "x", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sig, err := ParseSignal(s)
		if err != nil {
			return
		}
		if sig < 1 || sig > maxSignal {
			t.Fatalf("%q is signal %d", s, sig)
		}
		if n := Name(sig); n[:3] == "SIG" {
			if again, err := ParseSignal(n); err != nil || again != sig {
				t.Errorf("%q is %d, whose name %q is %d, %v", s, sig, n, again, err)
			}
		}
	})
}
