package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
)

func TestRecordThenStartThenAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.journal.held = make(chan struct{})
	s, err := b.Run(t.Context(), request("true"))
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error)
	go func() {
		_, err := s.Status(context.WithoutCancel(t.Context()))
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("answered before the record was on disk (%v)", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(b.journal.held)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if want := []string{"append run", "start", "sync"}; !slices.Equal(b.order.all, want) {
		t.Errorf("order %q, want %q", b.order.all, want)
	}
}

func TestBeforeStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.set.BeforeStart = true
	b.run(t, request("true"))
	if want := []string{"append run", "sync", "start"}; !slices.Equal(b.order.all, want) {
		t.Errorf("order %q, want %q", b.order.all, want)
	}
	b.journal.syncErr = errFull
	if _, err := b.Run(t.Context(), request("true")); !errors.Is(err, sallyport.AuditUnavailable) {
		t.Errorf("a failed sync before the start: %v, want AUDIT_UNAVAILABLE", err)
	}
	if len(b.host.sessions) != 1 {
		t.Error("it was started although its record is not on disk")
	}
}

func TestUnrecordedDoesNotRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, fake := b.run(t, request("sleep 1"))
	b.journal.full = true
	if _, err := b.Run(t.Context(), request("true")); !errors.Is(err, sallyport.AuditUnavailable) {
		t.Errorf("with a full disk: %v, want AUDIT_UNAVAILABLE", err)
	}
	if len(b.host.sessions) != 1 {
		t.Error("an unrecorded run was started")
	}
	// Stopping needs no journal.
	st, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own, err := b.Find(t.Context(), caller("a"), st.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Send(t.Context(), sallyport.Input{Signal: "TERM"}); err != nil || len(fake.inputs) != 1 {
		t.Errorf("a signal with a full disk: %v", err)
	}
	if _, err := own.End(t.Context(), sallyport.Ending{}); err != nil || fake.ends != 1 {
		t.Errorf("a kill with a full disk: %v", err)
	}
}

func TestSyncFailureEndsTheRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.journal.syncErr = errFull
	s, err := b.Run(t.Context(), request("sleep 1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context(), sallyport.Wake{EndOnly: true}); !errors.Is(err, sallyport.AuditUnavailable) {
		t.Errorf("the answer: %v, want AUDIT_UNAVAILABLE", err)
	}
	for _, fake := range b.host.sessions {
		if fake.ends != 1 {
			t.Errorf("the unrecorded run was ended %d times, want once", fake.ends)
		}
	}
}

func TestRefusalsAreRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.level = sallyport.SecurityDeny
	if _, err := b.Run(t.Context(), request("true")); !errors.Is(err, sallyport.Denied) {
		t.Errorf("security=deny: %v", err)
	}
	b.level = sallyport.SecurityFull
	guest := request("true")
	guest.Caller.Role = sallyport.Guest
	if _, err := b.Run(t.Context(), guest); !errors.Is(err, sallyport.Denied) {
		t.Errorf("a guest: %v", err)
	}
	tightened := request("true")
	tightened.Security = sallyport.SecurityDeny
	if _, err := b.Run(t.Context(), tightened); !errors.Is(err, sallyport.Denied) {
		t.Errorf("a call that tightens: %v", err)
	}
	elsewhere := request("true")
	elsewhere.Host = "node-7"
	if _, err := b.Run(t.Context(), elsewhere); !errors.Is(err, sallyport.Unavailable) {
		t.Errorf("another host: %v", err)
	}
	b.host.planErr = &sallyport.Error{Code: sallyport.NotStarted, Msg: "no such directory"}
	if _, err := b.Run(t.Context(), request("true")); !errors.Is(err, sallyport.NotStarted) {
		t.Errorf("no plan: %v", err)
	}
	if len(b.host.sessions) != 0 {
		t.Error("something was started")
	}
	want := slices.Repeat([]sallyport.EventKind{sallyport.EventRefused}, 5)
	if got := b.journal.kinds(); !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	b.host.planErr, b.host.startErr = nil, errTest
	if _, err := b.Run(t.Context(), request("true")); !errors.Is(err, errTest) {
		t.Errorf("no start: %v", err)
	}
	if got := b.journal.kinds()[5:]; !slices.Equal(got, []sallyport.EventKind{sallyport.EventRun, sallyport.EventEnd}) {
		t.Errorf("a failed start recorded %q", got)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, fake := b.run(t, request("sleep 1"))
	st, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Find(t.Context(), caller("b"), st.ID); !errors.Is(err, sallyport.NotFound) {
		t.Errorf("another scope's session: %v, want not found", err)
	}
	_, missing := b.Find(t.Context(), caller("b"), "no-such")
	_, foreign := b.Find(t.Context(), caller("b"), st.ID)
	if strings.ReplaceAll(missing.Error(), "no-such", "X") != strings.ReplaceAll(foreign.Error(), string(st.ID), "X") {
		t.Errorf("a foreign id can be told from a missing one: %v / %v", foreign, missing)
	}
	if err := b.Mark(t.Context(), caller("b"), st.ID, sallyport.Mark{Release: true}); !errors.Is(err, sallyport.NotFound) || len(fake.marks) > 0 {
		t.Errorf("marking another scope's session: %v", err)
	}
	if all, err := b.List(t.Context(), caller("b")); err != nil || len(all) != 0 {
		t.Errorf("another scope's list: %v %v", all, err)
	}
	if all, err := b.List(t.Context(), caller("a")); err != nil || len(all) != 1 {
		t.Errorf("the own list: %v %v", all, err)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	end := func(scope sallyport.Scope, id sallyport.SessionID, out string, o sallyport.Outcome, background bool) {
		st := sallyport.Status{
			ID: id, Scope: scope, State: sallyport.Ended, Outcome: &o, Background: background,
			Output: sallyport.OutputStat{End: sallyport.Offset(len(out))},
		}
		b.host.sessions[id] = &fakeSession{st: st, out: out}
		b.Ended(st)
	}
	ok, bad := sallyport.Outcome{Kind: sallyport.Exited}, sallyport.Outcome{Kind: sallyport.Exited, Code: 3}
	end("a", "loud", "line one\n  line two\n", ok, true)
	end("a", "quiet-success", "", ok, true)
	end("a", "quiet-failure", "", bad, true)
	end("a", "foreground", "x", bad, false)
	end("a", "killed", "x", sallyport.Outcome{Kind: sallyport.Killed, Code: -1}, true)
	end("a", "signalled", "x", sallyport.Outcome{Kind: sallyport.Signalled, Code: -1, Signal: "SIGKILL", Failure: sallyport.BySignal}, true)
	end("a", "read", "x", ok, true)
	end("b", "other", "x", ok, true)
	end("a", "long", strings.Repeat("\u4e2d", 1000), ok, true)
	if err := b.Mark(t.Context(), caller("a"), "read", sallyport.Mark{SawEnd: true}); err != nil {
		t.Fatal(err)
	}
	got, err := b.Notices(t.Context(), caller("a"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Exec completed (loud, code 0) :: line one line two",
		"Exec completed (quiet-failure, code 3)",
		"Exec failed (signalled, signal SIGKILL) :: x",
		"Exec completed (long, code 0) :: " + strings.Repeat("\u4e2d", 400),
	}
	for i, n := range got {
		if i >= len(want) || n.Text != want[i] {
			t.Errorf("notice %d: %q", i, n.Text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d notices, want %d", len(got), len(want))
	}
	if again, _ := b.Notices(t.Context(), caller("a")); len(again) != 0 {
		t.Errorf("delivered twice: %v", again)
	}
	b.set.NotifyOnExit = false
	end("a", "off", "x", ok, true)
	b.set = Settings{NotifyOnExit: true, NotifyQuiet: true}
	end("a", "quiet-wanted", "", ok, true)
	for i := range 30 {
		end("c", sallyport.SessionID(strings.Repeat("n", i+1)), "x", ok, true)
	}
	if got, _ := b.Notices(t.Context(), caller("a")); len(got) != 1 || got[0].ID != "quiet-wanted" {
		t.Errorf("notices %v, want quiet-wanted alone", got)
	}
	if got, _ := b.Notices(t.Context(), caller("c")); len(got) != maxNotices {
		t.Errorf("%d notices wait, want at most %d", len(got), maxNotices)
	}
}

func TestDroppedIsSaidOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.host.dropped = []string{"X_TOKEN"}
	for i, want := range []int{1, 0} {
		if _, fake := b.run(t, request("true")); len(fake.st.Warnings) != want {
			t.Errorf("run %d: warnings %q, want %d", i, fake.st.Warnings, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	var n namer
	seen := map[sallyport.SessionID]bool{}
	for range 4000 {
		id := n.next(func(id sallyport.SessionID) bool { return seen[id] })
		if seen[id] {
			t.Fatalf("%s was given twice", id)
		}
		seen[id] = true
	}
	for _, words := range [][]string{adjectives, nouns} {
		if sorted := slices.Compact(slices.Sorted(slices.Values(words))); len(sorted) != len(words) {
			t.Error("a word stands twice")
		}
	}
}
