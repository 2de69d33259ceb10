package sallyport

import (
	"context"
	"time"
)

// An EventKind names a step that is recorded.
type EventKind string

// Events.
const (
	EventOpen    EventKind = "open"    // a writing process began its chain
	EventRun     EventKind = "run"     // admitted, about to start
	EventRefused EventKind = "refused" // the gate or the host said no
	EventEnd     EventKind = "end"     // a session ended
	EventInput   EventKind = "input"   // something was written to a session
	EventSignal  EventKind = "signal"  // a signal or a kill was asked for
	EventConfig  EventKind = "config"  // another configuration is in force
	EventClose   EventKind = "close"   // the chain was closed in order
)

// An Event is one step as the journal keeps it. It holds no output and no secret value.
type Event struct {
	Kind    EventKind `json:"kind"`
	At      time.Time `json:"at"`
	Request RequestID `json:"request,omitempty"`
	Session SessionID `json:"session,omitempty"`
	Caller  *Caller   `json:"caller,omitempty"`
	Data    any       `json:"data,omitempty"`
}

// A Position is where an event stands in its chain: 1 for the first.
type Position uint64

// A Journal is the append-only record.
type Journal interface {
	// Append writes e so that it survives the death of every process of ours, and returns its position. It is on
	// disk only after Sync. An error means that e is not recorded: what it announces must not be done.
	Append(e Event) (Position, error)
	// Sync returns once everything up to p is on disk.
	Sync(ctx context.Context, p Position) error
}
