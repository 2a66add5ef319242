package mysql

import (
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

func chosenFor(t *testing.T, in *installation, c engine.Config, memory unit.Bytes) map[string]choice {
	t.Helper()
	list, err := in.choose(c, memory)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]choice{}
	for _, c := range list {
		if _, twice := out[c.name]; twice {
			t.Errorf("%s is chosen twice", c.name)
		}
		if c.why == "" || c.value == "" {
			t.Errorf("%+v lacks something", c)
		}
		out[c.name] = c
	}
	return out
}

func maria() *installation { return &installation{product: mariadb, version: version{10, 11, 19}} }

func TestTheStudyChoosesLastButForLoading(t *testing.T) {
	ask := engine.Config{Connections: 100, Durable: true, Settings: map[string]string{
		"Innodb-Buffer-Pool-Size": "25%", "innodb_log_file_size": "1GiB", "innodb_flush_log_at_trx_commit": "2", "tx_isolation": "REPEATABLE-READ",
	}}
	durable := chosenFor(t, maria(), ask, 8*unit.GiB)
	for name, want := range map[string]choice{
		"innodb_buffer_pool_size":        {"innodb_buffer_pool_size", "2147483648", "study"},
		"innodb_log_file_size":           {"innodb_log_file_size", "1073741824", "study"},
		"innodb_flush_log_at_trx_commit": {"innodb_flush_log_at_trx_commit", "2", "study"},
		"transaction_isolation":          {"transaction_isolation", "REPEATABLE-READ", "study"},
		"innodb_doublewrite":             {"innodb_doublewrite", "ON", "durability"},
		"max_connections":                {"max_connections", "110", "connections"},
		"innodb_snapshot_isolation":      {"innodb_snapshot_isolation", "ON", "one meaning on every engine"},
	} {
		if durable[name] != want {
			t.Errorf("%+v, want %+v", durable[name], want)
		}
	}
	ask.Durable = false
	loading := chosenFor(t, maria(), ask, 8*unit.GiB)
	if c := loading["innodb_flush_log_at_trx_commit"]; c.value != "0" || c.why != "loading" {
		t.Errorf("while loading: %+v", c)
	}
}

func TestSizesFollowTheMemory(t *testing.T) {
	for memory, want := range map[unit.Bytes][2]string{
		0:              {"", ""},
		32 * unit.MiB:  {"33554432", "100663296"},
		512 * unit.MiB: {"321912832", "268435456"},
		8 * unit.GiB:   {"5153751040", "4294967296"},
		unit.TiB:       {"659706347520", "8589934592"},
	} {
		c := chosenFor(t, maria(), engine.Config{Durable: true}, memory)
		if got := [2]string{c["innodb_buffer_pool_size"].value, c["innodb_log_file_size"].value}; got != want {
			t.Errorf("%s: pool and log %v, want %v", memory, got, want)
		}
	}
}

func TestMySQLGetsItsOwnCollations(t *testing.T) {
	c := chosenFor(t, &installation{product: oracle, version: version{8, 0, 36}}, engine.Config{Durable: true}, unit.GiB)
	if _, there := c["innodb_snapshot_isolation"]; there || c["collation_server"].value != "utf8mb4_0900_bin" {
		t.Errorf("%+v", c)
	}
	old := chosenFor(t, &installation{product: mariadb, version: version{10, 11, 7}}, engine.Config{Durable: true}, unit.GiB)
	if _, there := old["innodb_snapshot_isolation"]; there {
		t.Error("a release that lacks the setting is given it")
	}
}

func TestWhatIsNotAllowedSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]string
		memory   unit.Bytes
		want     string
	}{
		"own":         {map[string]string{"datadir": "/x"}, unit.GiB, "Loadstone's own"},
		"name":        {map[string]string{"a b": "1"}, unit.GiB, "not the name of a setting"},
		"empty":       {map[string]string{"": "1"}, unit.GiB, "not the name of a setting"},
		"line break":  {map[string]string{"sql_mode": "x\n[other]"}, unit.GiB, "line break"},
		"percent":     {map[string]string{"key_buffer_size": "101%"}, unit.GiB, "at most 100%"},
		"no memory":   {map[string]string{"key_buffer_size": "10%"}, 0, "known memory"},
		"twice":       {map[string]string{"key_buffer_size": "1MiB", "Key-Buffer-Size": "2MiB"}, unit.GiB, "given twice"},
		"connections": {map[string]string{"max_connections": "9"}, unit.GiB, "fewer sessions than the 10"},
	} {
		_, err := maria().choose(engine.Config{Connections: 10, Settings: c.settings}, c.memory)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := maria().choose(engine.Config{Connections: -1}, 0); err == nil {
		t.Error("-1 connections were taken")
	}
}

func TestOptionsCanNotLeaveTheirLine(t *testing.T) {
	text := maria().render([]choice{{"sql_mode", `a"b\c # d`, "study"}}, "/d", "/t", address{"/r", 3})
	if !strings.Contains(text, "\n"+`sql_mode = "a\"b\\c # d"  # study`+"\n") {
		t.Errorf("in\n%s", text)
	}
	for _, want := range []string{`socket = "/r/mysql.sock"`, `bind_address = "127.0.0.1"`, "skip-log-bin", `tmpdir = "/t"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestSettingsCompareWhatTheyMean(t *testing.T) {
	chosen := []choice{
		{"innodb_doublewrite", "1", "study"}, {"max_allowed_packet", "1500000", "study"}, {"innodb_log_file_size", "64M", "study"},
		{"binlog_format", "row", "study"}, {"long_query_time", "2.50", "study"}, {"gone", "1", "study"}, {"table_open_cache", "-1", "study"},
	}
	got := compare(chosen, []parameter{
		{"innodb_doublewrite", "ON", "CONFIG", "ON", ""},
		{"max_allowed_packet", "1499136", "CONFIG", "16777216", ""},
		{"innodb_log_file_size", "67108864", "CONFIG", "100663296", ""},
		{"binlog_format", "ROW", "CONFIG", "MIXED", ""},
		{"long_query_time", "2.500000", "CONFIG", "10.000000", ""},
		{"table_open_cache", "400", "AUTO", "2000", ""},
		{"datadir", "/d/", "CONFIG", "", ""}, {"hostname", "h", "COMPILE-TIME", "x", ""},
		{"sort_buffer_size", "2097152", "COMPILE-TIME", "2097152", ""},
		{"version", "10.11.19-MariaDB", "COMPILE-TIME", "", ""},
		{"max_statement_time", "1.000000", "CONFIG", "0.000000", ""},
	})
	want := []engine.Setting{
		{Name: "innodb_doublewrite", Intended: "ON", Effective: "ON", Default: "ON", Why: "study", Matches: true},
		{Name: "max_allowed_packet", Intended: "1500000", Effective: "1464kB", Default: "16MB", Why: "study"},
		{Name: "innodb_log_file_size", Intended: "64MB", Effective: "64MB", Default: "96MB", Why: "study", Matches: true},
		{Name: "binlog_format", Intended: "ROW", Effective: "ROW", Default: "MIXED", Why: "study", Matches: true},
		{Name: "long_query_time", Intended: "2.5", Effective: "2.5", Default: "10", Why: "study", Matches: true},
		{Name: "table_open_cache", Intended: "-1", Effective: "400", Default: "2000", Why: "study", Matches: true},
		{Name: "version", Effective: "10.11.19-MariaDB", Why: "nature of the server", Matches: true},
		{Name: "max_statement_time", Effective: "1", Default: "0", Why: "Loadstone's own", Matches: true},
		{Name: "gone", Intended: "1", Why: "study"},
	}
	if !slices.Equal(got, want) {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("%d: got %+v, want %+v", i, at(got, i), at(want, i))
			}
		}
	}
}

func at(list []engine.Setting, i int) engine.Setting {
	if i < len(list) {
		return list[i]
	}
	return engine.Setting{}
}

func TestStatesAreNamedByClass(t *testing.T) {
	for _, c := range []struct{ state, operation, want string }{
		{"", "", "CPU"}, {"Sending data", "", "CPU"}, {"Commit", "", "Log:Commit"}, {"Commit implicit", "", "Log:Commit"},
		{"Sending data", "read", "IO:DataRead"}, {"Commit", "write", "IO:DataWrite"},
		{"Waiting for table metadata lock", "", "Lock:WaitingForTableMetadataLock"},
		{"Waiting for worker", "", "Other:WaitingForWorker"}, {"User sleep", "", "Other:UserSleep"},
	} {
		if got := class(c.state, c.operation); got != c.want {
			t.Errorf("%q with operation %q is %s, want %s", c.state, c.operation, got, c.want)
		}
	}
}
