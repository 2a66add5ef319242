package load

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// verify proves that the database holds what was generated.
func (l *loader) verify(ctx context.Context, c crew) error {
	l.progress.Start(bulk.StageVerify, int64(len(l.tables)))
	return c.Each(ctx, len(l.tables), func(ctx context.Context, conn *wire.Conn, i int) error {
		if err := l.tables[i].verify(ctx, conn); err != nil {
			return fmt.Errorf("verify table %s: %w", l.tables[i].source.Name, err)
		}
		l.progress.Add(1)
		return nil
	})
}

func (t *table) verify(ctx context.Context, conn *wire.Conn) error {
	return bulk.Verify(ctx, onServer{t, conn}, t.source, t.content.Rows, t.stored())
}

// query prepares and runs sql once; its arguments come in the order of the
// placeholders.
func query(ctx context.Context, conn *wire.Conn, sql string, args ...workload.Value) (workload.Result, error) {
	if err := conn.Prepare(ctx, prepared(sql, len(args))); err != nil {
		return workload.Result{}, err
	}
	return conn.Run(ctx, &workload.Statement{Index: -1, Name: sql}, args)
}

func prepared(sql string, args int) wire.Prepared {
	t := sqltext.Text{SQL: sql}
	for i := range args {
		t.Order = append(t.Order, i)
	}
	return wire.Prepared{Index: -1, Name: sql, Text: t}
}

// onServer is a table as the server has it: a bulk.Table.
type onServer struct {
	*table
	conn *wire.Conn
}

// Count implements bulk.Table.
func (t onServer) Count(ctx context.Context) (int64, error) {
	r, err := query(ctx, t.conn, "SELECT COUNT(*) FROM "+t.name)
	if err != nil {
		return 0, err
	}
	return r.Values[0].Int, nil
}

// All implements bulk.Table.
func (t onServer) All(ctx context.Context, emit func([]workload.Value)) error {
	r, err := query(ctx, t.conn, "SELECT "+t.table.columns+" FROM "+t.name)
	if err == nil {
		rows(r, emit)
	}
	return err
}

// Finder implements bulk.Table.
func (t onServer) Finder(ctx context.Context, by []int) (bulk.Finder, error) {
	where := make([]string, len(by))
	for i, c := range by {
		where[i] = quote(strings.ToLower(t.source.Columns[c].Name)) + " = ?"
	}
	p := prepared("SELECT "+t.table.columns+" FROM "+t.name+" WHERE "+strings.Join(where, " AND "), len(by))
	if err := t.conn.Prepare(ctx, p); err != nil {
		return nil, err
	}
	find := &workload.Statement{Index: -1, Name: p.Name}
	return func(ctx context.Context, key []workload.Value, emit func([]workload.Value)) error {
		r, err := t.conn.Run(ctx, find, key)
		if err == nil {
			rows(r, emit)
		}
		return err
	}, nil
}

// rows calls emit with every row of r.
func rows(r workload.Result, emit func([]workload.Value)) {
	for i := range r.Rows() {
		emit(r.Row(i))
	}
}

// stored returns what makes of a generated row what the server gives back for
// it: a whole number in a column of decimals comes with decimals, a day in a
// column of instants with the time of day, and the blanks that end a CHAR are
// gone.
func (t *table) stored() bulk.Stored {
	kept := make([]workload.Value, len(t.source.Columns))
	return func(row []workload.Value) ([]workload.Value, error) {
		copy(kept, row)
		for i := range kept {
			typ, v := t.source.Columns[i].Type, &kept[i]
			switch {
			case typ.Base == workload.Decimal && v.Kind == workload.Integer:
				v.Kind = workload.Fixed
				for range typ.Scale {
					v.Int *= 10
				}
			case typ.Base == workload.Timestamp && v.Kind == workload.Day:
				v.Kind, v.Int = workload.Instant, v.Int*86400*1e6
			case typ.Base == workload.Char && v.Kind == workload.String:
				v.Str = bytes.TrimRight(v.Str, " ")
			}
		}
		return kept, nil
	}
}
