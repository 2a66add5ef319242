// Package load fills an empty PostgreSQL server with a workload: roles,
// database, tables, rows, keys, procedures, statistics; and proves what it
// loaded.
//
// The steps are stages with a time of their own:
//
//	rows     every table is one stream of binary COPY, its batches in order;
//	         streams of different tables run beside each other
//	keys     the dialect's statements after the rows; neighbours that make
//	         indexes and keys run beside each other
//	scripts  procedures, triggers, and the users' rights
//	verify   rows are counted and compared with what was generated
//	analyse  VACUUM ANALYSE and CHECKPOINT
//
// One stream a table, rather than several, is a choice for measurement: the
// rows lie in the order in which they are generated, so that a table has the
// same pages on every machine and after every load. It also allows COPY to
// truncate, fill and freeze the table in one transaction: with
// wal_level=minimal the rows are not written twice, and no later read or
// vacuum has to rewrite the pages to set hint and visibility bits, which
// otherwise falls into the first minutes of a measurement. A server process
// takes in some hundred thousand rows a second, and the largest table bounds
// the stage.
//
// Memory is a buffer a stream, whatever the size of the tables.
package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/fingerprint"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Server is where to load.
type Server struct {
	// Config connects as a superuser to any database. It is copied, not
	// changed.
	Config *pgconn.Config
	// Workers is the number of parallel streams where engine.LoadOptions
	// leaves it open; 0 is the number of CPUs.
	Workers int
	// Foreign says that the server is somebody else's: the database exists and
	// is empty, and the user of Config need be no superuser. No role is made or
	// altered, whatever the definition says, and a CHECKPOINT that the user may
	// not ask for is left out.
	Foreign bool
}

// Run makes d's database on s. The database must not exist; roles may, and
// get the password that d gives them. engineName picks the scripts.
//
// Where ctx ends or a step fails, everything under way is cancelled on the
// server too and Run returns when it has stopped; what was made remains, and
// is to be thrown away. The error tells the table and batch, or the
// statement.
func Run(ctx context.Context, s Server, d *workload.Definition, dialect engine.Dialect, engineName string, o engine.LoadOptions) (engine.LoadReport, error) {
	l, err := newLoader(s, d, dialect, engineName, o)
	if err != nil {
		return engine.LoadReport{}, fmt.Errorf("load %s: %w", d.Name, err)
	}
	report, err := l.run(ctx)
	if err != nil {
		return engine.LoadReport{}, fmt.Errorf("load %s: %w", d.Name, err)
	}
	return report, nil
}

// loader is one load.
type loader struct {
	server        *pgconn.Config
	d             *workload.Definition
	before, after []string
	script        string
	workers       int
	foreign       bool
	tables        []*table
	progress      *bulk.Progress
}

func newLoader(s Server, d *workload.Definition, dialect engine.Dialect, engineName string, o engine.LoadOptions) (*loader, error) {
	before, after, err := dialect.Schema(d)
	if err != nil {
		return nil, err
	}
	script, ok := d.Scripts[engineName]
	if !ok && len(d.Scripts) > 0 {
		return nil, fmt.Errorf("it has no procedures for %s", engineName)
	}
	if d.Database == "" {
		return nil, errors.New("it does not name its database")
	}
	l := &loader{
		server: s.Config, d: d, before: before, after: after, script: script,
		workers: o.Workers, foreign: s.Foreign, progress: bulk.NewProgress(o.Progress),
	}
	if l.workers <= 0 {
		l.workers = s.Workers
	}
	if l.workers <= 0 {
		l.workers = runtime.GOMAXPROCS(0)
	}
	for i := range d.Tables {
		l.tables = append(l.tables, &table{source: &d.Tables[i]})
	}
	return l, nil
}

// insufficientPrivilege is the SQLSTATE for what a user may not do.
const insufficientPrivilege = "42501"

// run goes through the stages.
func (l *loader) run(ctx context.Context) (engine.LoadReport, error) {
	if !l.foreign {
		if err := l.makeDatabase(ctx); err != nil {
			return engine.LoadReport{}, err
		}
	}
	c, err := l.hire(ctx)
	if err != nil {
		return engine.LoadReport{}, err
	}
	defer c.Dismiss()
	if err := l.makeTables(ctx, c.First()); err != nil {
		return engine.LoadReport{}, err
	}
	seconds, err := bulk.Run(ctx,
		bulk.Stage{Name: bulk.StageRows, Do: func(ctx context.Context) error { return l.loadRows(ctx, c) }},
		bulk.Stage{Name: bulk.StageKeys, Do: func(ctx context.Context) error { return l.makeKeys(ctx, c) }},
		bulk.Stage{Name: bulk.StageScripts, Do: func(ctx context.Context) error { return l.runScripts(ctx, c) }},
		bulk.Stage{Name: bulk.StageVerify, Do: func(ctx context.Context) error { return l.verify(ctx, c) }},
		bulk.Stage{Name: bulk.StageAnalyse, Do: func(ctx context.Context) error { return l.analyse(ctx, c) }})
	if err != nil {
		return engine.LoadReport{}, err
	}
	size, err := l.databaseSize(ctx, c.First())
	if err != nil {
		return engine.LoadReport{}, err
	}
	contents := make([]fingerprint.Table, len(l.tables))
	for i, t := range l.tables {
		contents[i] = fingerprint.Table{Name: t.source.Name, Content: t.content}
	}
	return bulk.Report(size, seconds, contents), nil
}

// runScripts makes the procedures as the owner and gives the users' role its
// rights.
func (l *loader) runScripts(ctx context.Context, c crew) error {
	l.progress.Start(bulk.StageScripts, 1)
	if l.script != "" {
		if err := c.First().Exec(ctx, l.script); err != nil {
			var e *wire.Error
			if errors.As(err, &e) && e.Position > 0 {
				return fmt.Errorf("scripts: line %d: %w", lineOf(l.script, e.Position), err)
			}
			return fmt.Errorf("scripts: %w", err)
		}
	}
	if role := l.d.Role.Name; role != "" && role != l.d.Owner.Name {
		to := " TO " + quote(role)
		err := c.First().Exec(ctx, "GRANT USAGE ON SCHEMA public"+to+
			"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public"+to+
			"; GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public"+to+
			"; GRANT EXECUTE ON ALL ROUTINES IN SCHEMA public"+to)
		if err != nil {
			return fmt.Errorf("grant rights to %s: %w", role, err)
		}
	}
	l.progress.Add(1)
	return nil
}

// lineOf returns the line, from 1, of character position, from 1, in text.
func lineOf(text string, position int) int {
	line := 1
	for _, r := range text {
		if position--; position == 0 {
			break
		}
		if r == '\n' {
			line++
		}
	}
	return line
}

// analyse gathers the planner's statistics and leaves nothing over that the
// first minute of a measurement would pay for: VACUUM clears what scripts left
// dead, however little it is, and counts the all-visible pages, on which the
// choice of index-only scans depends; CHECKPOINT writes every dirty page.
func (l *loader) analyse(ctx context.Context, c crew) error {
	l.progress.Start(bulk.StageAnalyse, int64(len(l.tables))+1)
	err := c.Each(ctx, len(l.tables), func(ctx context.Context, conn *wire.Conn, i int) error {
		t := l.tables[i]
		if err := conn.Exec(ctx, "VACUUM (ANALYSE, INDEX_CLEANUP ON) "+t.name); err != nil {
			return fmt.Errorf("vacuum table %s: %w", t.source.Name, err)
		}
		l.progress.Add(1)
		return nil
	})
	if err != nil {
		return err
	}
	// Only a superuser may.
	err = c.First().Exec(ctx, "RESET ROLE; CHECKPOINT")
	if denied, ok := errors.AsType[*wire.Error](err); ok && denied.Code == insufficientPrivilege && l.foreign {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	l.progress.Add(1)
	return nil
}

func (l *loader) databaseSize(ctx context.Context, conn *wire.Conn) (unit.Bytes, error) {
	size := workload.Statement{Name: "database size"}
	if err := conn.Prepare(ctx, wire.Prepared{Index: -1, Name: size.Name, SQL: "SELECT pg_database_size(current_database())"}); err != nil {
		return 0, err
	}
	r, err := conn.Run(ctx, &size, nil)
	if err != nil {
		return 0, err
	}
	return unit.Bytes(r.Values[0].Int), nil
}

// quote renders name as an identifier that keeps its case.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal renders text as a string constant, whatever
// standard_conforming_strings says.
func literal(text string) string {
	return "E'" + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "'", "''") + "'"
}
