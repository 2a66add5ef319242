package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/load"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// What Loadstone makes on somebody else's server is databases with names of
// its own and no role: the tables belong to the endpoint's user.
//
//	loadstone_golden_…  a golden state
//	loadstone_new_…     one that is being loaded; it is renamed when complete
//	loadstone_work_…    a working copy of one
//
// Each carries two marks: a comment, set right after CREATE DATABASE, and a row
// in the table loadstone_golden inside. Only a database of the second or third
// kind whose two marks agree is ever dropped, and only while nobody holds its
// name: who makes one holds an advisory lock on it as long as it is needed, so
// that what a killed process left behind can be told from what is in use.
const (
	goldenPrefix = "loadstone_golden_"
	newPrefix    = "loadstone_new_"
	workPrefix   = "loadstone_work_"
	markTable    = "loadstone_golden"

	kindGolden = "golden"
	kindWork   = "work"
)

// markForm is the version of what marks hold.
const markForm = 1

// comment is the mark on a database's outside.
type comment struct {
	Loadstone int    `json:"loadstone"` // markForm
	Kind      string `json:"kind"`
	ID        string `json:"id"` // of the golden state
	ok        bool
}

// mark is the mark inside a database: what it was loaded with.
type mark struct {
	Loadstone    int                `json:"loadstone"` // markForm
	ID           string             `json:"id"`
	DataKey      string             `json:"data_key"`
	Created      time.Time          `json:"created"`
	Rows         int64              `json:"rows"`
	Bytes        int64              `json:"bytes"`
	Fingerprint  string             `json:"fingerprint"`
	StageSeconds map[string]float64 `json:"stage_seconds"`
	Contents     contents           `json:"contents"`
}

func (m mark) golden(name string) engine.Golden {
	return engine.Golden{Name: name, Created: m.Created, Report: engine.LoadReport{
		Rows: m.Rows, Bytes: unit.Bytes(m.Bytes), Fingerprint: m.Fingerprint, StageSeconds: m.StageSeconds,
	}}
}

// errNoMark says that a database is not one that Loadstone loaded.
var errNoMark = errors.New("it has no mark of Loadstone")

// goldenName is the name of the golden state with d's contents.
func goldenName(d *workload.Definition) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", markForm, d.DataKey))
	return goldenPrefix + d.Name[:min(len(d.Name), 24)] + "_" + hex.EncodeToString(sum[:6])
}

// randomName is a name that nothing else has.
func randomName(prefix string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])
}

// commentOn reads the mark on a database's outside; ok is false for any other
// comment, and for none. The error is errAbsent where there is no database.
func (s *running) commentOn(ctx context.Context, database string) (comment, error) {
	rows, err := s.askIn(ctx, s.Database, "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = $1", database)
	if err != nil {
		return comment{}, err
	}
	if len(rows) == 0 {
		return comment{}, errAbsent
	}
	return parseComment(rows[0][0]), nil
}

var errAbsent = errors.New("there is no such database")

func parseComment(text string) comment {
	var c comment
	if err := json.Unmarshal([]byte(text), &c); err != nil || c.Loadstone != markForm || c.ID == "" {
		return comment{}
	}
	c.ok = true
	return c
}

// markIn reads the mark inside a database.
func (s *running) markIn(ctx context.Context, database string) (m mark, err error) {
	rows, err := s.askIn(ctx, database, "SELECT about FROM public."+markTable)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42P01" { // undefined_table
		return m, errNoMark
	}
	if err != nil {
		return m, err
	}
	if len(rows) != 1 || json.Unmarshal([]byte(rows[0][0]), &m) != nil || m.Loadstone != markForm || m.ID == "" {
		return m, fmt.Errorf("its table %s is not what Loadstone writes", markTable)
	}
	return m, nil
}

// Find implements engine.Keeper.
func (s *running) Find(ctx context.Context, d *workload.Definition) (engine.Golden, bool, error) {
	m, ok, err := s.find(ctx, d)
	return m.golden(goldenName(d)), ok, err
}

func (s *running) find(ctx context.Context, d *workload.Definition) (mark, bool, error) {
	name := goldenName(d)
	c, err := s.commentOn(ctx, name)
	if errors.Is(err, errAbsent) {
		return mark{}, false, nil
	}
	if err == nil && !c.ok {
		err = errors.New("it was not made by Loadstone, which touches nothing else's: rename it, or remove it")
	}
	var m mark
	if err == nil {
		m, err = s.markIn(ctx, name)
	}
	if err == nil && (m.ID != c.ID || c.Kind != kindGolden || m.DataKey != d.DataKey) {
		err = errors.New("its marks contradict each other: remove it, and it will be loaded again")
	}
	if err != nil {
		return mark{}, false, fmt.Errorf("database %s at %s: %w", name, s.Where, err)
	}
	return m, true, nil
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
	if m, ok, err := s.find(ctx, d); ok || err != nil {
		return m.golden(name), err
	}
	s.sweep(ctx)
	fresh := randomName(newPrefix)
	held, err := s.hold(ctx, fresh)
	if err != nil {
		return g, err
	}
	defer held.release()
	if err := s.create(ctx, fresh, "TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C'"); err != nil {
		return g, err
	}
	m, err := s.fill(ctx, fresh, d, o)
	if err == nil {
		err = s.rename(ctx, fresh, name)
	}
	if err != nil {
		return g, errors.Join(fmt.Errorf("build golden state %s: %w", name, err), s.discard(ctx, fresh))
	}
	return m.golden(name), nil
}

// create makes a database.
func (s *running) create(ctx context.Context, name, how string) error {
	if _, err := s.askIn(ctx, s.Database, "CREATE DATABASE "+quoteName(name)+" "+how); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// setComment puts the outer mark on a database.
func (s *running) setComment(ctx context.Context, name string, c comment) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = s.askIn(ctx, s.Database, "COMMENT ON DATABASE "+quoteName(name)+" IS '"+strings.ReplaceAll(string(text), "'", "''")+"'")
	if err != nil {
		return fmt.Errorf("mark database %s: %w", name, err)
	}
	return nil
}

// fill marks the new database and loads d into it.
func (s *running) fill(ctx context.Context, name string, d *workload.Definition, o engine.LoadOptions) (m mark, err error) {
	m = mark{Loadstone: markForm, ID: randomName(""), DataKey: d.DataKey}
	if err := s.setComment(ctx, name, comment{Loadstone: markForm, Kind: kindGolden, ID: m.ID}); err != nil {
		return m, err
	}
	if err := s.writeMark(ctx, name, m, "CREATE TABLE public."+markTable+" (about text NOT NULL)"); err != nil {
		return m, err
	}
	c, err := s.config(name)
	if err != nil {
		return m, err
	}
	report, err := load.Run(ctx, load.Server{Config: c, Foreign: true}, ours(d, name), Dialect{}, Name, o)
	if err != nil {
		return m, err
	}
	m.Created, m.Rows, m.Bytes = clock.Real{}.Now().UTC().Round(time.Second), report.Rows, int64(report.Bytes)
	m.Fingerprint, m.StageSeconds = report.Fingerprint, report.StageSeconds
	if m.Contents, err = s.contentsOf(ctx, name); err != nil {
		return m, err
	}
	return m, s.writeMark(ctx, name, m, "DELETE FROM public."+markTable)
}

// ours is d with the names that it has on somebody else's server: no role is
// made there, and the database has a name of Loadstone's.
func ours(d *workload.Definition, database string) *workload.Definition {
	out := *d
	out.Database, out.Owner, out.Role = database, workload.Role{}, workload.Role{}
	return &out
}

// writeMark puts the inner mark into a database, after a statement that makes
// room for it.
func (s *running) writeMark(ctx context.Context, database string, m mark, first string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	conn, err := s.connectTo(ctx, database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err = ask(ctx, conn, first); err == nil {
		_, err = ask(ctx, conn, "INSERT INTO public."+markTable+" VALUES ($1)", string(text))
	}
	if err != nil {
		return fmt.Errorf("mark database %s: %w", database, err)
	}
	return nil
}

// Copy implements engine.Keeper: CREATE DATABASE … TEMPLATE with the strategy
// FILE_COPY, which copies files between two checkpoints. The other strategy,
// WAL_LOG, writes the whole database into the log and leaves it in the buffers:
// a repeat would begin with a warm cache and a checkpoint near at hand.
func (s *running) Copy(ctx context.Context, d *workload.Definition, c engine.Config) (engine.Database, engine.Copied, error) {
	golden := goldenName(d)
	m, ok, err := s.find(ctx, d)
	if err == nil && !ok {
		err = fmt.Errorf("there is no golden state %s at %s", golden, s.Where)
	}
	if err != nil {
		return nil, engine.Copied{}, err
	}
	s.sweep(ctx)
	out := engine.Copied{Name: randomName(workPrefix), Way: "template", Bytes: unit.Bytes(m.Bytes)}
	held, err := s.hold(ctx, out.Name)
	if err != nil {
		return nil, engine.Copied{}, err
	}
	began := clock.Real{}.Now()
	err = s.unused(ctx, func() error {
		return s.create(ctx, out.Name, "TEMPLATE "+quoteName(golden)+" STRATEGY FILE_COPY")
	})
	if err != nil {
		held.release()
		return nil, engine.Copied{}, err
	}
	out.Took = clock.Real{}.Now().Sub(began)
	db, err := s.finishCopy(ctx, &out, m, c, held)
	if err != nil {
		err = errors.Join(err, s.discard(ctx, out.Name))
		held.release()
		return nil, engine.Copied{}, err
	}
	return db, out, nil
}

// finishCopy marks, verifies and opens a copy.
func (s *running) finishCopy(ctx context.Context, out *engine.Copied, m mark, c engine.Config, held *hold) (*attached, error) {
	if err := s.setComment(ctx, out.Name, comment{Loadstone: markForm, Kind: kindWork, ID: m.ID}); err != nil {
		return nil, err
	}
	began := clock.Real{}.Now()
	found, err := s.contentsOf(ctx, out.Name)
	if err != nil {
		return nil, err
	}
	if err := found.same(m.Contents); err != nil {
		return nil, fmt.Errorf("copy %s of golden state: %w: somebody changed the golden state; remove it, and it will be loaded again", out.Name, err)
	}
	out.Verify, out.Digest, out.Verified = clock.Real{}.Now().Sub(began), found.digest(), found.about()
	db, err := s.open(ctx, out.Name, true, c)
	if err != nil {
		return nil, err
	}
	db.held = held
	return db, nil
}

// rename gives a complete golden state its name.
func (s *running) rename(ctx context.Context, from, to string) error {
	return s.unused(ctx, func() error {
		_, err := s.askIn(ctx, s.Database, "ALTER DATABASE "+quoteName(from)+" RENAME TO "+quoteName(to))
		return err
	})
}

// The bounds of waiting until a database has no sessions: those that ended
// leave the server a moment later.
const (
	unusedTries = 100
	unusedPause = 100 * time.Millisecond
)

// unused tries what needs a database without sessions until it has none.
func (s *running) unused(ctx context.Context, do func() error) (err error) {
	wall := clock.Real{}
	for range unusedTries {
		err = do()
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "55006" { // object_in_use
			return err
		}
		if wall.SleepUntil(ctx, wall.Now().Add(unusedPause)) != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	return err
}

// discardBound is how long removing a database may take, whatever became of
// the trial.
const discardBound = 30 * time.Second

// discard removes a database that this process made, sessions and all, even
// where ctx is over. Without its marks it stays, and the error names it.
func (s *running) discard(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardBound)
	defer cancel()
	return s.drop(ctx, name, " WITH (FORCE)")
}

// drop removes a database whose marks say that Loadstone made it, and nothing
// else.
func (s *running) drop(ctx context.Context, name, how string) error {
	c, err := s.commentOn(ctx, name)
	if errors.Is(err, errAbsent) {
		return nil
	}
	var m mark
	if err == nil {
		m, err = s.markIn(ctx, name)
	}
	temporary := strings.HasPrefix(name, newPrefix) || strings.HasPrefix(name, workPrefix)
	if err == nil && (!temporary || !c.ok || c.ID != m.ID) {
		err = errors.New("its marks do not say that Loadstone made it")
	}
	if err == nil {
		err = s.unused(ctx, func() error {
			_, err := s.askIn(ctx, s.Database, "DROP DATABASE IF EXISTS "+quoteName(name)+how)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("database %s at %s is left: %w", name, s.Where, err)
	}
	return nil
}

// sweep removes what killed processes left: databases of the same user with
// both marks whose names nobody holds. What can't be removed stays for the
// next time.
func (s *running) sweep(ctx context.Context) {
	rows, err := s.askIn(ctx, s.Database, `SELECT datname FROM pg_database
WHERE (datname LIKE 'loadstone\_new\_%' OR datname LIKE 'loadstone\_work\_%') AND datdba = (SELECT oid FROM pg_roles WHERE rolname = current_user)`)
	if err != nil {
		return
	}
	for _, row := range rows {
		if held, err := s.isHeld(ctx, row[0]); err == nil && !held {
			_ = s.drop(ctx, row[0], "")
		}
	}
}

func (s *running) isHeld(ctx context.Context, name string) (bool, error) {
	rows, err := s.askIn(ctx, s.Database, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = $1::oid AND objid = $2::oid AND objsubid = 2",
		strconv.Itoa(lockClass), strconv.FormatUint(uint64(lockKey(name)), 10))
	if err != nil {
		return true, err
	}
	return rows[0][0] != "0", nil
}

// quoteName renders name as an identifier.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
