package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// database is what Start returns: the files in a directory and the connections
// to them.
type database struct {
	dir             string
	chosen          []choice
	memory          unit.Bytes
	clock           clock.Clock
	busyTimeout     time.Duration
	checkpointEvery int64 // frames of the WAL; 0 is never
	lock            *handle
	exited          chan struct{}
	totals

	mu     sync.Mutex
	conns  map[*conn]bool
	log    []string
	closed bool
	stop   error
}

// Start implements engine.Installation. There is nothing to wait for: the
// database answers when the lock is taken and a connection has its settings.
func (in *installation) Start(ctx context.Context, m engine.Machine, c engine.Config) (engine.Database, error) {
	d, err := in.start(ctx, m, c)
	if err != nil {
		return nil, fmt.Errorf("start SQLite: %w", err)
	}
	return d, nil
}

func (in *installation) start(ctx context.Context, m engine.Machine, c engine.Config) (*database, error) {
	_, memory := m.Capacity()
	chosen, err := choose(c, memory)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &database{
		dir: filepath.Join(m.Dir(), folder), chosen: chosen, memory: memory, clock: clock.Real{},
		busyTimeout: busyTimeout(chosen), checkpointEvery: count(chosen, "wal_autocheckpoint"),
		exited: make(chan struct{}), conns: map[*conn]bool{},
	}
	if _, err := os.Stat(filepath.Join(d.dir, lockFile)); err != nil {
		return nil, fmt.Errorf("%s has no database: %w", m.Dir(), err)
	}
	if err := d.takeLock(); err != nil {
		return nil, err
	}
	h, err := d.connect(ctx, filepath.Join(d.dir, ownFile))
	if err != nil {
		return nil, errors.Join(err, d.lock.close())
	}
	if err := h.close(); err != nil {
		return nil, errors.Join(err, d.lock.close())
	}
	d.note("SQLite %s started on %s", in.version, d.dir)
	for _, c := range chosen {
		d.note("%s = %s (%s)", c.name, c.value, c.why)
	}
	return d, nil
}

// takeLock keeps a second Start away, in this process and in any other: the
// lock file is a database that is locked as a whole.
func (d *database) takeLock() error {
	h, err := open(filepath.Join(d.dir, lockFile))
	if err != nil {
		return err
	}
	if err := h.script("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT"); err != nil {
		return errors.Join(fmt.Errorf("the database is in use: %w", err), h.close())
	}
	d.lock = h
	return nil
}

// connect opens a connection with the settings that all have.
func (d *database) connect(ctx context.Context, path string) (*handle, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, err := open(path)
	if err != nil {
		return nil, err
	}
	if err := apply(h, d.chosen); err != nil {
		return nil, errors.Join(err, h.close())
	}
	h.watchWAL()
	return h, nil
}

// Open implements engine.Database.
func (d *database) Open(ctx context.Context, def *workload.Definition) (*engine.Session, error) {
	path := fileOf(d.dir, def.Database)
	if _, err := os.Stat(path); err != nil || def.Database == "" {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = errors.New("it has not been loaded")
		}
		return nil, fmt.Errorf("open a session of database %q: %w", def.Database, err)
	}
	h, err := d.connect(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	c, err := newConn(ctx, d, h, def)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.conns[c] = true
	}
	d.mu.Unlock()
	if closed {
		return nil, errors.Join(errors.New("open a session: the database has been stopped"), c.close())
	}
	return engine.NewSession(c, Classify), nil
}

// forget drops a session that ends.
func (d *database) forget(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns[c] {
		delete(d.conns, c)
		d.retire(c)
	}
}

// sessions are those that are open.
func (d *database) sessions() []*conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]*conn, 0, len(d.conns))
	for c := range d.conns {
		out = append(out, c)
	}
	return out
}

// Stop implements engine.Database. The sessions that are left end, the WAL goes
// into the databases, and everything into the files. Where ctx is over, the
// files stay as after a crash, from which the next start recovers.
func (d *database) Stop(ctx context.Context) error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		<-d.exited
		return d.stop
	}
	d.closed = true
	d.mu.Unlock()
	defer close(d.exited)
	for _, c := range d.sessions() {
		_ = c.close() // its user sees what became of it
	}
	d.stop = d.settle(ctx)
	// The lock goes last: who gets it finds complete files.
	if err := d.lock.close(); err != nil {
		d.stop = errors.Join(d.stop, err)
	}
	if d.stop != nil {
		d.stop = fmt.Errorf("stop SQLite: %w", d.stop)
	}
	d.note("stopped: %v", d.stop)
	return d.stop
}

// settle brings everything into the files of the databases.
func (d *database) settle(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(d.dir, "*.db"))
	if err != nil {
		return err
	}
	for _, path := range files {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the database was cut off: %w", err)
		}
		h, err := open(path)
		if err != nil {
			return err
		}
		_, err = h.text("PRAGMA wal_checkpoint(TRUNCATE)")
		if err := errors.Join(err, h.close()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		// Without durability nothing was synced so far. No connection is open
		// any more: closing a file that one has would drop its locks.
		if err := syncFile(path); err != nil {
			return err
		}
	}
	return syncFile(d.dir)
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Exited implements engine.Database. The database ends with Stop, or with the
// whole process.
func (d *database) Exited() <-chan struct{} { return d.exited }

// logLines is how many lines of the log are kept.
const logLines = 200

// note writes a line into the log.
func (d *database) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, d.clock.Now().UTC().Format(time.RFC3339)+" "+fmt.Sprintf(format, args...))
	d.log = d.log[max(0, len(d.log)-logLines):]
}

// Log implements engine.Database. SQLite has no log; this is what was done to
// the database beside statements.
func (d *database) Log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.log, "\n")
}

// Sources implements engine.Database.
func (d *database) Sources() []observe.Source { return []observe.Source{counters{d}} }

// States implements engine.Database.
func (d *database) States() []observe.StateSource { return []observe.StateSource{waits{d}} }
