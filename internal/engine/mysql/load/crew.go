package load

import (
	"context"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
)

// crew is the connections that load.
type crew = *bulk.Crew[*wire.Conn]

// hire opens the connections to the new database. They keep the number 0 in
// identity columns, which the server would otherwise take for "the next".
func (l *loader) hire(ctx context.Context) (crew, error) {
	cfg := l.server.Config
	cfg.Database = l.database
	const set = "SET unique_checks = 0, foreign_key_checks = 0, sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')"
	return bulk.Hire(l.workers, func() (*wire.Conn, error) {
		conn, err := wire.Dial(ctx, cfg)
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
