package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

const (
	// wholeRows is up to how many rows a table is read back whole.
	wholeRows = 20_000
	// sampleBatches and sampleRows say how many batches of a larger table
	// are generated again, and how many rows of each are looked up.
	sampleBatches = 16
	sampleRows    = 8
)

// verify proves that the database holds what was generated: the rows of every
// table are counted; tables up to wholeRows are read back and hashed whole;
// of larger ones, rows from the first batch to the last are looked up and
// compared value by value. A fault of the encoding shows in every row, a lost
// batch in the count, so that a sample proves nearly as much as reading all
// of it would.
func (l *loader) verify(ctx context.Context, c *crew) error {
	l.progress.start(StageVerify, int64(len(l.tables)))
	return c.each(ctx, len(l.tables), func(ctx context.Context, conn *wire.Conn, i int) error {
		if err := verifyTable(ctx, conn, l.tables[i]); err != nil {
			return fmt.Errorf("verify table %s: %w", l.tables[i].source.Name, err)
		}
		l.progress.add(1)
		return nil
	})
}

func verifyTable(ctx context.Context, conn *wire.Conn, t *table) error {
	r, err := query(ctx, conn, "SELECT count(*) FROM "+t.name)
	if err != nil {
		return err
	}
	if n := r.Values[0].Int; n != t.content.rows {
		return fmt.Errorf("it has %d rows, generated were %d", n, t.content.rows)
	}
	if t.content.rows <= wholeRows {
		return verifyWhole(ctx, conn, t)
	}
	return verifySample(ctx, conn, t)
}

// query prepares and runs sql once.
func query(ctx context.Context, conn *wire.Conn, sql string, args ...workload.Value) (workload.Result, error) {
	if err := conn.Prepare(ctx, wire.Prepared{Index: -1, Name: sql, SQL: sql}); err != nil {
		return workload.Result{}, err
	}
	return conn.Run(ctx, &workload.Statement{Index: -1, Name: sql}, args)
}

// verifyWhole compares the contents of all rows.
func verifyWhole(ctx context.Context, conn *wire.Conn, t *table) error {
	var want content
	stored := newStored(t)
	for batch := range t.source.Rows.Batches {
		err := t.source.Rows.Fill(batch, func(row []workload.Value) error {
			if err := stored.set(row); err != nil {
				return err
			}
			want.add(stored.row)
			return nil
		})
		if err != nil {
			return fmt.Errorf("batch %d: %w", batch, err)
		}
	}
	r, err := query(ctx, conn, "SELECT "+t.columnList()+" FROM "+t.name)
	if err != nil {
		return err
	}
	var got content
	for i := range r.Rows() {
		row := r.Row(i)
		t.unpad(row)
		got.add(row)
	}
	if got != want {
		return errors.New("its rows are not those generated")
	}
	return nil
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

// set makes s.row from row; it is valid until the next set.
func (s *stored) set(row []workload.Value) error {
	if len(row) != len(s.row) {
		return fmt.Errorf("a row has %d values, the table %d columns", len(row), len(s.row))
	}
	for i := range row {
		if row[i].Kind == workload.Null {
			s.row[i] = workload.Value{}
			continue
		}
		typ := s.t.columns[i].typ
		var err error
		if s.buf[i], err = typ.Append(s.buf[i][:0], &row[i]); err != nil {
			return err
		}
		if err := typ.Decode(s.buf[i][4:], &s.row[i]); err != nil {
			return err
		}
	}
	s.t.unpad(s.row)
	return nil
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

// verifySample looks rows up by the primary key, or else by an index.
func verifySample(ctx context.Context, conn *wire.Conn, t *table) error {
	by := t.lookup()
	if by == nil {
		return nil // nothing finds a row without reading the table
	}
	where := make([]string, len(by))
	for i, c := range by {
		where[i] = t.columns[c].name + " = $" + strconv.Itoa(i+1)
	}
	find := &workload.Statement{Index: -1, Name: "row of " + t.name}
	sql := "SELECT " + t.columnList() + " FROM " + t.name + " WHERE " + strings.Join(where, " AND ")
	if err := conn.Prepare(ctx, wire.Prepared{Index: -1, Name: find.Name, SQL: sql}); err != nil {
		return err
	}
	batches := t.source.Rows.Batches
	n := min(batches, sampleBatches)
	for i := range n {
		batch := i * (batches - 1) / max(n-1, 1)
		if err := t.verifyBatch(ctx, conn, find, by, batch); err != nil {
			return fmt.Errorf("batch %d: %w", batch, err)
		}
	}
	return nil
}

// lookup returns the columns by which rows are found: of the primary key, or
// of the first index that is no full-text index; nil where there is neither.
// A decimal is passed over, because a parameter can't say its scale.
func (t *table) lookup() []int {
	keys := [][]string{t.source.PrimaryKey}
	for _, x := range t.source.Indexes {
		if !x.FullText {
			keys = append(keys, x.Columns)
		}
	}
	for _, key := range keys {
		var by []int
		for _, name := range key {
			i := slices.IndexFunc(t.source.Columns, func(c workload.Column) bool { return c.Name == name })
			if i >= 0 && t.source.Columns[i].Type.Base != workload.Decimal {
				by = append(by, i)
			}
		}
		if len(by) > 0 && len(by) == len(key) {
			return by
		}
	}
	return nil
}

// verifyBatch generates a batch again and looks some of its rows up, the
// first among them.
func (t *table) verifyBatch(ctx context.Context, conn *wire.Conn, find *workload.Statement, by []int, batch int64) error {
	// The rows in a batch are about as many in each.
	every := max(t.content.rows/t.source.Rows.Batches/sampleRows, 1)
	want, args := newStored(t), make([]workload.Value, len(by))
	var n int64
	return t.source.Rows.Fill(batch, func(row []workload.Value) error {
		if n++; (n-1)%every != 0 {
			return nil
		}
		for i, c := range by {
			if args[i] = row[c]; args[i].Kind == workload.Null {
				return nil // not found by =
			}
		}
		if err := want.set(row); err != nil {
			return err
		}
		r, err := conn.Run(ctx, find, args)
		if err != nil {
			return err
		}
		for i := range r.Rows() {
			got := r.Row(i)
			t.unpad(got)
			if slices.EqualFunc(got, want.row, equal) {
				return nil
			}
		}
		return fmt.Errorf("row %d of it is not in the table", n)
	})
}

func equal(a, b workload.Value) bool {
	return a.Kind == b.Kind && a.Int == b.Int && string(a.Str) == string(b.Str)
}
