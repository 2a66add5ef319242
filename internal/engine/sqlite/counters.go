package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loadstone-perf/loadstone/internal/observe"
)

// The counters that each connection keeps.
const (
	cacheHits = iota
	cacheMisses
	cacheWrites
	cacheSpills
	tallies
)

// totals are what all sessions did since the start.
type totals struct {
	round     atomic.Int64 // of asking sessions for their counters
	commits   atomic.Int64
	rollbacks atomic.Int64
	waits     atomic.Int64
	waitMicro atomic.Int64

	frames           atomic.Int64 // in the WAL after the last commit
	walFrames        atomic.Int64 // written in all
	checkpoints      atomic.Int64 // that copied the whole WAL
	partial          atomic.Int64 // that readers kept from it
	checkpointFrames atomic.Int64
	checkpointMicro  atomic.Int64

	gone [tallies]atomic.Int64 // of sessions that have ended
}

// waited counts a wait for the writer's lock that began at since.
func (d *database) waited(since time.Time) {
	d.waits.Add(1)
	d.waitMicro.Add(d.clock.Now().Sub(since).Microseconds())
}

// committed counts a commit after which the WAL has so many frames.
func (d *database) committed(frames int64) {
	d.commits.Add(1)
	before := d.frames.Swap(frames)
	if frames > before {
		d.walFrames.Add(frames - before)
	} else {
		d.walFrames.Add(frames) // the WAL has begun anew
	}
}

// boundFactor is how many times longer than wal_autocheckpoint the WAL may
// become before a checkpoint waits for readers and keeps writers away, so that
// the WAL has an end.
const boundFactor = 8

// checkpoint copies the WAL of frames into the database.
func (d *database) checkpoint(h *handle, frames int64) error {
	begin := d.clock.Now()
	wal, copied, err := h.checkpoint(frames >= boundFactor*d.checkpointEvery)
	d.checkpointMicro.Add(d.clock.Now().Sub(begin).Microseconds())
	switch {
	case err != nil:
		return err
	case copied < 0: // another session is at it
	case copied < wal:
		d.partial.Add(1)
	default:
		d.checkpoints.Add(1)
		d.checkpointFrames.Add(copied)
	}
	return nil
}

// count reads the connection's counters for a round of counting. Its caller
// holds c.mu.
func (c *conn) count(round int64) {
	for i, op := range [tallies]int32{
		sqlite3.SQLITE_DBSTATUS_CACHE_HIT, sqlite3.SQLITE_DBSTATUS_CACHE_MISS,
		sqlite3.SQLITE_DBSTATUS_CACHE_WRITE, sqlite3.SQLITE_DBSTATUS_CACHE_SPILL,
	} {
		c.tally[i].Store(c.h.status(op))
	}
	c.told.Store(round)
}

// retire keeps the counters of a session that ends.
func (d *database) retire(c *conn) {
	for i := range c.tally {
		d.gone[i].Add(c.tally[i].Load())
	}
}

// counters is the observe.Source of a database. The connections' own counters
// are read by their users at the end of a call, where one is under way: a
// reading lags by at most one call.
type counters struct{ d *database }

// Name implements observe.Source.
func (counters) Name() string { return "database" }

// The columns, in the order of Read.
func columnList() []observe.Column {
	total := func(name, about string) observe.Column {
		return observe.Column{Name: name, Total: true, About: about}
	}
	state := func(name, about string) observe.Column { return observe.Column{Name: name, About: about} }
	return []observe.Column{
		total("commits", "transactions committed that wrote"),
		total("rollbacks", "transactions rolled back"),
		total("blocks_hit", "pages found in the connections' caches"),
		total("blocks_read", "pages asked of the operating system"),
		total("blocks_written", "pages written to WAL or database by connections"),
		total("cache_spills", "pages written before their commit for lack of cache"),
		total("lock_waits", "waits for the writer's lock"),
		total("lock_wait_s", "time that sessions waited for the writer's lock"),
		total("wal_frames", "frames written to the WAL, one a page"),
		total("wal_bytes", "bytes written to the WAL, with the frames' headers"),
		total("checkpoints_requested", "checkpoints that copied the whole WAL, each by its length"),
		total("checkpoints_partial", "checkpoints that readers of old snapshots kept from copying the whole WAL"),
		total("checkpoint_frames", "frames copied by whole checkpoints"),
		total("checkpoint_s", "time that sessions spent on checkpoints"),
		state("sessions", "sessions open"),
		state("sessions_active", "sessions that run a call"),
		state("locks_waiting", "sessions that wait for the writer's lock"),
		state("wal_file_bytes", "size of the WAL's files; they are used again, not cut"),
		state("database_bytes", "size of the databases' files"),
	}
}

// Columns implements observe.Source.
func (counters) Columns() []observe.Column { return columnList() }

// frameBytes is a frame of the WAL: a page and a header
// (https://sqlite.org/fileformat2.html, section 4.1).
const frameBytes = pageSize + 24

// errStopped says that the database that is asked has been stopped.
var errStopped = errors.New("the database has been stopped")

// Read implements observe.Source.
func (s counters) Read(_ context.Context, out []float64) error {
	d := s.d
	select {
	case <-d.exited:
		return errStopped
	default:
	}
	tally, open, active, waiting := d.gather()
	values := []float64{
		float64(d.commits.Load()), float64(d.rollbacks.Load()),
		float64(tally[cacheHits]), float64(tally[cacheMisses]), float64(tally[cacheWrites]), float64(tally[cacheSpills]),
		float64(d.waits.Load()), float64(d.waitMicro.Load()) / 1e6,
		float64(d.walFrames.Load()), float64(d.walFrames.Load()) * frameBytes,
		float64(d.checkpoints.Load()), float64(d.partial.Load()), float64(d.checkpointFrames.Load()), float64(d.checkpointMicro.Load()) / 1e6,
		float64(open), float64(active), float64(waiting),
		sizeOf(d.dir, "*"+suffix+"-wal"), sizeOf(d.dir, "*"+suffix),
	}
	copy(out, values)
	return nil
}

// gather adds the connections' counters up, those of sessions that have ended
// among them, and counts sessions.
//
// d.mu is held from the list to the sum, so that a session that ends meanwhile
// is counted once. A session that is in a call is not waited for: it tells what
// it has counted when the call ends, and until then what it told last stands.
func (d *database) gather() (tally [tallies]int64, open, active, waiting int) {
	round := d.round.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.conns {
		if c.mu.TryLock() {
			if !c.closing.Load() {
				c.count(round)
			}
			c.mu.Unlock()
		}
		open++
		if state := c.state.Load(); state != idle {
			active++
			if state == waitingToWrite {
				waiting++
			}
		}
		for i := range tally {
			tally[i] += c.tally[i].Load()
		}
	}
	for i := range tally {
		tally[i] += d.gone[i].Load()
	}
	return tally, open, active, waiting
}

// sizeOf adds up the sizes of the files that match. It opens none of them:
// closing one would drop the locks that connections of this process have.
func sizeOf(dir, pattern string) (sum float64) {
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return 0
	}
	for _, f := range files {
		if about, err := os.Stat(f); err == nil {
			sum += float64(about.Size())
		}
	}
	return sum
}

// waits is the observe.StateSource of a database: the sessions that run a call,
// by what they do. A statement that is a transaction of its own and writes
// counts as its commit.
type waits struct{ d *database }

// Name implements observe.StateSource.
func (waits) Name() string { return "waits" }

// Poll implements observe.StateSource. A commit writes and syncs the WAL; a
// statement that reads pages from files counts as CPU, because the library
// does not tell.
func (w waits) Poll(_ context.Context, add func(state string, n int)) error {
	select {
	case <-w.d.exited:
		return errStopped
	default:
	}
	var n [activities]int
	for _, c := range w.d.sessions() {
		n[c.state.Load()]++
	}
	for activity, name := range [activities]string{running: "CPU", waitingToWrite: "Lock:Writer", committing: "Log:Commit", checkpointing: "IO:Checkpoint"} {
		if n[activity] > 0 && name != "" {
			add(name, n[activity])
		}
	}
	return nil
}
