// Package testenv is what tests need of the machine they run on: a way to say that something is missing, to wait for a
// condition, to have the real binary, and to look at processes independently of the code under test.
//
// It is the only place that skips. A skip always names what is missing, and is a failure when the environment variable
// SALLYPORT_REQUIRE is "all" or lists that name, so that a machine which is meant to run everything cannot silently run
// less.
package testenv

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Missing ends the test because what (a program, a right, a kernel feature) is not there: a skip, or a failure if
// SALLYPORT_REQUIRE asks for it.
func Missing(t testing.TB, what string) {
	t.Helper()
	if required(os.Getenv("SALLYPORT_REQUIRE"), what) {
		t.Fatalf("missing: %s (and SALLYPORT_REQUIRE says that it must be here)", what)
	}
	t.Skip("missing: " + what)
}

// required reports whether list, names separated by commas, asks for what. "all" asks for everything.
func required(list, what string) bool {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, "all") || slices.Contains(names, what)
}

// tick is how often Eventually looks. Real processes change state in a millisecond or so.
const tick = 5 * time.Millisecond

// Eventually waits until cond holds, and fails the test if it does not within the given time. what names the condition
// in the failure: "no process is left".
func Eventually(t testing.TB, within time.Duration, cond func() bool, what string) {
	t.Helper()
	if !Poll(within, cond) {
		t.Fatalf("not within %v: %s", within, what)
	}
}

// Poll waits until cond holds and reports whether it did within the given time. cond is always asked once more at the
// end, so that a machine which stood still for a while does not fail a test that is right.
func Poll(within time.Duration, cond func() bool) bool {
	if cond() {
		return true
	}
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if cond() {
				return true
			}
		case <-deadline.C:
			return cond()
		}
	}
}

// Slack is how many times a promised duration a test grants. Machines that run tests are shared: the promise itself is
// measured by the benchmarks, a test only catches a thing that hangs or is slow by its construction.
const Slack = 5

// InTime fails the test if took is more than Slack times the promised duration.
func InTime(t testing.TB, took, promised time.Duration, what string) {
	t.Helper()
	if took > Slack*promised {
		t.Errorf("%s took %v: promised %v, and a test grants %d times that", what, took, promised, Slack)
	}
}

// Scale returns how many times to repeat something: usual in an ordinary run, full in a soak run (SALLYPORT_SOAK=1).
func Scale(usual, full int) int {
	if soak, _ := strconv.ParseBool(os.Getenv("SALLYPORT_SOAK")); soak {
		return full
	}
	return usual
}
