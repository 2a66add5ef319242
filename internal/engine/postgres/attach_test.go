//go:build linux

package postgres

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/pgtest"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// endpointOf is an endpoint on f with the right password.
func endpointOf(url string) engine.Endpoint {
	return engine.Endpoint{URL: url, Password: pgtest.ForeignPassword, Version: ">=15"}
}

func TestAnAttachedServerPassesTheSuite(t *testing.T) {
	f := pgtest.StartForeign(t)
	full := "sslmode=verify-full&sslrootcert=" + f.CA
	bench := endpointOf(f.URL("bench", "127.0.0.1", "postgres", full))
	refused := func(url, part string) enginetest.Refused {
		return enginetest.Refused{Endpoint: endpointOf(url), Part: part}
	}
	wrong := refused(bench.URL, "password")
	wrong.Password = "kF7-another-marker"
	newer := refused(bench.URL, "the study wants")
	newer.Version = ">=99"
	enginetest.Attach(t, product{}, enginetest.Foreign{
		Endpoint: bench, NoCreate: endpointOf(f.URL("guest", "127.0.0.1", "postgres", full)),
		In: func(database string) engine.Endpoint { return endpointOf(f.URL("bench", "127.0.0.1", database, full)) },
		Good: map[string]engine.Endpoint{
			"name":        endpointOf(f.URL("bench", "localhost", "postgres", full)),
			"left out":    endpointOf(f.URL("bench", "localhost", "postgres", "sslrootcert="+f.CA)),
			"verify-ca":   endpointOf(f.URL("bench", "127.0.0.2", "postgres", "sslmode=verify-ca&sslrootcert="+f.CA)),
			"require":     endpointOf(f.URL("bench", "127.0.0.2", "postgres", "sslmode=require")),
			"unencrypted": endpointOf(f.URL("plain", "127.0.0.1", "postgres", "sslmode=disable")),
			"socket":      endpointOf(fmt.Sprintf("postgres://bench@:%d/postgres?host=%s", f.Port, f.Dir)),
		},
		Refused: map[string]enginetest.Refused{
			"wrong password":       wrong,
			"other version":        newer,
			"other authority":      refused(f.URL("bench", "127.0.0.1", "postgres", "sslmode=verify-full&sslrootcert="+f.OtherCA), "unknown authority"),
			"other authority, ca":  refused(f.URL("bench", "127.0.0.1", "postgres", "sslmode=verify-ca&sslrootcert="+f.OtherCA), "unknown authority"),
			"system's authorities": refused(f.URL("bench", "127.0.0.1", "postgres", ""), "unknown authority"),
			"other host":           refused(f.URL("bench", "127.0.0.2", "postgres", full), "127.0.0.2"),
			"TLS asked, not there": refused(f.URL("plain", "127.0.0.1", "postgres", full), "no pg_hba.conf entry"),
			"TLS wanted":           refused(f.URL("bench", "127.0.0.1", "postgres", "sslmode=disable"), "no pg_hba.conf entry"),
			"no such database":     refused(f.URL("bench", "127.0.0.1", "nothing", full), "nothing"),
			"nobody there":         refused("postgres://bench@127.0.0.1:1/postgres?"+full, "127.0.0.1:1"),
			"no such file":         refused(f.URL("bench", "127.0.0.1", "postgres", "sslrootcert=/no/such/file"), "/no/such/file"),
		},
		Take: func(t *testing.T, database string) {
			f.Exec(t, "postgres", `CREATE DATABASE "`+database+`" OWNER bench`)
			f.Exec(t, database, "SET ROLE bench; CREATE SCHEMA mine; CREATE TABLE mine.precious AS SELECT generate_series(1, 10) AS n")
		},
		Clone: func(t *testing.T, database, of string) {
			f.Exec(t, "postgres", `CREATE DATABASE "`+database+`" TEMPLATE "`+of+`" OWNER bench`)
		},
		Rows: func(t *testing.T, database, table string) string {
			return f.Exec(t, database, "SELECT count(*) FROM "+table)[0][0]
		},
		State: func(t *testing.T) string { return stateOfServer(t, f) },
		Stop:  f.Stop,
	})
	if log := f.Log(); strings.Contains(log, pgtest.ForeignPassword) {
		t.Error("the server's log has the password")
	}
}

// stateOfServer is what somebody would miss: databases with owner and comment,
// what people keep in them, roles with their passwords, and settings.
func stateOfServer(t *testing.T, f *pgtest.Foreign) string {
	t.Helper()
	var out []string
	for _, query := range []string{
		"SELECT datname, pg_get_userbyid(datdba), datacl, datconnlimit, shobj_description(oid, 'pg_database') FROM pg_database ORDER BY 1",
		"SELECT rolname, rolsuper, rolcreatedb, rolpassword FROM pg_authid ORDER BY 1",
		"SELECT * FROM pg_db_role_setting ORDER BY 1, 2",
		"SELECT name, setting FROM pg_settings WHERE source NOT IN ('client', 'session') ORDER BY 1",
	} {
		out = append(out, fmt.Sprint(f.Exec(t, "postgres", query)))
	}
	for _, name := range strings.Fields(f.Databases(t)) {
		if f.Exec(t, name, "SELECT to_regclass('mine.precious') IS NOT NULL")[0][0] == "t" {
			out = append(out, fmt.Sprint(name, f.Exec(t, name, "SELECT xmin, ctid, n FROM mine.precious ORDER BY n")))
		}
	}
	return strings.Join(out, "\n")
}

// small is a workload of one table, quick to load.
func small() *workload.Definition {
	return &workload.Definition{
		Name: "small", DataKey: "small-1", Database: "small",
		Role: workload.Role{Name: "visitor", Password: "x"}, Owner: workload.Role{Name: "keeper", Password: "y"},
		Tables: []workload.Table{{
			Name: "thing", PrimaryKey: []string{"id"},
			Columns: []workload.Column{{Name: "id", Type: workload.Type{Base: workload.Int32}, NotNull: true}},
			Rows: workload.Source{Batches: 1, Rows: 100, Fill: func(_ int64, emit func([]workload.Value) error) error {
				for i := range int64(100) {
					if err := emit([]workload.Value{workload.Int(i)}); err != nil {
						return err
					}
				}
				return nil
			}},
		}},
	}
}

func attachTo(t *testing.T, e engine.Endpoint) *running {
	t.Helper()
	s, err := product{}.Attach(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*running)
}

// TestWhatIsForeign shares one server.
func TestWhatIsForeign(t *testing.T) {
	f := pgtest.StartForeign(t, "synchronous_commit=off", "work_mem=8MB", "fsync=off", "primary_conninfo=host=x password=kF7-in-a-setting", "archive_command=true kF7-in-a-command")
	super := engine.Endpoint{URL: fmt.Sprintf("postgres://postgres@:%d/postgres?host=%s", f.Port, f.Dir)}
	bench := endpointOf(f.URL("bench", "127.0.0.1", "postgres", "sslrootcert="+f.CA))
	t.Run("settings are compared and never altered", func(t *testing.T) { comparedSettings(t, f, bench) })
	t.Run("secrets in settings are not told", func(t *testing.T) { discreetSettings(t, super) })
	t.Run("what a killed process left is swept", func(t *testing.T) { sweptRemains(t, f, bench) })
	t.Run("a golden state that changed is not copied", func(t *testing.T) { changedGolden(t, f, bench) })
	t.Run("only the first database counts for the server", func(t *testing.T) { countedOnce(t, bench) })
	t.Run("counters without clocks are left out", func(t *testing.T) { clocklessCounters(t, f, bench) })
	t.Run("a tunnel is not this machine", func(t *testing.T) { throughTunnel(t, f) })
	t.Run("a cancel goes encrypted", func(t *testing.T) { encryptedCancel(t, bench) })
}

func comparedSettings(t *testing.T, f *pgtest.Foreign, e engine.Endpoint) {
	before := stateOfServer(t, f)
	list, err := attachTo(t, e).Settings(t.Context(), map[string]string{"work_mem": "8192kB", "Random_Page_Cost": "1.1", "no_such": "1"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]engine.Setting{}
	for _, s := range list {
		got[strings.ToLower(s.Name)] = s
	}
	if s := got["work_mem"]; !s.Matches || s.Effective != "8MB" || s.Why != "study" {
		t.Errorf("%+v; want 8MB as asked", s)
	}
	if s := got["random_page_cost"]; s.Matches || s.Effective != "4" || s.Intended != "1.1" {
		t.Errorf("%+v; want 4, which is not 1.1", s)
	}
	if s := got["no_such"]; s.Matches {
		t.Errorf("%+v matches", s)
	}
	for name, want := range map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"} {
		if s := got[name]; s.Effective != want || s.Default != "on" || strings.Contains(s.Why, "Loadstone") {
			t.Errorf("%+v; want %s %s shown, and not as Loadstone's choice", s, name, want)
		}
	}
	if after := stateOfServer(t, f); after != before {
		t.Error("comparing settings altered the server")
	}
	list, err = attachTo(t, e).Settings(t.Context(), nil)
	if err != nil || !slices.ContainsFunc(list, func(s engine.Setting) bool { return s.Name == "data_checksums" && s.Effective == s.Default }) {
		t.Errorf("what proves the server's nature is not listed at its default: %v", err)
	}
	if _, err := attachTo(t, e).Settings(t.Context(), map[string]string{"work_mem": "5%"}); err == nil {
		t.Error("a percentage of an unknown memory was taken")
	}
}

func discreetSettings(t *testing.T, e engine.Endpoint) {
	list, err := attachTo(t, e).Settings(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", list); strings.Contains(text, "kF7") || !strings.Contains(text, "primary_conninfo") || !strings.Contains(text, "archive_command") {
		t.Errorf("settings that may hold secrets:\n%s", text)
	}
}

// sweptRemains kills nothing: it lets go of a copy's name without removing the
// copy, which is all that the server sees of a kill.
func sweptRemains(t *testing.T, f *pgtest.Foreign, e engine.Endpoint) {
	s := attachTo(t, e)
	if _, err := s.Build(t.Context(), small(), engine.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	left, name, err := s.Copy(t.Context(), small(), engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	used, second, err := s.Copy(t.Context(), small(), engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f.Exec(t, "postgres", "CREATE DATABASE loadstone_work_of_somebody OWNER bench")
	f.Exec(t, "postgres", "CREATE DATABASE loadstone_work_commented OWNER bench")
	f.Exec(t, "postgres", `COMMENT ON DATABASE loadstone_work_commented IS '{"loadstone":1,"kind":"work","id":"x"}'`)
	a := left.(*attached)
	a.held.release()
	a.watch.release()
	if !within(t.Context(), func() bool {
		s.sweep(t.Context())
		return !strings.Contains(f.Databases(t), name.Name)
	}) {
		t.Errorf("%s is left: %s", name.Name, f.Databases(t))
	}
	have := strings.Fields(f.Databases(t))
	for _, want := range []string{second.Name, "loadstone_work_of_somebody", "loadstone_work_commented", goldenName(small())} {
		if !slices.Contains(have, want) {
			t.Errorf("%s was swept away; left are %s", want, have)
		}
	}
	if err := used.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, theirs := range []string{"loadstone_work_of_somebody", "loadstone_work_commented", goldenName(small()), "postgres"} {
		if err := s.drop(t.Context(), theirs, ""); err == nil || !strings.Contains(f.Databases(t)+" postgres", theirs) {
			t.Errorf("dropping %s: %v; want it refused", theirs, err)
		}
	}
}

// within polls until done says so, a bounded number of times.
func within(ctx context.Context, done func() bool) bool {
	for range 100 {
		if done() {
			return true
		}
		wall := clock.Real{}
		if wall.SleepUntil(ctx, wall.Now().Add(unusedPause)) != nil {
			break
		}
	}
	return done()
}

func changedGolden(t *testing.T, f *pgtest.Foreign, e engine.Endpoint) {
	s, d := attachTo(t, e), small()
	d.DataKey = "small-changed"
	if _, err := s.Build(t.Context(), d, engine.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Exec(t, goldenName(d), "DELETE FROM thing WHERE id = 5")
	before := f.Databases(t)
	db, _, err := s.Copy(t.Context(), d, engine.Config{})
	if err == nil {
		_ = db.Stop(t.Context())
		t.Fatal("a golden state that somebody changed was copied")
	}
	if !strings.Contains(err.Error(), "thing has 99 rows") {
		t.Errorf("%v; want what differs", err)
	}
	if after := f.Databases(t); after != before {
		t.Errorf("before: %s; after: %s", before, after)
	}
}

func countedOnce(t *testing.T, e engine.Endpoint) {
	s := attachTo(t, e)
	if _, err := s.Build(t.Context(), small(), engine.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	var open []engine.Database
	wide := func(db engine.Database) bool {
		return slices.ContainsFunc(db.(*attached).counters.list, func(c counter) bool { return c.Name == "wal_bytes" })
	}
	for i := range 2 {
		db, _, err := s.Copy(t.Context(), small(), engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, db)
		if wide(db) != (i == 0) {
			t.Errorf("database %d counts for the server: %v", i+1, wide(db))
		}
	}
	for _, db := range open {
		if err := db.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	db, _, err := s.Copy(t.Context(), small(), engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if !wide(db) {
		t.Error("once the first is gone, nobody counts for the server")
	}
	if err := db.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func clocklessCounters(t *testing.T, f *pgtest.Foreign, e engine.Endpoint) {
	s := attachTo(t, e)
	has := func(name string) bool {
		db, _, err := s.Copy(t.Context(), small(), engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Stop(t.Context()) }()
		return slices.ContainsFunc(db.(*attached).counters.list, func(c counter) bool { return c.Name == name })
	}
	if has("block_read_s") || has("wal_fsync_s") || !has("wal_bytes") {
		t.Error("without track_io_timing there are no times to count, and everything else is counted")
	}
	f.Exec(t, "postgres", "ALTER SYSTEM SET track_io_timing = on")
	f.Exec(t, "postgres", "SELECT pg_reload_conf()")
	if !within(t.Context(), func() bool { return has("block_read_s") }) || has("wal_fsync_s") {
		t.Error("with track_io_timing alone, block_read_s is counted and wal_fsync_s is not")
	}
}

// throughTunnel attaches through a relay that runs in this process: as a
// tunnel, it listens on loopback, and what is behind it may be anywhere. The
// server is here, so its own process is hidden by another pid.
func throughTunnel(t *testing.T, f *pgtest.Foreign) {
	e, err := endpointForm().Parse(f.URL("bench", "127.0.0.1", "postgres", "sslmode=require"))
	if err != nil {
		t.Fatal(err)
	}
	s := &running{settled: settled{Endpoint: e}}
	for pid, name := range map[string]string{fmt.Sprint(os.Getpid()): "this test", "0": "nobody"} {
		if here, why := s.here(pid); here || !strings.Contains(why, "tunnel") {
			t.Errorf("%s is taken for the server: %v, %q", name, here, why)
		}
	}
	s.Loopback = false
	if here, why := s.here("1"); here || !strings.Contains(why, "another machine") {
		t.Errorf("a server on another address is taken for this machine's: %v, %q", here, why)
	}
}

// encryptedCancel closes a session in the middle of a long statement, which
// asks the server to give it up.
func encryptedCancel(t *testing.T, e engine.Endpoint) {
	s := attachTo(t, e)
	if _, err := s.Build(t.Context(), small(), engine.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	db, copied, err := s.Copy(t.Context(), small(), engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Stop(t.Context()) }()
	session, err := db.Open(t.Context(), small())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := session.Conn().Run(t.Context(), &workload.Statement{Index: -1, Name: "sleep", Text: "SELECT 1 FROM pg_sleep(60)"}, nil)
		ended <- err
	}()
	sleeping := func() bool {
		rows, err := s.askIn(t.Context(), s.Database, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND state = 'active'", copied.Name)
		return err == nil && rows[0][0] == "1"
	}
	if !within(t.Context(), sleeping) {
		t.Fatal("the statement never began")
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	// The server's answer to the cancel may be quicker than the end of the line.
	if err := <-ended; wire.Classify(err) != workload.Connection && wire.Classify(err) != workload.Timeout {
		t.Errorf("the statement ended with %v, want it cancelled or cut off", err)
	}
	if !within(t.Context(), func() bool { return !sleeping() }) {
		t.Error("the server works on for nobody")
	}
}
