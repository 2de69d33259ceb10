package app

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/sallyport-sh/sallyport/host/keeper"
)

// outside are the signals by which a person or a client speaks to a program.
var outside = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// holdSignals routes signals to f. Under a keeper they come from it alone: those sent to this process directly are
// swallowed, since it is the commands' parent, and one that kills its parent means nothing by it.
func holdSignals(link *keeper.Link, f func(syscall.Signal)) {
	direct := make(chan os.Signal, 16)
	signal.Notify(direct, append(outside, more...)...)
	go func() {
		for {
			select {
			case sig, ok := <-link.Signals():
				if !ok {
					return
				}
				f(sig)
			case sig := <-direct:
				if s, ok := sig.(syscall.Signal); ok && link == nil {
					f(s)
				}
			}
		}
	}()
}
