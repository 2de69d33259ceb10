package config

import (
	"time"

	"github.com/sallyport-sh/sallyport"
)

// Settings holds every key of the file. A field's tags say what its key takes:
//
//	key      the name in the file; a struct is a table
//	default  what holds when nobody sets it; lists are separated by commas
//	range    least..most
//	unit     ms or sec: what one unit of a whole number means in a time.Duration
//	oneof    the words it takes
//	check    a named rule of check.go
//	later    words of the seed's that this version knows and refuses
//	needs    what this version lacks for the words in later; without later, for any value but the default
//
// The comments of the fields are the text of docs/config.md.
type Settings struct {
	// The default working directory of commands, an absolute path. Empty: the directory that `sallyport mcp` or
	// `sallyport exec` was started in.
	Workspace string `key:"workspace" check:"absolute"`

	// Where records, output and sessions are kept, an absolute path. Empty: `.local/state/sallyport` in the home
	// directory of the password database. It is read once, at the start.
	State string `key:"state" check:"absolute"`

	// How commands run: the engine, and the `exec` and `process` tools.
	Exec Exec `key:"exec"`

	// The environment of commands.
	Env Environment `key:"env"`

	// Which tools are served, and how much they may do.
	Tools Tools `key:"tools"`

	// What is kept of the output of commands.
	Output Output `key:"output"`

	// The append-only record of what was asked and done.
	Journal Journal `key:"journal"`

	// The MCP server.
	MCP MCP `key:"mcp"`
}

// Exec is the table exec, and exec of an agent.
type Exec struct {
	// The shell that reads command text, an absolute path (on Windows also `cmd`, `pwsh` or `powershell`). Empty:
	// /bin/bash, else /bin/sh; on Windows PowerShell 7, else Windows PowerShell. The variable SHELL is not read.
	Shell string `key:"shell" check:"shell"`

	// Further variables that are set to `exec` in every command beside SALLYPORT_SHELL, for existing shell profiles:
	// `["OPENCLAW_SHELL"]`.
	ShellMarker []string `key:"shell_marker" check:"marker"`

	// How long a call waits before it returns and its command goes on in the background.
	Background time.Duration `key:"background_ms" default:"10000" range:"10..120000" unit:"ms"`

	// How long a command may run before it is killed, if the call does not say. 0: for ever.
	Timeout time.Duration `key:"timeout_sec" default:"1800" range:"0..31536000" unit:"sec"`

	// How long a command may be silent before it is killed, if the call does not say. 0: for ever.
	NoOutputTimeout time.Duration `key:"no_output_timeout_sec" default:"0" range:"0..31536000" unit:"sec"`

	// How long a command has between TERM and KILL. 0: KILL at once.
	Grace time.Duration `key:"grace_ms" default:"5000" range:"0..600000" unit:"ms"`

	// How long a finished session can still be read.
	Cleanup time.Duration `key:"cleanup_ms" default:"1800000" range:"60000..10800000" unit:"ms"`

	// Whether the end of a background command is announced in the next result.
	NotifyOnExit bool `key:"notify_on_exit" default:"true"`

	// Whether that is also done for a command that succeeded and printed nothing.
	NotifyOnExitEmptySuccess bool `key:"notify_on_exit_empty_success" default:"false"`

	// Directories put in front of the PATH of commands: absolute, or below the home directory as `~/bin`.
	PathPrepend []string `key:"path_prepend" check:"directories"`

	// What becomes of processes that a command leaves behind when it ends by itself (`server &`): `keep` lets them
	// live until their session or its owner ends, `kill` ends them with the command.
	Leftovers string `key:"leftovers" default:"keep" oneof:"keep kill"`

	// Length of a result in characters, if the call does not say. The environment variable
	// SALLYPORT_MAX_OUTPUT_CHARS lowers what it can be at most.
	MaxOutput int `key:"max_output" default:"16000" range:"1000..200000"`

	// Characters of unread output that are held ready for the next poll of a session.
	PendingMaxOutput int `key:"pending_max_output" default:"30000" range:"1000..200000"`

	// Processes and threads that a command may have at once. 0: no limit of ours.
	PidsMax int `key:"pids_max" default:"4096" range:"0..4194304"`

	// How a tree of processes is found when it must die: by its `cgroup`, by the `mark` that every process of it
	// inherits, or `auto`: cgroup where one can be made, else mark. The environment variable SALLYPORT_KILL wins.
	Kill string `key:"kill" default:"auto" oneof:"auto cgroup mark"`

	// How long an approved command runs before its owner is told that it still does.
	ApprovalRunningNotice time.Duration `key:"approval_running_notice_ms" default:"10000" range:"0..86400000" unit:"ms" needs:"approvals"`

	// Filters that may run without a person. Empty: those that are built in.
	SafeBins []string `key:"safe_bins" needs:"the policy engine"`

	// Directories beside /bin and /usr/bin that safe_bins may be found in.
	SafeBinTrustedDirs []string `key:"safe_bin_trusted_dirs" needs:"the policy engine"`

	// What arguments a program of safe_bins may have.
	SafeBinProfiles map[string]any `key:"safe_bin_profiles" needs:"the policy engine"`

	// Whether inline code (`python -c`) needs a person even where its interpreter is allowed.
	StrictInlineEval bool `key:"strict_inline_eval" default:"true" needs:"the policy engine"`

	// The apply_patch tool.
	ApplyPatch ApplyPatch `key:"apply_patch"`

	// MaxOutputLimit is the most that max_output, or a call, can ask for. It is no key: 200,000, or what
	// SALLYPORT_MAX_OUTPUT_CHARS lowers it to.
	MaxOutputLimit int

	// EnvPass is env.pass, for whoever starts commands and has this table only.
	EnvPass []string
}

// ApplyPatch is the table exec.apply_patch.
type ApplyPatch struct {
	// Whether the tool is served.
	Enabled bool `key:"enabled" default:"false" needs:"apply_patch"`

	// Whether it writes inside the workspace only.
	WorkspaceOnly bool `key:"workspace_only" default:"true" needs:"apply_patch"`

	// Models that may use it. Empty: all.
	AllowModels []string `key:"allow_models" needs:"apply_patch"`
}

// Environment is the table env, and env of an agent.
type Environment struct {
	// Names of variables that commands inherit although they look like secrets (`GITHUB_TOKEN`) or change what a
	// program loads (`PYTHONPATH`). All others of these kinds are taken away, and the first result says which.
	Pass []string `key:"pass" check:"variable"`
}

// Tools is the table tools.
type Tools struct {
	// The tool families that are served.
	Families []string `key:"families" default:"exec" oneof:"exec" later:"run_command terminal shell" needs:"the other tool families"`

	// Tools that are not served although their family is. Without `process`, `exec` waits for the end of every
	// command.
	Deny []string `key:"deny" oneof:"exec process apply_patch run_command execute_command get_command_history get_terminal_capabilities execute_shell_command ls pwd"`

	// What the exec family may do, and where.
	Exec ToolsExec `key:"exec"`
}

// ToolsExec is the table tools.exec.
type ToolsExec struct {
	// Whether the family is served (it must be in tools.families, too).
	Enabled bool `key:"enabled" default:"true"`

	// How much may run without a person: `full` everything, `deny` nothing. A call can only lower it.
	Security sallyport.Security `key:"security" default:"full" oneof:"full deny" later:"allowlist" needs:"the policy engine"`

	// When a person is asked.
	Ask string `key:"ask" default:"off" oneof:"off" later:"on-miss always" needs:"approvals"`

	// Where commands run: `gateway` is this machine.
	Host sallyport.HostName `key:"host" default:"gateway" oneof:"gateway" later:"auto sandbox node" needs:"sandboxes or nodes"`

	// The machine that host = "node" means.
	Node string `key:"node" needs:"nodes"`
}

// Output is the table output.
type Output struct {
	// Bytes of one session's output that are kept on disk. Over it the middle is dropped and counted.
	Quota Size `key:"quota" default:"64MiB" range:"1MiB..16GiB"`

	// Finished sessions that are kept, over all callers. The oldest go first.
	FinishedMax int `key:"finished_max" default:"50" range:"1..100000"`

	// Bytes of output of finished sessions that are kept, over all callers. The oldest go first.
	FinishedBytes Size `key:"finished_bytes" default:"256MiB" range:"1MiB..16GiB"`
}

// Journal is the table journal.
type Journal struct {
	// When a run's record must be on disk: `before-answer` or, slower, `before-start`. In both cases it is written
	// before the command starts and survives the death of every process of ours; they differ in what a power cut
	// can take.
	Sync string `key:"sync" default:"before-answer" oneof:"before-answer before-start"`
}

// MCP is the table mcp.
type MCP struct {
	// Whether results also carry structuredContent. Clients show it to the model instead of the text, at about twice
	// the tokens; the same object is always in `_meta`.
	Structured bool `key:"structured" default:"false"`

	// The role of a client of the same user: `admin` may use every tool and host, `user` only sandboxes, `guest`
	// nothing.
	Role string `key:"role" default:"admin" oneof:"admin user guest"`
}

// Effective is what holds for one agent: the section [agents.<id>] over the global tables. Its fields are the keys of
// such a section.
type Effective struct {
	// The default working directory of this agent's commands, an absolute path.
	Workspace string `key:"workspace" check:"absolute"`

	// Every key of the table exec, for this agent.
	Exec Exec `key:"exec"`

	// Every key of the table env, for this agent.
	Env Environment `key:"env"`

	// What this agent's tools may do.
	Tools AgentTools `key:"tools"`
}

// AgentTools is the table tools of an agent.
type AgentTools struct {
	// Every key of the table tools.exec except enabled, for this agent.
	Exec ToolsExec `key:"exec" without:"enabled"`
}
