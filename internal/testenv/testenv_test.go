package testenv

import (
	"fmt"
	"testing"
	"time"
)

// recorder is a testing.TB that remembers how the code under test ended the test.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Skip(args ...any)          { r.ended = "skip: " + fmt.Sprint(args...) }
func (r *recorder) Fatalf(f string, a ...any) { r.ended = "fatal: " + fmt.Sprintf(f, a...) }
func (r *recorder) Errorf(f string, a ...any) { r.ended = "error: " + fmt.Sprintf(f, a...) }

func TestMissing(t *testing.T) {
	for _, tt := range []struct{ require, want string }{
		{"", "skip: missing: bash"},
		{"node,root", "skip: missing: bash"},
		{"node,bash", "fatal: missing: bash (and SALLYPORT_REQUIRE says that it must be here)"},
		{"all", "fatal: missing: bash (and SALLYPORT_REQUIRE says that it must be here)"},
	} {
		t.Setenv("SALLYPORT_REQUIRE", tt.require)
		r := &recorder{TB: t}
		Missing(r, "bash")
		// A real Fatalf does not return; the recorder's does, so the skip that follows must not be taken for the end.
		if required(tt.require, "bash") {
			r = &recorder{TB: t}
			Missing(&fatalOnly{r}, "bash")
		}
		if r.ended != tt.want {
			t.Errorf("SALLYPORT_REQUIRE=%q: %q, want %q", tt.require, r.ended, tt.want)
		}
	}
}

// fatalOnly ignores skips.
type fatalOnly struct{ *recorder }

func (fatalOnly) Skip(...any) {}

func TestEventually(t *testing.T) {
	t.Parallel()
	asked := 0
	r := &recorder{TB: t}
	Eventually(r, time.Minute, func() bool { asked++; return asked == 3 }, "third time")
	if r.ended != "" || asked != 3 {
		t.Errorf("ended %q after %d questions", r.ended, asked)
	}
	Eventually(r, time.Millisecond, func() bool { return false }, "the moon is blue")
	if want := "fatal: not within 1ms: the moon is blue"; r.ended != want {
		t.Errorf("%q, want %q", r.ended, want)
	}
}

func TestInTime(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	if InTime(r, 5*time.Second, time.Second, "it"); r.ended != "" {
		t.Errorf("five times as long is granted, got %q", r.ended)
	}
	if InTime(r, 5*time.Second+1, time.Second, "it"); r.ended == "" {
		t.Error("more than that is not")
	}
}
