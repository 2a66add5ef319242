package load

import (
	"context"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
)

// crew is the connections that load.
type crew = *bulk.Crew[*wire.Conn]

// hire opens the connections to the new database, as its owner.
func (l *loader) hire(ctx context.Context) (crew, error) {
	cfg := l.server.Copy()
	cfg.Database = l.d.Database
	set := "SET statement_timeout = 0; SET lock_timeout = 0; SET client_encoding = 'UTF8'"
	if l.workers > 1 {
		// Indexes are built beside each other already. Several processes
		// for each exchange their sorted parts through files, which takes
		// half as much CPU again.
		set += "; SET max_parallel_maintenance_workers = 0"
	}
	if owner := l.d.Owner.Name; owner != "" {
		set += "; SET ROLE " + quote(owner)
	}
	return bulk.Hire(l.workers, func() (*wire.Conn, error) {
		conn, err := wire.Connect(ctx, cfg)
		if err != nil {
			return nil, err
		}
		if err := conn.Exec(ctx, set); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("set up a connection: %w", err)
		}
		return conn, nil
	})
}
