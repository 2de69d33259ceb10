package tools

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/surfacetest"
)

func TestDecodeExec(t *testing.T) {
	t.Parallel()
	set := DefaultSettings()
	limits := sallyport.Limits{Timeout: 30 * time.Minute, Grace: 5 * time.Second}
	for _, tt := range []struct {
		args string
		want execArgs
	}{
		{`{"command":"ls"}`, execArgs{command: sallyport.Command{Text: "ls"}}},
		{` { "cmd" : "ls" , "title":null, "cwd": "sub dir"} `, execArgs{command: sallyport.Command{Text: "ls", Dir: "sub dir"}}},
		{`{"argv":["ls","-l",5,true]}`, execArgs{command: sallyport.Command{Argv: []string{"ls", "-l", "5", "true"}}}},
		{`{"command":"","argv":["ls"]}`, execArgs{command: sallyport.Command{Argv: []string{"ls"}}}},
		{`{"command":"x","env":{"A":"1","PORT":3000,"B":false}}`, execArgs{command: sallyport.Command{Text: "x", Env: map[string]string{"A": "1", "PORT": "3000", "B": "false"}}}},
		{`{"command":"x","timeout":"60"}`, execArgs{command: sallyport.Command{Text: "x", Limits: sallyport.Limits{Timeout: time.Minute, Grace: limits.Grace}}}},
		{`{"command":"x","timeout_ms":1500}`, execArgs{command: sallyport.Command{Text: "x", Limits: sallyport.Limits{Timeout: 1500 * time.Millisecond, Grace: limits.Grace}}}},
		{`{"command":"x","timeoutSeconds":0,"noOutputTimeoutMs":"250"}`, execArgs{command: sallyport.Command{Text: "x", Limits: sallyport.Limits{NoOutput: 250 * time.Millisecond, Grace: limits.Grace}}}},
		{`{"command":"x","yieldMs":1}`, execArgs{yield: 10 * time.Millisecond, command: sallyport.Command{Text: "x", Limits: sallyport.Limits{Grace: limits.Grace}}}},
		{`{"command":"x","yield_ms":1e12,"timeout":7}`, execArgs{yield: 2 * time.Minute, command: sallyport.Command{Text: "x", Limits: sallyport.Limits{Timeout: 7 * time.Second, Grace: limits.Grace}}}},
		{`{"command":"x","run_in_background":"True","stdin":"a\u0000b"}`, execArgs{background: true, command: sallyport.Command{Text: "x", Background: true, Stdin: sallyport.StdinOpen, Input: []byte("a\x00b"), Limits: sallyport.Limits{Grace: limits.Grace}}}},
		{`{"command":"x","stdin":""}`, execArgs{command: sallyport.Command{Text: "x", Stdin: sallyport.StdinData, Input: []byte{}}}},
		{`{"command":"x","max_output":5,"streams":"SPLIT"}`, execArgs{maxOutput: 1000, command: sallyport.Command{Text: "x", Split: true}}},
		{`{"command":"x","maxOutput":1e9}`, execArgs{maxOutput: 200_000, command: sallyport.Command{Text: "x"}}},
		{`{"command":"ls</arg_value>","working_directory":"/a</arg_value>>\n"}`, execArgs{
			command:  sallyport.Command{Text: "ls", Dir: "/a"},
			warnings: []string{"a stray </arg_value> was cut off the end of command", "a stray </arg_value>> was cut off the end of working_directory"},
		}},
		{`{"command":"echo '<a></parameter>'"}`, execArgs{command: sallyport.Command{Text: "echo '<a></parameter>'"}}},
	} {
		got, err := decodeExec(json.RawMessage(tt.args), set)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		want := tt.want
		want.command.Family = "exec"
		if want.yield == 0 {
			want.yield = set.Yield
		}
		if want.maxOutput == 0 {
			want.maxOutput = set.MaxOutput
		}
		if want.command.Limits == (sallyport.Limits{}) {
			want.command.Limits = limits
		}
		got.gaveYield, got.gaveTimeout, got.gaveStdin = false, false, false
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(execArgs{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{`[]`, "the arguments of exec must be an object, not a list"},
		{`"ls"`, "the arguments of exec must be an object, not a string"},
		{`{"command":"x"`, "the arguments can't be read: not valid JSON"},
		{`{"command":"x","command":"y"}`, `parameter "command" was given twice`},
		{`{"command":"x","cmd":"y"}`, `"command" and "cmd" are the same parameter: give one of them`},
		{`{"command":5}`, `"command" must be a string, not a number`},
		{`{"command":["ls"]}`, `"command" must be a string, not a list`},
		{`{"command":"\ud800"}`, `"command": a string holds half of a surrogate pair`},
		{`{"command":"   \n"}`, "no command: give command (shell text) or argv (no shell)"},
		{`{"argv":[]}`, `"argv" is empty: its first string is the program`},
		{`{"argv":["",""]}`, "argv[0] is empty: it is the program"},
		{`{"argv":["ls",["-l"]]}`, `"argv[1]" must be a string, not a list`},
		{`{"argv":["ls","a\u0000"]}`, `"argv[1]" holds a NUL character`},
		{`{"command":"x","workdir":true}`, `"workdir" must be a string, not a boolean`},
		{`{"command":"x","env":["A=1"]}`, `"env" must be an object of strings, not a list`},
		{`{"command":"x","env":{"A":null}}`, `"env.A" must be a string, not null`},
		{`{"command":"x","env":{"A":"1","A":"2"}}`, `"env" holds "A" twice`},
		{`{"command":"x","env":{"":"1"}}`, `"env" holds "", which is no name of a variable`},
		{`{"command":"x","env":{"A":"\u0000"}}`, `"env.A" holds a NUL character`},
		{`{"command":"x","timeout":"NaN"}`, `"timeout" must be a number of seconds, not "NaN"`},
		{`{"command":"x","timeout":"inf"}`, `"timeout" must be a number of seconds, not "inf"`},
		{`{"command":"x","timeout":"0x10"}`, `"timeout" must be a number of seconds, not "0x10"`},
		{`{"command":"x","timeout":1e999}`, `"timeout" is out of range`},
		{`{"command":"x","timeout":1e300}`, `"timeout" must be 0 (none) to 31536000 seconds`},
		{`{"command":"x","timeout":{}}`, `"timeout" must be a number of seconds, not an object`},
		{`{"command":"x","timeout":true}`, `"timeout" must be a number of seconds, not a boolean`},
		{`{"command":"x","yieldMs":"soon"}`, `"yieldMs" must be a number of milliseconds, not "soon"`},
		{`{"command":"x","background":1}`, `"background" must be true or false, not a number`},
		{`{"command":"x","background":"maybe"}`, `"background" must be true or false, not a string`},
		{`{"command":"x","streams":"both"}`, `"streams" must be merged or split, not "both"`},
		{`{"command":"x","maxOutput":"much"}`, `"maxOutput" must be a number of characters, not "much"`},
		{`{"command":"x","workDirr":"/"}`, `unknown parameter "workDirr": did you mean "workdir"?`},
		{`{"command":"x","time_out":"/"}`, `"time_out" must be a number of seconds, not "/"`},
		{`{"command":"x","timout":5}`, `unknown parameter "timout": did you mean "timeout"?`},
		{`{"command":"x","elevated":true}`, `unknown parameter "elevated"`},
		{`{"command":"` + strings.Repeat("y", 200_000) + `"}`, "the command has 200000 bytes; the system takes 131071"},
		{`{"argv":["x","` + strings.Repeat("y", 200_000) + `"]}`, "argv[1] has 200000 bytes; the system takes 131071"},
		{`{"command":"x","` + strings.Repeat("y", 200_000) + `":1}`, `unknown parameter "yyyyyyyyyyyyyyyyyyy…yyyyyyyyyyyyyyyyyyyy"`},
	} {
		_, err := decodeExec(json.RawMessage(tt.args), DefaultSettings())
		if err == nil || sallyport.AsError(err).Code != sallyport.Invalid || sallyport.AsError(err).Msg != tt.want {
			t.Errorf("%.60s: %v, want %s", tt.args, err, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"comand": "command", "commnad": "command", "commands": "command", "workdri": "workdir", "yeildms": "yieldMs",
		"backgruond": "background", "stdinn": "stdin", "envs": "env", "xyz": "", "p": "", "maxoutputt": "maxOutput",
	} {
		if got := nearest(in, execParams); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// fragments are what malformed calls are made of.
var fragments = []string{
	`"command"`, `"cmd"`, `"argv"`, `"workdir"`, `"env"`, `"yieldMs"`, `"timeout"`, `"timeout_ms"`, `"background"`, `"streams"`, `"stdin"`,
	`"maxOutput"`, `"action"`, `"sessionId"`, `"sessionIds"`, `"until"`, `"quietMs"`, `"offset"`, `"limit"`, `"grep"`, `"context"`, `"data"`,
	`"eof"`, `"signal"`, `"poll"`, `"log"`, `"kill"`, `"write"`, `"amber-atlas"`, `"nope"`, `"ls"`, `"("`, `""`, `"\u0000"`, `"\ud83d"`,
	`null`, `true`, `false`, `"true"`, `0`, `-1`, `1e400`, `1e15`, `0.5`, `"NaN"`, `"5"`, `[]`, `{}`, `[[]]`, `{"a":{}}`, `["x"]`, `[null]`,
	`{"A":"1"}`, `{"A":1,"A":2}`, `"</arg_value>"`, `"` + strings.Repeat("é", 5000) + `"`,
}

// malformed makes arguments that are mostly wrong in some way.
func malformed(r *rand.Rand) string {
	pick := func() string { return fragments[r.IntN(len(fragments))] }
	var b strings.Builder
	b.WriteString("{")
	for i := range r.IntN(5) {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(pick() + ":" + pick())
	}
	b.WriteString("}")
	s := b.String()
	switch r.IntN(8) {
	case 0:
		return s[:r.IntN(len(s))]
	case 1:
		return pick()
	case 2:
		i := r.IntN(len(s))
		return s[:i] + pick() + s[i:]
	case 3:
		return strings.Repeat(`{"env":`, r.IntN(3000)) + pick()
	}
	return s
}

// Ten thousand malformed calls: each has a result with a typed error, or is a call; nothing is left behind.
func TestMalformedCalls(t *testing.T) {
	t.Parallel()
	fake := surfacetest.New()
	defer fake.Close()
	x := NewExec(fake, func(string) Settings { return DefaultSettings() })
	r := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for i := range 10_000 {
		args := malformed(r)
		name := []string{"exec", "process"}[i%2]
		res := x.Call(t.Context(), Call{Name: name, Args: json.RawMessage(args)})
		if res.Text == "" || res.Structured == nil || res.Structured.Status == "" {
			t.Fatalf("%s %s: %+v", name, args, res)
		}
		f := res.Structured
		if f.Status != failed {
			continue
		}
		refused++
		if f.Code == "" || f.Code == sallyport.Internal || f.Error == "" {
			t.Fatalf("%s %s: %q, code %q", name, args, res.Text, f.Code)
		}
		if name == "exec" && (!res.IsError || !strings.HasPrefix(res.Text, "[not started] ")) {
			t.Fatalf("%s %s: %q", name, args, res.Text)
		}
		if len(res.Text) > 1000 {
			t.Fatalf("%s %.100s: %d bytes of text", name, args, len(res.Text))
		}
	}
	t.Logf("%d of 10,000 were refused", refused)
	if refused < 8000 {
		t.Errorf("only %d were malformed", refused)
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		f.Add([]byte(malformed(r)))
	}
	f.Add([]byte(`{"command":"ls","timeout":5,"env":{"A":"b"},"yieldMs":"10"}`))
	f.Add([]byte(`{"action":"poll","sessionIds":["a","b"],"timeout":1000,"until":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		set := DefaultSettings()
		a, err := decodeExec(data, set)
		if err != nil {
			if e := sallyport.AsError(err); e.Code != sallyport.Invalid || e.Msg == "" {
				t.Fatalf("%q: %v", data, err)
			}
		} else {
			c := a.command
			if (c.Text == "") == (len(c.Argv) == 0) || a.yield < minYield || a.yield > maxYield || a.maxOutput < minOutput || a.maxOutput > maxOutput {
				t.Fatalf("%q: %+v", data, a)
			}
			all := append([]string{c.Text, c.Dir, c.Title}, c.Argv...)
			for k, v := range c.Env {
				all = append(all, k, v)
			}
			if strings.ContainsRune(strings.Join(all, ""), 0) || c.Limits.Timeout < 0 || c.Limits.NoOutput < 0 {
				t.Fatalf("%q: %+v", data, a)
			}
		}
		p, err := decodeProcess(data)
		if err != nil {
			if e := sallyport.AsError(err); e.Code != sallyport.Invalid || e.Msg == "" {
				t.Fatalf("%q: %v", data, err)
			}
		} else if p.action != "list" && len(p.ids) == 0 || p.timeout < 0 || p.timeout > maxPoll || len(p.ids) > maxIDs {
			t.Fatalf("%q: %+v", data, p)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, args := range []string{`{"command":"true"}`, `{"command":"ls -la","workdir":"/srv/app","timeout":60,"env":{"A":"1"},"title":"list"}`} {
		b.Run(fmt.Sprint(len(args)), func(b *testing.B) {
			set := DefaultSettings()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decodeExec(json.RawMessage(args), set); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
