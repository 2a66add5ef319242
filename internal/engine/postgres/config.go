package postgres

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
// asked for: the product keeps 3 for superusers, Loadstone's counters and wait
// events hold 2, and settings, checks and a person's look take the rest.
const reserve = 10

// choice is one setting that the server starts with.
type choice struct{ name, value, why string }

// own are the settings that Loadstone can't leave to a study, because it finds
// the server, its files and its log by them, or because the meaning of {now}
// and {today} depends on them.
func own(name string) bool {
	return slices.Contains([]string{
		"config_file", "data_directory", "hba_file", "ident_file", "external_pid_file",
		"include", "include_dir", "include_if_exists",
		"listen_addresses", "port", "unix_socket_directories", "unix_socket_group", "unix_socket_permissions",
		"log_destination", "logging_collector", "lc_messages", "timezone",
	}, name)
}

// choose lists every setting that the server starts with, each once, and why.
// The study's come last and take the place of ours, except that nothing
// overrides the lack of durability while loading. Names are in lower case,
// as the server compares them.
func choose(c engine.Config, cpus float64, memory unit.Bytes) ([]choice, error) {
	if c.Connections < 0 {
		return nil, fmt.Errorf("%d connections", c.Connections)
	}
	chosen := sized(cpus, memory)
	chosen = append(chosen,
		choice{"max_connections", strconv.Itoa(max(c.Connections, 0) + reserve), "connections"},
		// Clocks around reads, writes and syncs: the counters block_read_s and
		// wal_sync_s are empty without.
		choice{"track_io_timing", "on", "counters"},
		choice{"track_wal_io_timing", "on", "counters"},
	)
	durability := durable
	if !c.Durable {
		durability = loading
	}
	chosen = append(chosen, durability()...)
	if c.LargePages != "" {
		chosen = append(chosen, choice{"huge_pages", c.LargePages, "instance.large_pages"})
	}
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
		if ask.name == "huge_pages" && c.LargePages != "" {
			return nil, fmt.Errorf("setting huge_pages: instance.large_pages says it already")
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
// Shared buffers are a quarter of the memory and the planner's idea of all
// caches three quarters, as the manual advises (section 20.4.1: 25 % is a
// reasonable starting value; more than 40 % rarely helps). Above 16 GiB a
// larger shared cache mostly lengthens checkpoints. WAL between checkpoints
// may grow to half of the memory, at least the default of 1 GiB and at most
// 8 GiB, so that checkpoints come by time (the default of five minutes) rather
// than by volume, and their number is not what a study of something else sees.
func sized(_ float64, memory unit.Bytes) []choice {
	if memory <= 0 {
		return nil
	}
	const why = "sized from memory"
	return []choice{
		{"shared_buffers", amount(min(max(memory/4, 16*unit.MiB), 16*unit.GiB)), why},
		{"effective_cache_size", amount(max(memory/4*3, 16*unit.MiB)), why},
		{"maintenance_work_mem", amount(min(max(memory/16, 16*unit.MiB), unit.GiB)), why},
		{"max_wal_size", amount(min(max(memory/2, unit.GiB), 8*unit.GiB)), why},
	}
}

// durable are the product's defaults, written down because every measured
// figure depends on them.
func durable() []choice {
	const why = "durability"
	return []choice{{"fsync", "on", why}, {"synchronous_commit", "on", why}, {"full_page_writes", "on", why}}
}

// loading gives up what only a crash would need, and what replication would.
func loading() []choice {
	const why = "loading"
	return []choice{
		{"fsync", "off", why}, {"synchronous_commit", "off", why}, {"full_page_writes", "off", why},
		{"wal_level", "minimal", why}, {"max_wal_senders", "0", why},
		// Autovacuum would compete with loading, which vacuums and gathers
		// statistics at its end.
		{"autovacuum", "off", why},
	}
}

// asked turns what a study gives into a choice: a percentage is of memory,
// exactly, in whole MiB (KiB below one), and the names of binary units are the
// server's, which calls 1024 kB one MB.
func asked(name, value string, memory unit.Bytes) (choice, error) {
	c := choice{strings.ToLower(strings.TrimSpace(name)), value, "study"}
	if strings.Trim(c.name, "abcdefghijklmnopqrstuvwxyz0123456789_.$") != "" || c.name == "" {
		return c, fmt.Errorf("%q is not the name of a setting", name)
	}
	if own(c.name) {
		return c, fmt.Errorf("this setting is Loadstone's own")
	}
	if strings.ContainsAny(value, "\x00\n\r") {
		return c, fmt.Errorf("the value has a line break or a zero byte")
	}
	if strings.HasSuffix(value, "%") {
		share, err := unit.ParsePercent(value)
		switch {
		case err != nil:
			return c, err
		case memory <= 0:
			return c, fmt.Errorf("a percentage needs an instance with a known memory")
		case share <= 0 || share > 100:
			return c, fmt.Errorf("a percentage of memory must be above 0%% and at most 100%%")
		}
		c.value = amount(unit.Bytes(float64(memory) * share / 100))
	} else if n, u, ok := binarySize(value); ok {
		c.value = n + u
	}
	return c, nil
}

// binarySize splits "256MiB" into "256" and the server's "MB".
func binarySize(value string) (number, suffix string, ok bool) {
	for _, u := range []struct{ iec, server string }{{"KiB", "kB"}, {"MiB", "MB"}, {"GiB", "GB"}, {"TiB", "TB"}} {
		number, ok := strings.CutSuffix(value, u.iec)
		if _, err := strconv.ParseFloat(strings.TrimSpace(number), 64); ok && err == nil {
			return strings.TrimSpace(number), u.server, true
		}
	}
	return "", "", false
}

// amount writes b as the server does, rounded down to whole MiB, or below one
// to blocks of 8 KiB, so that no further rounding happens in the server.
func amount(b unit.Bytes) string {
	if b >= unit.MiB {
		return fmt.Sprintf("%dMB", b/unit.MiB)
	}
	return fmt.Sprintf("%dkB", b/(8*unit.KiB)*8)
}

// address is where a server listens.
type address struct {
	dir  string // of the Unix socket
	port int    // of the socket's name and of TCP on loopback
}

// socket is the path of the Unix socket.
func (a address) socket() string { return fmt.Sprintf("%s/.s.PGSQL.%d", a.dir, a.port) }

// render writes the configuration file.
func render(chosen []choice, data string, a address) string {
	var b strings.Builder
	b.WriteString("# Written by Loadstone at every start.\n")
	line := func(name, value, why string) {
		fmt.Fprintf(&b, "%s = %s", name, configLiteral(value))
		if why != "" {
			b.WriteString("  # " + why)
		}
		b.WriteByte('\n')
	}
	const why = "Loadstone's own"
	line("data_directory", data, why)
	line("hba_file", data+"/pg_hba.conf", why)
	line("ident_file", data+"/pg_ident.conf", why)
	line("listen_addresses", "127.0.0.1", why)
	line("port", strconv.Itoa(a.port), why)
	line("unix_socket_directories", `"`+strings.ReplaceAll(a.dir, `"`, `""`)+`"`, why)
	line("unix_socket_permissions", "0700", why)
	line("log_destination", "stderr", why)
	line("logging_collector", "off", why)
	line("log_line_prefix", "%m [%p] ", why)
	line("lc_messages", "C", why)
	line("timezone", "UTC", why)
	line("log_timezone", "UTC", why)
	line("datestyle", "ISO, YMD", why)
	for _, c := range chosen {
		line(c.name, c.value, c.why)
	}
	return b.String()
}

// configLiteral quotes a value for the configuration file, in which a
// backslash escapes and a doubled quote stands for itself.
func configLiteral(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(value) + "'"
}
