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
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
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
}

// The stages, as LoadOptions.Progress and LoadReport.StageSeconds name them.
const (
	StageRows    = "rows"
	StageKeys    = "keys"
	StageScripts = "scripts"
	StageVerify  = "verify"
	StageAnalyse = "analyse"
)

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
	tables        []*table
	progress      progress
	seconds       map[string]float64
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
		workers: o.Workers, progress: progress{report: o.Progress}, seconds: map[string]float64{},
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

// run goes through the stages.
func (l *loader) run(ctx context.Context) (engine.LoadReport, error) {
	if err := l.makeDatabase(ctx); err != nil {
		return engine.LoadReport{}, err
	}
	c, err := l.hire(ctx)
	if err != nil {
		return engine.LoadReport{}, err
	}
	defer c.dismiss()
	if err := l.makeTables(ctx, c.conns[0]); err != nil {
		return engine.LoadReport{}, err
	}
	stages := []struct {
		name string
		do   func(context.Context, *crew) error
	}{
		{StageRows, l.loadRows},
		{StageKeys, l.makeKeys},
		{StageScripts, l.runScripts},
		{StageVerify, l.verify},
		{StageAnalyse, l.analyse},
	}
	for _, stage := range stages {
		began := clock.Real{}.Now()
		if err := stage.do(ctx, c); err != nil {
			return engine.LoadReport{}, err
		}
		l.seconds[stage.name] = clock.Real{}.Now().Sub(began).Seconds()
	}
	size, err := l.databaseSize(ctx, c.conns[0])
	if err != nil {
		return engine.LoadReport{}, err
	}
	report := engine.LoadReport{Bytes: size, StageSeconds: l.seconds, Fingerprint: fingerprint(l.tables)}
	for _, t := range l.tables {
		report.Rows += t.content.rows
	}
	return report, nil
}

// runScripts makes the procedures as the owner and gives the users' role its
// rights.
func (l *loader) runScripts(ctx context.Context, c *crew) error {
	l.progress.start(StageScripts, 1)
	if l.script != "" {
		if err := c.conns[0].Exec(ctx, l.script); err != nil {
			var e *wire.Error
			if errors.As(err, &e) && e.Position > 0 {
				return fmt.Errorf("scripts: line %d: %w", lineOf(l.script, e.Position), err)
			}
			return fmt.Errorf("scripts: %w", err)
		}
	}
	if role := l.d.Role.Name; role != "" && role != l.d.Owner.Name {
		to := " TO " + quote(role)
		err := c.conns[0].Exec(ctx, "GRANT USAGE ON SCHEMA public"+to+
			"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public"+to+
			"; GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public"+to+
			"; GRANT EXECUTE ON ALL ROUTINES IN SCHEMA public"+to)
		if err != nil {
			return fmt.Errorf("grant rights to %s: %w", role, err)
		}
	}
	l.progress.add(1)
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
func (l *loader) analyse(ctx context.Context, c *crew) error {
	l.progress.start(StageAnalyse, int64(len(l.tables))+1)
	err := c.each(ctx, len(l.tables), func(ctx context.Context, conn *wire.Conn, i int) error {
		t := l.tables[i]
		if err := conn.Exec(ctx, "VACUUM (ANALYSE, INDEX_CLEANUP ON) "+t.name); err != nil {
			return fmt.Errorf("vacuum table %s: %w", t.source.Name, err)
		}
		l.progress.add(1)
		return nil
	})
	if err != nil {
		return err
	}
	// Only a superuser may.
	if err := c.conns[0].Exec(ctx, "RESET ROLE; CHECKPOINT"); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	l.progress.add(1)
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

// progress counts work done and tells it on, one call at a time.
type progress struct {
	report    func(stage string, done, all int64)
	mu        sync.Mutex
	stage     string
	done, all int64
}

func (p *progress) start(stage string, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage, p.done, p.all = stage, 0, all
	p.tell()
}

func (p *progress) add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	// The number of rows in all was an estimate.
	p.all = max(p.all, p.done)
	p.tell()
}

func (p *progress) tell() {
	if p.report != nil {
		p.report(p.stage, p.done, p.all)
	}
}

// quote renders name as an identifier that keeps its case.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal renders text as a string constant, whatever
// standard_conforming_strings says.
func literal(text string) string {
	return "E'" + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "'", "''") + "'"
}
