package cli

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// A Build says which build this is.
type Build struct {
	Version  string `json:"version"`          // "v0.1.0", or "devel"
	Commit   string `json:"commit,omitempty"` // of the source
	Time     string `json:"time,omitempty"`   // of the commit
	Modified bool   `json:"modified"`         // the source had changes that are in no commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// ReadBuild is what the build recorded; version, if it is not empty, is the release's.
func ReadBuild(version string) Build {
	b := Build{Version: version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, "devel")
		return b
	}
	b.Go = info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "GOOS":
			b.OS = s.Value
		case "GOARCH":
			b.Arch = s.Value
		}
	}
	b.Version = cmp.Or(b.Version, strings.Trim(info.Main.Version, "()"), "devel")
	return b
}

func (b Build) String() string {
	s := "sallyport " + b.Version
	if b.Commit != "" {
		s += " (commit " + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return fmt.Sprintf("%s %s %s/%s", s, b.Go, b.OS, b.Arch)
}

func newVersionCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print which version this is", Args: arguments()}
	out := formatFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		b := ReadBuild(env.Version)
		if *out == formatJSON {
			return printJSON(env.Stdout, b)
		}
		fmt.Fprintln(env.Stdout, b)
		return nil
	}
	return cmd
}
