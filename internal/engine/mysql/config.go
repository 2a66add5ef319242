package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// reserve is how many connections the server allows beyond those that are
// asked for: Loadstone's counters and wait events hold 2, loading, settings,
// checks and a person's look take the rest.
const reserve = 10

// choice is one setting that the server starts with.
type choice struct{ name, value, why string }

// own are the settings that Loadstone can't leave to a study, because it finds
// the server, its files and its log by them, or because the meaning of {now} and
// {today} and of names depends on them.
func own(name string) bool {
	return slices.Contains([]string{
		"basedir", "datadir", "tmpdir", "bind_address", "port", "socket", "pid_file", "skip_networking", "skip_grant_tables",
		"log_error", "user", "chroot", "init_file", "plugin_dir", "mysqlx", "log_bin", "disable_log_bin", "skip_log_bin", "server_id",
		"time_zone", "default_time_zone", "lower_case_table_names", "skip_name_resolve", "local_infile",
		"defaults_file", "defaults_extra_file", "no_defaults",
	}, name)
}

// choose lists every setting that the server starts with, each once, and why.
// The study's come last and take the place of ours, except that nothing
// overrides the lack of durability while loading. Names are in lower case with
// underscores, as the server lists them.
func (in *installation) choose(c engine.Config, memory unit.Bytes) ([]choice, error) {
	if c.Connections < 0 {
		return nil, fmt.Errorf("%d connections", c.Connections)
	}
	chosen := sized(memory)
	chosen = append(chosen, choice{"max_connections", strconv.Itoa(c.Connections + reserve), "connections"})
	chosen = append(chosen, in.meaning()...)
	chosen = append(chosen, repeatable()...)
	chosen = append(chosen, counting()...)
	durability := durable
	if !c.Durable {
		durability = loading
	}
	chosen = append(chosen, durability()...)
	chosen = append(chosen, equipment(c)...)
	given := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		ask, err := asked(name, c.Settings[name], memory)
		if err != nil {
			return nil, fmt.Errorf("setting %s = %q: %w", name, c.Settings[name], err)
		}
		if given[ask.name] {
			return nil, fmt.Errorf("setting %s is given twice", ask.name)
		}
		given[ask.name] = true
		if err := saidTwice(ask.name, c); err != nil {
			return nil, err
		}
		if n, err := strconv.Atoi(ask.value); ask.name == "max_connections" && err == nil && n < c.Connections {
			return nil, fmt.Errorf("setting max_connections = %d allows fewer sessions than the %d that will be opened", n, c.Connections)
		}
		i := slices.IndexFunc(chosen, func(o choice) bool { return o.name == ask.name })
		switch {
		case i < 0:
			chosen = append(chosen, ask)
		case chosen[i].why != "loading":
			chosen[i] = ask
		}
	}
	return chosen, nil
}

// sized are the settings that depend on the size of the machine; where the
// memory is not known, the product's defaults stand.
//
// InnoDB reads and writes its files past the operating system's cache
// (innodb_flush_method = O_DIRECT), so that the buffer pool is all the cache
// there is. The manuals advise up to 80 % of a machine that does nothing else;
// 60 % leaves room for the memory of sessions, which small machines need. The
// redo log is half of the memory, at least the default of 96 MiB and at most
// 8 GiB, so that checkpoints are spread over time rather than forced by a full
// log, and a study of something else does not see them.
func sized(memory unit.Bytes) []choice {
	if memory <= 0 {
		return nil
	}
	const why = "sized from memory"
	return []choice{
		{"innodb_buffer_pool_size", amount(max(memory/10*6, 32*unit.MiB)), why},
		{"innodb_log_file_size", amount(min(max(memory/2, 96*unit.MiB), 8*unit.GiB)), why},
	}
}

// meaning are the settings on which it depends what statements mean; they make
// it what it is on PostgreSQL.
//
// Read committed is PostgreSQL's default. InnoDB's own, repeatable read, takes
// gap locks, which lock rows that do not exist, and would measure those.
// innodb_snapshot_isolation makes a transaction at repeatable read fail where it
// would change a row that another has changed since its snapshot; without it, as
// in MySQL, the change overwrites the other's silently.
func (in *installation) meaning() []choice {
	const why = "one meaning on every engine"
	chosen := []choice{
		{"character_set_server", "utf8mb4", why},
		{"collation_server", Dialect{in.product}.bytes(), why},
		{"transaction_isolation", "READ-COMMITTED", why},
		{"innodb_ft_min_token_size", "1", why},
		{"innodb_ft_enable_stopword", "OFF", why},
	}
	if in.product.snapshots(in.version) {
		chosen = append(chosen, choice{"innodb_snapshot_isolation", "ON", why})
	}
	return chosen
}

// snapshots says whether a release has innodb_snapshot_isolation: MariaDB from
// 10.11.8 on, where it is off by default up to 11.6.1.
func (f flavour) snapshots(v version) bool {
	return f == mariadb && v.Compare(version{10, 11, 8}) >= 0
}

// repeatable are the settings without which a server that starts is not as it
// was the last time: the buffer pool would be filled in the background with what
// it held when the server stopped.
func repeatable() []choice {
	const why = "every start alike"
	return []choice{{"innodb_buffer_pool_dump_at_shutdown", "OFF", why}, {"innodb_buffer_pool_load_at_startup", "OFF", why}}
}

// durable are the products' defaults, written down because every measured
// figure depends on them. There is no binary log, which only replicas need.
func durable() []choice {
	const why = "durability"
	return []choice{{"innodb_flush_log_at_trx_commit", "1", why}, {"innodb_doublewrite", "ON", why}}
}

// loading gives up what only a crash would need. Stopping does what purging and
// merging is left, which would otherwise fall into the first minutes of a
// measurement.
func loading() []choice {
	const why = "loading"
	return []choice{
		{"innodb_flush_log_at_trx_commit", "0", why}, {"innodb_doublewrite", "OFF", why},
		{"innodb_fast_shutdown", "0", why},
		// Statistics are gathered at the end.
		{"innodb_stats_auto_recalc", "OFF", why},
	}
}

// asked turns what a study gives into a choice: a percentage is of memory,
// exactly, in whole MiB, and sizes with binary units become bytes.
func asked(name, value string, memory unit.Bytes) (choice, error) {
	c := choice{canonicalName(strings.TrimSpace(name)), strings.TrimSpace(value), "study"}
	if strings.Trim(c.name, "abcdefghijklmnopqrstuvwxyz0123456789_.") != "" || c.name == "" {
		return c, fmt.Errorf("%q is not the name of a setting", name)
	}
	if own(c.name) {
		return c, fmt.Errorf("this setting is Loadstone's own")
	}
	if strings.ContainsAny(value, "\x00\n\r") {
		return c, fmt.Errorf("the value has a line break or a zero byte")
	}
	if strings.HasSuffix(c.value, "%") {
		share, err := unit.ParsePercent(c.value)
		switch {
		case err != nil:
			return c, err
		case memory <= 0:
			return c, fmt.Errorf("a percentage needs an instance with a known memory")
		case share <= 0 || share > 100:
			return c, fmt.Errorf("a percentage of memory must be above 0%% and at most 100%%")
		}
		c.value = amount(unit.Bytes(float64(memory) * share / 100))
	} else if b, err := unit.ParseBytes(c.value); err == nil {
		c.value = strconv.FormatInt(int64(b), 10)
	}
	return c, nil
}

// canonicalName is a setting's name as the server lists it: the option file
// takes dashes as well, and MariaDB before 11.1 knows the isolation level as an
// option under the name that it has since, and as a variable under another.
func canonicalName(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	if name == "tx_isolation" {
		return "transaction_isolation"
	}
	return name
}

// amount writes b in bytes, rounded down to whole MiB.
func amount(b unit.Bytes) string { return strconv.FormatInt(int64(b/unit.MiB*unit.MiB), 10) }

// address is where a server listens.
type address struct {
	dir  string // of the Unix socket
	port int    // of TCP on loopback
}

// The names of the server's socket, and of the file with its process id.
const (
	socketName = "mysql.sock"
	pidFile    = "server.pid"
)

// socket is the path of the Unix socket.
func (a address) socket() string { return a.dir + "/" + socketName }

// render writes the configuration file.
func (in *installation) render(chosen []choice, data, temp string, a address) string {
	var b strings.Builder
	b.WriteString("# Written by Loadstone at every start.\n[mysqld]\n")
	line := func(name, value, why string) { fmt.Fprintf(&b, "%s = %s  # %s\n", name, optionValue(value), why) }
	const why = "Loadstone's own"
	if in.base != "" {
		line("basedir", in.base, why)
	}
	line("datadir", data, why)
	line("tmpdir", temp, why)
	line("socket", a.socket(), why)
	line("pid_file", data+"/"+pidFile, why)
	line("bind_address", "127.0.0.1", why)
	line("port", strconv.Itoa(a.port), why)
	// Accounts are known by address; looking up the name of every client
	// would make connecting depend on the network.
	line("skip_name_resolve", "ON", why)
	line("local_infile", "ON", why)
	line("lower_case_table_names", "1", why)
	line("default_time_zone", "+00:00", why)
	b.WriteString("skip-log-bin  # no replicas\n")
	if in.product == oracle {
		b.WriteString("mysqlx = OFF  # one protocol is enough\n")
	}
	for _, option := range instruments() {
		b.WriteString(option + "\n")
	}
	for _, c := range chosen {
		line(c.name, c.value, c.why)
	}
	return b.String()
}

// optionValue quotes a value for the option file, in which a backslash escapes
// and a # begins a comment outside of quotes.
func optionValue(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
