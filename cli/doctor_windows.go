package cli

import (
	"context"
	"os"
)

const killText = "a Job Object: not tested on this system"

// checkShells looks at the configured shell only: where PowerShell is, the engine finds out when it plans.
func checkShells(_ context.Context, configured string) Check {
	c := Check{Name: "shells", Health: OK, Text: "PowerShell"}
	if configured != "" && configured != "cmd" && configured != "pwsh" && configured != "powershell" {
		c.Text = configured
		if _, err := os.Stat(configured); err != nil {
			c.Health, c.Text, c.Fix = Fail, err.Error(), "sallyport config set exec.shell \"\""
		}
	}
	return c
}
