package des

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Replicate calls run for replications 0 to n-1, at most workers at a time,
// and returns their results in order: the same for every number of workers, as
// long as run depends on its argument alone. The first replication that fails
// ends the others; its error is returned.
func Replicate[T any](ctx context.Context, n, workers int, run func(ctx context.Context, replication int) (T, error)) ([]T, error) {
	if n < 0 || workers < 1 {
		return nil, fmt.Errorf("%d replications on %d workers", n, workers)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, errs := make([]T, n), make([]error, n)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, workers) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if out[i], errs[i] = run(ctx, i); errs[i] != nil {
					cancel()
				}
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		// Those that were only cancelled tell nothing while there is a cause.
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, fmt.Errorf("replication %d: %w", i, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return out, nil
}
