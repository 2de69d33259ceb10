package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-sh/sallyport"
)

// maxText is the longest string that Linux passes to a program (MAX_ARG_STRLEN, execve(2)), less its end.
const maxText = 131_071

// execParams are the parameters of exec, in the order that an error lists them.
var execParams = []param{
	{"command", names("cmd", "commandline", "shellcommand", "script")},
	{"argv", names("arguments", "args")},
	{"workdir", names("cwd", "dir", "directory", "workingdirectory", "workingdir", "workpath")},
	{"env", names("environment", "envvars", "environmentvariables")},
	{"yieldMs", append(names("yield", "yieldtimems", "yieldafterms"), alias{"yieldseconds", 0.001})},
	{"background", names("runinbackground", "isbackground", "detach")},
	{"timeout", append(names("timeoutseconds", "timeoutsec", "timeoutsecs", "timeouts"), alias{"timeoutms", 1000}, alias{"timeoutmillis", 1000})},
	{"noOutputTimeout", append(names("nooutputtimeoutseconds", "nooutputtimeoutsec", "idletimeout"), alias{"nooutputtimeoutms", 1000})},
	{"streams", names("stream")},
	{"stdin", names("input", "stdindata")},
	{"maxOutput", names("maxoutputchars", "maxchars", "maxoutputcharacters", "outputlimit")},
	{"title", names("description", "label")},
}

// execArgs are the decoded arguments of an exec call, with defaults filled in.
type execArgs struct {
	command    sallyport.Command
	yield      time.Duration
	background bool
	maxOutput  int
	warnings   []string

	gaveYield, gaveTimeout, gaveStdin bool
}

// decodeExec makes a command of arguments. Errors say what to send instead.
func decodeExec(raw json.RawMessage, set Settings) (execArgs, error) {
	x := execArgs{yield: set.Yield, maxOutput: set.MaxOutput}
	x.command.Limits = sallyport.Limits{Timeout: set.Timeout, NoOutput: set.NoOutput, Grace: set.Grace}
	args, err := arguments(raw, "exec", execParams)
	if err != nil {
		return x, err
	}
	for _, a := range args {
		if err := x.take(a, set); err != nil {
			return x, err
		}
	}
	if err := x.check(); err != nil {
		return x, err
	}
	x.settle(set)
	return x, nil
}

// take decodes one argument.
func (x *execArgs) take(a argument, set Settings) (err error) {
	c := &x.command
	switch a.name {
	case "command":
		c.Text, err = x.plain(a)
	case "argv":
		if a.value[0] == '"' {
			return invalid(fmt.Sprintf("%q must be a list such as [\"ls\", \"-l\"], not one string", a.as), "shell text goes into command")
		}
		c.Argv, err = a.list()
		if err == nil && len(c.Argv) == 0 {
			err = invalid(fmt.Sprintf("%q is empty: its first string is the program", a.as), "")
		}
	case "workdir":
		c.Dir, err = x.plain(a)
	case "env":
		c.Env, err = a.strings()
	case "yieldMs":
		x.gaveYield = true
		x.yield, err = a.millis(minYield, maxYield)
	case "background":
		x.background, err = a.bool()
	case "timeout":
		x.gaveTimeout = true
		c.Limits.Timeout, err = a.seconds()
	case "noOutputTimeout":
		c.Limits.NoOutput, err = a.seconds()
	case "streams":
		var word string
		word, err = a.word("merged", "split")
		c.Split = word == "split"
	case "stdin":
		x.gaveStdin = true
		c.Input, err = a.data()
	case "maxOutput":
		var n float64
		n, err = a.number("a number of characters")
		x.maxOutput = int(min(max(n, minOutput), float64(set.MaxOutputLimit)))
	case "title":
		c.Title, err = x.plain(a)
	}
	return err
}

// plain is a string without what models leave at its end by mistake.
func (x *execArgs) plain(a argument) (string, error) {
	s, err := a.string()
	if err != nil {
		return "", err
	}
	s, cut := withoutStrays(s)
	if cut != "" {
		x.warnings = append(x.warnings, fmt.Sprintf("a stray %s was cut off the end of %s", cut, a.as))
	}
	return s, nil
}

func (x *execArgs) check() error {
	c := &x.command
	switch {
	case c.Argv != nil && strings.TrimSpace(c.Text) != "":
		return invalid("give command (shell text) or argv (no shell), not both", "")
	case c.Argv == nil && strings.TrimSpace(c.Text) == "":
		return invalid("no command: give command (shell text) or argv (no shell)", "")
	case len(c.Text) > maxText:
		return invalid(fmt.Sprintf("the command has %d bytes; the system takes %d", len(c.Text), maxText),
			"write it to a file and run that, or pass data on stdin")
	}
	if c.Argv != nil {
		c.Text = ""
		for i, s := range c.Argv {
			if len(s) > maxText {
				return invalid(fmt.Sprintf("argv[%d] has %d bytes; the system takes %d", i, len(s), maxText), "pass data on stdin or in a file")
			}
		}
		if c.Argv[0] == "" {
			return invalid("argv[0] is empty: it is the program", "")
		}
	}
	return nil
}

// settle decides what depends on several arguments.
func (x *execArgs) settle(set Settings) {
	c := &x.command
	c.Family = "exec"
	if !set.Process && (x.background || x.gaveYield) {
		// Without the process tool nobody could follow a session.
		x.warnings = append(x.warnings, "background execution is disabled; running synchronously.")
		x.background, x.gaveYield = false, false
	}
	if (x.background || x.gaveYield) && !x.gaveTimeout {
		c.Limits.Timeout = 0 // whoever expects it to take long follows it
	}
	c.Background = x.background
	switch {
	case x.background:
		c.Stdin = sallyport.StdinOpen
	case x.gaveStdin:
		c.Stdin = sallyport.StdinData
	}
}
