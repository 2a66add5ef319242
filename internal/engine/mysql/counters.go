package mysql

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// counter is one column and where it is from: the sum of some of the server's
// variables, those with a minus before their name taken away, times a factor.
type counter struct {
	observe.Column
	of     []string
	factor float64
}

// serverCounters are of the whole server, Loadstone's own questions included,
// which touch no table of InnoDB's. Where a figure means the same as one of
// another engine, it has the same name.
//
// The variables in capitals are SHOW GLOBAL STATUS's, the others InnoDB's
// metrics, some of which the server has to be told to count: see instruments.
func serverCounters(f flavour) []counter {
	list := []counter{
		total("commits", "transactions committed, those of single statements included", "trx_rw_commits", "trx_ro_commits", "trx_nl_ro_commits"),
		total("rollbacks", "transactions rolled back", "trx_rollbacks"),
		total("statements", "statements of clients", "QUESTIONS"),
		total("blocks_hit", "pages found in the buffer pool", "INNODB_BUFFER_POOL_READ_REQUESTS", "-INNODB_BUFFER_POOL_READS"),
		total("blocks_read", "pages asked of the disk", "INNODB_BUFFER_POOL_READS"),
		total("blocks_written", "pages written to data files", "INNODB_PAGES_WRITTEN"),
		total("blocks_doublewritten", "pages written twice, against torn writes", "INNODB_DBLWR_PAGES_WRITTEN"),
		total("buffer_waits", "waits for a free page in the buffer pool", "INNODB_BUFFER_POOL_WAIT_FREE"),
		total("data_read_bytes", "bytes read from data files", "INNODB_DATA_READ"),
		total("data_written_bytes", "bytes written to data files", "INNODB_DATA_WRITTEN"),
		total("data_fsyncs", "syncs of data files", "INNODB_DATA_FSYNCS"),
		total("index_lookups", "rows asked for by a key", "HANDLER_READ_KEY"),
		total("rows_scanned", "rows read by walking a table", "HANDLER_READ_RND_NEXT"),
		total("tuples_inserted", "rows inserted", "HANDLER_WRITE"),
		total("tuples_updated", "rows updated", "HANDLER_UPDATE"),
		total("tuples_deleted", "rows deleted", "HANDLER_DELETE"),
		total("row_lock_waits", "waits for another's row lock", "INNODB_ROW_LOCK_WAITS"),
		scaled("row_lock_wait_s", "time spent on such waits", "INNODB_ROW_LOCK_TIME", 1e-3),
		total("deadlocks", "deadlocks detected", "lock_deadlocks"),
		total("lock_timeouts", "waits for a lock that were given up", "lock_timeouts"),
		total("temp_tables", "temporary tables made by statements", "CREATED_TMP_TABLES"),
		total("temp_disk_tables", "of these, on disk", "CREATED_TMP_DISK_TABLES"),
		total("sort_passes", "passes of sorts that did not fit into memory", "SORT_MERGE_PASSES"),
		total("wal_bytes", "redo log written, in bytes", "INNODB_OS_LOG_WRITTEN"),
		total("wal_records", "writes to the redo log's buffer", "INNODB_LOG_WRITE_REQUESTS"),
		total("wal_writes", "writes of the redo log, each of which is synced where transactions are durable", "INNODB_LOG_WRITES"),
		total("wal_buffers_full", "waits because the redo log's buffer was full", "INNODB_LOG_WAITS"),
		total("checkpoints", "checkpoints of InnoDB, which has them all the time", "log_checkpoints"),
		state("wal_checkpoint_age_bytes", "redo log that a crash now would have to read", "log_lsn_checkpoint_age"),
		state("history_length", "changes of transactions whose old versions are not yet purged", "trx_rseg_history_len"),
		state("blocks_dirty", "pages of the buffer pool that are changed and not yet written", "INNODB_BUFFER_POOL_PAGES_DIRTY"),
		state("blocks_free", "pages of the buffer pool that are unused", "INNODB_BUFFER_POOL_PAGES_FREE"),
		state("locks_waiting", "sessions that wait for a row lock", "INNODB_ROW_LOCK_CURRENT_WAITS"),
		state("sessions", "sessions, at most three of Loadstone's own included", "THREADS_CONNECTED"),
		state("sessions_active", "sessions that run a statement, this question included", "THREADS_RUNNING"),
	}
	if f == mariadb {
		list = append(list, state("memory_used_bytes", "memory that the server has allocated", "MEMORY_USED"))
	}
	return list
}

func total(name, about string, of ...string) counter {
	return counter{observe.Column{Name: name, Total: true, About: about}, of, 1}
}

func scaled(name, about, of string, factor float64) counter {
	return counter{observe.Column{Name: name, Total: true, About: about}, []string{of}, factor}
}

func state(name, about string, of ...string) counter {
	return counter{observe.Column{Name: name, About: about}, of, 1}
}

// instruments are the options by which the server counts what serverCounters
// and waitsQuery read, and nothing else. MariaDB's performance schema is off by
// default; it is on for one instrument, the reads and writes of InnoDB's files,
// without which a session that waits for the disk would look as if it ran. What
// that costs is less than two rounds differ by: with eight users of Order-Entry
// and one warehouse, on and off in turn, a transaction took 1.31 and 1.52 ms of
// the server's CPU with it and 1.60 and 1.33 ms without (release 10.11).
func instruments() []string {
	return []string{
		"innodb_monitor_enable = trx_rw_commits,trx_ro_commits,trx_nl_ro_commits,trx_rollbacks,log_checkpoints,log_lsn_checkpoint_age",
		"performance_schema_instrument = 'wait/%=OFF'",
		"performance_schema_instrument = 'stage/%=OFF'",
		"performance_schema_instrument = 'statement/%=OFF'",
		"performance_schema_instrument = 'memory/%=OFF'",
		"performance_schema_instrument = 'transaction=OFF'",
		"performance_schema_instrument = 'idle=OFF'",
		"performance_schema_instrument = 'wait/io/file/innodb/%=ON'",
		"performance_schema_consumer_events_waits_current = ON",
	}
}

// counting are the settings that go with instruments: without room for what
// nobody reads, the performance schema takes 40 MB of memory instead of 100.
func counting() []choice {
	const why = "counters"
	list := []choice{{"performance_schema", "ON", why}}
	for _, name := range []string{
		"accounts_size", "digests_size", "events_statements_history_long_size", "events_statements_history_size", "hosts_size",
		"max_memory_classes", "max_mutex_instances", "max_rwlock_instances", "users_size",
	} {
		list = append(list, choice{"performance_schema_" + name, "0", why})
	}
	return list
}

// counters is the observe.Source of a server. A reading costs the server 2 ms of
// CPU (release 10.11): at one a second, 0.2 % of one CPU.
type counters struct {
	list []counter
	uses map[string][]use // of a variable
	link link
}

// use is one place that a variable goes to.
type use struct {
	at     int
	factor float64
}

// newCounters asks s, of product f, for list.
func newCounters(s askable, f flavour, list []counter) *counters {
	c := &counters{list: list, uses: map[string][]use{}}
	metrics := ""
	for i, x := range c.list {
		for _, of := range x.of {
			name, negative := strings.CutPrefix(of, "-")
			u := use{i, x.factor}
			if negative {
				u.factor = -u.factor
			}
			c.uses[name] = append(c.uses[name], u)
			if name == strings.ToLower(name) {
				metrics += ",'" + name + "'"
			}
		}
	}
	query := "SELECT UPPER(VARIABLE_NAME), VARIABLE_VALUE FROM " + f.status()
	if metrics != "" {
		query += " UNION ALL SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE NAME IN (" + metrics[1:] + ")"
	}
	c.link = newLink(s, "counters", query)
	return c
}

// status is the table of SHOW GLOBAL STATUS.
func (f flavour) status() string {
	if f == oracle {
		return "performance_schema.global_status"
	}
	return "information_schema.GLOBAL_STATUS"
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
	seen := make([]int, len(out))
	clear(out)
	err := c.link.ask(ctx, func(r workload.Result) {
		for i := range r.Rows() {
			row := r.Row(i)
			n, err := strconv.ParseFloat(string(row[1].Str), 64)
			if err != nil {
				continue // a text
			}
			for _, u := range c.uses[string(row[0].Str)] {
				out[u.at] += n * u.factor
				seen[u.at]++
			}
		}
	})
	// What the server lacks in part is not known at all.
	for i := range out {
		if seen[i] != len(c.list[i].of) {
			out[i] = math.NaN()
		}
	}
	if errors.Is(err, errEnded) {
		return err
	}
	return nil // after any other error the next reading may do
}

func (c *counters) close() { c.link.close() }

// Sources implements engine.Database.
func (s *server) Sources() []observe.Source { return []observe.Source{s.counters} }

// States implements engine.Database.
func (s *server) States() []observe.StateSource { return []observe.StateSource{s.waits} }
