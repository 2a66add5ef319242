package trial

import (
	"context"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// check runs the workload's checks and records what they found. A check that
// says no is a result, which the validity gate reports; one that can't be run
// is an error.
func (p *place) check(ctx context.Context) error {
	return p.stage("check", func() (err error) {
		if p.rec.Checks, err = Checks(ctx, p.db, p.def, p.driven.Tally); err != nil {
			return fmt.Errorf("%s: %w", p.rec.Name, err)
		}
		return p.writeInstances()
	})
}

// Checks runs every check of def on db.
func Checks(ctx context.Context, db engine.Database, def *workload.Definition, t workload.Tally) ([]record.Check, error) {
	// The checks' queries take the place of the users' statements, so that an
	// engine needs to know only one way to open a session.
	asking := *def
	asking.Statements = nil
	for i, c := range def.Checks {
		q := *c.Query
		q.Index = i
		asking.Statements = append(asking.Statements, &q)
	}
	s, err := db.Open(ctx, &asking)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	defer func() { _ = s.Close() }()
	var out []record.Check
	for i, c := range def.Checks {
		res, err := s.Conn().Run(ctx, asking.Statements[i], nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if res.Rows() != 1 || res.Columns != 1 || res.Values[0].Kind != workload.Integer {
			return nil, fmt.Errorf("%s: the query gave %d rows of %d columns; want a single whole number", c.Name, res.Rows(), res.Columns)
		}
		var least, most int64
		if c.Want != nil {
			least, most = c.Want(t)
		}
		n := res.Values[0].Int
		out = append(out, record.Check{Name: c.Name, Clause: c.Clause, About: c.About, Found: n, Least: least, Most: most, Passed: least <= n && n <= most})
	}
	return out, nil
}
