package postgres

import (
	"context"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/load"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Load implements engine.Database.
func (s *server) Load(ctx context.Context, d *workload.Definition, o engine.LoadOptions) (engine.LoadReport, error) {
	c, err := s.superuser()
	if err != nil {
		return engine.LoadReport{}, err
	}
	workers := o.Workers
	if workers <= 0 {
		cpus, _ := s.machine.Capacity()
		workers = max(1, int(cpus))
	}
	return load.Run(ctx, load.Server{Config: c, Workers: workers}, d, Dialect{}, Name, o)
}

// Open implements engine.Database. Users come through the Unix socket, so that
// neither the network nor a password is part of what is measured.
func (s *server) Open(ctx context.Context, d *workload.Definition) (*engine.Session, error) {
	if d.Database == "" || d.Database == "postgres" {
		return nil, fmt.Errorf("open a session: workload %s names database %q, which is not one of its own", d.Name, d.Database)
	}
	prepared := make([]wire.Prepared, len(d.Statements))
	for i, statement := range d.Statements {
		text, err := Dialect{}.Statement(statement)
		if err != nil {
			return nil, fmt.Errorf("open a session: %w", err)
		}
		prepared[i] = wire.Prepared{Index: statement.Index, Name: statement.Name, SQL: text}
	}
	user := d.Role.Name
	if user == "" {
		user = superuser
	}
	conn, err := wire.Dial(ctx, wire.Config{
		Network: "unix", Address: s.address.socket(),
		User: user, Password: d.Role.Password, Database: d.Database, Statements: prepared,
		// The queries of checks are not among the users' statements.
		Render: Dialect{}.Statement,
	})
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return engine.NewSession(conn, wire.Classify), nil
}
