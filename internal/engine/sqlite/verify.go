package sqlite

import (
	"context"
	"fmt"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// verify proves that the database holds what was generated. Values come back
// exactly as they went in.
func (l *loader) verify(ctx context.Context) error {
	l.progress.Start(bulk.StageVerify, int64(len(l.d.Tables)))
	for i := range l.d.Tables {
		t := stored{h: l.h, source: &l.d.Tables[i]}
		err := bulk.Verify(ctx, &t, t.source, l.contents[i].Rows, nil)
		t.close()
		if err != nil {
			return fmt.Errorf("verify table %s: %w", t.source.Name, err)
		}
		l.progress.Add(1)
	}
	return nil
}

// stored is a table in the database: a bulk.Table.
type stored struct {
	h      *handle
	source *workload.Table
	find   *statement // of Finder; nil before
	space  scratch
	rows   rows
}

// close frees what Finder needs.
func (t *stored) close() {
	if t.find != nil {
		t.find.finalize()
		t.space.free(t.h.tls)
	}
}

// Count implements bulk.Table.
func (t *stored) Count(context.Context) (int64, error) {
	st, err := t.h.prepare("SELECT count(*) FROM " + identifier(t.source.Name))
	if err != nil {
		return 0, err
	}
	defer st.finalize()
	var n int64
	err = t.read(st, func(row []workload.Value) { n = row[0].Int })
	return n, err
}

// All implements bulk.Table.
func (t *stored) All(_ context.Context, emit func([]workload.Value)) error {
	st, err := t.h.prepare(t.query())
	if err != nil {
		return err
	}
	defer st.finalize()
	return t.read(st, emit)
}

// Finder implements bulk.Table.
func (t *stored) Finder(_ context.Context, by []int) (bulk.Finder, error) {
	where := make([]string, len(by))
	for i, column := range by {
		where[i] = fmt.Sprintf("%s = ?%d", identifier(t.source.Columns[column].Name), i+1)
	}
	st, err := t.h.prepare(t.query() + " WHERE " + strings.Join(where, " AND "))
	if err != nil {
		return nil, err
	}
	t.find = st
	return func(_ context.Context, key []workload.Value, emit func([]workload.Value)) error {
		if err := st.bind(key, &t.space); err != nil {
			return err
		}
		defer st.reset()
		return t.read(st, emit)
	}, nil
}

func (t *stored) query() string {
	names := make([]string, len(t.source.Columns))
	for i, c := range t.source.Columns {
		names[i] = identifier(c.Name)
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + identifier(t.source.Name)
}

// read steps through what st finds.
func (t *stored) read(st *statement, emit func([]workload.Value)) error {
	for rc := st.step(); rc != sqlite3.SQLITE_DONE; rc = st.step() {
		if rc != sqlite3.SQLITE_ROW {
			return t.h.failure(rc)
		}
		t.rows.clear()
		if err := t.rows.add(st); err != nil {
			return err
		}
		emit(t.rows.values)
	}
	return nil
}
