// Package load fills an empty MariaDB or MySQL server with a workload: accounts,
// database, tables, rows, keys, procedures, statistics; and proves what it
// loaded.
//
// The steps are stages with a time of their own:
//
//	rows     every table is one stream of LOAD DATA LOCAL INFILE, its batches
//	         in order; streams of different tables run beside each other
//	keys     the dialect's statements after the rows, those of different
//	         tables beside each other
//	scripts  procedures, triggers, and the users' rights
//	verify   rows are counted and compared with what was generated
//	analyse  ANALYZE TABLE
//
// One stream a table, rather than several, is a choice for measurement: rows go
// in as they are generated, so that a table has the same pages on every machine
// and after every load. Without checks of foreign and unique keys, the first
// statement on an empty table may fill MariaDB's InnoDB in bulk: it logs that
// the table was empty rather than each row.
//
// Memory is a buffer a stream, whatever the size of the tables.
package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/fingerprint"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Server is where to load.
type Server struct {
	Config    wire.Config // connects as a superuser, to no database
	Engine    string      // picks the scripts
	Collation string      // of the database: how texts are compared
	// Foreign says that the server is somebody else's: the database exists and
	// is empty, and the user of Config need be no superuser. No account is made
	// or altered, whatever the definition says.
	Foreign bool
	// From is another database of the server with the same contents; the rows
	// come from there. "" is that they are generated.
	From string
}

// Run makes d's database on s. The database must not exist; accounts may, and
// get the password that d gives them.
//
// Where ctx ends or a step fails, everything under way is ended on the server
// too and Run returns when it has stopped; what was made remains, and is to be
// thrown away. The error tells the table, or the statement.
func Run(ctx context.Context, s Server, d *workload.Definition, dialect engine.Dialect, o engine.LoadOptions) (engine.LoadReport, error) {
	l, err := newLoader(s, d, dialect, o)
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
	server        Server
	d             *workload.Definition
	database      string
	before, after []string
	script        string
	workers       int
	tables        []*table
	progress      *bulk.Progress
}

func newLoader(s Server, d *workload.Definition, dialect engine.Dialect, o engine.LoadOptions) (*loader, error) {
	before, after, err := dialect.Schema(d)
	if err != nil {
		return nil, err
	}
	script, ok := d.Scripts[s.Engine]
	if !ok && len(d.Scripts) > 0 {
		return nil, fmt.Errorf("it has no procedures for %s", s.Engine)
	}
	if d.Database == "" {
		return nil, errors.New("it does not name its database")
	}
	l := &loader{
		server: s, d: d, database: strings.ToLower(d.Database), before: before, after: after, script: script,
		workers: o.Workers, progress: bulk.NewProgress(o.Progress),
	}
	if l.workers <= 0 {
		l.workers = runtime.GOMAXPROCS(0)
	}
	for i := range d.Tables {
		l.tables = append(l.tables, newTable(&d.Tables[i]))
	}
	return l, nil
}

// run goes through the stages.
func (l *loader) run(ctx context.Context) (engine.LoadReport, error) {
	if !l.server.Foreign {
		if err := l.makeDatabase(ctx); err != nil {
			return engine.LoadReport{}, err
		}
	}
	c, err := l.hire(ctx)
	if err != nil {
		return engine.LoadReport{}, err
	}
	defer c.Dismiss()
	for _, sql := range l.before {
		if err := c.First().Exec(ctx, sql); err != nil {
			return engine.LoadReport{}, fmt.Errorf("%s: %w", sql, err)
		}
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
	return l.report(ctx, c.First(), seconds)
}

func (l *loader) report(ctx context.Context, conn *wire.Conn, seconds map[string]float64) (engine.LoadReport, error) {
	r, err := query(ctx, conn, l.sizeQuery(conn), workload.Str([]byte(l.database)))
	if err != nil {
		return engine.LoadReport{}, fmt.Errorf("find the size of the database: %w", err)
	}
	contents := make([]fingerprint.Table, len(l.tables))
	for i, t := range l.tables {
		contents[i] = fingerprint.Table{Name: t.source.Name, Content: t.content}
	}
	return bulk.Report(unit.Bytes(r.Values[0].Int), seconds, contents), nil
}

// sizeQuery asks for the sizes of the tables' files, as MariaDB and MySQL both
// list them; on somebody else's server, where that needs a right of its own, for
// what InnoDB reckons.
func (l *loader) sizeQuery(conn *wire.Conn) string {
	view := "INNODB_TABLESPACES"
	switch {
	case l.server.Foreign:
		return "SELECT CAST(COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS SIGNED) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?"
	case conn.MariaDB():
		view = "INNODB_SYS_TABLESPACES"
	}
	return "SELECT CAST(COALESCE(SUM(FILE_SIZE), 0) AS SIGNED) FROM information_schema." + view +
		` WHERE NAME LIKE CONCAT(REPLACE(?, '_', '\\_'), '/%')`
}

// makeDatabase makes the accounts and the database.
func (l *loader) makeDatabase(ctx context.Context) error {
	conn, err := wire.Dial(ctx, l.server.Config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	sql := "CREATE DATABASE " + quote(l.database) + " CHARACTER SET utf8mb4 COLLATE " + l.server.Collation
	if err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("make database %s: %w", l.database, err)
	}
	for _, r := range []workload.Role{l.d.Owner, l.d.Role} {
		if r.Name == "" {
			continue
		}
		by := " IDENTIFIED BY " + literal(r.Password)
		err := conn.Exec(ctx, "CREATE USER IF NOT EXISTS "+account(r)+by+"; ALTER USER "+account(r)+by)
		if err != nil {
			return fmt.Errorf("make account %s: %w", r.Name, err)
		}
	}
	if l.d.Owner.Name == "" {
		return nil
	}
	if err := conn.Exec(ctx, "GRANT ALL ON "+quote(l.database)+".* TO "+account(l.d.Owner)); err != nil {
		return fmt.Errorf("grant rights to %s: %w", l.d.Owner.Name, err)
	}
	return nil
}

// account is a role on the Unix socket and on loopback.
func account(r workload.Role) string { return literal(r.Name) + "@'%'" }

// makeKeys runs what the dialect wants run after the rows. Statements that alter
// one table follow each other; those of different tables run beside each other,
// foreign keys excepted: one locks two tables, and several at a time could wait
// for each other in a circle.
func (l *loader) makeKeys(ctx context.Context, c crew) error {
	l.progress.Start(bulk.StageKeys, int64(len(l.after)))
	byTable, order, foreign := map[string][]string{}, []string{}, []string{}
	for _, sql := range l.after {
		words := strings.Fields(sql)
		if strings.Contains(sql, "FOREIGN KEY") || len(words) < 3 {
			foreign = append(foreign, sql)
			continue
		}
		if byTable[words[2]] == nil {
			order = append(order, words[2])
		}
		byTable[words[2]] = append(byTable[words[2]], sql)
	}
	run := func(ctx context.Context, conn *wire.Conn, texts []string) error {
		for _, sql := range texts {
			if err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
			l.progress.Add(1)
		}
		return nil
	}
	err := c.Each(ctx, len(order), func(ctx context.Context, conn *wire.Conn, i int) error {
		return run(ctx, conn, byTable[order[i]])
	})
	if err != nil {
		return err
	}
	return run(ctx, c.First(), foreign)
}

// runScripts makes the procedures as the owner, whose rights they then have, and
// gives the users' role its own.
func (l *loader) runScripts(ctx context.Context, c crew) error {
	l.progress.Start(bulk.StageScripts, 1)
	if l.script != "" {
		cfg := l.server.Config
		cfg.Database = l.database
		if o := l.d.Owner; o.Name != "" {
			cfg.User, cfg.Password = o.Name, o.Password
		}
		conn, err := wire.Dial(ctx, cfg)
		if err != nil {
			return fmt.Errorf("scripts: %w", err)
		}
		defer func() { _ = conn.Close() }()
		if err := conn.Exec(ctx, l.script); err != nil {
			return fmt.Errorf("scripts: %w", err)
		}
	}
	if r := l.d.Role; r.Name != "" && r.Name != l.d.Owner.Name {
		if err := c.First().Exec(ctx, "GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON "+quote(l.database)+".* TO "+account(r)); err != nil {
			return fmt.Errorf("grant rights to %s: %w", r.Name, err)
		}
	}
	l.progress.Add(1)
	return nil
}

// analyse gathers the planner's statistics.
func (l *loader) analyse(ctx context.Context, c crew) error {
	l.progress.Start(bulk.StageAnalyse, int64(len(l.tables)))
	return c.Each(ctx, len(l.tables), func(ctx context.Context, conn *wire.Conn, i int) error {
		t := l.tables[i]
		if err := conn.Exec(ctx, "ANALYZE TABLE "+t.name); err != nil {
			return fmt.Errorf("analyse table %s: %w", t.source.Name, err)
		}
		l.progress.Add(1)
		return nil
	})
}

// quote renders name as an identifier.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// literal renders text as a string constant.
func literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}
