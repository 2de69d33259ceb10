package proc

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// DefaultMarker is the environment variable that carries a session's id in every process of its tree.
const DefaultMarker = "SALLYPORT_SESSION"

// Rungs that can be asked for by name. On systems other than Linux only Auto can.
const (
	Auto   = "auto"
	Cgroup = "cgroup"
	Mark   = "mark"
)

// Options say how trees are kept.
type Options struct {
	// Rung is Auto (or empty), Cgroup or Mark. A rung asked for by name that does not work is an error of Open.
	Rung string
	// CgroupParent is the cgroup v2 directory to make the trees' cgroups in; empty: the one this process is in. For a
	// limit on tasks by the pids controller it must be one that holds no process itself: the kernel's rule.
	CgroupParent string
	// Own says that this process exists for its trees alone: see the package comment.
	Own bool
	// Pids limits the tasks (processes and threads) of a tree whose Spec does not; 0: no limit.
	Pids int
	// Markers are environment variables that are set to the session's id in every child; empty: DefaultMarker. The
	// first one is a sign of identity.
	Markers []string
	// Logger gets what has no other place to go. nil: nothing is logged.
	Logger *slog.Logger
}

// A Spec says what to start. Everything is used as it is: no search on PATH, no shell.
type Spec struct {
	// ID is the session's id: the value of the marker variables.
	ID string
	// Path is what execve runs, absolute.
	Path string
	// Argv is the argument list, Argv[0] included. Env is the whole environment but for the markers.
	Argv, Env []string
	// Line is for Windows, where a program gets one line of text: the line as it is, for programs that read theirs in a way
	// of their own, as cmd does. Empty: made from Argv by the rules of CommandLineToArgvW, which most programs follow.
	Line string
	// Dir is the working directory; empty: ours. It may be "/proc/self/fd/N" for a directory held open here.
	Dir string
	// Stdin, Stdout and Stderr become descriptors 0, 1, 2, in blocking mode; nil: /dev/null. They may be the same file.
	// The caller closes them after Start.
	Stdin, Stdout, Stderr *os.File
	// Pids limits the tasks of the tree; 0: Options.Pids.
	Pids int
	// OnExit is called once, on the tree's own goroutine, after the main process was reaped and Done was closed; it may
	// be called before Start returns. nil: nothing is called.
	OnExit func(Exit)
}

// An Exit is how a main process ended.
type Exit struct {
	Code   int            // exit code; -1 if a signal ended it, or if the status was lost (see Lost)
	Signal syscall.Signal // the signal that ended it; 0: none
	Core   bool           // it left a core dump
	Lost   bool           // something else in this process took the status (a wait for any child)
	At     time.Time      // when it was reaped
}

// Steps of a start that can fail.
const (
	StepFork  = "fork"
	StepChdir = "chdir"
	StepExec  = "exec"
	StepLimit = "limit tasks"
)

// A StartError says which step of a start failed, and on what. Nothing is left of the attempt. errors.Is finds the
// system's reason: ENOENT, EACCES, ENOEXEC, E2BIG, EAGAIN …
type StartError struct {
	Step string // one of the Step constants
	Path string // the executable or the directory
	Err  error
}

func (e *StartError) Error() string {
	s := e.Step
	if e.Path != "" {
		s += " " + e.Path
	}
	s += ": " + e.Err.Error()
	if e.Step == StepExec && errors.Is(e.Err, syscall.ENOENT) {
		if _, err := os.Lstat(e.Path); err == nil {
			s += " (the file is there: what is missing is its interpreter or loader)"
		}
	}
	return s
}

// Unwrap returns the system's reason.
func (e *StartError) Unwrap() error { return e.Err }

// check finds what no system would accept, or would understand differently.
func (s *Spec) check() error {
	switch {
	case !filepath.IsAbs(s.Path):
		return fmt.Errorf("path %q is not absolute", s.Path)
	case len(s.Argv) == 0:
		return errors.New("the argument list is empty")
	case strings.IndexByte(s.ID, 0) >= 0:
		return fmt.Errorf("session id %q has a NUL in it", s.ID)
	case s.Pids < 0:
		return fmt.Errorf("limit of %d tasks", s.Pids)
	}
	return nil
}

// mark returns env with every marker set to id, replacing what was there.
func mark(env, markers []string, id string) []string {
	if id == "" {
		return env
	}
	out := make([]string, 0, len(env)+len(markers))
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !slices.Contains(markers, name) {
			out = append(out, kv)
		}
	}
	for _, name := range markers {
		out = append(out, name+"="+id)
	}
	return out
}
