package postgres

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// chosen returns what was chosen for name.
func chosen(t *testing.T, list []choice, name string) choice {
	t.Helper()
	i := slices.IndexFunc(list, func(c choice) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("%s was not chosen", name)
	}
	return list[i]
}

func TestMemorySizesTheServer(t *testing.T) {
	for _, c := range []struct {
		memory                          unit.Bytes
		shared, cache, maintenance, wal string
	}{
		{32 * unit.MiB, "16MB", "24MB", "16MB", "1024MB"},
		{512 * unit.MiB, "128MB", "384MB", "32MB", "1024MB"},
		{8 * unit.GiB, "2048MB", "6144MB", "512MB", "4096MB"},
		{256 * unit.GiB, "16384MB", "196608MB", "1024MB", "8192MB"},
		{1000*unit.MiB + 1, "250MB", "750MB", "62MB", "1024MB"},
	} {
		list, err := choose(engine.Config{Connections: 7, Durable: true}, 2, c.memory)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"shared_buffers": c.shared, "effective_cache_size": c.cache, "maintenance_work_mem": c.maintenance, "max_wal_size": c.wal, "max_connections": "17"} {
			if got := chosen(t, list, name); got.value != want {
				t.Errorf("memory %s: %s = %s, want %s", c.memory, name, got.value, want)
			}
		}
	}
	list, err := choose(engine.Config{Durable: true}, 2, 0)
	if err != nil || slices.ContainsFunc(list, func(c choice) bool { return c.name == "shared_buffers" }) {
		t.Errorf("memory that is not known sized the server: %v, %v", list, err)
	}
}

func TestDurabilityIsGivenUpOnlyForLoading(t *testing.T) {
	study := map[string]string{"fsync": "off", "Work_Mem": "1MB"}
	for _, c := range []struct {
		durable  bool
		settings map[string]string
		name     string
		want     choice
	}{
		{true, nil, "fsync", choice{"fsync", "on", "durability"}},
		{true, nil, "synchronous_commit", choice{"synchronous_commit", "on", "durability"}},
		{true, nil, "full_page_writes", choice{"full_page_writes", "on", "durability"}},
		{true, study, "fsync", choice{"fsync", "off", "study"}},
		{false, nil, "fsync", choice{"fsync", "off", "loading"}},
		{false, map[string]string{"fsync": "on"}, "fsync", choice{"fsync", "off", "loading"}},
		{false, study, "work_mem", choice{"work_mem", "1MB", "study"}},
	} {
		list, err := choose(engine.Config{Durable: c.durable, Settings: c.settings}, 1, unit.GiB)
		if err != nil {
			t.Fatal(err)
		}
		if got := chosen(t, list, c.name); got != c.want {
			t.Errorf("durable %t, study %v: %v, want %v", c.durable, c.settings, got, c.want)
		}
		for i, x := range list {
			if slices.ContainsFunc(list[i+1:], func(y choice) bool { return y.name == x.name }) {
				t.Errorf("%s is chosen twice", x.name)
			}
		}
	}
}

func TestStudySettingsAreRead(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"256MiB", "256MB"}, {"1.5GiB", "1.5GB"}, {"8 KiB", "8kB"}, {"256MB", "256MB"}, {"MiB", "MiB"},
		{"25%", "256MB"}, {"12.5%", "128MB"}, {"0.05%", "520kB"}, {"100%", "1024MB"}, {"33.3%", "340MB"},
		{"on", "on"}, {"", ""}, {"a 'quoted' value", "a 'quoted' value"},
	} {
		if got, err := asked("x", c.value, unit.GiB); err != nil || got.value != c.want {
			t.Errorf("%q: %q, %v, want %q", c.value, got.value, err, c.want)
		}
	}
	for name, value := range map[string]string{
		"work_mem": "0%", "shared_buffers": "101%", "a": "-5%", "b": "x%", "c": "two\nlines", "d": "\x00",
		"port": "5433", "Port": "5433", "DATA_DIRECTORY": "/x", "include": "x", "timezone": "CET", "bad name": "1", "": "1", "a'b": "1",
	} {
		if got, err := choose(engine.Config{Settings: map[string]string{name: value}}, 1, unit.GiB); err == nil {
			t.Errorf("%s = %q became %v", name, value, got)
		} else if !strings.Contains(err.Error(), strconv.Quote(value)) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s = %q: error %q names neither", name, value, err)
		}
	}
	for what, c := range map[string]engine.Config{
		"twice":                {Settings: map[string]string{"work_mem": "1MB", "WORK_MEM": "2MB"}},
		"fewer sessions":       {Connections: 50, Settings: map[string]string{"max_connections": "49"}},
		"-1 connections":       {Connections: -1},
		"needs an instance wi": {Settings: map[string]string{"work_mem": "5%"}},
	} {
		if _, err := choose(c, 1, 0); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: error %v, want one with %q", c, err, what)
		}
	}
}

// The server reads a quoted value by the rules of its configuration files: a
// doubled quote is one, and a backslash takes the next byte as it is unless it
// is one of b, f, n, r, t or a digit.
func TestConfigLiteralIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-z'\\" #=%\$]*`).Draw(t, "value")
		text := configLiteral(value)
		inner := text[1 : len(text)-1]
		var back strings.Builder
		for i := 0; i < len(inner); i++ {
			switch inner[i] {
			case '\\':
				i++
				if i == len(inner) || strings.IndexByte("bfnrt01234567", inner[i]) >= 0 {
					t.Fatalf("%s: a backslash begins an escape", text)
				}
			case '\'':
				i++
				if i == len(inner) || inner[i] != '\'' {
					t.Fatalf("%s: a lone quote ends the value", text)
				}
			}
			back.WriteByte(inner[i])
		}
		if back.String() != value {
			t.Fatalf("%q was written %s and reads %q", value, text, back.String())
		}
	})
}

func TestCanonicalMakesEqualValuesEqualTexts(t *testing.T) {
	pages := parameter{kind: "integer", unit: "8kB"}
	kilobytes := parameter{kind: "integer", unit: "kB"}
	seconds := parameter{kind: "integer", unit: "s"}
	milliseconds := parameter{kind: "real", unit: "ms"}
	number := parameter{kind: "real"}
	whole := parameter{kind: "integer"}
	boolean := parameter{kind: "bool"}
	enum := parameter{kind: "enum"}
	text := parameter{kind: "string"}
	for _, c := range []struct {
		p    parameter
		want string
		in   []string
	}{
		{pages, "128MB", []string{"16384", "128MB", "131072kB", " 128 MB ", "0.125GB", "134217728B"}},
		{pages, "8kB", []string{"1", "8kB", "8192B"}},
		{pages, "-1", []string{"-1"}},
		{pages, "0", []string{"0", "0MB"}},
		{kilobytes, "4MB", []string{"4096", "4MB", "0x1000"}},
		{kilobytes, "2TB", []string{"2147483648", "2TB", "2048GB"}},
		{seconds, "5min", []string{"300", "5min", "300s", "300000ms"}},
		{seconds, "90s", []string{"90", "1.5min"}},
		{seconds, "1d", []string{"86400", "24h", "1d"}},
		{milliseconds, "200us", []string{"0.2", "200us"}},
		{number, "1.1", []string{"1.1", "1.10", "11e-1"}},
		{whole, "100", []string{"100", "1e2", "0x64"}},
		{boolean, "on", []string{"on", "ON", "true", "t", "yes", "y", "1"}},
		{boolean, "off", []string{"off", "of", "false", "f", "no", "n", "0"}},
		{boolean, "o", []string{"o"}},
		{enum, "on", []string{"on", "True", "yes", "1"}},
		{enum, "remote_apply", []string{"remote_apply", "REMOTE_APPLY"}},
		{enum, "t", []string{"t"}},
		{text, "Mixed Case ", []string{"Mixed Case "}},
		{whole, "lots", []string{"lots"}},
		{kilobytes, "5 parsecs", []string{"5 parsecs"}},
		{number, "NaN", []string{"NaN"}},
	} {
		for _, in := range c.in {
			if got := c.p.canonical(in); got != c.want {
				t.Errorf("%s with unit %q: %q is %q, want %q", c.p.kind, c.p.unit, in, got, c.want)
			}
		}
	}
}

func TestComparisonFindsEveryMismatch(t *testing.T) {
	list := compare([]choice{
		{"work_mem", "8MB", "study"}, {"fsync", "on", "durability"}, {"jit", "off", "study"},
		{"gone", "1", "study"}, {"wal_buffers", "-1", "study"}, {"port", "1", "Loadstone's own"},
	}, []parameter{
		{name: "block_size", setting: "8192", kind: "integer", source: "default", boot: "8192"},
		{name: "deadlock_timeout", setting: "1000", unit: "ms", kind: "integer", source: "default", boot: "1000"},
		{name: "fsync", setting: "off", kind: "bool", source: "command line", boot: "on"},
		{name: "jit", setting: "off", kind: "bool", source: "configuration file", boot: "on", pending: true},
		{name: "lc_messages", setting: "C", kind: "string", source: "configuration file"},
		{name: "TimeZone", setting: "UTC", kind: "string", source: "configuration file", boot: "GMT"},
		{name: "vacuum_cost_limit", setting: "300", kind: "integer", source: "database", boot: "200"},
		{name: "wal_buffers", setting: "512", unit: "8kB", kind: "integer", source: "override", boot: "-1"},
		{name: "work_mem", setting: "8192", unit: "kB", kind: "integer", source: "configuration file", boot: "4096"},
	})
	want := []engine.Setting{
		{Name: "block_size", Effective: "8192", Default: "8192", Why: "default", Matches: true},
		{Name: "fsync", Intended: "on", Effective: "off", Default: "on", Why: "durability"},
		{Name: "jit", Intended: "off", Effective: "off", Default: "on", Why: "study"},
		{Name: "vacuum_cost_limit", Effective: "300", Default: "200", Why: "database", Matches: true},
		{Name: "wal_buffers", Intended: "-1", Effective: "4MB", Default: "-1", Why: "study", Matches: true},
		{Name: "work_mem", Intended: "8MB", Effective: "8MB", Default: "4MB", Why: "study", Matches: true},
		{Name: "gone", Intended: "1", Why: "study"},
		{Name: "port", Intended: "1", Why: "Loadstone's own"},
	}
	if !slices.Equal(list, want) {
		t.Errorf("got\n%+v\nwant\n%+v", list, want)
	}
}
