package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/fingerprint"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// loadPragmas are what a connection loads with: one transaction without a
// journal, since a load that does not end is thrown away as a whole, and with a
// cache that holds the upper pages of every tree.
const loadPragmas = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA foreign_keys = OFF"

// Load implements engine.Database. There is one writer, so that LoadOptions.Workers
// says nothing here. A database that a workload names is made; one that exists
// is an error.
func (d *database) Load(ctx context.Context, def *workload.Definition, o engine.LoadOptions) (engine.LoadReport, error) {
	r, err := d.load(ctx, def, o)
	if err != nil {
		return engine.LoadReport{}, fmt.Errorf("load %s: %w", def.Name, err)
	}
	d.note("loaded %d rows into database %s", r.Rows, def.Database)
	return r, nil
}

func (d *database) load(ctx context.Context, def *workload.Definition, o engine.LoadOptions) (r engine.LoadReport, err error) {
	l := &loader{db: d, d: def, progress: bulk.NewProgress(o.Progress)}
	if l.before, l.after, err = (Dialect{}).Schema(def); err != nil {
		return r, err
	}
	if _, ok := def.Scripts[Name]; !ok && len(def.Scripts) > 0 {
		return r, fmt.Errorf("it has procedures, and none for %s", Name)
	}
	if def.Database == "" || strings.ContainsAny(def.Database, "/\\\x00*?[") {
		return r, fmt.Errorf("%q is not the name of a database", def.Database)
	}
	path := fileOf(d.dir, def.Database)
	if _, err := os.Stat(path); err == nil {
		return r, fmt.Errorf("database %s exists", def.Database)
	}
	if l.h, err = open(path); err != nil {
		return r, err
	}
	defer func() {
		if err = errors.Join(err, l.h.close()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	// The statement under way is interrupted; the loop over rows sees the
	// context itself. An interrupt that has begun must end before the close.
	interrupted := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() { l.h.interrupt(); close(interrupted) })
	defer func() {
		if !unwatch() {
			<-interrupted
		}
	}()
	seconds, err := l.run(ctx)
	if err != nil {
		if cause := ctx.Err(); cause != nil {
			err = cause
		}
		return r, err
	}
	about, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	return bulk.Report(unit.Bytes(about.Size()), seconds, l.contents), nil
}

// loader is one load.
type loader struct {
	db            *database
	h             *handle
	d             *workload.Definition
	before, after []string
	progress      *bulk.Progress
	contents      []fingerprint.Table
}

// run goes through the stages and returns the seconds that each took.
func (l *loader) run(ctx context.Context) (map[string]float64, error) {
	cache := max(l.db.memory/4, 64*unit.MiB)
	if err := l.h.script(fmt.Sprintf("PRAGMA page_size = %d; PRAGMA cache_size = -%d; %s", pageSize, cache/unit.KiB, loadPragmas)); err != nil {
		return nil, err
	}
	return bulk.Run(ctx,
		bulk.Stage{Name: bulk.StageRows, Do: l.rows}, bulk.Stage{Name: bulk.StageKeys, Do: l.keys},
		bulk.Stage{Name: bulk.StageVerify, Do: l.verify}, bulk.Stage{Name: bulk.StageAnalyse, Do: l.analyse})
}

// rows makes the tables and fills them, in one transaction that keys ends.
func (l *loader) rows(ctx context.Context) error {
	if err := l.h.script("BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	for _, sql := range l.before {
		if err := l.h.script(sql); err != nil {
			return err
		}
	}
	_, all := bulk.Order(l.d.Tables)
	l.progress.Start(bulk.StageRows, all)
	for i := range l.d.Tables {
		if err := l.fill(ctx, &l.d.Tables[i]); err != nil {
			return fmt.Errorf("table %s: %w", l.d.Tables[i].Name, err)
		}
	}
	return nil
}

// fill inserts the rows of t, batch by batch.
func (l *loader) fill(ctx context.Context, t *workload.Table) error {
	names, marks := make([]string, len(t.Columns)), make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i], marks[i] = identifier(c.Name), fmt.Sprintf("?%d", i+1)
	}
	st, err := l.h.prepare("INSERT INTO " + identifier(t.Name) + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")")
	if err != nil {
		return err
	}
	defer st.finalize()
	var space scratch
	defer func() { space.free(l.h.tls) }()
	var content fingerprint.Content
	for batch := range t.Rows.Batches {
		before := content.Rows
		err := t.Rows.Fill(batch, func(row []workload.Value) error {
			if err := st.bind(row, &space); err != nil {
				return err
			}
			rc := st.step()
			st.reset()
			if rc != sqlite3.SQLITE_DONE {
				return l.h.failure(rc)
			}
			content.Add(row)
			return nil
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("batch %d: %w", batch, err)
		}
		l.progress.Add(content.Rows - before)
	}
	l.contents = append(l.contents, fingerprint.Table{Name: t.Name, Content: content})
	return nil
}

// keys makes the indexes, and proves the references, which were not checked
// row by row.
func (l *loader) keys(context.Context) error {
	l.progress.Start(bulk.StageKeys, int64(len(l.after)))
	for _, sql := range l.after {
		if err := l.h.script(sql); err != nil {
			return err
		}
		l.progress.Add(1)
	}
	if script := l.d.Scripts[Name]; script != "" {
		if err := l.h.script(script); err != nil {
			return err
		}
	}
	if err := l.h.script("COMMIT"); err != nil {
		return err
	}
	broken, err := l.h.text("SELECT \"table\" || ' refers to ' || parent FROM pragma_foreign_key_check LIMIT 1")
	if err == nil && broken != "" {
		err = fmt.Errorf("a row of %s that does not exist", broken)
	}
	return err
}

// analyse gathers statistics and turns to the WAL, in which the database is
// used from now on.
func (l *loader) analyse(context.Context) error {
	l.progress.Start(bulk.StageAnalyse, 1)
	if err := l.h.script("ANALYZE; PRAGMA locking_mode = NORMAL"); err != nil {
		return err
	}
	mode, err := l.h.text("PRAGMA journal_mode = WAL")
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the database stays in journal mode %s", mode)
	}
	l.progress.Add(1)
	return err
}
