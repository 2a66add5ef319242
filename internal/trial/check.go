package trial

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

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
		p.counted()
		return p.writeInstances()
	})
}

// Checks runs every check of def on db: each query once, several at a time.
func Checks(ctx context.Context, db engine.Database, def *workload.Definition, t workload.Tally) ([]record.Check, error) {
	var queries []*workload.Statement
	for _, c := range def.Checks {
		if !slices.Contains(queries, c.Query) {
			queries = append(queries, c.Query)
		}
	}
	rows, err := askAll(ctx, db, def, queries)
	if err != nil {
		return nil, err
	}
	var out []record.Check
	for _, c := range def.Checks {
		row := rows[slices.Index(queries, c.Query)]
		if c.Column >= len(row) || row[c.Column].Kind != workload.Integer {
			return nil, fmt.Errorf("%s: its query gave %d values; want a whole number in column %d", c.Name, len(row), c.Column)
		}
		var least, most int64
		if c.Want != nil {
			least, most = c.Want(t)
		}
		n := row[c.Column].Int
		out = append(out, record.Check{Name: c.Name, Clause: c.Clause, About: c.About, Found: n, Least: least, Most: most, Passed: least <= n && n <= most})
	}
	return out, nil
}

// askers is how many sessions ask at a time: a query of a check keeps one CPU
// of the server busy.
const askers = 4

// longQueries is implemented by connections that can be tuned for a few long
// queries in place of many short ones.
type longQueries interface {
	LongQueries(ctx context.Context) error
}

// askAll runs queries on sessions of their own and returns the row of each.
// The first error ends all of them.
func askAll(ctx context.Context, db engine.Database, def *workload.Definition, queries []*workload.Statement) ([][]workload.Value, error) {
	// The queries take the place of the users' statements, so that an engine
	// needs to know only one way to open a session.
	asking := *def
	asking.Statements = nil
	for i, query := range queries {
		q := *query
		q.Index = i
		asking.Statements = append(asking.Statements, &q)
	}
	rows := make([][]workload.Value, len(queries))
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(askers, len(queries)) {
		g.Go(func() error {
			s, err := db.Open(ctx, &asking)
			if err != nil {
				return fmt.Errorf("open a session: %w", err)
			}
			defer func() { _ = s.Close() }()
			if c, ok := s.Conn().(longQueries); ok {
				if err := c.LongQueries(ctx); err != nil {
					return err
				}
			}
			for i := int(next.Add(1)) - 1; i < len(queries); i = int(next.Add(1)) - 1 {
				if rows[i], err = ask(ctx, s, asking.Statements[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return rows, g.Wait()
}

// ask runs one query and returns its only row.
func ask(ctx context.Context, s *engine.Session, query *workload.Statement) ([]workload.Value, error) {
	res, err := s.Conn().Run(ctx, query, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query.Name, err)
	}
	if res.Rows() != 1 {
		return nil, fmt.Errorf("%s: the query gave %d rows; want one of whole numbers", query.Name, res.Rows())
	}
	return slices.Clone(res.Values), nil
}
