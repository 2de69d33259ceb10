package engine

import (
	"path/filepath"
	"strings"

	"github.com/sallyport-sh/sallyport"
)

// textVar carries the shell text from us to the shell. The text is in no argv, so that "pkill -f PATTERN" run by a
// command finds programs and not the shell that runs the command itself; and other users cannot read it in ps.
const textVar = "SALLYPORT_TEXT"

// The wrappers read the text, take it out of the environment, and evaluate it. Nothing else of the shell's state is
// touched: line numbers, $0, $#, options and the exit code are as under -c.
const (
	posixWrapper = `__sallyport_text=$` + textVar + `; unset ` + textVar + `; eval "$__sallyport_text"`
	fishWrapper  = `set -l __sallyport_text $` + textVar + `; set -e ` + textVar + `; eval $__sallyport_text`
)

// maxText is Linux's limit of one argument or environment string (MAX_ARG_STRLEN, 32 pages of 4 KiB, execve(2)), less
// the name, "=" and the NUL.
const maxText = 131072 - len(textVar) - 2

// A shell is a program that reads command text.
type shell struct {
	path string
	// fixed arguments between argv[0] and the wrapper or text
	flags []string
	// wrapper is the last argument; empty: the text itself is (PowerShell and cmd).
	wrapper string
}

// shellFor says how to run text by the program at path: without startup files, not interactive.
func shellFor(path string) shell {
	switch shellName(path) {
	case "bash":
		return shell{path, []string{"--noprofile", "--norc", "-c"}, posixWrapper}
	case "zsh":
		return shell{path, []string{"-f", "-c"}, posixWrapper}
	case "fish":
		return shell{path, []string{"--no-config", "-c"}, fishWrapper}
	case "pwsh", "powershell":
		return shell{path, []string{"-NoProfile", "-NonInteractive", "-Command"}, ""}
	case "cmd":
		return shell{path, []string{"/d", "/s", "/c"}, ""}
	default:
		return shell{path, []string{"-c"}, posixWrapper}
	}
}

// shellName is the program's name without its directory and extension, in lower case.
func shellName(path string) string {
	base := strings.ToLower(filepath.Base(strings.ReplaceAll(path, `\`, "/")))
	return strings.TrimSuffix(base, ".exe")
}

// argv is what execve gets; name is argv[0], which shells use to begin their messages.
func (s shell) argv(text string) []string {
	name := filepath.Base(s.path)
	argv := append([]string{name}, s.flags...)
	if s.wrapper != "" {
		return append(argv, s.wrapper)
	}
	return append(argv, text)
}

// commandLine is the whole line for a program that does not read it by the usual rules; empty for all others. cmd takes
// what is between the first and the last quote as it is (/s), so that text needs no escaping, and none is possible.
func commandLine(shell string, argv []string) string {
	if shell == "" || !isCmd(shell) {
		return ""
	}
	last := len(argv) - 1
	return strings.Join(argv[:last], " ") + ` "` + argv[last] + `"`
}

func isCmd(path string) bool { return shellName(path) == "cmd" }

// checkText refuses what a shell would silently read otherwise than it is written.
func (s shell) checkText(text string) error {
	if isCmd(s.path) && strings.ContainsAny(strings.TrimSpace(text), "\r\n") {
		return invalid("the shell cmd runs one line of text, and this has more", "join the commands by &, or use PowerShell: remove [exec] shell")
	}
	return nil
}

// isBatch reports whether Windows gives a file to cmd, which reads arguments as commands: no escaping is safe.
func isBatch(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".bat" || ext == ".cmd"
}

// A prober answers what the search for a shell needs to know of a machine, so that it can be tested on any.
type prober struct {
	exists func(path string) bool          // an executable file
	getenv func(name string) string        // of the gateway's own environment
	passwd func() string                   // shell field of the passwd entry of the running user
	look   func(name string) (path string) // on PATH; empty if not there
}

// posixShell chooses: the configured one, else bash, else sh, else the passwd shell if that is fish. $SHELL is not
// asked: it is set by whoever started the agent's client, and may name anything.
func posixShell(configured string, p prober) (string, error) {
	if configured != "" {
		if !filepath.IsAbs(configured) || !p.exists(configured) {
			return "", &sallyport.Error{
				Code: sallyport.Unavailable, Failure: sallyport.SpawnError,
				Msg:  "the configured shell " + configured + " is not an executable file",
				Hint: "set [exec] shell to an absolute path, or remove it",
			}
		}
		return configured, nil
	}
	for _, path := range []string{"/bin/bash", "/bin/sh"} {
		if p.exists(path) {
			return path, nil
		}
	}
	if path := p.passwd(); filepath.Base(path) == "fish" && p.exists(path) {
		return path, nil
	}
	return "", &sallyport.Error{
		Code: sallyport.Unavailable, Failure: sallyport.SpawnError,
		Msg:  "there is no shell: neither /bin/bash nor /bin/sh exists",
		Hint: "set [exec] shell, or pass argv instead of command",
	}
}

// windowsShell chooses PowerShell 7, else Windows PowerShell; cmd only by configuration, since many system tools write
// to the console past a redirected stdout under it. Order: Program Files, ProgramW6432 (seen from a 32-bit process),
// PATH, then the 5.1 that every Windows has.
func windowsShell(configured string, p prober) (string, error) {
	if strings.EqualFold(configured, "cmd") {
		if c := p.getenv("COMSPEC"); c != "" {
			return c, nil
		}
		return p.getenv("SystemRoot") + `\System32\cmd.exe`, nil
	}
	if configured != "" {
		if !p.exists(configured) {
			return "", &sallyport.Error{
				Code: sallyport.Unavailable, Failure: sallyport.SpawnError,
				Msg: "the configured shell " + configured + " does not exist", Hint: "correct [exec] shell, or remove it",
			}
		}
		return configured, nil
	}
	for _, v := range []string{"ProgramFiles", "ProgramW6432"} {
		if d := p.getenv(v); d != "" {
			if path := d + `\PowerShell\7\pwsh.exe`; p.exists(path) {
				return path, nil
			}
		}
	}
	if path := p.look("pwsh.exe"); path != "" {
		return path, nil
	}
	if path := p.getenv("SystemRoot") + `\System32\WindowsPowerShell\v1.0\powershell.exe`; p.exists(path) {
		return path, nil
	}
	if path := p.look("powershell.exe"); path != "" {
		return path, nil
	}
	return "", &sallyport.Error{
		Code: sallyport.Unavailable, Failure: sallyport.SpawnError,
		Msg: "there is no PowerShell", Hint: "install PowerShell 7, or set [exec] shell = \"cmd\"",
	}
}
