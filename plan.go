package sallyport

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// A Plan is a request made exact by the host that would run it. It is what policy judges, what a person sees, what an
// approval covers, and what the host checks again just before the start.
type Plan struct {
	Host  HostName  `json:"host"`
	Text  string    `json:"text,omitempty"`  // the shell text as given, if there is one
	Shell string    `json:"shell,omitempty"` // absolute path of the shell that reads Text; empty: no shell runs
	Argv  []string  `json:"argv"`            // what execve gets
	Exe   File      `json:"exe"`             // what execve runs
	Dir   File      `json:"dir"`             // pinned working directory
	Env   Env       `json:"env"`
	Stdin StdinMode `json:"stdin,omitempty"`
	Split bool      `json:"split,omitempty"`
	// Limits are complete: defaults are filled in.
	Limits Limits `json:"limits"`
	// Warnings are facts the caller should read with the result. They are no part of the digest.
	Warnings []string `json:"-"`
	// Sealed is the host's own: what it needs to start the plan and must not be recorded (environment values).
	Sealed any `json:"-"`
}

// A File is a path with the identity that was seen when the plan was made.
type File struct {
	Path  string `json:"path"`           // absolute; links kept
	Real  string `json:"real,omitempty"` // with links resolved
	Dev   uint64 `json:"dev,omitempty"`
	Ino   uint64 `json:"ino,omitempty"`
	Size  int64  `json:"size,omitempty"`  // bytes; 0 for directories
	MTime int64  `json:"mtime,omitempty"` // nanoseconds since 1970; 0 for directories
	Mode  uint32 `json:"mode,omitempty"`
}

// Env describes a command's environment without its values: a revision of the cleaned base, what the call set (name to
// keyed hash), and what was taken away.
type Env struct {
	Base    string            `json:"base"`
	Set     map[string]string `json:"set,omitempty"`
	Dropped []string          `json:"dropped,omitempty"`
}

// Digest identifies the plan: equal plans have equal digests, and a change in any judged field changes it. Session ids,
// times and terminal sizes are no part of a plan, so that a resent request matches.
func (p Plan) Digest() string {
	b, err := json.Marshal(p) // map keys are sorted by encoding/json
	if err != nil {
		panic("sallyport: a plan is plain data: " + err.Error())
	}
	sum := sha256.Sum256(append([]byte("sallyport-plan-v1\x00"), b...))
	return hex.EncodeToString(sum[:])
}

// A Verdict is what a rule, or all rules together, say of a plan. The order is the rule for combining them: the
// strictest wins, by the built-in min. The zero value denies, so that what nobody decided is denied.
type Verdict uint8

// Verdicts, strictest first.
const (
	Deny Verdict = iota
	Ask
	Allow
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// MarshalText writes the verdict as its word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Security is a policy level: how much may run without a person. The empty level denies.
type Security string

// Levels, strictest first. (An allowlist level comes between them with the policy engine.)
const (
	SecurityDeny Security = "deny"
	SecurityFull Security = "full"
)

// InputRight says what input a session may take. The zero value takes none.
type InputRight uint8

// What input a decision allows.
const (
	InputNone InputRight = iota
	InputAsk
	InputFree
)

// A Reason is one rule that spoke, in words for a person and a model.
type Reason struct {
	Rule    string `json:"rule"`
	Text    string `json:"text"`
	Instead string `json:"instead,omitempty"` // a better way, if there is one
}

// A Decision is what the gate says of a plan.
type Decision struct {
	Verdict  Verdict    `json:"verdict"`
	Reasons  []Reason   `json:"reasons,omitempty"`
	Input    InputRight `json:"input"`
	Revision string     `json:"revision"` // of the policy that decided
}

// Instant is a wall-clock time as records carry it: UTC, nanoseconds kept.
func Instant(t time.Time) time.Time { return t.UTC().Round(0) }
