package hosttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// Run runs the contract on hosts that make makes. Commands are POSIX shell.
func Run(t *testing.T, make func(t *testing.T) sallyport.Host) {
	for name, test := range map[string]func(*testing.T, *Harness){
		"Outcomes":        testOutcomes,
		"NotStarted":      testNotStarted,
		"Invalid":         testInvalid,
		"Grants":          testGrants,
		"Workdir":         testWorkdir,
		"Environment":     testEnvironment,
		"Stdin":           testStdin,
		"Streams":         testStreams,
		"Timeouts":        testTimeouts,
		"NoOutputTimeout": testNoOutput,
		"Kill":            testKill,
		"Leftovers":       testLeftovers,
		"Wait":            testWait,
		"NoTerminal":      testNoTerminal,
		"TextNotInArgv":   testTextNotInArgv,
		"Digest":          testDigest,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, New(t, make(t)))
		})
	}
}

func text(s string) sallyport.Command { return sallyport.Command{Text: s} }

func testOutcomes(t *testing.T, h *Harness) {
	for _, tt := range []struct {
		name    string
		c       sallyport.Command
		kind    sallyport.OutcomeKind
		code    int
		signal  string
		failure sallyport.FailureKind
		out     string
	}{
		{"literal", text("printf hi"), sallyport.Exited, 0, "", "", "hi"},
		{"true", text("true"), sallyport.Exited, 0, "", "", ""},
		{"argv", sallyport.Command{Argv: []string{"printf", "%s|", "a b", "$HOME", ""}}, sallyport.Exited, 0, "", "", "a b|$HOME||"},
		{"exit 7", text("exit 7"), sallyport.Exited, 7, "", "", ""},
		{"pipe", text("yes | head -1; seq 1 100000 | head -3; grep zzz /etc/hosts | wc -l"), sallyport.Exited, 0, "", "", "y\n1\n2\n3\n0\n"},
		{"last stage", text("sh -c 'echo FAIL; exit 1' 2>&1 | tail -1"), sallyport.Exited, 0, "", "", "FAIL\n"},
		{"signal", text("kill -9 $$"), sallyport.Signalled, -1, "SIGKILL", sallyport.BySignal, ""},
		{"segv", text("kill -SEGV $$"), sallyport.Signalled, -1, "SIGSEGV", sallyport.BySignal, ""},
		{"own 127", text("exit 127"), sallyport.Exited, 127, "", "", ""},
		{"own 126", text("sh -c 'exit 126'"), sallyport.Exited, 126, "", "", ""},
		{"program's 127", sallyport.Command{Argv: []string{"sh", "-c", "exit 127"}}, sallyport.Exited, 127, "", "", ""},
		{"missing", text("no-such-program-here"), sallyport.Exited, 127, "", sallyport.CommandNotFound, ""},
		{"missing in a list", text("echo a; no-such-program-here"), sallyport.Exited, 127, "", sallyport.CommandNotFound, ""},
		{"not executable", text("touch plain; ./plain"), sallyport.Exited, 126, "", sallyport.NotExecutable, ""},
		{"directory", text("mkdir d; ./d"), sallyport.Exited, 126, "", sallyport.NotExecutable, ""},
		{"multi-line", text("for i in 0 1 2\ndo\n  echo $i\ndone\n"), sallyport.Exited, 0, "", "", "0\n1\n2\n"},
		{"here document", text("cat <<'EOF'\n$x `y`\nEOF\n"), sallyport.Exited, 0, "", "", "$x `y`\n"},
		{"kill $PPID", text("kill $PPID; echo alive"), sallyport.Exited, 0, "", "", "alive\n"},
	} {
		if tt.name == "kill $PPID" {
			continue // the gateway takes no signals under its keeper; a test binary is no gateway
		}
		st, out := h.Run(t, tt.c)
		o := st.Outcome
		if o.Kind != tt.kind || o.Code != tt.code || o.Signal != tt.signal || o.Failure != tt.failure {
			t.Errorf("%s: outcome %+v, want %s %d %s %s", tt.name, *o, tt.kind, tt.code, tt.signal, tt.failure)
		}
		if tt.failure == "" && out != tt.out {
			t.Errorf("%s: output %q, want %q", tt.name, out, tt.out)
		}
		if st.State != sallyport.Ended || st.Ended.IsZero() || o.Duration <= 0 {
			t.Errorf("%s: ended session has status %+v", tt.name, st)
		}
	}
	st, out := h.Run(t, text(`echo "a" && git commit -m \"x (y)\"`))
	if st.Outcome.Code != 2 || !strings.Contains(out, "yntax error") {
		t.Errorf("syntax error: exit %d, output %q; want 2 and the shell's message", st.Outcome.Code, out)
	}
}

func wantError(t *testing.T, err error, code sallyport.Code, failure sallyport.FailureKind) {
	t.Helper()
	var e *sallyport.Error
	if !errors.As(err, &e) {
		t.Errorf("error %v (%T), want *sallyport.Error", err, err)
		return
	}
	if e.Code != code || e.Failure != failure || e.Msg == "" {
		t.Errorf("error %+v, want code %s, failure %q", e, code, failure)
	}
}

func testNotStarted(t *testing.T, h *Harness) {
	plain := filepath.Join(h.Dir, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(h.Dir, "broken")
	if err := os.WriteFile(broken, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		c       sallyport.Command
		failure sallyport.FailureKind
	}{
		{sallyport.Command{Argv: []string{"no-such-program-here"}}, sallyport.CommandNotFound},
		{sallyport.Command{Argv: []string{"/no/such/file"}}, sallyport.CommandNotFound},
		{sallyport.Command{Argv: []string{plain}}, sallyport.NotExecutable},
		{sallyport.Command{Argv: []string{h.Dir}}, sallyport.NotExecutable},
		{sallyport.Command{Argv: []string{broken}}, sallyport.CommandNotFound},
		{sallyport.Command{Text: "true", Dir: "/no/such/dir"}, sallyport.RuntimeError},
		{sallyport.Command{Text: "true", Dir: "~"}, sallyport.RuntimeError},
		{sallyport.Command{Text: "true", Dir: plain}, sallyport.RuntimeError},
	} {
		_, err := h.Start(t.Context(), tt.c)
		wantError(t, err, sallyport.NotStarted, tt.failure)
	}
	if all, err := h.Host.Sessions(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%d sessions after failed starts (%v)", len(all), err)
	}
}

func testInvalid(t *testing.T, h *Harness) {
	for _, c := range []sallyport.Command{
		{},
		{Text: "  \n"},
		{Text: "true", Argv: []string{"true"}},
		{Argv: []string{""}},
		{Text: "echo a\x00b"},
		{Argv: []string{"echo", "a\x00b"}},
		{Text: "echo " + strings.Repeat("x", 140_000)},
		{Argv: []string{"echo", strings.Repeat("x", 140_000)}},
		{Argv: slices.Repeat([]string{strings.Repeat("x", 1000)}, 2000)},
		{Text: "true", Limits: sallyport.Limits{Timeout: -1}},
	} {
		_, err := h.Start(t.Context(), c)
		wantError(t, err, sallyport.Invalid, "")
	}
	for _, env := range []map[string]string{
		{"PATH": "/tmp"}, {"LD_PRELOAD": "x"}, {"BASH_ENV": "x"}, {"A B": "x"}, {"": "x"}, {"A=B": "x"}, {"A": "x\x00"},
	} {
		_, err := h.Start(t.Context(), sallyport.Command{Text: "true", Env: env})
		wantError(t, err, sallyport.Denied, sallyport.RuntimeError)
		if err != nil && !strings.Contains(err.Error(), "Security Violation: ") {
			t.Errorf("env %v: %v", env, err)
		}
	}
}

func testGrants(t *testing.T, h *Harness) {
	ctx := t.Context()
	if _, err := h.Host.Start(ctx, sallyport.Grant{}, sallyport.Owner{ID: "zero"}); !errors.Is(err, sallyport.Denied) {
		t.Errorf("the zero grant: %v, want denied", err)
	}
	r := sallyport.Request{Caller: h.Caller(), Exec: text("touch ran")}
	p, err := h.Host.Plan(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := h.gate.Admit(ctx, r, p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Host.Start(ctx, g, sallyport.Owner{ID: "once", Caller: r.Caller})
	if err != nil {
		t.Fatal(err)
	}
	End(t, s)
	if err := os.Remove(filepath.Join(h.Dir, "ran")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Host.Start(ctx, g, sallyport.Owner{ID: "twice", Caller: r.Caller}); !errors.Is(err, sallyport.Denied) {
		t.Errorf("a used grant: %v, want denied", err)
	}
	// A program that changes between the decision and the start does not run.
	script := filepath.Join(h.Dir, "script")
	write := func(body string) {
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("true")
	r.Exec = sallyport.Command{Argv: []string{script}}
	if p, err = h.Host.Plan(ctx, r); err != nil {
		t.Fatal(err)
	}
	if g, _, err = h.gate.Admit(ctx, r, p); err != nil {
		t.Fatal(err)
	}
	write("touch ran")
	if _, err := h.Host.Start(ctx, g, sallyport.Owner{ID: "changed", Caller: r.Caller}); !errors.Is(err, sallyport.NotStarted) {
		t.Errorf("a changed program: %v, want not started", err)
	}
	if _, err := os.Stat(filepath.Join(h.Dir, "ran")); err == nil {
		t.Error("something ran without a valid grant")
	}
}

func testWorkdir(t *testing.T, h *Harness) {
	sub := filepath.Join(h.Dir, "a dir")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"": h.Dir, "a dir": sub, sub: sub, "/": "/"} {
		st, out := h.Run(t, sallyport.Command{Text: "pwd; cd /", Dir: dir})
		if out != want+"\n" || st.Dir != want {
			t.Errorf("workdir %q: pwd says %q, status %q; want %q", dir, out, st.Dir, want)
		}
	}
	link := filepath.Join(h.Dir, "link")
	if err := os.Symlink(sub, link); err != nil {
		t.Fatal(err)
	}
	if _, out := h.Run(t, sallyport.Command{Text: "pwd; pwd -P", Dir: link}); out != link+"\n"+sub+"\n" {
		t.Errorf("in a link: %q", out)
	}
}

func testEnvironment(t *testing.T, h *Harness) {
	_, out := h.Run(t, sallyport.Command{
		Text: `echo "$A|$SALLYPORT_SHELL|$GIT_TERMINAL_PROMPT|$PAGER|${SALLYPORT_TEXT-unset}"; env | grep -c SALLYPORT_TEXT`,
		Env:  map[string]string{"A": "$HOME `x`"},
	})
	if out != "$HOME `x`|exec|0|cat|unset\n0\n" {
		t.Errorf("environment: %q", out)
	}
	if _, out = h.Run(t, sallyport.Command{Text: "echo $PAGER", Env: map[string]string{"PAGER": "less"}}); out != "less\n" {
		t.Errorf("a call's own PAGER: %q", out)
	}
}

func testStdin(t *testing.T, h *Harness) {
	if st, out := h.Run(t, text("cat; echo end")); out != "end\n" || st.Outcome.Code != 0 {
		t.Errorf("cat without stdin: %q %+v", out, st.Outcome)
	}
	big := strings.Repeat("0123456789abcdef", 1<<16)
	if _, out := h.Run(t, sallyport.Command{Text: "cat", Stdin: sallyport.StdinData, Input: []byte(big)}); out != big {
		t.Errorf("1 MiB through cat: %d bytes came back", len(out))
	}
	if st, _ := h.Run(t, sallyport.Command{Text: "exit 3", Stdin: sallyport.StdinData, Input: []byte(big)}); st.Outcome.Code != 3 {
		t.Errorf("a command that does not read its stdin: %+v", st.Outcome)
	}
	s := h.MustStart(t, sallyport.Command{Text: "while read x; do echo got $x; done; echo bye", Stdin: sallyport.StdinOpen, Background: true})
	for _, word := range []string{"one", "two"} {
		if err := s.Send(t.Context(), sallyport.Input{Data: []byte(word + "\n")}); err != nil {
			t.Fatal(err)
		}
		WaitFor(t, s, "got "+word)
	}
	if err := s.Send(t.Context(), sallyport.Input{Data: []byte("three\n"), EOF: true}); err != nil {
		t.Fatal(err)
	}
	End(t, s)
	if out := All(t, s, sallyport.AnyStream); out != "got one\ngot two\ngot three\nbye\n" {
		t.Errorf("fed by hand: %q", out)
	}
	wantError(t, s.Send(t.Context(), sallyport.Input{Data: []byte("late")}), sallyport.Conflict, "")
}

func testStreams(t *testing.T, h *Harness) {
	c := text("echo a; echo b >&2; echo c; echo d >&2")
	if _, out := h.Run(t, c); out != "a\nb\nc\nd\n" {
		t.Errorf("merged: %q, want exact order", out)
	}
	c.Split = true
	s := h.MustStart(t, c)
	End(t, s)
	if out, errs := All(t, s, sallyport.Stdout), All(t, s, sallyport.Stderr); out != "a\nc\n" || errs != "b\nd\n" {
		t.Errorf("split: %q and %q", out, errs)
	}
	// Both streams at once, each more than a pipe holds.
	c.Text = "(seq 1 20000 >&2) & seq 1 20000; wait"
	s = h.MustStart(t, c)
	End(t, s)
	if out, errs := All(t, s, sallyport.Stdout), All(t, s, sallyport.Stderr); out != errs || len(out) != 108894 {
		t.Errorf("both at once: %d and %d bytes, want 108894 each", len(out), len(errs))
	}
}

func testTimeouts(t *testing.T, h *Harness) {
	for _, cmd := range []string{"sleep 20", "sleep 20; true", "(sleep 20)", "sleep 20 | cat", "sleep 20 & wait", "setsid sleep 20 & sleep 20"} {
		begin := time.Now()
		st, out := h.Run(t, sallyport.Command{Text: "echo begun; " + cmd, Limits: sallyport.Limits{Timeout: 300 * time.Millisecond, Grace: 100 * time.Millisecond}})
		o := st.Outcome
		if o.Kind != sallyport.TimedOut || o.Failure != sallyport.OverallTimeout || out != "begun\n" {
			t.Errorf("%s: %+v, output %q", cmd, o, out)
		}
		if o.Kill == nil || len(o.Kill.Survivors) > 0 || o.Kill.Killed == 0 {
			t.Errorf("%s: kill report %+v", cmd, o.Kill)
		}
		if d := time.Since(begin); d > 10*time.Second {
			t.Errorf("%s: returned after %v", cmd, d)
		}
		if !strings.Contains(o.Reason, "timed out after 0.3 seconds") {
			t.Errorf("%s: reason %q", cmd, o.Reason)
		}
	}
}

func testNoOutput(t *testing.T, h *Harness) {
	st, out := h.Run(t, sallyport.Command{
		Text:   "sleep 0.2; echo a; sleep 0.2; echo b; sleep 30",
		Limits: sallyport.Limits{NoOutput: 700 * time.Millisecond},
	})
	if o := st.Outcome; o.Failure != sallyport.NoOutputTimeout || out != "a\nb\n" || o.Duration > 10*time.Second {
		t.Errorf("%+v, output %q", o, out)
	}
}

func testKill(t *testing.T, h *Harness) {
	s := h.MustStart(t, sallyport.Command{Text: "trap '' TERM; sleep 100 & echo up; wait; sleep 100", Background: true})
	WaitFor(t, s, "up")
	r, err := s.End(t.Context(), sallyport.Ending{Grace: 50 * time.Millisecond})
	if err != nil || len(r.Survivors) > 0 || r.Killed < 2 {
		t.Errorf("kill: %+v %v, want at least 2 killed and no survivor", r, err)
	}
	st := End(t, s)
	if st.Outcome.Kind != sallyport.Killed || st.Outcome.Failure != "" {
		t.Errorf("outcome after a kill: %+v", st.Outcome)
	}
	if r, err := s.End(t.Context(), sallyport.Ending{Remove: true}); err != nil || r.Killed != 0 {
		t.Errorf("a second kill: %+v %v", r, err)
	}
	if _, err := h.Host.Session(t.Context(), st.ID); !errors.Is(err, sallyport.NotFound) {
		t.Errorf("a removed session: %v, want not found", err)
	}
	s = h.MustStart(t, sallyport.Command{Text: "trap 'echo caught; exit 5' USR1; echo up; while :; do sleep 0.05; done", Background: true})
	WaitFor(t, s, "up")
	if err := s.Send(t.Context(), sallyport.Input{Signal: "usr1"}); err != nil {
		t.Fatal(err)
	}
	if st := End(t, s); st.Outcome.Code != 5 || st.Outcome.Kind != sallyport.Exited {
		t.Errorf("after a signal: %+v", st.Outcome)
	}
	wantError(t, s.Send(t.Context(), sallyport.Input{Signal: "nonsense"}), sallyport.Invalid, "")
}

func testLeftovers(t *testing.T, h *Harness) {
	begin := time.Now()
	s := h.MustStart(t, text("sleep 300 & echo hi"))
	st := End(t, s)
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("sleep & echo took %v", d)
	}
	if st.Outcome.Code != 0 || len(st.HeldBy) != 1 || len(st.Left) != 1 {
		t.Errorf("status %+v, want one holder", st)
	}
	testenv.Eventually(t, waitLimit, func() bool { // the shell's child has yet to become sleep
		st, err := s.Status(t.Context())
		return err == nil && len(st.HeldBy) == 1 && st.HeldBy[0].Name == "sleep"
	}, "the holder is called sleep")
	if out := All(t, s, sallyport.AnyStream); out != "hi\n" {
		t.Errorf("output %q", out)
	}
	if r, err := s.End(t.Context(), sallyport.Ending{}); err != nil || r.Killed != 1 || len(r.Survivors) > 0 {
		t.Errorf("ending the leftover: %+v %v", r, err)
	}
	// What a holder writes later is read on, and it does not die of a closed pipe.
	s = h.MustStart(t, text("(sleep 0.3; for i in 1 2 3; do echo tick $i; sleep 0.1; done; echo done) & echo ok"))
	if st := End(t, s); len(st.Left) == 0 {
		t.Errorf("status %+v, want the subshell left", st)
	}
	// Until its owner has seen the end, every wait reports that first.
	if w, err := s.Wait(t.Context(), sallyport.Wake{Until: "^done$"}); err != nil || w.By != sallyport.WokeEnd {
		t.Errorf("woke by %q, %v; want exit", w.By, err)
	}
	s.(interface{ Mark(sallyport.Mark) }).Mark(sallyport.Mark{SawEnd: true})
	WaitFor(t, s, "^done$")
	// A process that has closed the output is left, but holds nothing.
	s = h.MustStart(t, text("sleep 300 >/dev/null 2>&1 </dev/null & sleep 0.2"))
	if st := End(t, s); len(st.HeldBy) != 0 || len(st.Left) != 1 {
		t.Errorf("status %+v, want one left, none holding", st)
	}
	if r, err := s.End(t.Context(), sallyport.Ending{}); err != nil || r.Killed != 1 {
		t.Errorf("ending it: %+v %v", r, err)
	}
}

func testWait(t *testing.T, h *Harness) {
	s := h.MustStart(t, sallyport.Command{Text: "echo one; read x; echo two; read y; exit 4", Stdin: sallyport.StdinOpen, Background: true})
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	w, err := s.Wait(ctx, sallyport.Wake{Output: true})
	if err != nil || w.By != sallyport.WokeOutput {
		t.Fatalf("%+v %v, want output", w, err)
	}
	short, stop := context.WithTimeout(ctx, 30*time.Millisecond)
	defer stop()
	if w, err = s.Wait(short, sallyport.Wake{From: w.Status.Output.End, Output: true}); err != nil || w.By != sallyport.WokeTime {
		t.Errorf("%+v %v, want timeout", w, err)
	}
	if err := s.Send(ctx, sallyport.Input{Data: []byte("\n")}); err != nil {
		t.Fatal(err)
	}
	if w, err = s.Wait(ctx, sallyport.Wake{From: 4, Until: "^t.o$"}); err != nil || w.By != sallyport.WokeUntil || w.Match != "two" {
		t.Errorf("%+v %v, want until", w, err)
	}
	if w, err = s.Wait(ctx, sallyport.Wake{From: 0, Quiet: 50 * time.Millisecond}); err != nil || w.By != sallyport.WokeQuiet {
		t.Errorf("%+v %v, want quiet", w, err)
	}
	if _, err = s.Wait(ctx, sallyport.Wake{Until: "("}); !errors.Is(err, sallyport.Invalid) {
		t.Errorf("a bad pattern: %v", err)
	}
	if err := s.Send(ctx, sallyport.Input{EOF: true}); err != nil {
		t.Fatal(err)
	}
	if w, err = s.Wait(ctx, sallyport.Wake{From: w.Status.Output.End, Output: true}); err != nil || w.By != sallyport.WokeEnd {
		t.Errorf("%+v %v, want exit", w, err)
	}
}

func testNoTerminal(t *testing.T, h *Harness) {
	st, out := h.Run(t, text("read x </dev/tty"))
	if st.Outcome.Code == 0 || st.Outcome.Duration > 5*time.Second || !strings.Contains(out, "/dev/tty") {
		t.Errorf("reading /dev/tty: %+v %q, want to fail at once", st.Outcome, out)
	}
}

func testTextNotInArgv(t *testing.T, h *Harness) {
	// A pattern that stands in the command's own text must find programs only, and above all not kill its own shell.
	s := h.MustStart(t, sallyport.Command{Text: "sleep 98.7654", Background: true})
	st, out := h.Run(t, text("pgrep -f 'sleep 98[.]7654' | wc -l; pkill -f 'sleep 98.7654'; echo rc=$?"))
	if out != "1\nrc=0\n" || st.Outcome.Code != 0 {
		t.Errorf("pkill -f: %q %+v", out, st.Outcome)
	}
	if st := End(t, s); st.Outcome.Signal != "SIGTERM" {
		t.Errorf("the pkill'ed command: %+v", st.Outcome)
	}
}

func testDigest(t *testing.T, h *Harness) {
	digest := func(c sallyport.Command) string {
		t.Helper()
		p, err := h.Host.Plan(t.Context(), sallyport.Request{Caller: h.Caller(), Exec: c})
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest()
	}
	base := sallyport.Command{Text: "echo a | cat", Env: map[string]string{"A": "1", "B": "2"}}
	want := digest(base)
	again := base
	again.Env = map[string]string{"B": "2", "A": "1"}
	again.Title, again.Background = "another", true
	if digest(again) != want {
		t.Error("an equal run has another digest")
	}
	for name, change := range map[string]func(*sallyport.Command){
		"text":    func(c *sallyport.Command) { c.Text = "echo b | cat" },
		"dir":     func(c *sallyport.Command) { c.Dir = "/" },
		"env":     func(c *sallyport.Command) { c.Env = map[string]string{"A": "1", "B": "3"} },
		"stdin":   func(c *sallyport.Command) { c.Stdin = sallyport.StdinOpen },
		"split":   func(c *sallyport.Command) { c.Split = true },
		"timeout": func(c *sallyport.Command) { c.Limits.Timeout = time.Second },
		"argv":    func(c *sallyport.Command) { c.Text, c.Argv = "", []string{"echo", "a"} },
	} {
		c := base
		change(&c)
		if digest(c) == want {
			t.Errorf("a change of %s does not change the digest", name)
		}
	}
}
