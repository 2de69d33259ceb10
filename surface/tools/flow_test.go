package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/surfacetest"
)

// A bench is a family on a fake.
type bench struct {
	t    *testing.T
	fake *surfacetest.Fake
	x    *Exec
	set  Settings
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, fake: surfacetest.New(), set: DefaultSettings()}
	b.x = NewExec(b.fake, func(string) Settings { return b.set })
	return b
}

func (b *bench) call(ctx context.Context, tool, args string) Result {
	return b.x.Call(ctx, Call{Name: tool, Args: json.RawMessage(args), Caller: sallyport.Caller{Scope: "a@/w", Workspace: "/w"}})
}

func (b *bench) exec(args string) Result    { return b.call(b.t.Context(), "exec", args) }
func (b *bench) process(args string) Result { return b.call(b.t.Context(), "process", args) }

// hang runs until it is killed.
func hang(s *surfacetest.Session) { <-s.Killed() }

func TestCancelForeground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.fake.Close()
		b.fake.On("sleep", func(s *surfacetest.Session) { s.Print("begun\n"); hang(s) })
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		res := b.call(ctx, "exec", `{"command":"sleep"}`)
		if !res.IsError || !strings.HasPrefix(res.Text, "[aborted, 3.0s, tree killed: 1 process, 0 left]\nbegun") {
			t.Errorf("%q", res.Text)
		}
		if res.Structured.FailureKind != sallyport.WasAborted || res.Structured.Status != failed || b.fake.Live() != 0 {
			t.Errorf("%+v, %d live", res.Structured, b.fake.Live())
		}
	})
}

// Once a command has yielded, or was started in the background, the end of its call does not touch it.
func TestCancelBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.fake.Close()
		b.fake.On("sleep", hang)
		ctx, cancel := context.WithCancel(t.Context())
		b.call(ctx, "exec", `{"command":"sleep","yieldMs":100}`)
		b.call(ctx, "exec", `{"command":"sleep","background":true}`)
		time.AfterFunc(time.Second, cancel)
		b.call(ctx, "process", `{"action":"poll","sessionId":"amber-atlas","timeout":60000}`)
		if ctx.Err() == nil || b.fake.Live() != 2 {
			t.Errorf("%v, %d live", ctx.Err(), b.fake.Live())
		}
	})
}

// A poll that nobody reads delivers nothing.
func TestCancelPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.fake.Close()
		b.fake.On("talk", func(s *surfacetest.Session) { s.Sleep(time.Second); s.Print("precious\n"); hang(s) })
		b.exec(`{"command":"talk","background":true}`)
		<-time.After(2 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b.call(ctx, "process", `{"action":"poll","sessionId":"amber-atlas","timeout":1000}`)
		if res := b.process(`{"action":"poll","sessionId":"amber-atlas"}`); !strings.Contains(res.Text, "precious") {
			t.Errorf("%q", res.Text)
		}
	})
}

func TestStdin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.fake.Close()
	for _, args := range []string{`{"command":"a"}`, `{"command":"a","stdin":"x"}`, `{"command":"a","background":true}`, `{"command":"a","background":true,"stdin":"x"}`} {
		b.exec(args)
	}
	want := []struct {
		mode  sallyport.StdinMode
		input string
	}{{sallyport.StdinNone, ""}, {sallyport.StdinData, "x"}, {sallyport.StdinOpen, ""}, {sallyport.StdinOpen, "x"}}
	for i, r := range b.fake.Requests() {
		if r.Exec.Stdin != want[i].mode || string(r.Exec.Input) != want[i].input || r.ID == "" || r.Exec.Family != "exec" {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// What is needed of a session is kept, and nothing else.
func TestMarks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  surfacetest.Program
		want sallyport.Mark
	}{
		{"all was shown", func(s *surfacetest.Session) { s.Print("hi") }, sallyport.Mark{Seen: 2, SawEnd: true, Release: true}},
		{"something was left out", func(s *surfacetest.Session) { s.Print("%s", strings.Repeat("x", 20_000)) }, sallyport.Mark{Seen: 20_000, SawEnd: true}},
		{"something lives on", func(s *surfacetest.Session) { s.Leave(true, sallyport.Process{PID: 7}) }, sallyport.Mark{SawEnd: true, Background: true}},
	} {
		b := newBench(t)
		b.fake.On("x", tt.run)
		b.exec(`{"command":"x"}`)
		if got := b.fake.Marks(); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %+v", tt.name, got)
		}
		b.fake.Close()
	}
}

// Every byte is delivered once, in order, whoever polls when, and characters stay whole.
func TestPollDeliversOnce(t *testing.T) {
	t.Parallel()
	for seed := range 20 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { pollOnce(t, uint64(seed)) })
		})
	}
}

func pollOnce(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	b := newBench(t)
	defer b.fake.Close()
	var all strings.Builder
	for i := range 200 {
		fmt.Fprintf(&all, "%d 世界 \U0001F600\n", i)
	}
	rest := all.String()
	b.fake.On("talk", func(s *surfacetest.Session) {
		for rest != "" {
			n := min(1+r.IntN(40), len(rest))
			s.Print("%s", rest[:n])
			rest = rest[n:]
			s.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
		}
	})
	got := []string{b.exec(`{"command":"talk","background":true}`).output()}
	var mu sync.Mutex
	over := false
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				mu.Lock()
				stop := over
				mu.Unlock()
				if stop {
					return
				}
				res := b.process(fmt.Sprintf(`{"action":"poll","sessionId":"amber-atlas","timeout":%d}`, 37))
				mu.Lock()
				got = append(got, res.output())
				over = over || res.Structured.Status == completed
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for _, s := range got {
		if strings.Contains(s, "\uFFFD") {
			t.Errorf("a character was split: %q", s)
		}
	}
	// Three readers finish in any order: each byte is somewhere, once.
	total := 0
	for _, s := range got {
		total += len(s)
		if s != "" {
			seen[s]++
		}
		if !strings.Contains(all.String(), s) {
			t.Errorf("%q is no piece of the output", s)
		}
	}
	if total != all.Len() {
		t.Errorf("%d bytes were delivered, %d written", total, all.Len())
	}
}

// output is the output in a result.
func (r Result) output() string {
	if r.Structured.Output == nil {
		return ""
	}
	return *r.Structured.Output
}

// More unread output than a poll may bring is told, with the call that shows it.
func TestPollOverflow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	defer b.fake.Close()
	line := strings.Repeat("y", 99) + "\n"
	ready := make(chan struct{})
	b.fake.On("flood", func(s *surfacetest.Session) {
		s.Print("%s", strings.Repeat(line, 5000))
		close(ready)
		hang(s)
	})
	b.exec(`{"command":"flood","background":true,"maxOutput":1000}`)
	<-ready
	res := b.process(`{"action":"poll","sessionId":"amber-atlas"}`)
	f := res.Structured
	if n := len(*f.Output); n > 30_200 || n < 25_000 || !f.Truncated {
		t.Errorf("%d characters: %.200s", n, res.Text)
	}
	m := regexp.MustCompile(`process log sessionId=amber-atlas offset=(\d+)`).FindStringSubmatch(res.Text)
	if m == nil {
		t.Fatalf("%.300s", res.Text)
	}
	shown := strings.Count(*f.Output, "y\n")
	if f.OmittedBytes != int64(100)*f.OmittedLines || int64(shown)+f.OmittedLines > 5000 {
		t.Errorf("%d shown, %+v", shown, f.OmittedLines)
	}
	log := b.process(fmt.Sprintf(`{"action":"log","sessionId":"amber-atlas","offset":%s,"limit":%d}`, m[1], f.OmittedLines))
	if !strings.Contains(log.Text, "yyy") {
		t.Errorf("%.200s", log.Text)
	}
	if again := b.process(`{"action":"poll","sessionId":"amber-atlas"}`); !strings.Contains(again.Text, "nothing new") {
		t.Errorf("%.200s", again.Text)
	}
}

// A wait without news costs no more than 120 bytes, and suggests longer and longer delays.
func TestPollWithoutNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.fake.Close()
		b.fake.On("slow", func(s *surfacetest.Session) { s.Sleep(20 * time.Minute); s.Print("news\n"); hang(s) })
		b.exec(`{"command":"slow","background":true}`)
		for _, want := range []int64{5000, 10_000, 30_000, 60_000, 60_000} {
			res := b.process(`{"action":"poll","sessionId":"amber-atlas","timeout":120000}`)
			if len(res.Text) > 120 || res.Structured.RetryInMS != want {
				t.Errorf("%q, %d", res.Text, res.Structured.RetryInMS)
			}
		}
		<-time.After(20 * time.Minute)
		b.process(`{"action":"poll","sessionId":"amber-atlas"}`)
		if res := b.process(`{"action":"poll","sessionId":"amber-atlas"}`); res.Structured.RetryInMS != 5000 {
			t.Errorf("after news: %q", res.Text)
		}
	})
}

// An unknown id answers at once.
func TestPollUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		began := time.Now()
		for _, action := range []string{"poll", "log", "write", "signal", "kill", "clear", "remove"} {
			res := b.process(`{"action":"` + action + `","sessionId":"nope","timeout":600000,"data":"x","signal":"INT"}`)
			if !strings.HasPrefix(res.Text, "No session found for nope\n") || res.IsError || res.Structured.Code != sallyport.NotFound {
				t.Errorf("%s: %q", action, res.Text)
			}
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("it took %v", d)
		}
	})
}

// The texts that the seed quotes are contract, word for word.
func TestQuotedTexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.fake.Close()
		b.fake.On("sleep", hang)
		b.fake.On("job", func(s *surfacetest.Session) { s.Print("tail\n") })
		contains := func(res Result, want string) {
			t.Helper()
			if !strings.Contains(res.Text, want) {
				t.Errorf("no %q in %q", want, res.Text)
			}
		}
		contains(b.exec(`{"command":"sleep","yieldMs":10}`),
			"Command still running (session amber-atlas, pid 4121). Use process (list/poll/log/write/kill/clear/remove) for follow-up.")
		contains(b.exec(`{"command":"sleep","timeout":30,"yieldMs":120000}`), "Command timed out after 30 seconds. ")
		contains(b.exec(`{"command":"sleep","timeout":30,"yieldMs":120000}`), "re-run with a higher timeout (e.g., exec timeout=300)")
		b.exec(`{"command":"job","background":true}`)
		<-time.After(time.Second)
		contains(b.exec(`{"command":"true"}`), "Exec completed (quiet-moth, code 0) :: tail")
		b.set.Process = false
		contains(b.exec(`{"command":"true","background":true}`), "Warning: background execution is disabled; running synchronously.")
	})
}

// Every class of error has its text, and says whether anything ran.
func TestErrorCodes(t *testing.T) {
	t.Parallel()
	codes := map[sallyport.Code]string{
		sallyport.Invalid: "[not started] why", sallyport.NotFound: "[not started] why", sallyport.Denied: "[denied] nothing ran.\nwhy",
		sallyport.NotStarted: "[not started] why", sallyport.Conflict: "[not started] why", sallyport.Exhausted: "[not started] why",
		sallyport.Unavailable: "[not started] why", sallyport.AuditUnavailable: "[not started] AUDIT_UNAVAILABLE: why",
		sallyport.Closed: "[not started] why", sallyport.Internal: "[not started] why",
	}
	b := newBench(t)
	for code, want := range codes {
		b.fake.Refuse("x", &sallyport.Error{Code: code, Msg: "why", Hint: "what now\x1b", Failure: sallyport.SpawnError})
		res := b.exec(`{"command":"x"}`)
		if res.Text != want+"\nhint: what now\\x1b" || !res.IsError || res.Structured.Code != code || res.Structured.FailureKind != sallyport.SpawnError {
			t.Errorf("%s: %q %+v", code, res.Text, res.Structured)
		}
	}
	b.fake.Refuse("x", fmt.Errorf("plain"))
	if res := b.exec(`{"command":"x"}`); !res.IsError || res.Structured.Code != sallyport.Internal {
		t.Errorf("%+v", res)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.fake.Close()
		b.fake.On("talk", func(s *surfacetest.Session) {
			s.Print("one\n")
			s.Sleep(1500 * time.Millisecond)
			s.Print("two\r\x1b[Kthree")
			s.Sleep(2 * time.Second)
		})
		var told []string
		b.x.Call(t.Context(), Call{Name: "exec", Args: json.RawMessage(`{"command":"talk"}`), Progress: func(line string) { told = append(told, line) }})
		if got, want := strings.Join(told, "|"), "running 1.0s: one|running 2.0s: three|running 3.0s"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
