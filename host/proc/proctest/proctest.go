// Package proctest is what tests need to try whether everything in a process tree can be killed: programs that try to
// escape, and a judge that looks for what is left of them without using package proc.
//
// The programs need bash, coreutils, util-linux and perl (on Debian: bash, coreutils, util-linux, perl-base).
package proctest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Style is a way in which processes escape those who think they have killed them.
type Style struct {
	Name string
	// text is a bash text with T for the token.
	text string
}

// Token is a number that no other process carries. Every process of a style has it in its arguments, whatever else it
// hides.
func Token() string { return fmt.Sprintf("%012d", rand.Int64N(1_000_000_000_000)) }

// Command is the style as a bash text whose processes all carry the token. It runs until it is killed: its main process
// waits in the foreground.
func (s Style) Command(token string) string { return strings.ReplaceAll(s.text, "TOKEN", token) }

// sleep runs for hours; the token is a part of its argument.
const sleep = "sleep 9999.TOKEN"

// Styles are the twelve ways.
func Styles() []Style {
	return []Style{
		{"background", sleep + " & " + sleep},
		{"nohup", "nohup " + sleep + " >/dev/null 2>&1 & " + sleep},
		{"disown", sleep + " & disown; " + sleep},
		{"setsid", "setsid -f " + sleep + "; setsid " + sleep + " & " + sleep},
		// A daemon as the books have it, under the name of a kernel thread.
		{"daemon", `( ( exec <&- >&- 2>&-; exec setsid bash -c 'exec -a "[kworker/0:1]" ` + sleep + `' ) & ) ; ` + sleep},
		{"ignores TERM and HUP", `setsid -f bash -c 'trap "" TERM HUP INT; while :; do ` + sleep + `; done'; trap "" TERM HUP; ` +
			sleep + `; ` + sleep},
		{"stopped", `setsid -f bash -c 'kill -STOP $$; ` + sleep + `'; (` + sleep + ` & kill -STOP $!); ` + sleep},
		{"cleared environment", `env -i /bin/sh -c '/usr/bin/env -i setsid -f ` + sleep + `'; ` + sleep},
		{"new pid namespace", `unshare -Upf bash -c '` + sleep + ` & setsid -f ` + sleep + `; ` + sleep + `' & ` + sleep},
		{"forks on TERM", `bash -c 'trap "setsid -f ` + sleep + `" TERM; while :; do sleep 0.02; : TOKEN; done' & ` +
			`trap "setsid -f ` + sleep + `; setsid ` + sleep + ` &" TERM; while :; do sleep 0.02; done; : TOKEN`},
		{"hopper 200us", hopper("0.0002")},
		{"hopper 0us", hopper("0")},
	}
}

// hopper forks, gives its child a session of its own and exits, for ever: whoever lists processes sees only where it
// was.
func hopper(pause string) string {
	return `perl -MPOSIX -e 'my $p; while (1) { $p = fork; next unless defined $p; POSIX::_exit(0) if $p; POSIX::setsid(); ` +
		`select(undef, undef, undef, $ARGV[1]) if $ARGV[1] > 0 }' TOKEN ` + pause + ` & ` + sleep
}
