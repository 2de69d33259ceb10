package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// maxArgvBytes bounds a direct argv, well below what execve takes for all arguments and the environment together.
const maxArgvBytes = 1 << 20

// A sealed is what a plan carries for Start alone.
type sealed struct {
	env    []string
	engine *Engine // a plan is started by the engine that made it
}

// Plan implements [sallyport.Host].
func (e *Engine) Plan(_ context.Context, r sallyport.Request) (sallyport.Plan, error) {
	c := r.Exec
	if err := checkCommand(c); err != nil {
		return sallyport.Plan{}, err
	}
	set := e.o.Settings(r.Caller.AgentID)
	dir, err := planDir(c.Dir, r.Caller.Workspace)
	if err != nil {
		return sallyport.Plan{}, err
	}
	env, err := e.environ(c, set, dir.Path)
	if err != nil {
		return sallyport.Plan{}, err
	}
	p := sallyport.Plan{
		Host: sallyport.Gateway, Text: c.Text, Dir: dir, Stdin: c.Stdin, Split: c.Split, Limits: c.Limits,
		Env: sallyport.Env{Base: env.revision, Set: env.set, Dropped: env.dropped},
	}
	if p.Limits.Pids == 0 {
		p.Limits.Pids = set.Pids
	}
	if p.Limits.Spool == 0 {
		p.Limits.Spool = set.Spool
	}
	if err := e.planProgram(&p, c, env, set); err != nil {
		return sallyport.Plan{}, err
	}
	p.Sealed = &sealed{env: env.list(), engine: e}
	return p, nil
}

// planProgram fills in what execve runs: the argv itself, or a shell for the text.
func (e *Engine) planProgram(p *sallyport.Plan, c sallyport.Command, env environment, set Settings) error {
	path := env.get("PATH")
	if len(c.Argv) > 0 {
		exe, err := findProgram(c.Argv[0], p.Dir.Path, path)
		if err != nil {
			return err
		}
		p.Argv, p.Exe = slices.Clone(c.Argv), exe
		return nil
	}
	if argv, ok := literalArgv(c.Text); ok {
		// A program that cannot be found goes to the shell, whose message models know.
		if exe, err := findProgram(argv[0], p.Dir.Path, path); err == nil && runsDirectly(exe.Real) {
			p.Argv, p.Exe = argv, exe
			return nil
		}
	}
	sh, err := e.shellPath(set)
	if err != nil {
		return err
	}
	s := shellFor(sh)
	if err := s.checkText(c.Text); err != nil {
		return err
	}
	if p.Exe, err = identify(sh); err != nil {
		return notStarted(sallyport.SpawnError, "the shell "+sh+" can't be used", "set [exec] shell", err)
	}
	p.Shell, p.Argv = sh, s.argv(c.Text)
	if s.wrapper != "" {
		env.own[textVar] = c.Text
	}
	return nil
}

func checkCommand(c sallyport.Command) error {
	switch {
	case len(c.Argv) == 0 && strings.TrimSpace(c.Text) == "":
		return invalid("no command", "give command (shell text) or argv (a program and its arguments)")
	case len(c.Argv) > 0 && c.Text != "":
		return invalid("both command and argv are given", "give one of them")
	case len(c.Argv) > 0 && c.Argv[0] == "":
		return invalid("argv[0] is empty", "argv starts with the program's name or path")
	case strings.Contains(c.Text, "\x00") || strings.Contains(c.Dir, "\x00"):
		return invalid("a NUL byte in the command or the working directory", "no program can be given a NUL byte")
	case len(c.Text) > maxText:
		return invalid(fmt.Sprintf("the command is %d bytes long; the system takes %d", len(c.Text), maxText),
			"write it into a file and run that")
	}
	total := 0
	for _, a := range c.Argv {
		if strings.Contains(a, "\x00") {
			return invalid("a NUL byte in argv", "no program can be given a NUL byte")
		}
		if len(a) > maxText {
			return invalid(fmt.Sprintf("an argument is %d bytes long; the system takes %d", len(a), maxText), "pass it by stdin or a file")
		}
		total += len(a) + 1
	}
	if total > maxArgvBytes {
		return invalid(fmt.Sprintf("argv is %d bytes long; at most %d", total, maxArgvBytes), "pass the data by stdin or a file")
	}
	return checkLimits(c.Limits)
}

func checkLimits(l sallyport.Limits) error {
	for _, d := range []time.Duration{l.Timeout, l.NoOutput, l.Grace} {
		if d < 0 {
			return invalid("a negative time limit", "0 means no limit")
		}
	}
	if l.Pids < 0 || l.Spool < 0 {
		return invalid("a negative limit", "0 means the default")
	}
	return nil
}

func invalid(msg, hint string) error {
	return &sallyport.Error{Code: sallyport.Invalid, Op: "engine.Plan", Msg: msg, Hint: hint}
}

func notStarted(k sallyport.FailureKind, msg, hint string, err error) error {
	return &sallyport.Error{Code: sallyport.NotStarted, Op: "engine", Failure: k, Msg: msg, Hint: hint, Err: err}
}

// planDir resolves a working directory: literal, no "~" and no variables.
func planDir(dir, workspace string) (sallyport.File, error) {
	path := dir
	switch {
	case dir == "":
		path = workspace
	case !filepath.IsAbs(dir) && workspace != "":
		path = filepath.Join(workspace, dir)
	}
	if !filepath.IsAbs(path) {
		return sallyport.File{}, notStarted(sallyport.RuntimeError, fmt.Sprintf("no workspace to resolve workdir %q in", dir),
			"pass an absolute workdir, or configure workspace", nil)
	}
	f, err := identify(path)
	switch {
	case err == nil && fs.FileMode(f.Mode).IsDir():
		return f, nil
	case err == nil:
		err = errors.New("not a directory")
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("does not exist")
	case errors.Is(err, fs.ErrPermission):
		err = errors.New("permission denied")
	}
	return sallyport.File{}, notStarted(sallyport.RuntimeError, fmt.Sprintf("workdir %q: %v", path, err),
		"workdir is taken literally (no ~, no variables): use an existing directory, or omit it for the workspace", nil)
}

// identify looks at a file and at what its links lead to.
func identify(path string) (sallyport.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return sallyport.File{}, err
	}
	f := sallyport.File{Path: path, Mode: uint32(info.Mode())}
	if f.Real, err = filepath.EvalSymlinks(path); err != nil {
		return sallyport.File{}, err
	}
	f.Dev, f.Ino = inode(info)
	if !info.IsDir() {
		f.Size, f.MTime = info.Size(), info.ModTime().UnixNano()
	}
	return f, nil
}

// findProgram finds what a shell would execute for a name: the name itself if it has a slash, else the first
// executable file of that name on path.
func findProgram(name, dir, path string) (sallyport.File, error) {
	if strings.ContainsAny(name, pathSeparators) {
		full := name
		if !filepath.IsAbs(full) {
			full = filepath.Join(dir, name)
		}
		return checkProgram(name, full)
	}
	var seen error
	for _, d := range filepath.SplitList(path) {
		for _, full := range programNames(filepath.Join(d, name)) {
			f, err := checkProgram(name, full)
			if err == nil {
				return f, nil
			}
			if e := sallyport.AsError(err); e.Failure == sallyport.NotExecutable {
				seen = err
			}
		}
	}
	if seen != nil {
		return sallyport.File{}, seen
	}
	return sallyport.File{}, notStarted(sallyport.CommandNotFound, name+": command not found",
		"check the spelling, or give the program's absolute path; PATH is "+path, nil)
}

func checkProgram(name, full string) (sallyport.File, error) {
	f, err := identify(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, notStarted(sallyport.CommandNotFound, name+": no such file", "check the path", nil)
	case err != nil:
		return f, notStarted(sallyport.NotExecutable, name+": "+plainError(err), "check the permissions along the path", nil)
	case fs.FileMode(f.Mode).IsDir():
		return f, notStarted(sallyport.NotExecutable, name+": is a directory", "name a program in it", nil)
	case !executable(f):
		return f, notStarted(sallyport.NotExecutable, name+": permission denied",
			"make it executable (chmod +x), or run it by its interpreter", nil)
	}
	return f, nil
}

func plainError(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

// same says whether a file is still the one that was planned, and if not, in what it differs.
func same(planned sallyport.File) error {
	now, err := identify(planned.Path)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %s", planned.Path, plainError(err))
	case now.Real != planned.Real:
		return fmt.Errorf("%s now leads to %s", planned.Path, now.Real)
	case now.Dev != planned.Dev || now.Ino != planned.Ino:
		return fmt.Errorf("%s is another file now", planned.Path)
	case now.Size != planned.Size || now.MTime != planned.MTime:
		return fmt.Errorf("%s was changed", planned.Path)
	case now.Mode != planned.Mode:
		return fmt.Errorf("the mode of %s was changed", planned.Path)
	}
	return nil
}
