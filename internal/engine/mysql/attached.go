package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// attached is one database of a server that somebody else runs. It implements
// engine.Database; its Stop removes a working copy and leaves the server alone.
type attached struct {
	server *running
	name   string
	config engine.Config
	held   *hold // of a working copy's name; nil where it is none
	watch  *hold // notices that the server is gone

	counters *counters // nil where another database's are the server's
	waits    *waits

	stopping sync.Mutex
	stopped  bool
	stop     error
}

// open makes the Database called name; it connects to see that it answers.
func (s *running) open(ctx context.Context, name string, c engine.Config) (*attached, error) {
	watch, err := s.hold(ctx, "")
	if err != nil {
		return nil, err
	}
	a := &attached{server: s, name: name, config: c, watch: watch}
	a.waits = newWaits(a, foreignWaits(s.product, name))
	list, err := s.measurable(ctx)
	if err != nil {
		watch.release()
		return nil, err
	}
	if s.takeWide(a) {
		a.counters = newCounters(a, s.product, list)
	}
	return a, nil
}

// takeWide says whether a's counters are the server's: the product counts for
// the whole server, and of several databases on one only the first one's do, or
// sums over them would count the server several times.
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

// measurable are the counters that this server keeps and this user may read.
// InnoDB's metrics need the right PROCESS, and most are off unless the server
// was told to count them, which is not ours to do.
func (s *running) measurable(ctx context.Context) ([]counter, error) {
	rows, err := s.askIn(ctx, "", "SELECT UPPER(VARIABLE_NAME) FROM "+s.product.status())
	if err != nil {
		return nil, fmt.Errorf("look what the server counts: %w", err)
	}
	metrics, err := s.askIn(ctx, "", "SELECT NAME FROM information_schema.INNODB_METRICS WHERE TIME_ENABLED IS NOT NULL AND TIME_DISABLED IS NULL")
	if err == nil { // else they are not for this user
		rows = append(rows, metrics...)
	}
	return slices.DeleteFunc(serverCounters(s.product), func(c counter) bool {
		return slices.ContainsFunc(c.of, func(of string) bool {
			name := strings.TrimPrefix(of, "-")
			return !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == name })
		})
	}), nil
}

// foreignWaits is waitsQuery for one database of a server whose performance
// schema may be off: every user may see the sessions of its own. Who waits for
// the disk looks as if it ran.
func foreignWaits(f flavour, database string) string {
	return `SELECT COALESCE(STATE, ''), '', COUNT(*) FROM information_schema.PROCESSLIST
WHERE DB = '` + strings.ReplaceAll(database, "'", "''") + `' AND COMMAND IN ('Query', 'Execute') GROUP BY 1
UNION ALL SELECT '` + rowLocks + `', '', CAST(VARIABLE_VALUE AS SIGNED) FROM ` + f.status() + ` WHERE VARIABLE_NAME = 'Innodb_row_lock_current_waits'`
}

// own implements askable.
func (a *attached) own() wire.Config { return a.server.own() }

// Load implements engine.Database: it refuses, because Build has loaded what
// there is.
func (a *attached) Load(_ context.Context, d *workload.Definition, _ engine.LoadOptions) (engine.LoadReport, error) {
	return engine.LoadReport{}, fmt.Errorf("load %s: database %s at %s was loaded before, and is measured as it is", d.Name, a.name, a.server.Where)
}

// Open implements engine.Database. Users log in as the endpoint's user, over the
// network and the encryption that the study asks for: these are part of what is
// measured.
func (a *attached) Open(ctx context.Context, d *workload.Definition) (*engine.Session, error) {
	return openSession(ctx, a.server.config(a.name), d)
}

// Settings implements engine.Database.
func (a *attached) Settings(ctx context.Context) ([]engine.Setting, error) {
	return a.server.Settings(ctx, a.config.Settings)
}

// Sources implements engine.Database.
func (a *attached) Sources() []observe.Source {
	if a.counters == nil {
		return nil
	}
	return []observe.Source{a.counters}
}

// States implements engine.Database.
func (a *attached) States() []observe.StateSource { return []observe.StateSource{a.waits} }

// Stop implements engine.Database: the server runs on. A working copy is removed
// even where ctx is over.
func (a *attached) Stop(ctx context.Context) error {
	a.stopping.Lock()
	defer a.stopping.Unlock()
	if a.stopped {
		return a.stop
	}
	a.stopped = true
	if a.counters != nil {
		a.counters.close()
	}
	a.waits.close()
	a.watch.release()
	a.server.giveWide(a)
	if a.held != nil {
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

// hold is a connection that keeps a lock on a name (GET_LOCK), as long as it
// lives, and notices when the server is gone. A connection that breaks while the
// server lives is made anew.
type hold struct {
	server *running
	name   string // "" holds none
	end    context.CancelFunc
	ended  chan struct{} // closed when the watching has ended
	gone   chan struct{} // closed when the server does not answer any more
}

// pulse is how often a hold asks whether the server is still there. The protocol
// has no message that a server sends unasked, to wait for.
const pulse = time.Second

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

func (h *hold) take(ctx context.Context) (*wire.Conn, error) {
	conn, err := wire.Dial(ctx, h.server.own())
	if err != nil || h.name == "" {
		return conn, err
	}
	// The bound is far beyond any load; MariaDB takes no word for "for ever".
	rows, err := ask(ctx, conn, "SELECT GET_LOCK(?, 86400)", h.name)
	if err == nil && rows[0][0] != "1" {
		err = fmt.Errorf("somebody else has held it for a day")
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("hold the name %s: %w", h.name, err)
	}
	return conn, nil
}

// keep asks every pulse whether the server is there.
func (h *hold) keep(life context.Context, conn *wire.Conn) {
	defer close(h.ended)
	wall := clock.Real{}
	for {
		if wall.SleepUntil(life, wall.Now().Add(pulse)) != nil {
			_ = conn.Close()
			return
		}
		_, err := ask(life, conn, "SELECT 1")
		if err == nil {
			continue
		}
		_ = conn.Close()
		if life.Err() != nil {
			return
		}
		if conn, err = h.take(life); err != nil {
			if life.Err() == nil {
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
