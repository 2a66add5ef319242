package postgres

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

// cluster makes an empty cluster in a new machine.
func cluster(t *testing.T) (*installation, *enginetest.Local) {
	t.Helper()
	m := enginetest.LocalMachine(t).(*enginetest.Local)
	in, err := New().Locate(t.Context(), engine.Want{Version: ">=15"})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return in.(*installation), m
}

func startServer(t *testing.T, in *installation, m engine.Machine, settings map[string]string) *server {
	t.Helper()
	db, err := in.Start(t.Context(), m, engine.Config{Connections: 5, Durable: true, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Stop(t.Context()) }) // its context is over: at once
	return db.(*server)
}

// TestServer shares one cluster, because making one takes a second.
func TestServer(t *testing.T) {
	in, m := cluster(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *installation, *enginetest.Local)
	}{
		{"TakesTheGoldenSchema", goldenSchema},
		{"OpensOnLoopbackOnlyToAPassword", loopback},
		{"FindsItsPortTaken", portTaken},
		{"ThatIsKilledLeavesNoSharedMemory", killed},
		{"ThatCanNotStartSaysWhy", lastWords}, // spoils the cluster
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, in, m) })
	}
}

func killed(t *testing.T, in *installation, m *enginetest.Local) {
	s := startServer(t, in, m, nil)
	// A session maps segments that were made after the start.
	if _, err := s.Settings(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Conn().Close() }() // in no order: the session stays busy
	// A busy loop does not notice that the postmaster dies.
	conn.Exec(t.Context(), `DO 'BEGIN PERFORM count(*) FROM pg_stat_database; LOOP END LOOP; END'`)

	var files []string
	pids := processesIn(dataDir(m))
	for _, pid := range pids {
		files = append(files, sharedFiles(pid)...)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	if len(pids) < 4 || len(files) == 0 {
		t.Skipf("this system tells of %d processes with %d shared files", len(pids), len(files))
	}
	lock, err := os.ReadFile(filepath.Join(dataDir(m), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Fields(strings.Split(string(lock), "\n")[6])
	if err := syscall.Kill(s.process.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Exited()
	if err := s.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("stop: %v, want an error that says that the server was killed", err)
	}
	if left := enginetest.Processes(m.Dir()); len(left) > 0 {
		t.Errorf("processes %d are left", left)
	}
	for _, f := range files {
		if _, err := os.Stat(f); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left", f)
		}
	}
	table, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == key[1] {
			t.Errorf("segment %s is left: %s", key, line)
		}
	}
}

func goldenSchema(t *testing.T, in *installation, m *enginetest.Local) {
	s := startServer(t, in, m, nil)
	conn, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	before, after, err := Dialect{}.Schema(shop())
	if err != nil {
		t.Fatal(err)
	}
	loaded := []string{"INSERT INTO customers (customerid, name, balance) VALUES (41, 'x', 0)"}
	for _, text := range slices.Concat(before, loaded, after) {
		if _, err := conn.Exec(t.Context(), text).ReadAll(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	r := conn.ExecParams(t.Context(), "INSERT INTO Customers (name, balance) VALUES ('y', 0) RETURNING customerid", nil, nil, nil, nil).Read()
	if r.Err != nil || string(r.Rows[0][0]) != "42" {
		t.Errorf("the number after the loaded 41: %s, %v, want 42", r.Rows, r.Err)
	}
	r = conn.ExecParams(t.Context(), "SELECT pg_get_expr(indexprs, indrelid) FROM pg_index WHERE indexrelid = 'order_words'::regclass", nil, nil, nil, nil).Read()
	if r.Err != nil || !strings.Contains(string(r.Rows[0][0]), "to_tsvector('simple'") {
		t.Errorf("full-text index: %s, %v", r.Rows, r.Err)
	}
	words, err := conn.Exec(t.Context(), "SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')").ReadAll()
	if err != nil || len(words) != 1 || len(words[0].Rows) < 90 {
		t.Fatalf("the server's reserved words: %v", err)
	}
	for _, row := range words[0].Rows {
		if !reserved(string(row[0])) {
			t.Errorf("%s is reserved", row[0])
		}
	}
}

func TestALongPathGetsAShortSocket(t *testing.T) {
	short := enginetest.LocalMachine(t)
	long := deep{short, filepath.Join(short.Dir(), strings.Repeat("d", 100))}
	if _, err := daemon.Run(short.Command(t.Context(), "mkdir", long.dir)); err != nil {
		t.Fatal(err)
	}
	in, err := New().Locate(t.Context(), engine.Want{Version: ">=15"})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Create(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, in.(*installation), long, nil)
	if len(s.address.socket()) > 103 || !strings.Contains(s.Endpoint(), s.address.socket()) {
		t.Errorf("socket %s, endpoint %s", s.address.socket(), s.Endpoint())
	}
	info, err := os.Stat(s.address.dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's directory: %v, %v, want mode 0700", info, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.address.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's directory is left: %v", err)
	}
}

// deep is a machine whose directory is somewhere else.
type deep struct {
	engine.Machine
	dir string
}

func (d deep) Dir() string { return d.dir }

func loopback(t *testing.T, in *installation, m *enginetest.Local) {
	s := startServer(t, in, m, nil)
	admin, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(t.Context()) }()
	if _, err := admin.Exec(t.Context(), "CREATE ROLE web LOGIN PASSWORD 'secret'").ReadAll(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user, password string
		want           bool
	}{{"web", "secret", true}, {"web", "wrong", false}, {"web", "", false}, {superuser, "", false}, {superuser, "secret", false}} {
		config, err := s.superuser()
		if err != nil {
			t.Fatal(err)
		}
		config.Host, config.User, config.Password = "127.0.0.1", c.user, c.password
		conn, err := pgconn.ConnectConfig(t.Context(), config)
		if (err == nil) != c.want {
			t.Errorf("%s with password %q: %v, want success %t", c.user, c.password, err, c.want)
		}
		if err == nil {
			_ = conn.Close(t.Context())
		}
	}
}

func lastWords(t *testing.T, in *installation, m *enginetest.Local) {
	if err := os.Remove(filepath.Join(dataDir(m), "PG_VERSION")); err != nil {
		t.Fatal(err)
	}
	db, err := in.Start(t.Context(), m, engine.Config{Durable: true})
	if err == nil {
		_ = db.Stop(t.Context())
		t.Fatal("a directory without PG_VERSION was started")
	}
	if !strings.Contains(err.Error(), "is not a valid data directory") || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("error %v, want the server's message and its exit status", err)
	}
}

func TestAFailedCreateLeavesNothing(t *testing.T) {
	m := enginetest.LocalMachine(t)
	found, err := New().Locate(t.Context(), engine.Want{})
	if err != nil {
		t.Fatal(err)
	}
	in := *found.(*installation)
	in.bin = filepath.Join(m.Dir(), "nowhere")
	if err := in.Create(t.Context(), m); err == nil {
		t.Error("Create without initdb succeeded")
	}
	left, err := os.ReadDir(m.Dir())
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func portTaken(t *testing.T, in *installation, m *enginetest.Local) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	s, err := in.start(t.Context(), m, nil, true, taken.Addr().(*net.TCPAddr).Port)
	if !errors.Is(err, daemon.ErrPortTaken) {
		t.Errorf("%v, %v, want an error that makes Start try another port", s, err)
	}
}
