package engine

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLiteralArgv(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"ls -la /tmp":                {"ls", "-la", "/tmp"},
		"  git  log\t--oneline \n":   {"git", "log", "--oneline"},
		"make CC=gcc -j4":            {"make", "CC=gcc", "-j4"},
		"true":                       {"true"},
		"./run.sh a,b:c@d%e+f":       {"./run.sh", "a,b:c@d%e+f"},
		"":                           nil,
		"FOO=1 env":                  nil,
		"true x":                     nil, // a builtin with arguments
		"echo hi":                    nil,
		"cd /tmp":                    nil,
		"a;b":                        nil,
		"ls *.go":                    nil,
		"ls ~":                       nil,
		"echo $HOME":                 nil,
		"a 'b'":                      nil,
		"a\\ b":                      nil,
		"a # comment":                nil,
		"! true":                     nil,
		"{ ls":                       nil,
		"time ls":                    nil,
		"ls =ls":                     nil, // zsh
		"a\nb":                       nil,
		"ls \u4e2d":                  nil,
		"-x":                         nil,
		"cat <x":                     nil,
		"a|b":                        nil,
		"a&":                         nil,
		"(a)":                        nil,
		"[ a = b ]":                  nil,
		"a\x01b":                     nil,
		"command ls":                 nil,
		"exec ls":                    nil,
		"/usr/bin/env -i printenv A": {"/usr/bin/env", "-i", "printenv", "A"},
	} {
		got, ok := literalArgv(text)
		if ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("literalArgv(%q) = %q, %v; want %q", text, got, ok, want)
		}
	}
}

// The judge is bash: whatever we run without a shell, bash must split into the same words.
func TestLiteralArgvAgainstBash(t *testing.T) {
	t.Parallel()
	const alphabet = literalBytes + " \t*?~$'\"\\;&|<>(){}[]!#^\n"
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune(alphabet)), 1, 8, -1), 1, 5).Draw(t, "words")
		text := "printenv " + strings.Join(words, " ")
		argv, ok := literalArgv(text)
		if !ok || len(argv) < 2 { // printf without arguments prints its format once
			return
		}
		// printf %s\0 with the same words: nothing but literals gets here, so running it is harmless.
		script := `printf '%s\0' ` + strings.TrimPrefix(strings.TrimRight(text, "\n"), "printenv")
		out, err := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-c", script).Output()
		if err != nil {
			t.Fatalf("bash can't read %q: %v", script, err)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if !slices.Equal(got, argv[1:]) {
			t.Fatalf("%q: we say %q, bash says %q", text, argv[1:], got)
		}
	})
}

func FuzzLiteralArgv(f *testing.F) {
	f.Add("ls -la")
	f.Add("a=b c")
	f.Fuzz(func(t *testing.T, text string) {
		argv, ok := literalArgv(text)
		if ok && (len(argv) == 0 || strings.Join(argv, " ") != strings.Join(strings.Fields(text), " ")) {
			t.Errorf("literalArgv(%q) = %q", text, argv)
		}
	})
}
