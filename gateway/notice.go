package gateway

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-sh/sallyport"
)

// noticeTail is how much of the output's end a notice carries, in characters (seed D).
const noticeTail = 400

// maxNotices bounds what waits for a conversation that never calls again (seed D's system: 20).
const maxNotices = 20

// Ended is called by the host once a session, when its outcome is known.
func (gw *Gateway) Ended(st sallyport.Status) {
	gw.write(sallyport.Event{
		Kind: sallyport.EventEnd, Request: st.Request, Session: st.ID,
		Data: ended{Outcome: st.Outcome, Bytes: st.Output.End, Left: st.Left},
	})
	set := gw.o.Settings(st.Agent)
	if !set.NotifyOnExit || !st.Background || st.Outcome == nil {
		return
	}
	switch st.Outcome.Kind {
	case sallyport.Killed, sallyport.Aborted:
		return // whoever ended it knows
	case sallyport.Exited:
		if st.Outcome.Code == 0 && st.Output.End == 0 && !set.NotifyQuiet {
			return
		}
	case sallyport.Signalled, sallyport.TimedOut:
	}
	n := sallyport.Notice{ID: st.ID, At: st.Ended, Text: gw.noticeText(st)}
	gw.mu.Lock()
	defer gw.mu.Unlock()
	s := gw.scope(st.Scope)
	s.notices = append(s.notices, n)
	if len(s.notices) > maxNotices {
		s.notices = slices.Delete(s.notices, 0, len(s.notices)-maxNotices)
	}
}

// noticeText is seed D's: "Exec completed (amber-atlas, code 0) :: last of the output on one line".
func (gw *Gateway) noticeText(st sallyport.Status) string {
	word, how := "completed", "code "+strconv.Itoa(st.Outcome.Code)
	if st.Outcome.Failure != "" {
		word = "failed"
	}
	switch st.Outcome.Kind {
	case sallyport.Signalled:
		how = "signal " + st.Outcome.Signal
	case sallyport.TimedOut:
		how = string(st.Outcome.Failure)
	case sallyport.Exited, sallyport.Killed, sallyport.Aborted:
	}
	text := fmt.Sprintf("Exec %s (%s, %s)", word, st.ID, how)
	if tail := gw.tail(st); tail != "" {
		text += " :: " + tail
	}
	return text
}

// tail reads the end of the output as one line. Surfaces make it safe to show.
func (gw *Gateway) tail(st sallyport.Status) string {
	ctx := context.Background()
	s, err := gw.o.Host.Session(ctx, st.ID)
	if err != nil {
		return ""
	}
	const bytes = noticeTail * 4 // a character is at most 4 bytes (RFC 3629)
	c, err := s.Read(ctx, sallyport.Range{From: max(0, st.Output.End-bytes), Max: bytes})
	if err != nil {
		return ""
	}
	line := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(string(c.Data), "")), " "))
	return string(line[max(0, len(line)-noticeTail):])
}

// Notices implements [sallyport.Runs].
func (gw *Gateway) Notices(_ context.Context, c sallyport.Caller) ([]sallyport.Notice, error) {
	gw.mu.Lock()
	defer gw.mu.Unlock()
	s := gw.scopes[c.Scope]
	if s == nil {
		return nil, nil
	}
	out := s.notices
	s.notices = nil
	return out, nil
}

// unnotify takes a notice back: its news was read another way.
func (gw *Gateway) unnotify(sc sallyport.Scope, id sallyport.SessionID) {
	gw.mu.Lock()
	defer gw.mu.Unlock()
	if s := gw.scopes[sc]; s != nil {
		s.notices = slices.DeleteFunc(s.notices, func(n sallyport.Notice) bool { return n.ID == id })
	}
}

// removedText says what commands do not inherit, and how to change that.
func removedText(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{"removed from the environment: " + strings.Join(names, ", ") + " (env.pass in the configuration keeps names)"}
}
