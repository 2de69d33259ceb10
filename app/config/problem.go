package config

import (
	"fmt"
	"strings"

	"github.com/sallyport-sh/sallyport"
)

// An Error lists everything that is wrong with a file. It is [sallyport.Invalid].
type Error struct {
	File     string
	Problems []Problem // in the order of the lines
}

// A Problem is one thing wrong with a file.
type Problem struct {
	Line int    `json:"line,omitempty"` // from 1; 0 if it belongs to no line
	Key  string `json:"key,omitempty"`  // in full
	Msg  string `json:"message"`        // what is wrong, and what is allowed
	Hint string `json:"hint,omitempty"` // what to write instead
}

func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Msg)
	if p.Hint != "" {
		b.WriteString(": " + p.Hint)
	}
	return b.String()
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	if len(lines) == 1 {
		return e.File + ": " + lines[0]
	}
	return fmt.Sprintf("%s: %d problems\n  %s", e.File, len(lines), strings.Join(lines, "\n  "))
}

// Unwrap says what class of error it is.
func (e *Error) Unwrap() error { return sallyport.Invalid }

// As turns it into the error of the surfaces for errors.As and errors.AsType.
func (e *Error) As(target any) bool {
	t, ok := target.(**sallyport.Error)
	if ok {
		*t = &sallyport.Error{Code: sallyport.Invalid, Msg: e.Error(), Hint: "sallyport config doc lists every key"}
	}
	return ok
}
