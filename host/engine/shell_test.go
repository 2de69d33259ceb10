package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-sh/sallyport"
)

// fakeMachine has the given files and nothing else.
func fakeMachine(passwd string, env map[string]string, path []string, files ...string) prober {
	return prober{
		exists: func(p string) bool { return slices.Contains(files, p) },
		getenv: func(n string) string { return env[n] },
		passwd: func() string { return passwd },
		look: func(name string) string {
			for _, d := range path {
				if f := d + `\` + name; slices.Contains(files, f) {
					return f
				}
			}
			return ""
		},
	}
}

func TestPosixShell(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		configured string
		m          prober
		want       string
	}{
		"bash":              {"", fakeMachine("/bin/zsh", nil, nil, "/bin/bash", "/bin/sh", "/bin/zsh"), "/bin/bash"},
		"sh":                {"", fakeMachine("", nil, nil, "/bin/sh"), "/bin/sh"},
		"fish alone":        {"", fakeMachine("/usr/bin/fish", nil, nil, "/usr/bin/fish"), "/usr/bin/fish"},
		"zsh is not chosen": {"", fakeMachine("/bin/zsh", nil, nil, "/bin/zsh"), ""},
		"configured":        {"/opt/dash", fakeMachine("", nil, nil, "/bin/bash", "/opt/dash"), "/opt/dash"},
		"configured, gone":  {"/opt/dash", fakeMachine("", nil, nil, "/bin/bash"), ""},
		"configured, name":  {"dash", fakeMachine("", nil, nil, "dash"), ""},
	} {
		got, err := posixShell(tt.configured, tt.m)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
		if err != nil && !errors.Is(err, sallyport.Unavailable) {
			t.Errorf("%s: error %v is not unavailable", name, err)
		}
	}
}

func TestWindowsShell(t *testing.T) {
	t.Parallel()
	const (
		pf   = `C:\Program Files\PowerShell\7\pwsh.exe`
		pw   = `C:\Program Files (64)\PowerShell\7\pwsh.exe`
		old  = `C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe`
		cmdE = `C:\Windows\System32\cmd.exe`
	)
	env := map[string]string{"ProgramFiles": `C:\Program Files`, "ProgramW6432": `C:\Program Files (64)`, "SystemRoot": `C:\Windows`}
	for name, tt := range map[string]struct {
		configured string
		m          prober
		want       string
	}{
		"program files":  {"", fakeMachine("", env, nil, pf, pw, old), pf},
		"ProgramW6432":   {"", fakeMachine("", env, nil, pw, old), pw},
		"path":           {"", fakeMachine("", env, []string{`D:\x`}, `D:\x\pwsh.exe`, old), `D:\x\pwsh.exe`},
		"5.1":            {"", fakeMachine("", env, nil, old), old},
		"5.1 on path":    {"", fakeMachine("", env, []string{`D:\x`}, `D:\x\powershell.exe`), `D:\x\powershell.exe`},
		"none":           {"", fakeMachine("", env, nil), ""},
		"cmd":            {"cmd", fakeMachine("", env, nil, pf), cmdE},
		"configured":     {`D:\pwsh.exe`, fakeMachine("", env, nil, `D:\pwsh.exe`, pf), `D:\pwsh.exe`},
		"configured bad": {`D:\pwsh.exe`, fakeMachine("", env, nil, pf), ""},
	} {
		if got, err := windowsShell(tt.configured, tt.m); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}

func TestShellArgv(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][]string{
		"/bin/bash":           {"bash", "--noprofile", "--norc", "-c", posixWrapper},
		"/bin/dash":           {"dash", "-c", posixWrapper},
		"/bin/sh":             {"sh", "-c", posixWrapper},
		"/bin/zsh":            {"zsh", "-f", "-c", posixWrapper},
		"/usr/bin/fish":       {"fish", "--no-config", "-c", fishWrapper},
		"/opt/microsoft/pwsh": {"pwsh", "-NoProfile", "-NonInteractive", "-Command", "Get-Item ."},
		"/x/powershell.exe":   {"powershell.exe", "-NoProfile", "-NonInteractive", "-Command", "Get-Item ."},
		"/x/cmd.exe":          {"cmd.exe", "/d", "/s", "/c", "Get-Item ."},
	} {
		if diff := cmp.Diff(want, shellFor(path).argv("Get-Item .")); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
}

// TestCmdLine: cmd gets its text between quotes, whatever is in it, and never a part of it only.
func TestCmdLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`dir`:                     `cmd.exe /d /s /c "dir"`,
		`"C:\a b\x.exe" "y z"`:    `cmd.exe /d /s /c ""C:\a b\x.exe" "y z""`,
		`echo a & echo ^& %PATH%`: `cmd.exe /d /s /c "echo a & echo ^& %PATH%"`,
	} {
		s := shellFor(`C:\Windows\System32\cmd.exe`)
		s.path = "/cmd.exe" // its base name is found by this system's rules
		if got := commandLine(s.path, s.argv(text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
		if err := s.checkText(text); err != nil {
			t.Error(err)
		}
		if err := s.checkText(text + "\ndel x"); !errors.Is(err, sallyport.Invalid) {
			t.Errorf("two lines: %v", err)
		}
	}
	if got := commandLine("/bin/bash", shellFor("/bin/bash").argv("ls")); got != "" {
		t.Errorf("bash: %s", got)
	}
	if got := commandLine("", []string{"cmd.exe", "/c", "dir"}); got != "" {
		t.Errorf("argv: %s", got)
	}
	for name, want := range map[string]bool{"x.bat": true, "X.CMD": true, "x.exe": false, "cmd": false} {
		if isBatch(name) != want {
			t.Errorf("%s is taken for the other", name)
		}
	}
}

func TestShellMessage(t *testing.T) {
	t.Parallel()
	for tail, want := range map[string]bool{
		"bash: nosuch: command not found\n":         true,
		"out\nbash: line 3: ./x: Permission denied": true,
		"":                                     false,
		"my bash: nosuch: command not found\n": false,
		"nosuch: command not found\n":          false,
	} {
		if got := hasShellMessage([]byte(tail), "bash"); got != want {
			t.Errorf("hasShellMessage(%q) = %v", tail, got)
		}
	}
	if !strings.Contains(posixWrapper, textVar) || len(textVar)+1+maxText+1 != 131072 {
		t.Error("the longest text does not fill one environment string")
	}
}
