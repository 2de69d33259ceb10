// Package sallyport holds the words of the product as types and interfaces: what is asked (a [Request]), what exactly
// would run (a [Plan]), whether it may (a [Decision], a [Grant]), where it runs (a [Host]), what came of it (a
// [Session], its [Status] and its output by offset), what was recorded (an [Event]) and what went wrong (an [Error]).
//
// It imports nothing but the standard library and its own internal/mint. The flow through these words is
//
//	request → identity → route → Host.Plan → gate → Host.Start(grant) → observe → surfaces
//
// and the types forbid the short-cuts: a Host takes only Grants, and only a gate makes Grants.
package sallyport

import "time"

// Names and ids. They are distinct types so that one cannot be passed for another.
type (
	// A RequestID names one request and is its idempotency key.
	RequestID string
	// A SessionID names a session for people and models: a readable slug such as "amber-atlas".
	SessionID string
	// A HostName names a place to run. Empty means this machine.
	HostName string
	// A Scope names the conversation that owns sessions, "<client>@<workspace>" by default.
	Scope string
	// An Offset is a position in a session's output log: bytes since its start, 0 for the first.
	Offset int64
)

// Gateway is the name of the host that is this machine.
const Gateway HostName = "gateway"

// A Kind says what a caller is. It comes from the credential and never changes.
type Kind string

// The four kinds of principal. The empty kind may do nothing.
const (
	Human   Kind = "human"
	Agent   Kind = "agent"
	Node    Kind = "node"
	Service Kind = "service"
)

// A Role says how much a caller may use. The zero value is the weakest.
type Role uint8

// Roles, weakest first.
const (
	Guest Role = iota // nothing
	User              // inside a sandbox
	Admin             // every host and tool; policy still decides each command
)

// A Caller is who asks. It is built from the credential at a surface's edge, never from an argument of the request.
type Caller struct {
	Kind    Kind   `json:"kind"`
	Role    Role   `json:"role"`
	AgentID string `json:"agent,omitempty"`  // configuration section [agents.<id>]
	Parent  string `json:"parent,omitempty"` // agent id of the parent, if this is a sub-agent
	Scope   Scope  `json:"scope"`            // conversation that owns what this caller starts
	UID     int    `json:"uid"`              // of the peer; -1 if unknown
	Surface string `json:"surface"`          // "mcp", "cli"
	// Workspace is the default working directory, absolute. It is fixed when the caller connects.
	Workspace string `json:"workspace,omitempty"`
}

// A Request is one thing asked: here, one command to run on a host.
type Request struct {
	ID     RequestID `json:"id"`
	Caller Caller    `json:"caller"`
	Host   HostName  `json:"host,omitempty"`
	Exec   Command   `json:"exec"`
	// Security tightens the configured level for this call; it never loosens it. Empty: as configured.
	Security Security `json:"security,omitempty"`
}

// A Command is what to run. Exactly one of Text and Argv is set.
type Command struct {
	Text string   `json:"text,omitempty"` // shell text, at most 131,071 bytes (one execve string on Linux)
	Argv []string `json:"argv,omitempty"` // run without a shell; Argv[0] is looked up on PATH
	// Dir is the working directory, taken literally. A relative one is joined to the caller's workspace; empty is
	// the workspace itself.
	Dir    string            `json:"dir,omitempty"`
	Env    map[string]string `json:"env,omitempty"` // literal values over the cleaned environment
	Stdin  StdinMode         `json:"stdin,omitempty"`
	Input  []byte            `json:"-"` // written to stdin at start; with StdinData followed by end of file
	Split  bool              `json:"split,omitempty"`
	Limits Limits            `json:"limits"`
	Title  string            `json:"title,omitempty"`  // short label for lists
	Family string            `json:"family,omitempty"` // tool family that asked: "exec"
	// Background says that the caller does not wait: its stdin stays open and its end is announced.
	Background bool `json:"background,omitempty"`
}

// StdinMode says what a command reads.
type StdinMode string

// The ways to feed a command.
const (
	StdinNone StdinMode = ""     // /dev/null
	StdinData StdinMode = "data" // Command.Input, then end of file
	StdinOpen StdinMode = "open" // a pipe, open until an Input with EOF
)

// Limits bound one run. Zero means the host's default where one is named, else no limit.
type Limits struct {
	Timeout  time.Duration `json:"timeoutNs,omitempty"`  // whole life of the command; 0: none
	NoOutput time.Duration `json:"noOutputNs,omitempty"` // longest silence; 0: none
	Grace    time.Duration `json:"graceNs,omitempty"`    // between TERM and KILL; 0: KILL at once
	Pids     int           `json:"pids,omitempty"`       // processes and threads at once; 0: the host's default
	Spool    int64         `json:"spool,omitempty"`      // bytes of output kept on disk; 0: the host's default
}
