package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/app/config"
	"github.com/sallyport-sh/sallyport/surface/text"
)

// An Exit is the exit code of the program. Commands that run another program exit with its code, which may be any; the
// codes from 124 on are those of env(1), timeout(1) and docker for the same things.
type Exit int

// Exit codes.
const (
	ExitOK            Exit = 0
	ExitUsage         Exit = 2   // the command line, or the configuration, is wrong
	ExitDenied        Exit = 4   // policy said no; nothing ran
	ExitNotFound      Exit = 5   // there is no such thing
	ExitConflict      Exit = 6   // the state does not permit it
	ExitUnverified    Exit = 9   // what was to be verified is not as it should be
	ExitUnavailable   Exit = 75  // something that is needed is not there now: try again later
	ExitTimeout       Exit = 124 // the command was killed, as its time was over
	ExitFailed        Exit = 125 // Sallyport itself failed
	ExitNotExecutable Exit = 126 // the command exists and cannot be run
	ExitNoCommand     Exit = 127 // the command does not exist
)

// exitOf is the table of codes. It is total; what is missing in it would be ExitFailed.
var exitOf = map[sallyport.Code]Exit{
	sallyport.Invalid:          ExitUsage,
	sallyport.NotFound:         ExitNotFound,
	sallyport.Denied:           ExitDenied,
	sallyport.NotStarted:       ExitNotExecutable,
	sallyport.Conflict:         ExitConflict,
	sallyport.Exhausted:        ExitUnavailable,
	sallyport.Unavailable:      ExitUnavailable,
	sallyport.AuditUnavailable: ExitUnavailable,
	sallyport.Closed:           ExitUnavailable,
	sallyport.Internal:         ExitFailed,
}

// An ExitError ends the program with a code. With a nil Err nothing is said: the command has said it.
type ExitError struct {
	Code Exit
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap is the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// A usageError is a mistake in the command line.
type usageError struct{ msg, hint string }

func (e *usageError) Error() string { return e.msg }

// asUnknownFlag is the name of a flag that does not exist.
func asUnknownFlag(err error) (name string, ok bool) {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return "", false
	}
	return unknown.GetSpecifiedName(), true
}

// report says what went wrong and returns the exit code for it.
func report(w io.Writer, err error) Exit {
	if err == nil {
		return ExitOK
	}
	if exit, ok := errors.AsType[*ExitError](err); ok {
		if exit.Err != nil {
			say(w, exit.Err)
		}
		return exit.Code
	}
	say(w, err)
	if _, ok := errors.AsType[*usageError](err); ok {
		return ExitUsage
	}
	if code, ok := errors.AsType[sallyport.Code](err); ok {
		if exit, ok := exitOf[code]; ok {
			return exit
		}
	}
	return ExitFailed
}

// say writes an error for a person: what and why, and what to do next.
func say(w io.Writer, err error) {
	msg, hint := err.Error(), ""
	if usage, ok := errors.AsType[*usageError](err); ok {
		msg, hint = usage.msg, usage.hint
	} else if file, ok := errors.AsType[*config.Error](err); ok {
		msg, hint = fileMessage(file)
	} else if e, ok := errors.AsType[*sallyport.Error](err); ok {
		msg, hint = e.Msg, e.Hint
		if e.Err != nil && !strings.Contains(msg, e.Err.Error()) {
			msg += ": " + e.Err.Error()
		}
	}
	fmt.Fprintf(w, "error: %s\n", text.Safe(msg))
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", text.Safe(hint))
	}
}

// fileMessage lists the problems of a configuration file, one a line.
func fileMessage(e *config.Error) (msg, hint string) {
	if len(e.Problems) == 1 {
		p := e.Problems[0]
		hint = p.Hint
		p.Hint = ""
		return e.File + ": " + p.String(), hint
	}
	return e.Error(), "sallyport config doc lists every key"
}
