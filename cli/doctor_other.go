//go:build !linux

package cli

import "context"

// checkKill says what this system has.
func checkKill(context.Context, string) Check {
	return Check{Name: "kill", Health: Warn, Text: killText}
}

// checkSystem has nothing to look at.
func checkSystem() []Check { return nil }
