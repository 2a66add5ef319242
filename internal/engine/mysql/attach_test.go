//go:build linux

package mysql

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// foreignPassword is the password of the users of a foreign server. It stands
// nowhere else, so that a test can look for it where it must not be.
const foreignPassword = "kF7-marker-of-a-password"

// foreign is a server as somebody else would run it, encrypted with a
// certificate for localhost and 127.0.0.1 alone, but listening on 127.0.0.2 as
// well.
//
// Users: "bench" may make databases and comes in encrypted, or over the Unix
// socket; "guest" may not make any; "plain" may, and comes in without encryption
// too; "signed" is bench with a password of the plugin ed25519. All have
// foreignPassword, and a database "home".
type foreign struct {
	in     *installation
	m      *enginetest.Local
	port   int
	server *exec.Cmd
}

func startForeign(t *testing.T) *foreign {
	t.Helper()
	in, m := database(t)
	if in.product != mariadb {
		t.Skip("the foreign server of these tests is MariaDB")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &foreign{in: in, m: m, port: l.Addr().(*net.TCPAddr).Port}
	_ = l.Close()
	f.server = m.Command(context.WithoutCancel(t.Context()), in.server, "--no-defaults", "--datadir="+dataDir(m), "--tmpdir="+tempDir(m),
		"--socket="+f.socket(), "--port="+strconv.Itoa(f.port), "--bind-address=127.0.0.1,127.0.0.2", "--skip-name-resolve", "--log-error="+f.file("log"),
		"--ssl-cert="+f.file("server.crt"), "--ssl-key="+f.file("server.key"), "--max-connections=60",
		"--innodb-ft-min-token-size=1", "--innodb-ft-enable-stopword=OFF", "--innodb-flush-log-at-trx-commit=2", "--plugin-load-add=auth_ed25519")
	if err := enginetest.WriteCertificates(m.Dir(), f.server.SysProcAttr.Credential); err != nil {
		t.Fatal(err)
	}
	if err := f.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.stop)
	if !within(t.Context(), func() bool { _, err := f.ask("SELECT 1"); return err == nil }) {
		log, _ := os.ReadFile(f.file("log"))
		t.Fatalf("the server does not answer:\n%s", log)
	}
	password := "'" + foreignPassword + "'"
	all := func(user string, databases ...string) {
		for _, d := range databases {
			f.exec(t, "GRANT ALL ON `"+d+"`.* TO "+user)
		}
	}
	f.exec(t, "CREATE DATABASE home")
	for user, by := range map[string]string{
		"bench@'%'": "BY " + password + " REQUIRE SSL", "bench@localhost": "BY " + password, "plain@'%'": "BY " + password,
		"signed@'%'": "VIA ed25519 USING PASSWORD(" + password + ") REQUIRE SSL",
	} {
		f.exec(t, "CREATE USER "+user+" IDENTIFIED "+by)
		all(user, "home", `loadstone\_%`, "theirs", "ours")
	}
	f.exec(t, "CREATE USER guest@'%' IDENTIFIED BY "+password)
	all("guest@'%'", "home")
	return f
}

func (f *foreign) file(name string) string { return filepath.Join(f.m.Dir(), name) }
func (f *foreign) socket() string          { return f.file("s") }

// stop ends the server at once: its data is thrown away.
func (f *foreign) stop() {
	if f.server != nil {
		_ = f.server.Process.Signal(syscall.SIGKILL)
		_ = f.server.Wait()
		f.server = nil
	}
}

// ask runs one statement as superuser.
func (f *foreign) ask(sql string, args ...string) ([][]string, error) {
	conn, err := wire.Dial(context.Background(), wire.Config{Network: "unix", Address: f.socket(), User: superuser})
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return ask(context.Background(), conn, sql, args...)
}

func (f *foreign) exec(t *testing.T, sql string, args ...string) [][]string {
	t.Helper()
	rows, err := f.ask(sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// endpoint is that of a user and database on TCP: query is what follows the
// question mark.
func (f *foreign) endpoint(user, host, database, query string) engine.Endpoint {
	return endpointOf(fmt.Sprintf("mysql://%s@%s:%d/%s?%s", user, host, f.port, database, query))
}

// endpointOf is an endpoint with the right password.
func endpointOf(url string) engine.Endpoint {
	return engine.Endpoint{URL: url, Password: foreignPassword, Version: ">=10.11"}
}

// state is what somebody would miss: databases, tables and routines, what people
// keep in them, accounts with their passwords, and settings.
func (f *foreign) state(t *testing.T) string {
	t.Helper()
	var out []string
	for _, sql := range []string{
		"SELECT SCHEMA_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA ORDER BY 1",
		"SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') ORDER BY 1",
		"SELECT CONCAT(ROUTINE_SCHEMA, '.', ROUTINE_NAME) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA NOT IN ('mysql', 'sys') ORDER BY 1",
		"SELECT CONCAT(User, Host, Priv) FROM mysql.global_priv ORDER BY 1", "SELECT CONCAT(User, Host, Db) FROM mysql.db ORDER BY 1",
		`SELECT CONCAT(VARIABLE_NAME, '=', GLOBAL_VALUE) FROM information_schema.SYSTEM_VARIABLES
		WHERE GLOBAL_VALUE IS NOT NULL AND VARIABLE_NAME NOT LIKE '%GTID%' AND VARIABLE_NAME NOT IN ('SERVER_UID') ORDER BY 1`,
	} {
		out = append(out, fmt.Sprint(f.exec(t, sql)))
	}
	for _, row := range f.exec(t, "SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = 'precious' ORDER BY 1") {
		out = append(out, row[0], fmt.Sprint(f.exec(t, "SELECT n FROM `"+row[0]+"`.precious ORDER BY n")))
	}
	return strings.Join(out, "\n")
}

func (f *foreign) take(t *testing.T, database string) {
	f.exec(t, "CREATE DATABASE `"+database+"`")
	f.exec(t, "CREATE TABLE `"+database+"`.precious (n INT)")
	f.exec(t, "INSERT INTO `"+database+"`.precious VALUES (1), (2), (3)")
}

// clone copies a database as a dump does, table by table.
func (f *foreign) clone(t *testing.T, database, of string) {
	f.exec(t, "CREATE DATABASE `"+database+"`")
	for _, row := range f.exec(t, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", of) {
		f.exec(t, "CREATE TABLE `"+database+"`.`"+row[0]+"` LIKE `"+of+"`.`"+row[0]+"`")
		f.exec(t, "INSERT INTO `"+database+"`.`"+row[0]+"` SELECT * FROM `"+of+"`.`"+row[0]+"`")
	}
}

// within polls until done says so, a bounded number of times.
func within(ctx context.Context, done func() bool) bool {
	for range 200 {
		if done() {
			return true
		}
		if wall := (clock.Real{}); wall.SleepUntil(ctx, wall.Now().Add(100*time.Millisecond)) != nil {
			break
		}
	}
	return done()
}

func TestAnAttachedServerPassesTheSuite(t *testing.T) {
	f := startForeign(t)
	full := "sslmode=verify-full&sslrootcert=" + f.file("ca.crt")
	other := "sslrootcert=" + f.file("other.crt")
	refused := func(e engine.Endpoint, part string) enginetest.Refused {
		return enginetest.Refused{Endpoint: e, Part: part}
	}
	bench := f.endpoint("bench", "127.0.0.1", "home", full)
	wrong := refused(bench, "Access denied")
	wrong.Password = "kF7-another-marker"
	wrongSigned := refused(f.endpoint("signed", "127.0.0.1", "home", full), "Access denied")
	wrongSigned.Password = "kF7-another-marker"
	newer := refused(bench, "the study wants")
	newer.Version = ">=99"
	enginetest.Attach(t, product{}, enginetest.Foreign{
		Endpoint: bench, NoCreate: f.endpoint("guest", "127.0.0.1", "home", full),
		In: func(database string) engine.Endpoint { return f.endpoint("bench", "127.0.0.1", database, full) },
		Good: map[string]engine.Endpoint{
			"name":        f.endpoint("bench", "localhost", "home", full),
			"left out":    f.endpoint("bench", "localhost", "home", "sslrootcert="+f.file("ca.crt")),
			"verify-ca":   f.endpoint("bench", "127.0.0.2", "home", "sslmode=verify-ca&sslrootcert="+f.file("ca.crt")),
			"require":     f.endpoint("bench", "127.0.0.2", "home", "sslmode=require"),
			"unencrypted": f.endpoint("plain", "127.0.0.1", "home", "sslmode=disable"),
			"ed25519":     f.endpoint("signed", "127.0.0.1", "home", full),
			"socket":      endpointOf("mariadb://bench@/home?socket=" + f.socket()),
		},
		Refused: map[string]enginetest.Refused{
			"wrong password":          wrong,
			"wrong password, ed25519": wrongSigned,
			"other version":           newer,
			"other authority":         refused(f.endpoint("bench", "127.0.0.1", "home", "sslmode=verify-full&"+other), "unknown authority"),
			"other authority, ca":     refused(f.endpoint("bench", "127.0.0.1", "home", "sslmode=verify-ca&"+other), "unknown authority"),
			"system's authorities":    refused(f.endpoint("bench", "127.0.0.1", "home", ""), "unknown authority"),
			"other host":              refused(f.endpoint("bench", "127.0.0.2", "home", full), "127.0.0.2"),
			"TLS wanted":              refused(f.endpoint("bench", "127.0.0.1", "home", "sslmode=disable"), "Access denied"),
			"no such database":        refused(f.endpoint("bench", "127.0.0.1", "ours", full), "ours"),
			"nobody there":            refused(endpointOf("mysql://bench@127.0.0.1:1/home?"+full), "127.0.0.1:1"),
			"no such file":            refused(f.endpoint("bench", "127.0.0.1", "home", "sslrootcert=/no/such/file"), "/no/such/file"),
		},
		Take: f.take, Clone: f.clone, State: f.state, Stop: f.stop,
		Rows: func(t *testing.T, database, table string) string {
			return f.exec(t, "SELECT COUNT(*) FROM `"+database+"`.`"+table+"`")[0][0]
		},
	})
	if log, _ := os.ReadFile(f.file("log")); strings.Contains(string(log), foreignPassword) {
		t.Error("the server's log has the password")
	}
}

// small is a workload of one table, quick to load.
func small() *workload.Definition {
	return &workload.Definition{
		Name: "Small", DataKey: "small-1", Database: "small",
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
	f := startForeign(t)
	bench := f.endpoint("bench", "127.0.0.1", "home", "sslrootcert="+f.file("ca.crt"))
	for _, c := range []struct {
		name string
		test func(*testing.T, *foreign, engine.Endpoint)
	}{
		{"settings are compared and never altered", comparedSettings},
		{"secrets in settings are not told", discreetSettings},
		{"what a killed process left is swept", sweptRemains},
		{"a golden state that was never completed is made again", unfinishedGolden},
		{"a golden state that changed is not copied", changedGolden},
		{"only the first database counts for the server", countedOnce},
		{"words that the server leaves out are not searched for", lostWords},
		{"who waits for a row is seen", seenWaits},
		{"a tunnel is not this machine", throughTunnel},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, f, bench) })
	}
}

func comparedSettings(t *testing.T, f *foreign, e engine.Endpoint) {
	before := f.state(t)
	list, err := attachTo(t, e).Settings(t.Context(), map[string]string{
		"Innodb-Flush-Log-At-Trx-Commit": "2", "sort_buffer_size": "1MiB", "no_such": "1",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]engine.Setting{}
	for _, s := range list {
		got[s.Name] = s
	}
	if s := got["innodb_flush_log_at_trx_commit"]; !s.Matches || s.Effective != "2" || s.Why != "study" {
		t.Errorf("%+v; want 2 as asked", s)
	}
	if s := got["sort_buffer_size"]; s.Matches || s.Effective != "2MB" || s.Intended != "1MB" {
		t.Errorf("%+v; want 2MB, which is not 1MB", s)
	}
	if s, ok := got["no_such"]; !ok || s.Matches {
		t.Errorf("%+v matches", s)
	}
	if s := got["max_connections"]; s.Effective != "60" || strings.Contains(s.Why, "Loadstone") {
		t.Errorf("%+v; want 60 shown, and not as Loadstone's choice", s)
	}
	if after := f.state(t); after != before {
		t.Error("comparing settings altered the server")
	}
	if _, err := attachTo(t, e).Settings(t.Context(), map[string]string{"innodb_buffer_pool_size": "5%"}); err == nil {
		t.Error("a percentage of an unknown memory was taken")
	}
}

func discreetSettings(t *testing.T, f *foreign, e engine.Endpoint) {
	f.exec(t, "SET GLOBAL init_connect = '/* kF7-in-a-setting */'")
	defer f.exec(t, "SET GLOBAL init_connect = ''")
	list, err := attachTo(t, e).Settings(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", list); strings.Contains(text, "kF7") || !strings.Contains(text, "init_connect") {
		t.Errorf("settings that may hold secrets:\n%s", text)
	}
}

func (f *foreign) databases(t *testing.T) (names []string) {
	for _, row := range f.exec(t, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY 1") {
		names = append(names, row[0])
	}
	return names
}

// sweptRemains kills nothing: it lets go of a copy's name without removing the
// copy, which is all that the server sees of a kill.
func sweptRemains(t *testing.T, f *foreign, e engine.Endpoint) {
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
	f.take(t, "loadstone_work_of_somebody")
	f.clone(t, "loadstone_work_restored", name.Name)
	a := left.(*attached)
	a.held.release()
	a.watch.release()
	if !within(t.Context(), func() bool {
		s.sweep(t.Context())
		return !slices.Contains(f.databases(t), name.Name)
	}) {
		t.Errorf("%s is left: %s", name.Name, f.databases(t))
	}
	have := f.databases(t)
	for _, want := range []string{second.Name, "loadstone_work_of_somebody", "loadstone_work_restored", goldenName(small())} {
		if !slices.Contains(have, want) {
			t.Errorf("%s was swept away; left are %s", want, have)
		}
	}
	if err := used.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, theirs := range []string{"loadstone_work_of_somebody", "loadstone_work_restored", goldenName(small()), "home"} {
		if err := s.drop(t.Context(), theirs); err == nil || !slices.Contains(f.databases(t), theirs) {
			t.Errorf("dropping %s: %v; want it refused", theirs, err)
		}
	}
}

// unfinishedGolden leaves a golden state behind as a killed load does.
func unfinishedGolden(t *testing.T, f *foreign, e engine.Endpoint) {
	s, d := attachTo(t, e), small()
	d.DataKey = "small-unfinished"
	name := goldenName(d)
	if err := s.create(t.Context(), mark{Loadstone: markForm, Kind: kindNew, Name: name, DataKey: d.DataKey}); err != nil {
		t.Fatal(err)
	}
	if g, ok, err := s.Find(t.Context(), d); ok || err != nil {
		t.Errorf("found %+v, %v; want none", g, err)
	}
	if db, _, err := s.Copy(t.Context(), d, engine.Config{}); err == nil {
		_ = db.Stop(t.Context())
		t.Error("what was never completed was copied")
	}
	g, err := s.Build(t.Context(), d, engine.LoadOptions{})
	if err != nil || g.Report.Rows != 100 {
		t.Errorf("built %+v, %v", g, err)
	}
	if n := f.exec(t, "SELECT COUNT(*) FROM `"+name+"`.thing")[0][0]; n != "100" {
		t.Errorf("it has %s rows", n)
	}
}

func changedGolden(t *testing.T, f *foreign, e engine.Endpoint) {
	s, d := attachTo(t, e), small()
	d.DataKey = "small-changed"
	if _, err := s.Build(t.Context(), d, engine.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	before := f.databases(t)
	for _, change := range []string{"DELETE FROM %s WHERE id = 5", "INSERT INTO %s VALUES (500)"} {
		f.exec(t, fmt.Sprintf(change, "`"+goldenName(d)+"`.thing"))
		db, _, err := s.Copy(t.Context(), d, engine.Config{})
		if err == nil {
			_ = db.Stop(t.Context())
			t.Fatalf("a golden state that somebody changed was copied, after %s", change)
		}
		if !strings.Contains(err.Error(), "somebody changed the golden state") {
			t.Errorf("%v; want what to do", err)
		}
		if after := f.databases(t); !slices.Equal(after, before) {
			t.Errorf("before: %s; after: %s", before, after)
		}
	}
}

func countedOnce(t *testing.T, _ *foreign, e engine.Endpoint) {
	s := attachTo(t, e)
	if _, err := s.Build(t.Context(), small(), engine.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	copied := func() engine.Database {
		db, _, err := s.Copy(t.Context(), small(), engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	first, second := copied(), copied()
	if len(first.Sources()) != 1 || len(second.Sources()) != 0 {
		t.Errorf("%d and %d sources: want the first database alone to count", len(first.Sources()), len(second.Sources()))
	}
	for _, want := range []string{"statements", "blocks_read", "wal_bytes", "row_lock_waits"} {
		if !slices.ContainsFunc(first.(*attached).counters.list, func(c counter) bool { return c.Name == want }) {
			t.Errorf("%s is not counted", want)
		}
	}
	for _, db := range []engine.Database{first, second} {
		if err := db.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	third := copied()
	if len(third.Sources()) != 1 {
		t.Error("once the first is gone, nobody counts for the server")
	}
	if err := third.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func lostWords(t *testing.T, f *foreign, e engine.Endpoint) {
	d := small()
	d.DataKey = "small-words"
	d.Tables[0].Columns = append(d.Tables[0].Columns, workload.Column{Name: "words", Type: workload.Type{Base: workload.Varchar, Length: 10}})
	d.Tables[0].Indexes = []workload.Index{{Name: "words", Columns: []string{"words"}, FullText: true}}
	f.exec(t, "SET GLOBAL innodb_ft_enable_stopword = ON")
	defer f.exec(t, "SET GLOBAL innodb_ft_enable_stopword = OFF")
	before := f.databases(t)
	if _, err := attachTo(t, e).Build(t.Context(), d, engine.LoadOptions{}); err == nil || !strings.Contains(err.Error(), "innodb_ft_enable_stopword") {
		t.Errorf("%v; want the setting that it needs", err)
	}
	if after := f.databases(t); !slices.Equal(after, before) {
		t.Errorf("before: %s; after: %s", before, after)
	}
}

// seenWaits has one session wait for a row of another.
func seenWaits(t *testing.T, _ *foreign, e engine.Endpoint) {
	s := attachTo(t, e)
	if _, err := s.Build(t.Context(), small(), engine.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	db, _, err := s.Copy(t.Context(), small(), engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Stop(t.Context()) }()
	lock := &workload.Statement{Index: -1, Name: "lock", Text: "SELECT id FROM thing WHERE id = 1 {lock update}"}
	open := func() *engine.Session {
		session, err := db.Open(t.Context(), small())
		if err != nil {
			t.Fatal(err)
		}
		if err := session.Conn().Tx(t.Context(), workload.Begin); err != nil {
			t.Fatal(err)
		}
		return session
	}
	holder, waiter := open(), open()
	if _, err := holder.Conn().Run(t.Context(), lock, nil); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := waiter.Conn().Run(t.Context(), lock, nil)
		ended <- err
	}()
	seen := map[string]int{}
	if !within(t.Context(), func() bool {
		clear(seen)
		err := db.States()[0].Poll(t.Context(), func(state string, n int) { seen[state] += n })
		return err == nil && seen["Lock:Row"] == 1
	}) {
		t.Errorf("seen are %v, want one that waits for a row", seen)
	}
	if err := holder.Conn().Tx(t.Context(), workload.Rollback); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_, _ = holder.Close(), waiter.Close()
}

// throughTunnel asks about threads that are not a server's: as a tunnel, they
// are on this machine, and what is behind them may be anywhere.
func throughTunnel(t *testing.T, _ *foreign, e engine.Endpoint) {
	s := attachTo(t, e)
	for thread, name := range map[string]string{strconv.Itoa(os.Getpid()): "this test", "0": "nobody", "": "nothing"} {
		if here, why := s.here(thread); here || !strings.Contains(why, "tunnel") {
			t.Errorf("%s is taken for the server: %v, %q", name, here, why)
		}
	}
	s.Loopback = false
	if here, why := s.here("1"); here || !strings.Contains(why, "another machine") {
		t.Errorf("a server on another address is taken for this machine's: %v, %q", here, why)
	}
}
