package sallyport

import (
	"context"
	"time"
)

// A Stream tells the two outputs of a command apart. Merged sessions have only Stdout.
type Stream uint8

// Streams, by their descriptor numbers. AnyStream selects all in queries.
const (
	AnyStream Stream = 0
	Stdout    Stream = 1
	Stderr    Stream = 2
)

// A Range asks for bytes of the output log.
type Range struct {
	From   Offset
	Max    int    // bytes at most; 0: 64 KiB
	Stream Stream // AnyStream: as written
}

// A Chunk is an answer to a Range. Data starts at From, which is later than was asked if bytes were dropped: Skipped
// counts them. Next is where to go on.
type Chunk struct {
	From    Offset
	Data    []byte
	Next    Offset
	Skipped int64
	EOF     bool // nothing follows, ever
}

// A LineQuery asks for lines. Lines are counted from 0 and end at "\n"; the last may lack it.
type LineQuery struct {
	From    int64  // first line; negative: that many from the end
	Limit   int    // lines at most; 0: 200
	MaxByte int    // bytes of line text at most; 0: 1 MiB. A line longer than what is left is cut and marked
	Stream  Stream // AnyStream: as written
	Grep    string // RE2: only matching lines, with Context lines round each
	Context int    // lines before and after a match, 0…50
}

// A Line is one line of output, without its "\n".
type Line struct {
	No    int64
	Off   Offset
	Text  []byte
	Cut   int64 // bytes of this line left out
	Match bool
}

// A LinePage is an answer to a LineQuery.
type LinePage struct {
	Lines   []Line
	Total   int64 // lines so far in the log, of all streams
	Next    int64 // line to go on from
	More    bool  // there are lines after Next (or more matches)
	Matches int64 // with Grep: matches counted in what was scanned
	Dropped int64 // lines of the dropped middle
}

// A Wake names what ends a wait, besides the end of the session.
type Wake struct {
	From    Offset        // output up to here is known
	Output  bool          // wake when there is output after From
	Until   string        // RE2: wake when output after From matches
	Quiet   time.Duration // wake when there was output and then none for this long; 0: no
	EndOnly bool          // wake for nothing but the end
}

// A WokeBy says what ended a wait.
type WokeBy string

// Causes of the end of a wait.
const (
	WokeEnd    WokeBy = "exit"
	WokeOutput WokeBy = "output"
	WokeUntil  WokeBy = "until"
	WokeQuiet  WokeBy = "quiet"
	WokeTime   WokeBy = "timeout"
)

// Woke is the answer to a Wake.
type Woke struct {
	By     WokeBy
	Status Status
	Match  string // the line that matched Until
}

// Input is what can be done to a running session. Data comes before EOF, EOF before Signal.
type Input struct {
	Data   []byte
	EOF    bool
	Signal string // "INT", "SIGTERM", "9"
}

// An Ending says how to end a session.
type Ending struct {
	Grace  time.Duration // between TERM and KILL; negative: the plan's
	Cause  OutcomeKind   // Killed, or Aborted, which shortens the grace: nobody waits any more; empty: Killed
	Remove bool          // forget it, too
}

// Runs is how surfaces start commands and find them again. gateway implements it in process; a client of a daemon will
// over its API. Everything is seen through a caller: sessions of another scope behave as not found.
type Runs interface {
	// Run admits a request and starts it. The run's record is on disk before the session's first answer can be given.
	Run(ctx context.Context, r Request) (Session, error)
	// Find returns one of the caller's sessions.
	Find(ctx context.Context, c Caller, id SessionID) (Session, error)
	// List returns the caller's sessions, newest first.
	List(ctx context.Context, c Caller) ([]Status, error)
	// Mark tells what the caller has seen and wants of a session.
	Mark(ctx context.Context, c Caller, id SessionID, m Mark) error
	// Notices takes the caller's waiting notices, oldest first.
	Notices(ctx context.Context, c Caller) ([]Notice, error)
	// Info describes the host that this caller's commands run on.
	Info(ctx context.Context, c Caller) (HostInfo, error)
}

// A Mark is a reader's bookkeeping for a session. Zero fields change nothing.
type Mark struct {
	Seen       Offset // output up to here was delivered
	SawEnd     bool   // the end was delivered: no notice is due
	Background bool   // from now on it runs in the background: list it, announce its end
	Release    bool   // nothing of it is needed any more: forget it once it has ended and left nothing
}

// A Notice announces the end of a background session nobody has read yet.
type Notice struct {
	ID   SessionID
	Text string // "Exec completed (amber-atlas, code 0) :: …"
	At   time.Time
}
