package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/engine/fingerprint"
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

// Table is a table that was loaded, as the server has it. Rows have the columns
// of the workload's table in its order; they are valid until the next call.
type Table interface {
	// Count returns the number of rows.
	Count(ctx context.Context) (int64, error)
	// All calls emit with every row, in any order.
	All(ctx context.Context, emit func(row []workload.Value)) error
	// Finder returns what calls emit with the rows that have the values of key
	// in the columns at the places by.
	Finder(ctx context.Context, by []int) (Finder, error)
}

// Finder looks rows up: see Table.
type Finder func(ctx context.Context, key []workload.Value, emit func(row []workload.Value)) error

// Stored makes of a generated row what the server gives back for it, valid until
// the next call: a whole number in a decimal column may come back with decimals.
type Stored func(row []workload.Value) ([]workload.Value, error)

// Verify proves that t holds what was generated for source: its rows are
// counted; up to wholeRows they are read back and hashed; of more, rows from the
// first batch to the last are looked up and compared value by value. A fault of
// the encoding shows in every row, a lost batch in the count, so that a sample
// proves nearly as much as reading all of it would.
//
// loaded is how many rows were sent. A nil Stored says that rows come back as
// they were generated.
func Verify(ctx context.Context, t Table, source *workload.Table, loaded int64, stored Stored) error {
	n, err := t.Count(ctx)
	if err != nil {
		return err
	}
	if n != loaded {
		return fmt.Errorf("it has %d rows, generated were %d", n, loaded)
	}
	if stored == nil {
		stored = func(row []workload.Value) ([]workload.Value, error) { return row, nil }
	}
	if loaded <= wholeRows {
		return verifyWhole(ctx, t, source, stored)
	}
	return verifySample(ctx, t, source, loaded, stored)
}

// verifyWhole compares the contents of all rows.
func verifyWhole(ctx context.Context, t Table, source *workload.Table, stored Stored) error {
	var want, got fingerprint.Content
	for batch := range source.Rows.Batches {
		err := source.Rows.Fill(batch, func(row []workload.Value) error {
			row, err := stored(row)
			if err != nil {
				return err
			}
			want.Add(row)
			return nil
		})
		if err != nil {
			return fmt.Errorf("batch %d: %w", batch, err)
		}
	}
	if err := t.All(ctx, got.Add); err != nil {
		return err
	}
	if got != want {
		return errors.New("its rows are not those generated")
	}
	return nil
}

// verifySample looks rows up by the primary key, or else by an index.
func verifySample(ctx context.Context, t Table, source *workload.Table, loaded int64, stored Stored) error {
	by := lookup(source)
	if by == nil {
		return nil // nothing finds a row without reading the table
	}
	find, err := t.Finder(ctx, by)
	if err != nil {
		return err
	}
	batches := source.Rows.Batches
	// The rows in a batch are about as many in each.
	s := sample{find: find, by: by, every: max(loaded/batches/sampleRows, 1), stored: stored}
	n := min(batches, sampleBatches)
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch := i * (batches - 1) / max(n-1, 1)
		if err := s.batch(ctx, source, batch); err != nil {
			return fmt.Errorf("batch %d: %w", batch, err)
		}
	}
	return nil
}

// lookup returns the columns by which rows are found: of the primary key, or of
// the first index that is no full-text index; nil where there is neither. A
// decimal is passed over, because an argument can't say its scale.
func lookup(t *workload.Table) []int {
	keys := [][]string{t.PrimaryKey}
	for _, x := range t.Indexes {
		if !x.FullText {
			keys = append(keys, x.Columns)
		}
	}
	for _, key := range keys {
		var by []int
		for _, name := range key {
			i := slices.IndexFunc(t.Columns, func(c workload.Column) bool { return c.Name == name })
			if i >= 0 && t.Columns[i].Type.Base != workload.Decimal {
				by = append(by, i)
			}
		}
		if len(by) > 0 && len(by) == len(key) {
			return by
		}
	}
	return nil
}

// sample is how rows of a batch are looked up.
type sample struct {
	find   Finder
	by     []int
	every  int64 // row in a batch, the first among them
	stored Stored
}

// batch generates a batch again and looks some of its rows up.
func (s *sample) batch(ctx context.Context, source *workload.Table, batch int64) error {
	key := make([]workload.Value, len(s.by))
	var n int64
	return source.Rows.Fill(batch, func(row []workload.Value) error {
		if n++; (n-1)%s.every != 0 {
			return nil
		}
		for i, c := range s.by {
			if key[i] = row[c]; key[i].Kind == workload.Null {
				return nil // not found by =
			}
		}
		want, err := s.stored(row)
		if err != nil {
			return err
		}
		found := false
		err = s.find(ctx, key, func(got []workload.Value) { found = found || slices.EqualFunc(got, want, equal) })
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("row %d of it is not in the table", n)
		}
		return nil
	})
}

func equal(a, b workload.Value) bool {
	return a.Kind == b.Kind && a.Int == b.Int && string(a.Str) == string(b.Str)
}
