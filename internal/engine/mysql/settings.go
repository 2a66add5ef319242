package mysql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// parameter is one global variable of the server.
type parameter struct {
	name, value string
	origin      string // COMPILED, CONFIG, AUTO, … as the server has it
	initial     string // the product's default; "" where it does not tell
	kind        string // VARCHAR, BOOLEAN, …; "" where it does not tell
}

// settingsQuery reads every global variable. MySQL keeps no defaults.
func (f flavour) settingsQuery() string {
	if f == mariadb {
		return `SELECT LOWER(VARIABLE_NAME), COALESCE(GLOBAL_VALUE, ''), GLOBAL_VALUE_ORIGIN, COALESCE(DEFAULT_VALUE, ''), VARIABLE_TYPE
FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL ORDER BY 1`
	}
	return `SELECT g.VARIABLE_NAME, g.VARIABLE_VALUE, i.VARIABLE_SOURCE, '', ''
FROM performance_schema.global_variables g JOIN performance_schema.variables_info i USING (VARIABLE_NAME) ORDER BY 1`
}

// Settings implements engine.Database. It lists what Loadstone and the study
// set, what proves the server's nature, and whatever else is not at the
// product's default; paths and ports, which differ between any two starts, are
// left out.
func (s *server) Settings(ctx context.Context) ([]engine.Setting, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer func() { _ = conn.Close() }()
	parameters, err := s.in.product.parameters(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	equipped, err := s.equipped(ctx)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return append(compare(s.chosen, parameters), equipped...), nil
}

// parameters reads every global variable.
func (f flavour) parameters(ctx context.Context, conn *wire.Conn) ([]parameter, error) {
	rows, err := ask(ctx, conn, f.settingsQuery())
	if err != nil {
		return nil, err
	}
	parameters := make([]parameter, len(rows))
	for i, row := range rows {
		parameters[i] = parameter{canonicalName(row[0]), row[1], row[2], row[3], row[4]}
	}
	return parameters, nil
}

// ask runs one statement and returns its rows as texts; NULL is "".
func ask(ctx context.Context, conn *wire.Conn, sql string, args ...string) ([][]string, error) {
	text, values := sqltext.Text{SQL: sql}, make([]workload.Value, len(args))
	for i, a := range args {
		text.Order = append(text.Order, i)
		values[i] = workload.Str([]byte(a))
	}
	if err := conn.Prepare(ctx, wire.Prepared{Index: -1, Name: sql, Text: text}); err != nil {
		return nil, err
	}
	r, err := conn.Run(ctx, &workload.Statement{Index: -1, Name: sql}, values)
	if err != nil {
		return nil, err
	}
	rows := make([][]string, r.Rows())
	for i := range rows {
		for _, v := range r.Row(i) {
			text := string(v.Str)
			if v.Kind != workload.String && v.Kind != workload.Null {
				text = strconv.FormatInt(v.Int, 10)
			}
			rows[i] = append(rows[i], text)
		}
	}
	return rows, nil
}

// compare joins what was chosen with what the server says.
func compare(chosen []choice, parameters []parameter) []engine.Setting {
	var out []engine.Setting
	left := slices.Clone(chosen)
	for i, p := range parameters {
		// From 11.1 on MariaDB lists the isolation level under both names.
		again := slices.ContainsFunc(parameters[:i], func(q parameter) bool { return q.name == p.name })
		chosen := slices.ContainsFunc(left, func(c choice) bool { return c.name == p.name })
		if again || own(p.name) && p.name != "log_bin" || place(p.name) && !chosen {
			continue
		}
		effective, initial := p.canonical(p.value), p.canonical(p.initial)
		i := slices.IndexFunc(left, func(c choice) bool { return c.name == p.name })
		switch {
		case i >= 0:
			intended := p.canonical(left[i].value)
			out = append(out, engine.Setting{
				Name: p.name, Intended: intended, Effective: effective, Default: initial, Why: left[i].why,
				Matches: intended == effective || meant(p.name, intended),
			})
			left = slices.Delete(left, i, i+1)
		case proof(p.name):
			out = append(out, engine.Setting{Name: p.name, Effective: effective, Default: initial, Why: "nature of the server", Matches: true})
		case given(p.origin) || effective != initial && p.initial != "":
			out = append(out, engine.Setting{Name: p.name, Effective: effective, Default: initial, Why: why(p), Matches: true})
		}
	}
	// A setting that was chosen and that the server does not list can't be
	// proved.
	for _, c := range left {
		out = append(out, engine.Setting{Name: c.name, Intended: c.value, Why: c.why})
	}
	return out
}

// given says whether somebody, or the server itself, chose a value: of texts the
// default may be empty, as that of which nothing is known is.
func given(origin string) bool {
	return slices.Contains([]string{"CONFIG", "AUTO", "COMMAND-LINE", "COMMAND_LINE", "SQL", "DYNAMIC", "PERSISTED"}, origin)
}

// proof says whether a variable is listed even at its default.
func proof(name string) bool {
	return slices.Contains([]string{
		"version", "version_comment", "log_bin", "innodb_page_size", "innodb_flush_method", "innodb_checksum_algorithm",
		"innodb_use_native_aio", "sql_mode", "performance_schema", "thread_handling", "large_pages",
	}, name)
}

// place says whether a variable is a path or a name of this machine.
func place(name string) bool {
	return strings.HasSuffix(name, "_dir") || strings.HasSuffix(name, "_file") || strings.HasSuffix(name, "dir") ||
		slices.Contains([]string{
			"hostname", "socket", "port", "server_uid", "server_uuid", "report_port", "aria_log_dir_path",
			"general_log_file", "slow_query_log_file", "log_bin_basename", "log_bin_index", "relay_log", "relay_log_index",
			"slave_load_tmpdir", "tmpdir", "character_sets_dir", "in_transaction", "wsrep_node_name", "system_time_zone",
			"gtid_binlog_pos", "last_insert_id", "pseudo_thread_id", "timestamp", "mysqlx_socket",
		}, name)
}

// why says where a value that nobody asked for is from.
func why(p parameter) string {
	switch p.origin {
	case "CONFIG", "EXPLICIT", "GLOBAL", "SERVER":
		return "Loadstone's own"
	case "AUTO":
		return "the server's own choice"
	case "COMPILE-TIME", "COMPILED":
		return "follows from other settings"
	case "COMMAND-LINE", "COMMAND_LINE":
		return "the server's command line"
	case "SQL", "DYNAMIC", "PERSISTED":
		return "set while the server ran"
	case "ENVIRONMENT":
		return "environment of the machine"
	default:
		return strings.ToLower(p.origin)
	}
}

// meant says whether intended tells the product to choose for itself.
func meant(name, intended string) bool {
	switch name {
	case "table_open_cache", "table_definition_cache", "thread_cache_size", "back_log", "host_cache_size":
		return intended == "-1"
	case "innodb_open_files", "innodb_buffer_pool_chunk_size", "open_files_limit":
		return intended == "0"
	default:
		return false
	}
}

// canonical writes a value of p in the one form in which equal values are equal
// texts: switches as ON and OFF, numbers without their suffix or, where they are
// amounts of bytes, in the largest unit that divides them.
func (p parameter) canonical(text string) string {
	text = strings.TrimSpace(text)
	// What the server lists as ON or OFF it takes in other spellings too.
	if p.value == "ON" || p.value == "OFF" {
		switch strings.ToUpper(text) {
		case "ON", "TRUE", "YES", "1":
			return "ON"
		case "OFF", "FALSE", "NO", "0":
			return "OFF"
		}
		return text
	}
	if n, ok := number(text); ok && n >= 1024 && bytewise(p.name) {
		return bytes(n)
	} else if ok {
		return strconv.FormatUint(n, 10)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && strings.Contains(text, ".") {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	if strings.EqualFold(text, p.value) { // names of choices
		return p.value
	}
	return text
}

// bytewise says whether a variable counts bytes.
func bytewise(name string) bool {
	for _, end := range []string{"_size", "_packet", "_buffer"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// number reads a whole number, which may have a suffix K, M, G or T.
func number(text string) (uint64, bool) {
	shift := 0
	if n := len(text); n > 1 {
		if i := strings.IndexByte("kKmMgGtT", text[n-1]); i >= 0 {
			shift, text = 10*(i/2+1), text[:n-1]
		}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n << shift, err == nil && n<<shift>>shift == n
}

// bytes writes n in the largest binary unit that divides it, named as databases
// name them.
func bytes(n uint64) string {
	for _, u := range []struct {
		name string
		size unit.Bytes
	}{{"TB", unit.TiB}, {"GB", unit.GiB}, {"MB", unit.MiB}, {"kB", unit.KiB}} {
		if n%uint64(u.size) == 0 {
			return strconv.FormatUint(n/uint64(u.size), 10) + u.name
		}
	}
	return strconv.FormatUint(n, 10)
}
