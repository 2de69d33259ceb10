package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// checkRule checks s by the rule that a field's tag names. An empty string stands for "not set" and is fine by every
// rule of a single value.
func checkRule(rule, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("holds a NUL byte")
	}
	switch rule {
	case "absolute":
		if s != "" && !isAbsolute(s) {
			return fmt.Errorf("%q must be an absolute path", s)
		}
	case "shell":
		if s != "" && !isAbsolute(s) && !slices.Contains([]string{"cmd", "pwsh", "powershell"}, s) {
			return fmt.Errorf("%q must be an absolute path", s)
		}
	case "directories":
		if s != "~" && !strings.HasPrefix(s, "~/") && !isAbsolute(s) {
			return fmt.Errorf("%q must be an absolute path or begin with ~/", s)
		}
		if strings.ContainsRune(s, filepath.ListSeparator) {
			return fmt.Errorf("%q holds the separator of PATH: write two items", s)
		}
	case "variable":
		return checkVariable(s)
	case "marker":
		return checkMarker(s)
	}
	return nil
}

// isAbsolute also accepts a Unix path on Windows, where it means the current drive: a file can then be shared.
func isAbsolute(s string) bool { return strings.HasPrefix(s, "/") || filepath.IsAbs(s) }

// checkVariable checks the name of an environment variable.
func checkVariable(s string) error {
	for i := range len(s) {
		if !isBareByte(s[i]) || s[i] == '-' || i == 0 && '0' <= s[i] && s[i] <= '9' {
			return fmt.Errorf("%q is not the name of an environment variable", s)
		}
	}
	if s == "" {
		return fmt.Errorf("the name of a variable is empty")
	}
	return nil
}

// checkMarker keeps a marker from changing what runs: it must be none that a shell or loader acts on.
func checkMarker(s string) error {
	upper := strings.ToUpper(s)
	if !strings.HasSuffix(upper, "_SHELL") || strings.HasPrefix(upper, "LD_") || strings.HasPrefix(upper, "DYLD_") {
		return fmt.Errorf("%q cannot mark commands: a marker is a name of your own that ends in _SHELL", s)
	}
	return checkVariable(s)
}
