package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// untilInterrupted returns a context that the first Ctrl-C (or SIGTERM,
// SIGHUP) ends, so that everything is taken down in good order. The second
// ends the program at once: servers die with it, and the next run removes
// their directories.
func untilInterrupted(stderr io.Writer) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
			case <-done:
				return
			}
			if n > 0 {
				os.Exit(exitFailed)
			}
			_, _ = fmt.Fprintln(stderr, "\nStopping: the trial in flight is given up, finished ones stay. Press Ctrl-C again to end at once.")
			cancel()
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel() }
}
