package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/text"
)

// actions are what the process tool does, in the order that an error lists them.
var actions = []string{"list", "poll", "log", "write", "signal", "kill", "clear", "remove"}

// processParams are the parameters of process.
var processParams = []param{
	{"action", names("command", "cmd", "op", "operation")},
	{"sessionId", names("id", "session", "sid", "processid")},
	{"sessionIds", names("ids", "sessions")},
	{"timeout", append(names("timeoutms", "waitms", "wait"), alias{"timeoutseconds", 0.001}, alias{"timeoutsec", 0.001})},
	{"until", names("pattern", "untilpattern", "waitfor")},
	{"quietMs", append(names("quiet"), alias{"quietseconds", 0.001})},
	{"offset", names("start", "startline", "fromline", "from")},
	{"limit", names("lines", "maxlines", "count", "n")},
	{"stream", names("streams")},
	{"grep", names("filter", "search", "regex")},
	{"context", names("contextlines")},
	{"data", names("input", "text", "stdin")},
	{"eof", names("closestdin", "close")},
	{"signal", names("sig", "signalname")},
}

// maxIDs is how many sessions one poll can wait for.
const maxIDs = 20

// processArgs are the decoded arguments of a process call.
type processArgs struct {
	action  string
	ids     []sallyport.SessionID
	timeout time.Duration
	until   string
	quiet   time.Duration
	offset  *int64
	limit   *int64
	stream  sallyport.Stream
	grep    string
	context int
	data    []byte
	eof     bool
	signal  string
}

func decodeProcess(raw json.RawMessage) (processArgs, error) {
	var p processArgs
	args, err := arguments(raw, "process", processParams)
	if err != nil {
		return p, err
	}
	for _, a := range args {
		if err := p.take(a); err != nil {
			return p, err
		}
	}
	return p, p.check()
}

func (p *processArgs) take(a argument) (err error) {
	switch a.name {
	case "action":
		p.action, err = trimmed(a)
		p.action = strings.ToLower(p.action)
	case "sessionId", "sessionIds":
		err = p.takeIDs(a)
	case "timeout":
		p.timeout, err = a.millis(0, maxPoll)
	case "until":
		p.until, err = a.string()
	case "quietMs":
		p.quiet, err = a.millis(0, maxPoll)
	case "offset":
		p.offset, err = a.line()
	case "limit":
		p.limit, err = a.line()
	case "stream":
		err = p.takeStream(a)
	case "grep":
		p.grep, err = a.string()
	case "context":
		var n int64
		n, err = a.whole(0, 50)
		p.context = int(n)
	case "data":
		p.data, err = a.data()
	case "eof":
		p.eof, err = a.bool()
	case "signal":
		p.signal, err = signalName(a)
	}
	return err
}

// maxLine bounds line numbers: what a float64 holds exactly.
const maxLine = 1 << 53

func (a argument) line() (*int64, error) {
	n, err := a.whole(0, maxLine)
	return &n, err
}

// trimmed is a short string without space and stray tags round it.
func trimmed(a argument) (string, error) {
	s, err := a.string()
	if err != nil {
		return "", err
	}
	s, _ = withoutStrays(s)
	return strings.TrimSpace(s), nil
}

// takeIDs takes one id or a list; both names take both.
func (p *processArgs) takeIDs(a argument) error {
	list := []string{""}
	var err error
	if a.value[0] == '[' {
		list, err = a.list()
	} else {
		list[0], err = trimmed(a)
	}
	if err != nil {
		return err
	}
	for _, s := range list {
		id := sallyport.SessionID(strings.TrimSpace(s))
		if id != "" && !slices.Contains(p.ids, id) {
			p.ids = append(p.ids, id)
		}
	}
	if len(p.ids) > maxIDs {
		return invalid(fmt.Sprintf("one poll waits for %d sessions at most", maxIDs), "")
	}
	return nil
}

func (p *processArgs) takeStream(a argument) error {
	word, err := a.word("stdout", "stderr", "merged", "both")
	switch word {
	case "stdout":
		p.stream = sallyport.Stdout
	case "stderr":
		p.stream = sallyport.Stderr
	}
	return err
}

// signalName is a signal by name or number: the host knows which there are.
func signalName(a argument) (string, error) {
	s, err := a.scalar()
	if err != nil {
		return "", err
	}
	if s = strings.ToUpper(strings.TrimSpace(s)); s == "" || len(s) > 12 {
		return "", invalid(fmt.Sprintf("%q must be a signal such as INT, TERM or HUP", a.as), "")
	}
	return s, nil
}

func (p *processArgs) check() error {
	hint := "actions: " + strings.Join(actions, ", ")
	switch {
	case p.action == "":
		return invalid("action is required", hint)
	case !slices.Contains(actions, p.action):
		return invalid(fmt.Sprintf("unknown action %q", text.Label(p.action, 40)), hint)
	case p.action == "list":
		return nil
	case len(p.ids) == 0:
		return invalid("sessionId is required", "process list shows the sessions there are")
	case len(p.ids) > 1 && p.action != "poll":
		return invalid("only poll takes several sessions", "call "+p.action+" once for each")
	case p.action == "write" && len(p.data) == 0 && !p.eof:
		return invalid("nothing to write: give data, or eof=true to close stdin", "")
	case p.action == "signal" && p.signal == "":
		return invalid("signal is required, such as INT, TERM or HUP", "")
	}
	return nil
}
