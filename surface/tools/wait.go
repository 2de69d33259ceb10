package tools

import (
	"context"
	"time"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/surface/view"
)

// progressEvery is how often a client that asked for it hears of a call: well within every client's patience.
const progressEvery = time.Second

// progressLine is how much of the last line of output it hears.
const progressLine = 160

// waiting says how long to wait and who is told meanwhile.
type waiting struct {
	window   time.Duration // 0: as long as it takes
	progress func(string)
	since    time.Time // the beginning of what is told of
}

// waitWith waits for a wake, or until the window is over or ctx is done, and tells how far things are about every
// second. The latter two are [sallyport.WokeTime].
func waitWith(ctx context.Context, s sallyport.Session, w sallyport.Wake, o waiting) (sallyport.Woke, error) {
	if o.window > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.window)
		defer cancel()
	}
	if o.progress == nil {
		return s.Wait(ctx, w)
	}
	var told sallyport.Offset
	for {
		step, cancel := context.WithTimeout(ctx, progressEvery)
		woke, err := s.Wait(step, w)
		cancel()
		if err != nil || woke.By != sallyport.WokeTime || ctx.Err() != nil {
			return woke, err
		}
		line := "running " + took(time.Since(o.since))
		if end := woke.Status.Output.End; end > told {
			told = end
			if last, err := view.LastLine(ctx, s, woke.Status, progressLine); err == nil && last != "" {
				line += ": " + last
			}
		}
		o.progress(line)
	}
}
