package load

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
)

// crew is the connections that work beside each other, at least one.
type crew struct{ conns []*wire.Conn }

// hire opens the connections to the new database, as its owner.
func (l *loader) hire(ctx context.Context) (*crew, error) {
	cfg := l.server.Copy()
	cfg.Database = l.d.Database
	c := &crew{}
	for range l.workers {
		conn, err := wire.Connect(ctx, cfg)
		if err != nil {
			c.dismiss()
			return nil, err
		}
		c.conns = append(c.conns, conn)
		set := "SET statement_timeout = 0; SET lock_timeout = 0; SET client_encoding = 'UTF8'"
		if owner := l.d.Owner.Name; owner != "" {
			set += "; SET ROLE " + quote(owner)
		}
		if err := conn.Exec(ctx, set); err != nil {
			c.dismiss()
			return nil, fmt.Errorf("set up a connection: %w", err)
		}
	}
	return c, nil
}

// dismiss closes the connections; what still runs on the server is cancelled.
func (c *crew) dismiss() {
	for _, conn := range c.conns {
		// Whatever the work came to is known already.
		_ = conn.Close()
	}
}

// each does work 0 to n-1, each connection taking the next as it is free. The
// first error cancels all others and is the one returned.
func (c *crew) each(ctx context.Context, n int, work func(ctx context.Context, conn *wire.Conn, i int) error) error {
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
