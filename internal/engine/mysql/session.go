package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/load"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Load implements engine.Database.
func (s *server) Load(ctx context.Context, d *workload.Definition, o engine.LoadOptions) (engine.LoadReport, error) {
	if o.Workers <= 0 {
		cpus, _ := s.machine.Capacity()
		o.Workers = max(1, int(cpus))
	}
	if err := s.foreign(d); err != nil {
		return engine.LoadReport{}, err
	}
	x := Dialect{s.in.product}
	return load.Run(ctx, load.Server{Config: s.own(), Engine: Name, Collation: x.bytes()}, d, x, o)
}

// foreign says where the database of d is one of the product's own.
func (s *server) foreign(d *workload.Definition) error {
	switch strings.ToLower(d.Database) {
	case "", "mysql", "sys", "information_schema", "performance_schema":
		return fmt.Errorf("workload %s names database %q, which is not one of its own", d.Name, d.Database)
	}
	return nil
}

// Open implements engine.Database. Users come through the Unix socket, so that
// the network is no part of what is measured.
func (s *server) Open(ctx context.Context, d *workload.Definition) (*engine.Session, error) {
	if err := s.foreign(d); err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	cfg := s.own()
	cfg.Database = strings.ToLower(d.Database)
	if d.Role.Name != "" {
		cfg.User, cfg.Password = d.Role.Name, d.Role.Password
	}
	return openSession(ctx, cfg, d)
}

// openSession opens a user's session as cfg says, with the statements of d
// prepared.
func openSession(ctx context.Context, cfg wire.Config, d *workload.Definition) (*engine.Session, error) {
	cfg.Render = render
	cfg.Statements = make([]wire.Prepared, len(d.Statements))
	for i, statement := range d.Statements {
		text, err := render(statement)
		if err != nil {
			return nil, fmt.Errorf("open a session: %w", err)
		}
		cfg.Statements[i] = wire.Prepared{Index: statement.Index, Name: statement.Name, Text: text}
	}
	conn, err := wire.Dial(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return engine.NewSession(conn, wire.Classify), nil
}
