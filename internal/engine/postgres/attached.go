package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// attached is one database of a server that somebody else runs. It implements
// engine.Database; its Stop removes a working copy and leaves the server alone.
type attached struct {
	server *running
	name   string
	copied bool // a working copy, to be removed
	config engine.Config
	held   *hold // of a working copy's name

	counters *counters
	waits    *waits
	watch    *hold // notices that the server is gone

	stopping sync.Mutex
	stopped  bool
	stop     error
}

// open makes the Database called name; it connects to see that it answers.
func (s *running) open(ctx context.Context, name string, copied bool, c engine.Config) (*attached, error) {
	watch, err := s.hold(ctx, "")
	if err != nil {
		return nil, err
	}
	a := &attached{server: s, name: name, copied: copied, config: c, watch: watch}
	list := measurable(databaseCounters(), s.timed(ctx, name))
	if s.takeWide(a) {
		list = append(list, measurable(serverCounters(s.version[0]), s.timed(ctx, name))...)
	}
	a.counters = &counters{list, link{server: a, query: among(countersQuery(list, s.version[0]), name)}}
	a.waits = &waits{link{server: a, query: among(waitsQuery, name)}}
	return a, nil
}

// takeWide says whether a's counters include those of the whole server: of
// several databases on one server only the first one's do, or sums over them
// would count the server several times.
func (s *running) takeWide(a *attached) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wide != nil {
		return false
	}
	s.wide = a
	return true
}

func (s *running) giveWide(a *attached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wide == a {
		s.wide = nil
	}
}

// timed returns the settings that are off and without which the server
// measures no times.
func (s *running) timed(ctx context.Context, database string) (off []string) {
	rows, err := s.askIn(ctx, database, "SELECT name FROM pg_settings WHERE name IN ('track_io_timing', 'track_wal_io_timing') AND setting = 'off'")
	if err != nil {
		return nil // the counters' own connection meets the same error
	}
	for _, r := range rows {
		off = append(off, r[0])
	}
	return off
}

// measurable takes from list the times that the server does not measure: they
// are zero there, which they are not.
func measurable(list []counter, off []string) []counter {
	needs := map[string]string{
		"block_read_s": "track_io_timing", "block_write_s": "track_io_timing",
		"wal_write_s": "track_wal_io_timing", "wal_fsync_s": "track_wal_io_timing",
	}
	return slices.DeleteFunc(list, func(c counter) bool { return slices.Contains(off, needs[c.Name]) })
}

// among limits a query on the workload's databases to one database, and where
// it is about sessions, to the users'.
func among(query, database string) string {
	one := "(SELECT oid FROM pg_database WHERE datname = '" + strings.ReplaceAll(database, "'", "''") + "')"
	sessions := "backend_type = 'client backend' AND application_name <> '" + ownName + "'"
	return strings.NewReplacer(workloadDatabases, one, "backend_type = 'client backend'", sessions).Replace(query)
}

// connect implements askable: the connections of counters are to the
// endpoint's own database.
func (a *attached) connect(ctx context.Context) (*pgconn.PgConn, error) {
	return a.server.connectTo(ctx, a.server.Database)
}

// Load implements engine.Database: it refuses, because Build has loaded what
// there is.
func (a *attached) Load(_ context.Context, d *workload.Definition, _ engine.LoadOptions) (engine.LoadReport, error) {
	return engine.LoadReport{}, fmt.Errorf("load %s: database %s at %s was loaded before, and is measured as it is", d.Name, a.name, a.server.Where)
}

// Open implements engine.Database. Users log in as the endpoint's user, over
// the network and the encryption that the study asks for: these are part of
// what is measured.
func (a *attached) Open(ctx context.Context, d *workload.Definition) (*engine.Session, error) {
	prepared := make([]wire.Prepared, len(d.Statements))
	for i, statement := range d.Statements {
		text, err := Dialect{}.Statement(statement)
		if err != nil {
			return nil, fmt.Errorf("open a session: %w", err)
		}
		prepared[i] = wire.Prepared{Index: statement.Index, Name: statement.Name, SQL: text}
	}
	c, err := a.server.config(a.name)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	c.RuntimeParams["application_name"] = userName
	conn, err := wire.Dial(ctx, wire.Config{From: c, Address: a.server.Where, Statements: prepared, Render: Dialect{}.Statement})
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return engine.NewSession(conn, wire.Classify), nil
}

// Settings implements engine.Database.
func (a *attached) Settings(ctx context.Context) ([]engine.Setting, error) {
	return a.server.settingsIn(ctx, a.name, a.config.Settings)
}

// Sources implements engine.Database.
func (a *attached) Sources() []observe.Source { return []observe.Source{a.counters} }

// States implements engine.Database.
func (a *attached) States() []observe.StateSource { return []observe.StateSource{a.waits} }

// Stop implements engine.Database: the server runs on. A working copy is
// removed even where ctx is over.
func (a *attached) Stop(ctx context.Context) error {
	a.stopping.Lock()
	defer a.stopping.Unlock()
	if a.stopped {
		return a.stop
	}
	a.stopped = true
	a.counters.close()
	a.waits.close()
	a.watch.release()
	a.server.giveWide(a)
	if a.copied {
		a.stop = a.server.discard(ctx, a.name)
		a.held.release()
	}
	return a.stop
}

// Exited implements engine.Database: it is closed when the server does not
// answer any more.
func (a *attached) Exited() <-chan struct{} { return a.watch.gone }

// Log implements engine.Database: the log of somebody else's server is not
// Loadstone's to read.
func (a *attached) Log() string { return "" }

// lockClass tells Loadstone's advisory locks from others'.
const lockClass = 0x10ad5

// lockKey is the number that stands for a name among advisory locks.
func lockKey(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum32()
}

// hold is a connection that keeps an advisory lock on a name, as long as it
// lives, and notices when the server is gone. A connection that breaks while
// the server lives is made anew.
type hold struct {
	server *running
	name   string // "" holds none
	end    context.CancelFunc
	ended  chan struct{} // closed when the watching has ended
	gone   chan struct{} // closed when the server does not answer any more
}

// hold takes name, waiting for whoever has it.
func (s *running) hold(ctx context.Context, name string) (*hold, error) {
	h := &hold{server: s, name: name, ended: make(chan struct{}), gone: make(chan struct{})}
	conn, err := h.take(ctx)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	h.end = end
	go h.keep(life, conn)
	return h, nil
}

func (h *hold) take(ctx context.Context) (*pgconn.PgConn, error) {
	conn, err := h.server.connectTo(ctx, h.server.Database)
	if err != nil || h.name == "" {
		return conn, err
	}
	if _, err := ask(ctx, conn, "SELECT pg_advisory_lock("+strconv.Itoa(lockClass)+", "+strconv.Itoa(int(int32(lockKey(h.name))))+")"); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("hold the name %s: %w", h.name, err)
	}
	return conn, nil
}

// keep waits for what never comes, a notification: it ends with the
// connection.
func (h *hold) keep(life context.Context, conn *pgconn.PgConn) {
	defer close(h.ended)
	for {
		err := conn.WaitForNotification(life)
		if err == nil {
			continue // somebody else's
		}
		_ = conn.Close(context.WithoutCancel(life))
		if life.Err() != nil {
			return
		}
		if conn, err = h.take(life); err != nil {
			if life.Err() == nil && !errors.Is(err, context.Canceled) {
				close(h.gone)
			}
			return
		}
	}
}

// release lets the name go; it returns when the server has been told.
func (h *hold) release() {
	h.end()
	<-h.ended
}
