package mysql

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/load"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// What Loadstone makes on somebody else's server is databases with names of its
// own and no account: they belong to whoever may use such names.
//
//	loadstone_golden_…  a golden state, or one that is being loaded
//	loadstone_work_…    a working copy of one
//
// The products can't rename a database, so that a golden state has its name from
// the beginning and is one only when its mark says so, which is the last step.
//
// The mark is the one row of the table loadstone_golden, the first thing that is
// made in a database. It names its own database: what was restored from a dump
// under another name is somebody else's. Only a working copy and a golden state
// that never became complete are ever dropped, and only where their mark is
// whole and nobody holds their name: who makes one holds a lock on it as long as
// it is needed, so that what a killed process left behind can be told from what
// is in use.
const (
	goldenPrefix = "loadstone_golden_"
	workPrefix   = "loadstone_work_"
	markTable    = "loadstone_golden"
)

// The kinds of a mark.
const (
	kindNew    = "new" // a golden state that is being loaded
	kindGolden = "golden"
	kindWork   = "work"
)

// kindTitle is a kind for people.
func kindTitle(kind string) string {
	return map[string]string{kindNew: "golden state that was never completed", kindGolden: "golden state", kindWork: "working copy"}[kind]
}

// markForm is the version of what marks hold.
const markForm = 1

// mark is what a database was loaded with.
type mark struct {
	Loadstone    int                `json:"loadstone"` // markForm
	Kind         string             `json:"kind"`
	Name         string             `json:"name"` // of the database that it was written into
	DataKey      string             `json:"data_key"`
	Created      time.Time          `json:"created"`
	Rows         int64              `json:"rows"`
	Bytes        int64              `json:"bytes"`
	Fingerprint  string             `json:"fingerprint"`
	StageSeconds map[string]float64 `json:"stage_seconds"`
}

func (m mark) golden(name string) engine.Golden {
	return engine.Golden{Name: name, Created: m.Created, Report: engine.LoadReport{
		Rows: m.Rows, Bytes: unit.Bytes(m.Bytes), Fingerprint: m.Fingerprint, StageSeconds: m.StageSeconds,
	}}
}

var (
	// errNoMark says that a database is not one that Loadstone loaded.
	errNoMark = errors.New("it has no mark of Loadstone")
	errAbsent = errors.New("there is no such database")
)

// goldenName is the name of the golden state with d's contents.
func goldenName(d *workload.Definition) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", markForm, d.DataKey))
	return goldenPrefix + strings.ToLower(d.Name[:min(len(d.Name), 24)]) + "_" + hex.EncodeToString(sum[:6])
}

// workName is a name that nothing else has.
func workName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return workPrefix + hex.EncodeToString(b[:])
}

// Error numbers of the products.
const (
	unknownDatabase = 1049
	unknownTable    = 1146
)

// markIn reads the mark of a database. The error is errAbsent where there is no
// database, and errNoMark where it has none.
func (s *running) markIn(ctx context.Context, database string) (m mark, err error) {
	rows, err := s.askIn(ctx, database, "SELECT about FROM "+markTable)
	e, told := errors.AsType[*wire.Error](err)
	switch {
	case told && e.Code == unknownDatabase:
		return m, errAbsent
	case told && e.Code == unknownTable:
		return m, errNoMark
	case err != nil:
		return m, err
	}
	if len(rows) != 1 || json.Unmarshal([]byte(rows[0][0]), &m) != nil || m.Loadstone != markForm || kindTitle(m.Kind) == "" {
		return m, fmt.Errorf("its table %s is not what Loadstone writes", markTable)
	}
	return m, nil
}

// writeMark makes m the mark of its database; first makes room for it.
func (s *running) writeMark(ctx context.Context, m mark, first string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	conn, err := wire.Dial(ctx, s.config(m.Name))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err = conn.Exec(ctx, first); err == nil {
		_, err = ask(ctx, conn, "REPLACE INTO "+markTable+" (one, about) VALUES (1, ?)", string(text))
	}
	if err != nil {
		return fmt.Errorf("mark database %s: %w", m.Name, err)
	}
	return nil
}

// Find implements engine.Keeper.
func (s *running) Find(ctx context.Context, d *workload.Definition) (engine.Golden, bool, error) {
	m, err := s.find(ctx, d)
	return m.golden(goldenName(d)), m.Kind == kindGolden, err
}

// find returns the mark of the golden state of d; its kind is "" where there is
// none, and kindNew where one is being loaded, or never became complete.
func (s *running) find(ctx context.Context, d *workload.Definition) (mark, error) {
	name := goldenName(d)
	m, err := s.markIn(ctx, name)
	switch {
	case errors.Is(err, errAbsent):
		return mark{}, nil
	case errors.Is(err, errNoMark):
		err = errors.New("it was not made by Loadstone, which touches nothing else's: rename it, or remove it")
	case err == nil && (m.Name != name || m.Kind == kindWork || m.DataKey != d.DataKey):
		err = errors.New("its mark is of another database: remove it, and it will be loaded again")
	}
	if err != nil {
		return mark{}, fmt.Errorf("database %s at %s: %w", name, s.Where, err)
	}
	return m, nil
}

// Build implements engine.Keeper. Two that build the same state at a time wait
// for each other, and the second finds the first one's.
func (s *running) Build(ctx context.Context, d *workload.Definition, o engine.LoadOptions) (g engine.Golden, err error) {
	name := goldenName(d)
	turn, err := s.hold(ctx, name)
	if err != nil {
		return g, err
	}
	defer turn.release()
	m, err := s.find(ctx, d)
	if err == nil && m.Kind == kindNew {
		// Its maker holds the name no more.
		err = s.drop(ctx, name)
	}
	if err != nil || m.Kind == kindGolden {
		return m.golden(name), err
	}
	if err := s.searches(ctx, d); err != nil {
		return g, err
	}
	s.sweep(ctx)
	m = mark{Loadstone: markForm, Kind: kindNew, Name: name, DataKey: d.DataKey}
	if err := s.create(ctx, m); err != nil {
		return g, err
	}
	report, err := s.fill(ctx, d, m, "", o)
	if err == nil {
		m.Kind, m.Created, m.Rows, m.Bytes = kindGolden, clock.Real{}.Now().UTC().Round(time.Second), report.Rows, int64(report.Bytes)
		m.Fingerprint, m.StageSeconds = report.Fingerprint, report.StageSeconds
		err = s.writeMark(ctx, m, "DO 0")
	}
	if err != nil {
		return g, errors.Join(fmt.Errorf("build golden state %s: %w", name, err), s.discard(ctx, name))
	}
	return m.golden(name), nil
}

// searches says where the server finds other words in a text than {match} means
// on every engine, which only the server's own settings decide.
func (s *running) searches(ctx context.Context, d *workload.Definition) error {
	searched := false
	for _, t := range d.Tables {
		for _, x := range t.Indexes {
			searched = searched || x.FullText
		}
	}
	if !searched {
		return nil
	}
	rows, err := s.askIn(ctx, "", "SELECT @@innodb_ft_min_token_size, @@innodb_ft_enable_stopword")
	if err == nil && (rows[0][0] != "1" || rows[0][1] != "0") {
		err = fmt.Errorf("workload %s searches for words, and the server leaves some out: it needs innodb_ft_min_token_size = 1 and innodb_ft_enable_stopword = OFF", d.Name)
	}
	return err
}

// create makes the database of a mark, and marks it.
func (s *running) create(ctx context.Context, m mark) error {
	if _, err := s.askIn(ctx, "", "CREATE DATABASE "+identifier(m.Name)+" CHARACTER SET utf8mb4 COLLATE "+Dialect{s.product}.bytes()); err != nil {
		return fmt.Errorf("create database %s: %w", m.Name, err)
	}
	err := s.writeMark(ctx, m, "CREATE TABLE "+markTable+" (one INT PRIMARY KEY, about LONGTEXT NOT NULL) ENGINE=InnoDB")
	if err != nil {
		// It is empty, and our own of a moment ago.
		_, gone := s.askIn(context.WithoutCancel(ctx), "", "DROP DATABASE "+identifier(m.Name))
		err = errors.Join(err, gone)
	}
	return err
}

// fill loads d into the database of a mark, with rows of the database from, or
// generated ones where it is "".
func (s *running) fill(ctx context.Context, d *workload.Definition, m mark, from string, o engine.LoadOptions) (engine.LoadReport, error) {
	x := Dialect{s.product}
	own := *d
	own.Database, own.Owner, own.Role = m.Name, workload.Role{}, workload.Role{}
	return load.Run(ctx, load.Server{Config: s.own(), Engine: Name, Collation: x.bytes(), Foreign: true, From: from}, &own, x, o)
}

// Copy implements engine.Keeper. The products have no copy of a database: the
// tables are made and filled as they were loaded (see package load), with rows
// that the server reads from the golden state, and verified in the same way. One
// warehouse of Order-Entry, 600,000 rows in 100 MB, took 2.3, 5.6 and 25 s to
// copy and 3.9, 6.3 and 36 s to load anew, in turn (MariaDB 10.11, a small machine
// that had other work beside). All copies have the same pages, though not those
// of the golden state.
func (s *running) Copy(ctx context.Context, d *workload.Definition, c engine.Config) (engine.Database, engine.Copied, error) {
	golden, err := s.find(ctx, d)
	if err == nil && golden.Kind != kindGolden {
		err = fmt.Errorf("there is no golden state %s at %s", goldenName(d), s.Where)
	}
	if err != nil {
		return nil, engine.Copied{}, err
	}
	s.sweep(ctx)
	m := golden
	m.Kind, m.Name = kindWork, workName()
	held, err := s.hold(ctx, m.Name)
	if err != nil {
		return nil, engine.Copied{}, err
	}
	if err := s.create(ctx, m); err != nil {
		held.release()
		return nil, engine.Copied{}, err
	}
	db, copied, err := s.copy(ctx, d, golden, m, c)
	if err != nil {
		err = errors.Join(err, s.discard(ctx, m.Name))
		held.release()
		return nil, engine.Copied{}, err
	}
	db.held = held
	return db, copied, nil
}

// copy fills the new database of m from the golden state and opens it.
func (s *running) copy(ctx context.Context, d *workload.Definition, golden, m mark, c engine.Config) (*attached, engine.Copied, error) {
	out := engine.Copied{Name: m.Name, Way: "copy", Bytes: unit.Bytes(m.Bytes)}
	began := clock.Real{}.Now()
	report, err := s.fill(ctx, d, m, golden.Name, engine.LoadOptions{})
	if err == nil && report.Rows != golden.Rows {
		err = fmt.Errorf("it has %d rows, and was loaded with %d", report.Rows, golden.Rows)
	}
	if err != nil {
		return nil, out, fmt.Errorf("copy %s of golden state %s: %w (where somebody changed the golden state, remove it, and it will be loaded again)", m.Name, golden.Name, err)
	}
	verify := time.Duration(report.StageSeconds[bulk.StageVerify] * float64(time.Second))
	out.Took, out.Verify = clock.Real{}.Now().Sub(began)-verify, verify
	out.Digest, out.Verified = digest(golden), fmt.Sprintf("rows of %d tables; small tables read back whole, rows of large ones looked up", len(d.Tables))
	db, err := s.open(ctx, m.Name, c)
	return db, out, err
}

// digest identifies what a copy is verified by: the fingerprint, which it
// answers to as the golden state did when it was loaded.
func digest(m mark) string {
	sum := sha256.Sum256([]byte(m.Fingerprint))
	return hex.EncodeToString(sum[:])
}

// discardBound is how long removing a database may take, whatever became of the
// trial.
const discardBound = 30 * time.Second

// discard removes a database that this process made, sessions and all, even
// where ctx is over. Without its mark it stays, and the error names it.
func (s *running) discard(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardBound)
	defer cancel()
	rows, err := s.askIn(ctx, "", "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = ?", name)
	if err == nil {
		for _, row := range rows {
			// It may have ended by itself. An open transaction would hold up
			// the removal.
			_, _ = s.askIn(ctx, "", "KILL "+row[0])
		}
	}
	return s.drop(ctx, name)
}

// drop removes a database whose mark says that Loadstone made it for a while,
// and nothing else.
func (s *running) drop(ctx context.Context, name string) error {
	m, err := s.markIn(ctx, name)
	if errors.Is(err, errAbsent) {
		return nil
	}
	work := strings.HasPrefix(name, workPrefix) && m.Kind == kindWork
	unfinished := strings.HasPrefix(name, goldenPrefix) && m.Kind == kindNew
	if err == nil && (m.Name != name || !work && !unfinished) {
		err = errors.New("its mark does not say that Loadstone made it for a while")
	}
	if err == nil {
		_, err = s.askIn(ctx, "", "DROP DATABASE IF EXISTS "+identifier(name))
	}
	if err != nil {
		return fmt.Errorf("database %s at %s is left: %w", name, s.Where, err)
	}
	return nil
}

// sweep removes what killed processes left: working copies whose names nobody
// holds. What can't be removed stays for the next time. Golden states that were
// never completed go when they are next wanted.
func (s *running) sweep(ctx context.Context) {
	rows, err := s.askIn(ctx, "", `SELECT SCHEMA_NAME FROM information_schema.SCHEMATA
WHERE SCHEMA_NAME LIKE 'loadstone\_work\_%' AND IS_USED_LOCK(SCHEMA_NAME) IS NULL`)
	if err != nil {
		return
	}
	for _, row := range rows {
		_ = s.drop(ctx, row[0])
	}
}
