package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport-sh/sallyport/surface/text"
)

//go:generate go run ./gen ../../docs/tools.md

// maxResult is what a client that has a limit of its own should let through: the longest output, its header, and room
// for what the client counts besides.
const maxResult = 250_000

// meta lets clients that cut results at their own limit pass ours, which are cut with exact counts.
var meta = map[string]any{"anthropic/maxResultSizeChars": maxResult}

// runsAnything are the annotations of tools through which a command can do whatever its user can.
var runsAnything = Annotations{Destructive: true, OpenWorld: true}

// execSchema is the schema of exec. Types are those that are meant; numbers and booleans in strings, and other tools'
// names for the same things, are understood besides.
const execSchema = `{"type":"object","properties":{` +
	`"command":{"type":"string","description":"shell text"},` +
	`"argv":{"type":"array","items":{"type":"string"},"description":"instead of command: program and arguments, no shell"},` +
	`"workdir":{"type":"string","description":"literal path"},` +
	`"env":{"type":"object","additionalProperties":{"type":"string"}},` +
	`%s` +
	`"timeout":{"type":"number","description":"seconds; 0: none"},` +
	`"noOutputTimeout":{"type":"number","description":"kill after so many seconds of silence"},` +
	`"streams":{"type":"string","enum":["merged","split"]},` +
	`"stdin":{"type":"string","description":"text to read instead of nothing"},` +
	`"maxOutput":{"type":"integer","description":"characters, %d to %d"},` +
	`"title":{"type":"string","description":"label for lists"}}}`

// followSchema are the parameters that only make sense when a session can be followed.
const followSchema = `"yieldMs":{"type":"integer","description":"answer after so long at the latest"},` +
	`"background":{"type":"boolean","description":"answer at once; stdin stays open"},`

const processSchema = `{"type":"object","properties":{` +
	`"action":{"type":"string","enum":["list","poll","log","write","signal","kill","clear","remove"]},` +
	`"sessionId":{"type":"string"},` +
	`"sessionIds":{"type":"array","items":{"type":"string"},"description":"poll: wait for any of these"},` +
	`"timeout":{"type":"integer","description":"poll: ms to wait, at most 120000"},` +
	`"until":{"type":"string","description":"poll: wait for output that matches this RE2 pattern"},` +
	`"quietMs":{"type":"integer","description":"poll: wait until output pauses so long"},` +
	`"offset":{"type":"integer","description":"log: first line, from 0"},` +
	`"limit":{"type":"integer","description":"log: lines"},` +
	`"stream":{"type":"string","enum":["stdout","stderr"]},` +
	`"grep":{"type":"string","description":"log: only lines that match, with numbers"},` +
	`"context":{"type":"integer","description":"log: lines round each match"},` +
	`"data":{"type":"string","description":"write: text for stdin"},` +
	`"eof":{"type":"boolean","description":"write: close stdin after it"},` +
	`"signal":{"type":"string","description":"INT, TERM, HUP, ..."}},"required":["action"]}`

const processText = `Follow sessions that exec started in this conversation. ` +
	`poll returns output that you have not seen and the exit code; with timeout it waits on the server for output, exit, until or quietMs, which costs no turns: prefer one long poll to many. ` +
	`log pages or greps the whole output (last 200 lines by default). ` +
	`write feeds stdin of a background session; eof closes it. ` +
	`kill ends the whole process tree and verifies it. clear forgets a finished session, remove kills and forgets. list shows all.`

func execTool(w Where, set Settings) Tool {
	follow := ""
	if set.Process {
		follow = followSchema
	}
	return Tool{
		Name: "exec", Title: "Run a command", Description: execText(w, set), Annotations: runsAnything, Meta: meta,
		Schema: json.RawMessage(fmt.Sprintf(execSchema, follow, minOutput, set.MaxOutputLimit)),
	}
}

func processTool() Tool {
	return Tool{
		Name: "process", Title: "Follow background commands", Description: processText, Annotations: runsAnything, Meta: meta,
		Schema: json.RawMessage(processSchema),
	}
}

// execText says first where commands run, then what happens when they take long.
func execText(w Where, set Settings) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Run a command on %s (%s/%s) as user %s, shell %s, in %s unless workdir says otherwise. ",
		w.Host.Name, w.Host.OS, w.Host.Arch, label(w.Host.User), label(w.Host.Shell), label(w.Caller.Workspace))
	b.WriteString("Each call is a process of its own: cd and environment do not persist between calls, and stdin is empty. ")
	kill := "the whole process tree is killed and its output so far returned"
	timeout := "No timeout by default; after one that you give " + kill + ". "
	if set.Timeout > 0 {
		timeout = fmt.Sprintf("After timeout (%s s by default) %s. ", seconds(set.Timeout), kill)
	}
	if set.Process {
		fmt.Fprintf(&b, "A command that takes longer than yieldMs (%d) goes on in the background, and you get a sessionId for the process tool; for servers and long work pass background=true instead of &. ",
			set.Yield.Milliseconds())
		if set.Timeout > 0 {
			timeout = fmt.Sprintf("After timeout (%s s by default; none with background or yieldMs) %s. ", seconds(set.Timeout), kill)
		}
	}
	b.WriteString(timeout)
	fmt.Fprintf(&b, "The result is the exit code and the output, stdout and stderr in order, without colours; beyond %d characters it is head and tail, with exact counts",
		set.MaxOutput)
	if set.Process {
		b.WriteString(" and the call that shows the rest")
	}
	b.WriteString(". A non-zero exit is a result, not an error.")
	return b.String()
}

// label is a name or path as a description may hold it.
func label(s string) string {
	if s == "" {
		return "?"
	}
	return text.Label(s, 200)
}
