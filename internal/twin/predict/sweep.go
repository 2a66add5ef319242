package predict

import (
	"context"
	"sync"

	"github.com/loadstone-perf/loadstone/internal/twin/demand"
)

// Found is the answer to one question of a sweep. Asked is false where the
// sweep ended before it; Err is why a question could not be answered.
type Found struct {
	Asked  bool
	Answer Answer
	Err    error
}

// Sweep answers lanes of questions, o.Workers runs at once. The questions of a
// lane are answered one after the other, until enough says of an answer that
// the lane needs no more; lanes do not wait for each other. done, where it is
// not nil, is called after each answer, by one goroutine at a time. A context
// that ends leaves what is not yet answered out and is no error: the caller
// sees it in ctx. What comes out does not depend on the number of workers.
func Sweep(ctx context.Context, f *demand.File, lanes [][]Question, o Options, enough func(lane, question int, a Answer) bool, done func()) ([][]Found, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	a := newAsker(o)
	out := make([][]Found, len(lanes))
	// As many lanes as runs keep every worker busy; more would only hold more
	// half-answered questions when the sweep is broken off.
	turn := make(chan struct{}, o.Workers)
	var told sync.Mutex
	var all sync.WaitGroup
	for l, lane := range lanes {
		out[l] = make([]Found, len(lane))
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			for q := range lane {
				if ctx.Err() != nil {
					return
				}
				answer, err := a.ask(ctx, f, lane[q])
				if ctx.Err() != nil {
					return
				}
				out[l][q] = Found{true, answer, err}
				if done != nil {
					told.Lock()
					done()
					told.Unlock()
				}
				if err == nil && enough != nil && enough(l, q, answer) {
					return
				}
			}
		})
	}
	all.Wait()
	return out, nil
}
