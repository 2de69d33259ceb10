package sallyport

import "errors"

// A Code is a class of error: stable, closed, itself an error, so that errors.Is(err, sallyport.NotFound) works at any
// distance. Codes go over the wire: they are added, never renamed.
type Code string

// The codes.
const (
	Invalid          Code = "invalid"           // the request is malformed; send it corrected
	NotFound         Code = "not_found"         // no such session for this caller
	Denied           Code = "denied"            // policy said no; nothing ran
	NotStarted       Code = "not_started"       // allowed, but could not start; nothing ran
	Conflict         Code = "conflict"          // the state does not permit it (already ended, stdin closed)
	Exhausted        Code = "exhausted"         // a quota or a system limit
	Unavailable      Code = "unavailable"       // a part that is needed is not there
	AuditUnavailable Code = "AUDIT_UNAVAILABLE" // it could not be recorded, so it was not run
	Closed           Code = "closed"            // shutting down
	Internal         Code = "internal"          // a fault of ours
)

func (c Code) Error() string { return string(c) }

// An Error is the one error that crosses a surface. Msg and Hint may be shown to a model; Err never leaves the process.
type Error struct {
	Code Code   `json:"code"`
	Op   string `json:"-"`              // where: "engine.Start". For logs
	Msg  string `json:"message"`        // what and why, for the caller
	Hint string `json:"hint,omitempty"` // what to do next, as an instruction
	// Failure classifies a command that did not start, in the words of seed D; empty for other errors.
	Failure FailureKind `json:"failureKind,omitempty"`
	Err     error       `json:"-"`
}

func (e *Error) Error() string {
	s := e.Msg
	if s == "" {
		s = string(e.Code)
	}
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives errors.Is both the code and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// AsError returns err as an *Error; one of another type becomes Internal.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: Internal, Msg: "internal error: " + err.Error(), Err: err}
}
