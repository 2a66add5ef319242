package mysql

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

// database makes an empty database in a new machine.
func database(t *testing.T) (*installation, *enginetest.Local) {
	t.Helper()
	found, err := New().Locate(t.Context(), engine.Want{})
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("needs a server: %v", err)
	}
	m := enginetest.LocalMachine(t).(*enginetest.Local)
	if err := found.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return found.(*installation), m
}

func startServer(t *testing.T, in *installation, m engine.Machine) *server {
	t.Helper()
	db, err := in.Start(t.Context(), m, engine.Config{Connections: 5, Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Stop(t.Context()) }) // its context is over: at once
	return db.(*server)
}

// TestServer shares one database, because making one takes a second.
func TestServer(t *testing.T) {
	in, m := database(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *installation, *enginetest.Local)
	}{
		{"TakesTheGoldenSchema", goldenSchema},
		{"ReadsNoOtherConfiguration", foreignConfiguration},
		{"FindsItsPortTaken", portTaken},
		{"GetsAShortSocketForALongPath", shortSocket},
		{"ThatCanNotStartSaysWhy", lastWords}, // spoils the database
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, in, m) })
	}
}

func goldenSchema(t *testing.T, in *installation, m *enginetest.Local) {
	s := startServer(t, in, m)
	conn, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	before, after, err := Dialect{product: in.product}.Schema(shop())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range slices.Concat([]string{"CREATE DATABASE shop; USE shop"}, before, after) {
		if err := conn.Exec(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// foreignConfiguration puts options where the product looks for them by habit:
// in the home directory of the machine's user.
func foreignConfiguration(t *testing.T, in *installation, m *enginetest.Local) {
	for _, name := range []string{".my.cnf", "my.cnf"} {
		path := filepath.Join(m.Dir(), name)
		if err := os.WriteFile(path, []byte("[mysqld]\nno_such_option = 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Remove(path) }()
	}
	s := startServer(t, in, m)
	if strings.Contains(s.Log(), "no_such_option") {
		t.Error("the server read another configuration file")
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func portTaken(t *testing.T, in *installation, m *enginetest.Local) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	s, err := in.start(t.Context(), m, nil, taken.Addr().(*net.TCPAddr).Port)
	if !errors.Is(err, daemon.ErrPortTaken) {
		t.Errorf("%v, %v, want an error that makes Start try another port", s, err)
	}
}

// deep is a machine whose directory is somewhere else.
type deep struct {
	engine.Machine
	dir string
}

func (d deep) Dir() string { return d.dir }

func shortSocket(t *testing.T, in *installation, m *enginetest.Local) {
	// The same files by a long path.
	long := deep{m, filepath.Join(m.Dir(), strings.Repeat("d", 100))}
	if err := os.Symlink(m.Dir(), long.dir); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove(long.dir) }()
	s := startServer(t, in, long)
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

func lastWords(t *testing.T, in *installation, m *enginetest.Local) {
	if err := os.WriteFile(filepath.Join(dataDir(m), "ibdata1"), []byte("not a tablespace"), 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := in.Start(t.Context(), m, engine.Config{Durable: true})
	if err == nil {
		_ = db.Stop(t.Context())
		t.Fatal("a directory with a spoilt tablespace was started")
	}
	if !strings.Contains(err.Error(), "ibdata1") || !strings.Contains(err.Error(), "exit status") {
		t.Errorf("error %v, want the server's message and its exit status", err)
	}
}

func TestAFailedCreateLeavesNothing(t *testing.T) {
	m := enginetest.LocalMachine(t)
	in := installation{product: mariadb, maker: filepath.Join(m.Dir(), "nowhere"), version: version{10, 11, 19}}
	if err := in.Create(t.Context(), m); err == nil {
		t.Error("Create without the product's program succeeded")
	}
	left, err := os.ReadDir(m.Dir())
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
