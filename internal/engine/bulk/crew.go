package bulk

import (
	"context"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Crew is the connections that work beside each other, at least one.
type Crew[C io.Closer] struct{ conns []C }

// Hire opens n connections.
func Hire[C io.Closer](n int, open func() (C, error)) (*Crew[C], error) {
	c := &Crew[C]{}
	for range max(n, 1) {
		conn, err := open()
		if err != nil {
			c.Dismiss()
			return nil, err
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

// First is a connection for what one alone does.
func (c *Crew[C]) First() C { return c.conns[0] }

// Dismiss closes the connections; what still runs on the server ends with them.
func (c *Crew[C]) Dismiss() {
	for _, conn := range c.conns {
		// Whatever the work came to is known already.
		_ = conn.Close()
	}
}

// Each does work 0 to n-1, each connection taking the next as it is free. The
// first error cancels all others and is the one returned.
func (c *Crew[C]) Each(ctx context.Context, n int, work func(ctx context.Context, conn C, i int) error) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for _, conn := range c.conns[:min(len(c.conns), n)] {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := work(ctx, conn, i); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}
