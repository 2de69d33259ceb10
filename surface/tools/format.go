package tools

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/view"
)

// took writes how long something took: 12ms, 1.2s, 2m05s, 3h07m.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// limit writes a limit as it was given: 1s, 0.5s, 1800s.
func limit(d time.Duration) string { return seconds(d) + "s" }

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// age writes a duration in its largest unit: 14s, 2m, 6h, 3d.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// maxNamed is how many processes a text names.
const maxNamed = 3

// processes names processes: "sleep (pid 77), node (pid 78) and 4 more".
func processes(all []sallyport.Process) string {
	var b strings.Builder
	for i, p := range all {
		if i == maxNamed {
			fmt.Fprintf(&b, " and %d more", len(all)-maxNamed)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (pid %d)", p.Name, p.PID)
	}
	return b.String()
}

// counted writes a number of processes.
func counted(n int) string {
	if n == 1 {
		return "1 process"
	}
	return strconv.Itoa(n) + " processes"
}

func bytesOf(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return view.Count(int64(n)) + " bytes"
}

// killed says what a kill did: "4 processes, 0 left".
func killed(k sallyport.KillReport) string {
	s := fmt.Sprintf("%s, %d left", counted(k.Killed), len(k.Survivors))
	if len(k.Survivors) > 0 {
		s += ": " + processes(k.Survivors)
	}
	return s
}

// state is how a session is, for headers and lists: "exit 0", "running", "signal SIGKILL", "timed out".
func state(st sallyport.Status) string {
	o := st.Outcome
	if o == nil {
		return running
	}
	switch o.Kind {
	case sallyport.Exited:
		return "exit " + strconv.Itoa(o.Code)
	case sallyport.Signalled:
		return "signal " + o.Signal
	case sallyport.TimedOut:
		if o.Failure == sallyport.NoOutputTimeout {
			return "no output for " + limit(st.Limits.NoOutput)
		}
		return "timed out after " + limit(st.Limits.Timeout)
	case sallyport.Killed:
		return "killed"
	case sallyport.Aborted:
		return "aborted"
	}
	return string(o.Kind)
}

// call is a call of the process tool that works as it stands.
func call(action string, id sallyport.SessionID, more ...string) string {
	return strings.Join(append([]string{"process", action, "sessionId=" + string(id)}, more...), " ")
}
