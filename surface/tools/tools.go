// Package tools holds the tools that models call, one file or few a family: what a tool is called and says of itself,
// how its arguments become a request, and how a session becomes a result.
//
// It owns every text that a model reads, and the order of calls on [sallyport.Runs] that make up a tool call. It knows
// nothing of protocols: package mcp serves the families, and other surfaces can. It decides nothing that is policy.
//
// Invariants: every call has a result, for any arguments; a result never claims more than what was seen; what can be
// done next is a call that works as it stands.
package tools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// A Tool is what a client is told of a tool.
type Tool struct {
	Name        string
	Title       string          // for people
	Description string          // for models; at most 2,048 UTF-16 units, where clients cut
	Schema      json.RawMessage // JSON Schema of the arguments, of type object, without combinators at its root
	Annotations Annotations
	Meta        map[string]any // _meta of the tool
}

// Annotations tell a client what a tool may do. All four are always sent: clients differ in what they assume.
type Annotations struct {
	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool
}

// A Family is a set of tools as one ecosystem knows them. It is safe for concurrent use.
type Family interface {
	// Tools are the tools that a caller is served now, in order. The slice is not to be changed.
	Tools(w Where) []Tool
	// Call carries out a call of one of them. When ctx is done it returns soon, as the tool's contract says. A panic is a
	// fault of the family, which servers answer as an internal error.
	Call(ctx context.Context, c Call) Result
}

// Where says whose commands run, and where: descriptions tell it to the model.
type Where struct {
	Caller sallyport.Caller
	Host   sallyport.HostInfo
}

// A Call is one call of a tool.
type Call struct {
	Name   string
	Args   json.RawMessage // as they came
	Caller sallyport.Caller
	// Progress is given a line about how far the call is, about every second. It must not block. nil: nobody listens.
	Progress func(line string)
}

// A Result is what came of a call.
type Result struct {
	Text       string // for the model
	IsError    bool   // refused, not started or timed out. What a command says of itself is no error
	Structured *Facts // the same for machines: "sallyport/result" in _meta
	Shown      bool   // Structured is also sent where clients show it to the model
}

// Settings are the parts of the configuration that the exec family reads, anew for each call. Zero durations and sizes
// mean what [DefaultSettings] has, but for Timeout and NoOutput, where they mean none, and Grace, where it means at once.
type Settings struct {
	Exec    bool // the exec tool is served
	Process bool // the process tool is served. Without it exec waits for the end of every command

	Yield    time.Duration // how long a call waits before its command goes on in the background: 10 ms…2 min
	Timeout  time.Duration // life of a command, if the call does not say
	NoOutput time.Duration // longest silence of a command, if the call does not say
	Grace    time.Duration // between TERM and KILL

	MaxOutput      int  // code points of output in a result, if the call does not say
	MaxOutputLimit int  // what a call can ask for at most
	Pending        int  // code points of unread output that one poll returns
	Structured     bool // send structuredContent, too
}

// The limits of what a call can ask for. They are seed D's.
const (
	minYield     = 10 * time.Millisecond
	maxYield     = 2 * time.Minute
	minOutput    = 1_000
	maxOutput    = 200_000
	maxPoll      = 2 * time.Minute
	defaultYield = 10 * time.Second
	pending      = 30_000
)

// maxSeconds bounds every number of seconds that a call can give: a year, as in the configuration.
const maxSeconds = 365 * 24 * 3600

// DefaultSettings is what holds where nobody configured anything.
func DefaultSettings() Settings {
	return Settings{
		Exec: true, Process: true, Yield: defaultYield, Timeout: 30 * time.Minute, Grace: 5 * time.Second,
		MaxOutput: 16_000, MaxOutputLimit: maxOutput, Pending: pending,
	}
}

// complete fills in what is not set.
func (s Settings) complete() Settings {
	d := DefaultSettings()
	if s.Yield == 0 {
		s.Yield = d.Yield
	}
	if s.MaxOutput == 0 {
		s.MaxOutput = d.MaxOutput
	}
	if s.MaxOutputLimit == 0 {
		s.MaxOutputLimit = d.MaxOutputLimit
	}
	if s.Pending == 0 {
		s.Pending = d.Pending
	}
	s.MaxOutput = min(s.MaxOutput, s.MaxOutputLimit)
	return s
}

// Facts are what a machine reads of a result. The words of Status are seed D's.
type Facts struct {
	Status string `json:"status"` // completed, failed or running

	SessionID   sallyport.SessionID   `json:"sessionId,omitempty"` // of sessions that can still be reached
	PID         int                   `json:"pid,omitempty"`
	Command     string                `json:"command,omitempty"` // in lists
	Title       string                `json:"title,omitempty"`   // in lists
	CWD         string                `json:"cwd,omitempty"`
	StartedAt   *time.Time            `json:"startedAt,omitempty"`
	DurationMS  int64                 `json:"durationMs"`
	ExitCode    *int                  `json:"exitCode,omitempty"` // of what exited
	Signal      string                `json:"signal,omitempty"`
	FailureKind sallyport.FailureKind `json:"failureKind,omitempty"`
	Code        sallyport.Code        `json:"code,omitempty"` // class of Error
	Error       string                `json:"error,omitempty"`
	Reason      string                `json:"reason,omitempty"`
	Hint        string                `json:"hint,omitempty"`
	Kill        *sallyport.KillReport `json:"kill,omitempty"`

	Output       *string `json:"output,omitempty"` // as in the text
	Stderr       *string `json:"stderr,omitempty"` // with streams=split
	Binary       string  `json:"binary,omitempty"` // what the output is, if it is no text
	Truncated    bool    `json:"truncated,omitempty"`
	TotalBytes   int64   `json:"totalBytes,omitempty"`
	ShownBytes   int64   `json:"shownBytes,omitempty"`   // that Output and Stderr stand for
	OmittedBytes int64   `json:"omittedBytes,omitempty"` // process log shows them
	OmittedLines int64   `json:"omittedLines,omitempty"`
	DroppedBytes int64   `json:"droppedBytes,omitempty"` // gone: the output quota took them
	InvalidBytes int64   `json:"invalidBytes,omitempty"` // no UTF-8: shown as U+FFFD, once a run
	NULs         int64   `json:"nuls,omitempty"`         // shown as \x00
	Tail         string  `json:"tail,omitempty"`         // last 2,000 characters so far

	HeldBy        []sallyport.Process `json:"heldBy,omitempty"` // still hold the output after the end
	Left          []sallyport.Process `json:"left,omitempty"`   // still live after the end
	StdinWritable bool                `json:"stdinWritable,omitempty"`
	RetryInMS     int64               `json:"retryInMs,omitempty"` // a poll before is not worth its turn
	FollowUp      string              `json:"followUp,omitempty"`
	Warnings      []string            `json:"warnings,omitempty"`
	Notices       []string            `json:"notices,omitempty"`

	TotalLines int64   `json:"totalLines,omitempty"` // of the log
	NextOffset *int64  `json:"nextOffset,omitempty"` // line that the next page of the log begins with
	Matches    int64   `json:"matches,omitempty"`
	Sessions   []Facts `json:"sessions,omitempty"`
}

// The words of [Facts.Status].
const (
	completed = "completed"
	failed    = "failed"
	running   = "running"
)
