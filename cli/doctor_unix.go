//go:build unix

package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// checkShells looks at the shells that could read command text, in the order in which they are taken.
func checkShells(ctx context.Context, configured string) Check {
	c := Check{Name: "shells", Health: OK}
	if configured != "" {
		c.Text = configured + " (exec.shell)"
		if !executableFile(configured) {
			c.Health, c.Text, c.Fix = Fail, "exec.shell is "+configured+", which cannot be run", `sallyport config set exec.shell ""`
		}
		return c
	}
	var found []string
	if executableFile("/bin/bash") {
		found = append(found, "bash"+bashVersion(ctx)+" (/bin/bash)")
	}
	if real, err := filepath.EvalSymlinks("/bin/sh"); err == nil {
		found = append(found, "sh → "+filepath.Base(real))
	}
	c.Text = strings.Join(found, ", ")
	if len(found) == 0 {
		c.Health, c.Text, c.Fix = Fail, "neither /bin/bash nor /bin/sh: only argv can be run", "sallyport config set exec.shell /path/of/a/shell"
	}
	return c
}

func executableFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// bashVersion is " 5.2", or empty if bash does not say.
func bashVersion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "--noprofile", "--norc", "-c", `echo "${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}"`)
	cmd.Env, cmd.Dir = []string{}, "/"
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return " " + strings.TrimSpace(string(out))
}
