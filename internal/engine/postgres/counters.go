package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
	"github.com/loadstone-perf/loadstone/internal/observe"
)

// workloadDatabases are the databases whose sessions and work count: all but
// the product's own. Loadstone's own connections are to "postgres", and so
// never among them.
const workloadDatabases = `(SELECT oid FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1'))`

// counter is one column and the expression that gives it, over the rows that
// countersFrom joins.
type counter struct {
	observe.Column
	expression string
}

// databaseCounters are from pg_stat_database, the sum over the workload's
// databases. The server's processes report what they did at the end of a
// transaction, but no more often than once a second, so single seconds are
// rough; sums over ten and more are not.
func databaseCounters() []counter {
	return []counter{
		total("commits", "transactions committed", "d.xact_commit"),
		total("rollbacks", "transactions rolled back", "d.xact_rollback"),
		total("blocks_hit", "blocks found in the shared buffers", "d.blks_hit"),
		total("blocks_read", "blocks asked of the operating system", "d.blks_read"),
		total("block_read_s", "time that sessions waited for such blocks", "d.blk_read_time / 1e3"),
		total("block_write_s", "time that sessions spent on writing blocks", "d.blk_write_time / 1e3"),
		total("tuples_returned", "rows and index entries read by scans", "d.tup_returned"),
		total("tuples_fetched", "rows fetched by index scans", "d.tup_fetched"),
		total("tuples_inserted", "rows inserted", "d.tup_inserted"),
		total("tuples_updated", "rows updated", "d.tup_updated"),
		total("tuples_deleted", "rows deleted", "d.tup_deleted"),
		total("deadlocks", "deadlocks detected", "d.deadlocks"),
		total("temp_files", "temporary files written by queries", "d.temp_files"),
		total("temp_bytes", "bytes in temporary files", "d.temp_bytes"),
		total("session_active_s", "time that sessions spent on statements", "d.active_time / 1e3"),
		total("session_idle_in_transaction_s", "time that sessions idled in a transaction", "d.idle_in_transaction_time / 1e3"),
		state("sessions", "sessions of users", "a.sessions"),
		state("sessions_active", "sessions of users that run a statement", "a.active"),
		state("sessions_idle_in_transaction", "sessions of users that idle in a transaction", "a.idling"),
		state("locks_waiting", "sessions of users that wait for a lock", "a.locked"),
		state("database_bytes", "size of the databases on disk", "d.bytes"),
	}
}

// serverCounters are of the whole server: its views moved between releases.
func serverCounters(major int) []counter {
	timed, requested, write, sync, written := "checkpoints_timed", "checkpoints_req", "checkpoint_write_time", "checkpoint_sync_time", "buffers_checkpoint"
	if major >= 17 {
		timed, requested, write, sync, written = "num_timed", "num_requested", "write_time", "sync_time", "buffers_written"
	}
	backend := "b.buffers_backend"
	if major >= 17 {
		backend = "i.backend_blocks"
	}
	walWrites, walSyncs, walWrite, walSync := "w.wal_write", "w.wal_sync", "w.wal_write_time", "w.wal_sync_time"
	if major >= 18 {
		walWrites, walSyncs, walWrite, walSync = "i.wal_writes", "i.wal_fsyncs", "i.wal_write_time", "i.wal_fsync_time"
	}
	return []counter{
		total("checkpoints_timed", "checkpoints that came by time", "c."+timed),
		total("checkpoints_requested", "checkpoints that came by the volume of WAL or on request", "c."+requested),
		total("checkpoint_write_s", "time that checkpoints spent on writing, pauses included", "c."+write+" / 1e3"),
		total("checkpoint_sync_s", "time that checkpoints spent on syncing", "c."+sync+" / 1e3"),
		total("buffers_written_checkpoint", "blocks written by checkpoints", "c."+written),
		total("buffers_written_background", "blocks written by the background writer", "b.buffers_clean"),
		total("buffers_written_backend", "blocks that sessions had to write or add themselves", backend),
		total("buffers_allocated", "buffers allocated", "b.buffers_alloc"),
		total("wal_bytes", "WAL produced, by its position", "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"),
		total("wal_records", "WAL records produced", "w.wal_records"),
		total("wal_full_pages", "full-page images in the WAL", "w.wal_fpi"),
		total("wal_buffers_full", "times that WAL was written because its buffers were full", "w.wal_buffers_full"),
		total("wal_writes", "writes of WAL", walWrites),
		total("wal_fsyncs", "syncs of WAL", walSyncs),
		total("wal_write_s", "time spent on writing WAL", walWrite+" / 1e3"),
		total("wal_fsync_s", "time spent on syncing WAL", walSync+" / 1e3"),
	}
}

func total(name, about, expression string) counter {
	return counter{observe.Column{Name: name, Total: true, About: about}, expression}
}

func state(name, about, expression string) counter {
	return counter{observe.Column{Name: name, About: about}, expression}
}

// countersFrom joins one row from each view. Lock waits are counted from the
// sessions' wait events rather than from pg_locks, which would stop every
// session at all partitions of the lock table.
func countersFrom(major int) string {
	from := `(SELECT sum(xact_commit) AS xact_commit, sum(xact_rollback) AS xact_rollback, sum(blks_hit) AS blks_hit,
 sum(blks_read) AS blks_read, sum(blk_read_time) AS blk_read_time, sum(blk_write_time) AS blk_write_time,
 sum(tup_returned) AS tup_returned, sum(tup_fetched) AS tup_fetched, sum(tup_inserted) AS tup_inserted,
 sum(tup_updated) AS tup_updated, sum(tup_deleted) AS tup_deleted, sum(deadlocks) AS deadlocks,
 sum(temp_files) AS temp_files, sum(temp_bytes) AS temp_bytes, sum(active_time) AS active_time,
 sum(idle_in_transaction_time) AS idle_in_transaction_time, sum(pg_database_size(datid)) AS bytes
 FROM pg_stat_database WHERE datid IN ` + workloadDatabases + `) d,
(SELECT count(*) AS sessions, count(*) FILTER (WHERE state = 'active') AS active,
 count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS idling,
 count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock') AS locked
 FROM pg_stat_get_activity(NULL) WHERE backend_type = 'client backend' AND datid IN ` + workloadDatabases + `) a,
pg_stat_bgwriter b, pg_stat_wal w`
	if major >= 17 {
		from += ", pg_stat_checkpointer c"
	} else {
		from += ", pg_stat_bgwriter c"
	}
	// From 18 on one operation may cover several blocks, and bytes are counted;
	// WAL has moved to this view.
	const sessions = `FILTER (WHERE object <> 'wal' AND backend_type NOT IN ('checkpointer', 'background writer'))`
	switch {
	case major >= 18:
		from += `, (SELECT (sum(write_bytes) ` + sessions + ` + sum(extend_bytes) ` + sessions + `) / current_setting('block_size')::int AS backend_blocks,
 sum(writes) FILTER (WHERE object = 'wal') AS wal_writes, sum(fsyncs) FILTER (WHERE object = 'wal') AS wal_fsyncs,
 sum(write_time) FILTER (WHERE object = 'wal') AS wal_write_time, sum(fsync_time) FILTER (WHERE object = 'wal') AS wal_fsync_time
 FROM pg_stat_io) i`
	case major == 17:
		from += `, (SELECT sum(writes) ` + sessions + ` + sum(extends) ` + sessions + ` AS backend_blocks FROM pg_stat_io) i`
	}
	return from
}

// counters is the observe.Source of a server. A reading costs the server about
// 1 ms of CPU (0.8 ms with one session, 1.2 ms with 250, release 15): at one a
// second, 0.1 % of one CPU.
type counters struct {
	list []counter
	link link
}

func newCounters(s *server) *counters {
	list := append(databaseCounters(), serverCounters(s.in.version[0])...)
	return &counters{list, link{server: s, query: countersQuery(list, s.in.version[0])}}
}

// countersQuery asks for list in one row.
func countersQuery(list []counter, major int) string {
	expressions := make([]string, len(list))
	for i, c := range list {
		expressions[i] = "(" + c.expression + ")::float8"
	}
	return "SELECT " + strings.Join(expressions, ", ") + " FROM " + countersFrom(major)
}

// Name implements observe.Source.
func (*counters) Name() string { return "database" }

// Columns implements observe.Source.
func (c *counters) Columns() []observe.Column {
	out := make([]observe.Column, len(c.list))
	for i := range c.list {
		out[i] = c.list[i].Column
	}
	return out
}

// Read implements observe.Source. The error means that the server has ended.
func (c *counters) Read(ctx context.Context, out []float64) error {
	for i := range out {
		out[i] = math.NaN()
	}
	rows, err := c.link.ask(ctx)
	if errors.Is(err, errEnded) {
		return err
	}
	// After any other error there are no rows, and the next reading may do.
	if len(rows) == 1 && len(rows[0]) == len(out) {
		for i, text := range rows[0] {
			// A value that a view lacks is NULL, and stays NaN.
			if n, err := strconv.ParseFloat(string(text), 64); err == nil {
				out[i] = n
			}
		}
	}
	return nil
}

func (c *counters) close() { c.link.close() }

// errEnded says that the server that is asked has ended.
var errEnded = errors.New("the database server has ended")

// askable is a server that answers questions until Exited is closed.
type askable interface {
	connect(ctx context.Context) (*pgconn.PgConn, error)
	Exited() <-chan struct{}
}

// link is a connection that asks one prepared question again and again. A
// connection that broke is made anew by the next question.
type link struct {
	server askable
	query  string

	mu     sync.Mutex
	conn   *pgconn.PgConn
	closed bool
}

// question is the name of the prepared statement.
const question = "loadstone"

// ask returns the rows as text, or none and an error, which is errEnded where
// no further question can be answered.
func (l *link) ask(ctx context.Context) ([][][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.server.Exited():
		return nil, errEnded
	default:
	}
	if l.closed {
		return nil, errEnded
	}
	if l.conn == nil || l.conn.IsClosed() {
		if err := l.open(ctx); err != nil {
			return nil, err
		}
	}
	result := l.conn.ExecPrepared(ctx, question, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	return result.Rows, nil
}

func (l *link) open(ctx context.Context) error {
	conn, err := l.server.connect(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.Prepare(ctx, question, l.query, nil); err != nil {
		_ = conn.Close(ctx)
		return fmt.Errorf("prepare: %w", err)
	}
	l.conn = conn
	return nil
}

// close ends the connection for good; the question that is being asked is
// answered first.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.conn != nil {
		patience, cancel := context.WithTimeout(context.Background(), daemon.Patience)
		defer cancel()
		// Nothing is lost with a connection that can't be closed in order.
		_ = l.conn.Close(patience)
	}
}
