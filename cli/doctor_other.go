//go:build !linux

package cli

// checkKill says what this system has.
func checkKill(string) Check {
	return Check{Name: "kill", Health: Warn, Text: killText}
}

// checkSystem has nothing to look at.
func checkSystem() []Check { return nil }
