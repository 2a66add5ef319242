package pgtest

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// RawCopy returns the seconds that the server needs for the rows of d alone: it
// writes the tables of d's database to files below dir in its binary format,
// and reads them again into tables without keys, over so many sessions, frozen
// and emptied in the same transaction as the loader does it. The database that
// it makes for this is gone when it returns.
func RawCopy(b *testing.B, db engine.Database, dialect engine.Dialect, d *workload.Definition, dir string, sessions int) (seconds float64) {
	b.Helper()
	before, _, err := dialect.Schema(d)
	if err != nil {
		b.Fatal(err)
	}
	const database = "raw_copy"
	run(b, db, "template1", "CREATE DATABASE "+database)
	defer run(b, db, "template1", "DROP DATABASE "+database)
	run(b, db, database, before...)
	var copies [][]string
	for _, t := range d.Tables {
		if t.Rows.Batches == 0 {
			continue
		}
		file := "'" + filepath.Join(dir, t.Name+".copy") + "'"
		run(b, db, d.Database, "COPY "+t.Name+" TO "+file+" (FORMAT binary)")
		copies = append(copies, []string{
			"BEGIN", "TRUNCATE " + t.Name, "COPY " + t.Name + " FROM " + file + " (FORMAT binary, FREEZE)", "COMMIT",
		})
	}
	began := clock.Real{}.Now()
	var next atomic.Int64
	g, ctx := errgroup.WithContext(b.Context())
	for range sessions {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(copies); i = int(next.Add(1)) - 1 {
				if err := execute(ctx, db, database, copies[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	return clock.Real{}.Now().Sub(began).Seconds()
}

// run runs texts, each one statement, on a session of their own.
func run(b *testing.B, db engine.Database, database string, texts ...string) {
	b.Helper()
	if err := execute(b.Context(), db, database, texts); err != nil {
		b.Fatal(err)
	}
}

func execute(ctx context.Context, db engine.Database, database string, texts []string) error {
	s, err := db.Open(ctx, &workload.Definition{Database: database})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for _, sql := range texts {
		if _, err := s.Conn().Run(ctx, &workload.Statement{Index: -1, Name: sql, Text: sql}, nil); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}
