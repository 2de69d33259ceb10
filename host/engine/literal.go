package engine

import "strings"

// literalBytes are the bytes that no shell we start reads as anything but themselves, wherever they stand in a word.
// "~", quotes, globs, braces, "$", "!" and "#" are out on purpose.
const literalBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+,./:=-"

// shellWords are the words that a shell keeps for itself: builtins and reserved words of bash, dash, ksh and zsh. A
// command whose name is one of them goes through the shell, even where a program of that name exists.
var shellWords = set(`. : [ alias autoload bg bind break builtin caller case cd chdir command compgen complete compopt
	continue coproc declare dirs disown do done echo elif else enable end esac eval exec exit export false fc fg fi float
	for foreach function functions getopts hash help history if in integer jobs kill let limit local logout mapfile
	nocorrect noglob popd print printf pushd pwd read readarray readonly repeat return sched select set setopt shift
	shopt source stop suspend test then time times trap true type typeset ulimit umask unalias unfunction unhash unset
	unsetopt until vared wait whence where which while zle`)

// literalArgv splits a shell text that is one plain command (words of literal bytes only) into the argv that any shell
// would make of it. Such a command runs without a shell: it starts a millisecond sooner, and its exit code is its own.
func literalArgv(text string) ([]string, bool) {
	text = strings.TrimRight(text, "\n")
	for i := range len(text) {
		if c := text[i]; c != ' ' && c != '\t' && strings.IndexByte(literalBytes, c) < 0 {
			return nil, false
		}
	}
	argv := strings.Fields(text)
	if len(argv) == 0 || strings.Contains(argv[0], "=") || strings.HasPrefix(argv[0], "-") {
		return nil, false
	}
	for _, w := range argv {
		if w[0] == '=' { // zsh expands =name
			return nil, false
		}
	}
	// true and false without arguments do the same as programs and as builtins.
	bare := len(argv) == 1 && (argv[0] == "true" || argv[0] == "false")
	if shellWords[argv[0]] && !bare {
		return nil, false
	}
	return argv, true
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
