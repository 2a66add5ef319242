package mysql

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

func TestLargePagesAreTheInstancesOrTheStudysButNotBoth(t *testing.T) {
	for pages, value := range map[string]string{"on": "ON", "off": "OFF"} {
		c := chosenFor(t, maria(), engine.Config{Durable: true, LargePages: pages}, unit.GiB)["large_pages"]
		if want := (choice{"large_pages", value, "instance.large_pages"}); c != want {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	c := chosenFor(t, maria(), engine.Config{Durable: true, Settings: map[string]string{"large-pages": "ON"}}, unit.GiB)["large_pages"]
	if c.why != "study" {
		t.Errorf("the study's own: %+v", c)
	}
	for _, twice := range []engine.Config{
		{LargePages: "off", Settings: map[string]string{"large_pages": "ON"}},
		{LogDir: "/log", Settings: map[string]string{"innodb-log-group-home-dir": "/other"}},
	} {
		if _, err := maria().choose(twice, unit.GiB); err == nil || !strings.Contains(err.Error(), "says it already") {
			t.Errorf("%+v: %v; want an error that names the knob", twice, err)
		}
	}
}

// settingOf reads one setting of a server back.
func settingOf(t *testing.T, s *server, name string) engine.Setting {
	t.Helper()
	all, err := s.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(all, func(s engine.Setting) bool { return s.Name == name })
	if n < 0 {
		t.Fatalf("no setting %s is read back", name)
	}
	return all[n]
}

// TestTheLogLiesApart starts a server with its log elsewhere, again after it
// was killed, and looks where the log is.
func TestTheLogLiesApart(t *testing.T) {
	in, m := database(t)
	logs := enginetest.LocalMachine(t).Dir()
	ask := engine.Config{Connections: 5, Durable: true, LogDir: logs}
	for round := range 2 {
		db, err := in.Start(t.Context(), m, ask)
		if err != nil {
			t.Fatal(err)
		}
		s := db.(*server)
		t.Cleanup(func() { _ = db.Stop(t.Context()) })
		for name, want := range map[string]string{"redo_log": logs, settingLogDir: logs} {
			if got := settingOf(t, s, name); !got.Matches || got.Effective != want || got.Why != "instance.log_volume" {
				t.Errorf("start %d: %+v, want it in %s", round, got, want)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dataDir(m), "ib_logfile*")); len(left) > 0 {
			t.Errorf("start %d: with the data are %v", round, left)
		}
		// The log that somebody moves back is seen.
		if err := os.WriteFile(filepath.Join(dataDir(m), "ib_logfile0"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := settingOf(t, s, "redo_log"); got.Matches {
			t.Errorf("start %d: with a log in both places: %+v", round, got)
		}
		if err := os.Remove(filepath.Join(dataDir(m), "ib_logfile0")); err != nil {
			t.Fatal(err)
		}
		if err := m.Server().Kill(); err != nil {
			t.Fatal(err)
		}
		<-db.Exited()
		_ = db.Stop(t.Context()) // it had ended by itself
	}
}

// TestLargePagesThatCanNotBeHadFailTheStart asks for them where the machine has
// reserved none, which the server itself would not mind.
func TestLargePagesThatCanNotBeHadFailTheStart(t *testing.T) {
	in, m := database(t)
	off := engine.Config{Connections: 5, Durable: true, LargePages: "off"}
	db, err := in.Start(t.Context(), m, off)
	if err != nil {
		t.Fatal(err)
	}
	if got := settingOf(t, db.(*server), "memory_in_large_pages"); !got.Matches || got.Intended != "none" {
		t.Errorf("off: %+v", got)
	}
	if err := db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/sys/vm/nr_hugepages")
	if err != nil || strings.TrimSpace(string(text)) != "0" {
		t.Skipf("the machine has reserved %s large pages, %v", text, err)
	}
	on := off
	on.LargePages = "on"
	db, err = in.Start(t.Context(), m, on)
	if err == nil {
		_ = db.Stop(t.Context())
		t.Fatal("a server without large pages started")
	}
	if !strings.Contains(err.Error(), "instance.large_pages") {
		t.Errorf("the error does not name the knob: %v", err)
	}
}

func TestMappingsWithLargePagesAreAddedUp(t *testing.T) {
	const ordinary, large, huge = "Size:   8 kB\nKernelPageSize:   4 kB\n", "Size:  4096 kB\nKernelPageSize:  2048 kB\n", "Size:  1048576 kB\nKernelPageSize:  1048576 kB\n"
	for text, want := range map[string]unit.Bytes{
		"": 0, ordinary: 0, "Size: 64 kB\nKernelPageSize: 64 kB\n": 0,
		ordinary + large + ordinary: 4 * unit.MiB, large + huge + large: unit.GiB + 8*unit.MiB,
	} {
		if got, err := inLargePages(text); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"Size: 8\n", "Size: x kB\n", "nonsense\n"} {
		if _, err := inLargePages(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
