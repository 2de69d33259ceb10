package app

import (
	"slices"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/app/config"
	"github.com/sallyport-sh/sallyport/gateway"
	"github.com/sallyport-sh/sallyport/host/engine"
	"github.com/sallyport-sh/sallyport/surface/tools"
)

func (a *App) engineSettings(s *config.Snapshot, agent string) engine.Settings {
	e := s.For(agent)
	return engine.Settings{
		Shell: e.Exec.Shell, Markers: e.Exec.ShellMarker, PathPrepend: a.paths.Expand(e.Exec.PathPrepend), EnvPass: e.Exec.EnvPass,
		Pids: e.Exec.PidsMax, Spool: int64(s.Output.Quota), KillLeft: e.Exec.Leftovers == "kill",
		Retain: e.Exec.Cleanup, RetainMax: s.Output.FinishedMax, RetainBytes: int64(s.Output.FinishedBytes),
	}
}

func gatewaySettings(s *config.Snapshot, agent string) gateway.Settings {
	e := s.For(agent).Exec
	return gateway.Settings{
		BeforeStart: s.Journal.Sync == "before-start", NotifyOnExit: e.NotifyOnExit, NotifyQuiet: e.NotifyOnExitEmptySuccess,
	}
}

func agentLevels(s *config.Snapshot) map[string]sallyport.Security {
	if len(s.Agents) == 0 {
		return nil
	}
	levels := make(map[string]sallyport.Security, len(s.Agents))
	for id, a := range s.Agents {
		levels[id] = a.Tools.Exec.Security
	}
	return levels
}

// toolSettings are what the exec family serves an agent. only, if it is not empty, narrows the tools further.
func toolSettings(s *config.Snapshot, agent string, only []string) tools.Settings {
	e := s.For(agent).Exec
	served := func(tool string) bool {
		return slices.Contains(s.Tools.Families, "exec") && !slices.Contains(s.Tools.Deny, tool) &&
			(len(only) == 0 || slices.Contains(only, tool))
	}
	return tools.Settings{
		Exec: served("exec"), Process: served("process"),
		Yield: e.Background, Timeout: e.Timeout, NoOutput: e.NoOutputTimeout, Grace: e.Grace,
		MaxOutput: e.MaxOutput, MaxOutputLimit: e.MaxOutputLimit, Pending: e.PendingMaxOutput, Structured: s.MCP.Structured,
	}
}
