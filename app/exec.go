package app

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/proc"
)

// ExecOptions are those of "sallyport exec".
type ExecOptions struct {
	Options
	Command sallyport.Command // Stdin, Split and Family are set here
	Dir     string            // working directory of the process
	In      io.Reader         // nil: none
	Out     io.Writer         // nil: not streamed
	Err     io.Writer         // nil, or equal to Out: merged into Out, in exact order
}

// An ExecResult is how a command ended.
type ExecResult struct {
	Status sallyport.Status
	// Left are the processes that it left behind, and that were ended with it: this process is their scope.
	Left []sallyport.Process
	// Read returns its output while the app is open.
	Output sallyport.Output
}

// Exec runs one command to its end, with the caller's streams, under the same gate, journal and limits as an agent's.
// done is called with the result while its output can still be read.
func Exec(ctx context.Context, o ExecOptions, done func(ExecResult) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := make(chan syscall.Signal, 16)
	holdSignals(o.Link, func(sig syscall.Signal) {
		select {
		case signals <- sig:
		default:
		}
	})
	a, err := Open(ctx, o.Options)
	if err != nil {
		return err
	}
	defer a.End()
	s, err := a.Runs.Run(ctx, a.request(o))
	if err != nil {
		return err
	}
	go forward(ctx, s, signals, o.Link.Gone())
	if o.In != nil {
		go feed(ctx, s, o.In)
	}
	if err := stream(ctx, s, o); err != nil {
		return err
	}
	st, err := s.Status(ctx)
	if err != nil {
		return err
	}
	return done(ExecResult{Status: st, Left: st.Left, Output: s})
}

func (a *App) request(o ExecOptions) sallyport.Request {
	c := o.Command
	c.Family, c.Split = "exec", o.Out != nil && o.Err != nil && o.Err != o.Out
	if o.In != nil {
		c.Stdin = sallyport.StdinOpen
	}
	set := a.config()
	if c.Limits.Grace == 0 {
		c.Limits.Grace = set.Exec.Grace
	}
	workspace := set.Workspace
	if workspace == "" {
		workspace = o.Dir
	}
	return sallyport.Request{
		Caller: sallyport.Caller{
			Kind: sallyport.Human, Role: sallyport.Admin, Scope: "cli", UID: uid(), Surface: "cli", Workspace: workspace,
		},
		Exec: c,
	}
}

// forward passes signals to the command, and ends it if the keeper dies.
func forward(ctx context.Context, s sallyport.Session, signals <-chan syscall.Signal, gone <-chan struct{}) {
	for {
		select {
		case sig := <-signals:
			_ = s.Send(ctx, sallyport.Input{Signal: proc.Name(sig)}) // it may have ended by itself
		case <-gone:
			_, _ = s.End(context.WithoutCancel(ctx), sallyport.Ending{Cause: sallyport.Aborted})
			return
		case <-ctx.Done():
			return
		}
	}
}

// feedPatience is how long a write to a command that does not read may take: as long as the command likes.
const feedPatience = 365 * 24 * time.Hour

// feed copies the caller's stdin. It ends with the input, the command, or the process.
func feed(ctx context.Context, s sallyport.Session, in io.Reader) {
	ctx, cancel := context.WithTimeout(ctx, feedPatience)
	defer cancel()
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 && s.Send(ctx, sallyport.Input{Data: buf[:n]}) != nil {
			return
		}
		if err != nil {
			_ = s.Send(ctx, sallyport.Input{EOF: true})
			return
		}
	}
}

// stream copies output as it comes, until the command has ended and all of it is out.
func stream(ctx context.Context, s sallyport.Session, o ExecOptions) error {
	outs := []struct {
		w      io.Writer
		stream sallyport.Stream
		off    sallyport.Offset
	}{{o.Out, sallyport.AnyStream, 0}}
	if o.Out != nil && o.Err != nil && o.Err != o.Out {
		outs[0].stream = sallyport.Stdout
		outs = append(outs, outs[0])
		outs[1].w, outs[1].stream = o.Err, sallyport.Stderr
	}
	for seen := sallyport.Offset(0); ; {
		w := sallyport.Wake{From: seen, Output: true}
		if o.Out == nil {
			w = sallyport.Wake{EndOnly: true}
		}
		woke, err := s.Wait(ctx, w)
		if err != nil {
			return err
		}
		if woke.By == sallyport.WokeTime {
			return context.Cause(ctx)
		}
		seen = woke.Status.Output.End
		for i := range outs {
			if err := copyTo(ctx, s, outs[i].w, outs[i].stream, &outs[i].off); err != nil {
				return err
			}
		}
		if woke.By == sallyport.WokeEnd {
			return nil
		}
	}
}

// copyTo writes what is there after off.
func copyTo(ctx context.Context, s sallyport.Session, w io.Writer, stream sallyport.Stream, off *sallyport.Offset) error {
	if w == nil {
		return nil
	}
	for {
		c, err := s.Read(ctx, sallyport.Range{From: *off, Stream: stream, Max: 256 << 10})
		if err != nil {
			return err
		}
		*off = c.Next
		if len(c.Data) == 0 {
			return nil
		}
		if _, err := w.Write(c.Data); err != nil {
			if errors.Is(err, syscall.EPIPE) {
				_, _ = s.End(ctx, sallyport.Ending{Cause: sallyport.Aborted}) // nobody reads any more, as under a pipe
			}
			return err
		}
	}
}

// SameFile says whether two open files are one: then a command's streams need not be told apart.
func SameFile(a, b *os.File) bool {
	x, err1 := a.Stat()
	y, err2 := b.Stat()
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// SignalNumber is the number of a signal by its name, 0 if there is none.
func SignalNumber(name string) int {
	sig, err := proc.ParseSignal(name)
	if err != nil {
		return 0
	}
	return int(sig)
}
