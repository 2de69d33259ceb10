package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport-sh/sallyport"
)

// A baseline is what every command gets under one configuration: the inherited environment cleaned, and our own
// variables. It is made once, since looking at every name costs more than starting a small program should.
type baseline struct {
	vars     map[string]string
	dropped  []string // inherited names that were taken away because they look like secrets
	revision string   // keyed hash of it all
}

// An environment is a baseline with what one command has of its own.
type environment struct {
	*baseline
	own map[string]string // over the baseline
	set map[string]string // names the call set, with keyed hashes of the values
}

func (v environment) get(name string) string {
	if value, ok := v.own[name]; ok {
		return value
	}
	return v.vars[name]
}

// startupKeys make an interpreter, a loader or a build tool run or load something of the setter's choice. They are
// never inherited by a command, and a call that sets one is refused.
var startupKeys = set(`NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE PYTHONHOME PYTHONPATH PYTHONBREAKPOINT PERL5LIB PERL5OPT
	RUBYLIB RUBYOPT BASHOPTS BASH_ENV ENV KSH_ENV GIT_EXTERNAL_DIFF GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_EXEC_PATH
	GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE GIT_TEMPLATE_DIR SHELL SHELLOPTS
	PS4 GCONV_PATH IFS SSLKEYLOGFILE JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS DOTNET_STARTUP_HOOKS
	DOTNET_ADDITIONAL_DEPS FPATH GLIBC_TUNABLES MAVEN_OPTS SBT_OPTS GRADLE_OPTS ANT_OPTS HOSTALIASES CDPATH GLOBIGNORE
	PROMPT_COMMAND LUA_INIT`)

// startupPrefixes are the same for families of names: the dynamic loaders' variables and bash's exported functions.
var startupPrefixes = []string{"LD_", "DYLD_", "BASH_FUNC_"}

// markerKeys describe an activated language environment of whoever started us. They go together or not at all, or tools
// see half of one.
var markerKeys = set(`VIRTUAL_ENV VIRTUAL_ENV_PROMPT CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_PROMPT_MODIFIER CONDA_SHLVL`)

// secretName matches the names by which credentials travel. Sockets and files of agents (SSH_AUTH_SOCK, KUBECONFIG)
// are no values and pass.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|_)(API_?KEY|ACCESS_?KEY|SECRET(_ACCESS)?(_KEY)?|PRIVATE_?KEY|ADMIN_KEY|(AUTH_?|ACCESS_?|SESSION_?|SECURITY_?|BOT_?|APP_?)?TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|DATABASE_URL|REDIS_URL|MONGODB_URI|AMQP_URL)$`)
})

// noTerminal is what makes programs that would wait for a person end at once when there is no terminal. git passes the
// editor to a shell, so its message can say what to do.
var noTerminal = map[string]string{
	"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat",
	"GIT_TERMINAL_PROMPT": "0",
	"EDITOR":              "false", "VISUAL": "false",
	"GIT_EDITOR":          `echo "no terminal here: pass -m or --no-edit" >&2; false`,
	"GIT_SEQUENCE_EDITOR": `echo "no terminal here: an interactive rebase needs one" >&2; false`,
}

// minimalPath is used when the gateway itself has no PATH (seed D's for Linux).
const minimalPath = "/usr/local/bin:/usr/bin:/bin"

// baseEnv cleans what the gateway inherited.
func baseEnv(environ, pass []string) (vars map[string]string, dropped []string) {
	vars = make(map[string]string, len(environ))
	keep := map[string]bool{}
	for _, n := range pass {
		keep[n] = true
	}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		switch {
		case keep[name]:
			vars[name] = value
		case startupKey(name), markerKeys[name], strings.HasPrefix(name, "SALLYPORT_"):
		case secretName().MatchString(name):
			dropped = append(dropped, name)
		default:
			vars[name] = value
		}
	}
	slices.Sort(dropped)
	return vars, dropped
}

func startupKey(name string) bool {
	up := strings.ToUpper(name)
	if startupKeys[up] {
		return true
	}
	return slices.ContainsFunc(startupPrefixes, func(p string) bool { return strings.HasPrefix(up, p) })
}

var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// checkCallEnv refuses keys that would decide what a command runs. The three texts are seed D's.
func checkCallEnv(env map[string]string) error {
	var blocked, invalid []string
	for name := range env {
		switch {
		case !envName().MatchString(name) || strings.Contains(env[name], "\x00"):
			invalid = append(invalid, name)
		case strings.EqualFold(name, "PATH"), startupKey(name), strings.HasPrefix(strings.ToUpper(name), "SALLYPORT_"):
			blocked = append(blocked, name)
		}
	}
	slices.Sort(blocked)
	slices.Sort(invalid)
	var msg string
	switch {
	case len(blocked)+len(invalid) == 0:
		return nil
	case len(blocked) == 1 && len(invalid) == 0 && strings.EqualFold(blocked[0], "PATH"):
		msg = "Security Violation: Custom 'PATH' variable is forbidden during host execution."
	case len(blocked) == 1 && len(invalid) == 0:
		msg = "Security Violation: Environment variable '" + blocked[0] + "' is forbidden during host execution."
	default:
		msg = "Security Violation: environment variables are forbidden during host execution"
		if len(blocked) > 0 {
			msg += "; blocked: " + strings.Join(blocked, ", ")
		}
		if len(invalid) > 0 {
			msg += "; invalid: " + strings.Join(quoteAll(invalid), ", ")
		}
		msg += "."
	}
	return &sallyport.Error{
		Code: sallyport.Denied, Op: "engine.Plan", Failure: sallyport.RuntimeError, Msg: msg,
		Hint: "leave them out of env; to use another PATH, call the program by its absolute path",
	}
}

func quoteAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = `"` + strings.ToValidUTF8(n, "\uFFFD") + `"`
	}
	return out
}

// environ builds what one command gets. dir is its working directory.
func (e *Engine) environ(c sallyport.Command, s Settings, dir string) (environment, error) {
	if err := checkCallEnv(c.Env); err != nil {
		return environment{}, err
	}
	env := environment{baseline: e.baseline(s), own: maps.Clone(c.Env), set: make(map[string]string, len(c.Env))}
	if env.own == nil {
		env.own = map[string]string{}
	}
	for name, value := range c.Env {
		env.set[name] = e.keyed(name + "=" + value)
	}
	if _, ok := env.own["PWD"]; !ok {
		env.own["PWD"] = dir // as the caller named it, links kept; shells check that it is the same directory
	}
	return env, nil
}

// baseline returns the environment of a configuration, from the cache if it is the last one asked for.
func (e *Engine) baseline(s Settings) *baseline {
	key := strings.Join(slices.Concat(s.EnvPass, []string{""}, s.PathPrepend, []string{""}, s.Markers), "\x00")
	e.baseMu.Lock()
	defer e.baseMu.Unlock()
	if b := e.bases[key]; b != nil {
		return b
	}
	vars, dropped := baseEnv(e.o.Environ, s.EnvPass)
	maps.Copy(vars, noTerminal)
	vars["PATH"] = searchPath(vars["PATH"], s.PathPrepend)
	delete(vars, "PWD")
	delete(vars, "OLDPWD")
	for _, name := range append([]string{"SALLYPORT_SHELL"}, s.Markers...) {
		vars[name] = "exec"
	}
	b := &baseline{vars: vars, dropped: dropped}
	b.revision = e.keyed(strings.Join(environment{baseline: b}.list(), "\x00"))
	if e.bases == nil || len(e.bases) >= maxBases {
		e.bases = map[string]*baseline{}
	}
	e.bases[key] = b
	return b
}

// maxBases bounds the cache: one entry a configuration of an agent.
const maxBases = 64

// keyed hashes a secret so that equal values are seen to be equal within this process, and no more can be learned.
func (e *Engine) keyed(s string) string {
	m := hmac.New(sha256.New, e.key)
	m.Write([]byte(s))
	return hex.EncodeToString(m.Sum(nil)[:16])
}

// searchPath joins prepended directories and PATH. Relative and empty entries mean the working directory, which an
// agent can write: they are dropped.
func searchPath(path string, prepend []string) string {
	if path == "" {
		path = minimalPath
	}
	var dirs []string
	for _, d := range append(slices.Clone(prepend), filepath.SplitList(path)...) {
		if filepath.IsAbs(d) && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// list renders the variables for execve, sorted, so that equal environments are equal.
func (v environment) list() []string {
	out := make([]string, 0, len(v.vars)+len(v.own))
	for name, value := range v.vars {
		if _, ok := v.own[name]; !ok {
			out = append(out, name+"="+value)
		}
	}
	for name, value := range v.own {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}
