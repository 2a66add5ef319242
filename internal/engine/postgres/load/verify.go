package load

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
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
	return bulk.Verify(ctx, onServer{t, conn}, t.source, t.content.Rows, newStored(t).of)
}

// query prepares and runs sql once.
func query(ctx context.Context, conn *wire.Conn, sql string, args ...workload.Value) (workload.Result, error) {
	if err := conn.Prepare(ctx, wire.Prepared{Index: -1, Name: sql, SQL: sql}); err != nil {
		return workload.Result{}, err
	}
	return conn.Run(ctx, &workload.Statement{Index: -1, Name: sql}, args)
}

// onServer is a table as the server has it: a bulk.Table.
type onServer struct {
	*table
	conn *wire.Conn
}

// Count implements bulk.Table.
func (t onServer) Count(ctx context.Context) (int64, error) {
	r, err := query(ctx, t.conn, "SELECT count(*) FROM "+t.name)
	if err != nil {
		return 0, err
	}
	return r.Values[0].Int, nil
}

// All implements bulk.Table.
func (t onServer) All(ctx context.Context, emit func([]workload.Value)) error {
	r, err := query(ctx, t.conn, "SELECT "+t.columnList()+" FROM "+t.name)
	if err == nil {
		t.rows(r, emit)
	}
	return err
}

// Finder implements bulk.Table.
func (t onServer) Finder(ctx context.Context, by []int) (bulk.Finder, error) {
	where := make([]string, len(by))
	for i, c := range by {
		where[i] = t.columns[c].name + " = $" + strconv.Itoa(i+1)
	}
	find := &workload.Statement{Index: -1, Name: "row of " + t.name}
	sql := "SELECT " + t.columnList() + " FROM " + t.name + " WHERE " + strings.Join(where, " AND ")
	if err := t.conn.Prepare(ctx, wire.Prepared{Index: -1, Name: find.Name, SQL: sql}); err != nil {
		return nil, err
	}
	return func(ctx context.Context, key []workload.Value, emit func([]workload.Value)) error {
		r, err := t.conn.Run(ctx, find, key)
		if err == nil {
			t.rows(r, emit)
		}
		return err
	}, nil
}

// rows calls emit with every row of r, without the blanks that mean nothing.
func (t onServer) rows(r workload.Result, emit func([]workload.Value)) {
	for i := range r.Rows() {
		row := r.Row(i)
		t.unpad(row)
		emit(row)
	}
}

// stored turns generated rows into what the server gives back for them: a
// whole number in a decimal column, say, comes back with decimals.
type stored struct {
	t   *table
	row []workload.Value
	buf [][]byte
}

func newStored(t *table) *stored {
	return &stored{t, make([]workload.Value, len(t.columns)), make([][]byte, len(t.columns))}
}

// of makes s.row from row; it is valid until the next call.
func (s *stored) of(row []workload.Value) ([]workload.Value, error) {
	if len(row) != len(s.row) {
		return nil, fmt.Errorf("a row has %d values, the table %d columns", len(row), len(s.row))
	}
	for i := range row {
		if row[i].Kind == workload.Null {
			s.row[i] = workload.Value{}
			continue
		}
		typ := s.t.columns[i].typ
		var err error
		if s.buf[i], err = typ.Append(s.buf[i][:0], &row[i]); err != nil {
			return nil, err
		}
		if err := typ.Decode(s.buf[i][4:], &s.row[i]); err != nil {
			return nil, err
		}
	}
	s.t.unpad(s.row)
	return s.row, nil
}

// unpad drops the blanks at the end of values in columns that have them
// without meaning.
func (t *table) unpad(row []workload.Value) {
	for i := range row {
		if b := row[i].Str; t.columns[i].padded {
			for len(b) > 0 && b[len(b)-1] == ' ' {
				b = b[:len(b)-1]
			}
			row[i].Str = b
		}
	}
}
