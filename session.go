package sallyport

import (
	"context"
	"time"
)

// A Host is a place where granted plans are carried out.
type Host interface {
	// Info describes the host for callers and for doctor. It is cheap.
	Info(ctx context.Context) (HostInfo, error)
	// Plan makes a request exact. Nothing is started and nothing is written. Errors: [Invalid]; [NotStarted] for a
	// missing working directory or executable.
	Plan(ctx context.Context, r Request) (Plan, error)
	// Start redeems the grant, checks that the plan still holds, and starts it for its owner.
	// Errors: [Denied], [NotStarted], [Exhausted], [Closed].
	Start(ctx context.Context, g Grant, owner Owner) (Session, error)
	// Session finds a running or retained session; [NotFound] otherwise.
	Session(ctx context.Context, id SessionID) (Session, error)
	// Sessions lists running and retained sessions, newest first.
	Sessions(ctx context.Context) ([]Session, error)
}

// An Owner is what a host needs to know of who asked.
type Owner struct {
	ID      SessionID // the name the session gets; unique on its host
	Caller  Caller
	Request RequestID
	Title   string
	Family  string
	// Background: the end is announced and stdin stays open.
	Background bool
	Input      []byte // first bytes of stdin
}

// HostInfo describes a host.
type HostInfo struct {
	Name   HostName `json:"name"`
	OS     string   `json:"os"`     // GOOS
	Arch   string   `json:"arch"`   // GOARCH
	Shell  string   `json:"shell"`  // absolute path
	User   string   `json:"user"`   // name commands run as
	UID    int      `json:"uid"`    // -1 where there is none
	Kill   string   `json:"kill"`   // rung of the kill ladder: "cgroup", "mark", "group", "job"
	Locale string   `json:"locale"` // LC_ALL, LC_CTYPE or LANG of commands
}

// Output is the read half of a session. Reading never consumes, and no reader can delay the writer.
type Output interface {
	// Status is a snapshot.
	Status(ctx context.Context) (Status, error)
	// Read returns raw bytes that follow an offset. It does not wait: an empty chunk means that nothing is there yet.
	Read(ctx context.Context, r Range) (Chunk, error)
	// Lines returns a page of lines.
	Lines(ctx context.Context, q LineQuery) (LinePage, error)
	// Wait returns when something that w names has happened, the session has ended, or ctx is done; the last is no
	// error but the cause [WokeTime].
	Wait(ctx context.Context, w Wake) (Woke, error)
}

// A Session is one running or finished command.
type Session interface {
	Output
	// Send writes to stdin, closes it, or signals. It needs no gate, journal or disk for signals and eof.
	// Errors: [Conflict] if the session has ended or its stdin is closed.
	Send(ctx context.Context, in Input) error
	// End kills what is left of the session and verifies it; with remove it is also forgotten. It works in every
	// state and needs neither gate nor journal nor disk.
	End(ctx context.Context, e Ending) (KillReport, error)
}

// A State is where a session is in its life. It only moves forward.
type State string

// States, in order.
const (
	Running State = "running"
	Ended   State = "ended"
)

// Status is a snapshot of a session.
type Status struct {
	ID         SessionID  `json:"id"`
	Request    RequestID  `json:"request"`
	Host       HostName   `json:"host"`
	Scope      Scope      `json:"scope"`
	Agent      string     `json:"agent,omitempty"`
	Title      string     `json:"title,omitempty"`
	Command    string     `json:"command"` // the text, or the argv joined for display
	Dir        string     `json:"cwd"`
	PID        int        `json:"pid"`
	State      State      `json:"state"`
	Started    time.Time  `json:"started"`
	Ended      time.Time  `json:"ended,omitzero"`
	Outcome    *Outcome   `json:"outcome,omitempty"` // set once State is Ended
	Output     OutputStat `json:"output"`
	Stdin      StdinMode  `json:"stdin,omitempty"` // StdinOpen while it can be written
	Split      bool       `json:"split,omitempty"`
	Background bool       `json:"background,omitempty"`
	Limits     Limits     `json:"limits"`
	Seen       Offset     `json:"seen"` // how far its owner has read (see Mark)
	// HeldBy are the processes that still hold the output after the command ended; Left are all that still live.
	HeldBy   []Process `json:"heldBy,omitempty"`
	Left     []Process `json:"left,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// Elapsed is how long the command ran, or has run by now.
func (s Status) Elapsed(now time.Time) time.Duration {
	if s.Outcome != nil {
		return s.Outcome.Duration
	}
	return now.Sub(s.Started)
}

// OutputStat counts a session's output. All counts are exact.
type OutputStat struct {
	End        Offset    `json:"end"`            // bytes written so far
	Dropped    int64     `json:"dropped"`        // bytes of the middle that the quota took
	DropFrom   Offset    `json:"dropFrom"`       // where the dropped middle begins
	Last       time.Time `json:"last,omitzero"`  // of the last byte
	Incomplete string    `json:"lost,omitempty"` // why bytes were lost for another reason (disk full)
}

// A Process is a process seen alive.
type Process struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
}

// An OutcomeKind says how a session ended.
type OutcomeKind string

// How a session can end.
const (
	Exited    OutcomeKind = "exited"
	Signalled OutcomeKind = "signalled"
	TimedOut  OutcomeKind = "timed-out"
	Killed    OutcomeKind = "killed"  // by End, on somebody's request
	Aborted   OutcomeKind = "aborted" // by cancellation, or because its scope or the gateway ended
)

// A FailureKind classifies what did not work. The words are seed D's.
type FailureKind string

// Failure kinds. A program's own non-zero exit is none of them.
const (
	CommandNotFound FailureKind = "shell-command-not-found"
	NotExecutable   FailureKind = "shell-not-executable"
	OverallTimeout  FailureKind = "overall-timeout"
	NoOutputTimeout FailureKind = "no-output-timeout"
	BySignal        FailureKind = "signal"
	WasAborted      FailureKind = "aborted"
	SpawnError      FailureKind = "spawn-error"
	RuntimeError    FailureKind = "runtime-error"
)

// An Outcome is how a session ended.
type Outcome struct {
	Kind     OutcomeKind   `json:"kind"`
	Code     int           `json:"exitCode"`         // exit code; -1 if it was signalled
	Signal   string        `json:"signal,omitempty"` // "SIGKILL"
	Failure  FailureKind   `json:"failureKind,omitempty"`
	Reason   string        `json:"reason,omitempty"` // one sentence
	Hint     string        `json:"hint,omitempty"`   // what to do next
	Duration time.Duration `json:"durationNs"`
	Kill     *KillReport   `json:"kill,omitempty"` // set if we killed the tree
}

// A KillReport says what a kill did. Survivors are named, never passed over.
type KillReport struct {
	Rung      string        `json:"rung"`
	Killed    int           `json:"killed"` // processes seen alive when the kill began or later
	Survivors []Process     `json:"survivors,omitempty"`
	Took      time.Duration `json:"tookNs"`
}
