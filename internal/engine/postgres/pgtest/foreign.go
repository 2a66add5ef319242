//go:build linux

package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

// ForeignPassword is the password of the users of a Foreign server. It stands
// nowhere else, so that a test can look for it where it must not be.
const ForeignPassword = "kF7-marker-of-a-password"

// Foreign is a server as somebody else would run it: on TCP with passwords
// (SCRAM), encrypted with a certificate for localhost and 127.0.0.1 alone, but
// listening on 127.0.0.2 as well.
//
// Users: "bench" may make databases; "guest" may not; "plain" may make them
// and comes in without encryption. All have ForeignPassword.
type Foreign struct {
	Bin     string // directory of the product's programs
	Dir     string // with the Unix socket
	Port    int
	CA      string // file with the certificate of the authority that made the server's
	OtherCA string // of one that did not
	server  *exec.Cmd
}

// StartForeign starts a server for the test; without the product's programs it
// skips the test, or fails it in CI. settings are added to its configuration:
// "fsync=off".
func StartForeign(tb testing.TB, settings ...string) *Foreign {
	tb.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		if os.Getenv("CI") == "true" {
			tb.Fatal("no PostgreSQL server: /usr/lib/postgresql/*/bin/initdb is missing")
		}
		tb.Skip("needs a PostgreSQL server: /usr/lib/postgresql/*/bin/initdb is missing")
	}
	dir, err := os.MkdirTemp("", "foreign-")
	if err != nil {
		tb.Fatal(err)
	}
	f := &Foreign{Bin: filepath.Dir(found[len(found)-1]), Dir: dir, CA: filepath.Join(dir, "ca.crt"), OtherCA: filepath.Join(dir, "other.crt")}
	tb.Cleanup(func() {
		f.Stop()
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	if err := f.make(settings); err != nil {
		tb.Fatal(err)
	}
	return f
}

// make makes the cluster, its certificates and users.
func (f *Foreign) make(settings []string) error {
	attr, err := unprivileged(f.Dir)
	if err != nil {
		return err
	}
	data := filepath.Join(f.Dir, "d")
	initdb := exec.Command(filepath.Join(f.Bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
	initdb.SysProcAttr, initdb.Dir = attr, f.Dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if err := enginetest.WriteCertificates(f.Dir, attr.Credential); err != nil {
		return err
	}
	hba := "local all postgres trust\nlocal all all scram-sha-256\n" +
		"hostnossl all plain 127.0.0.0/8 scram-sha-256\nhostssl all bench,guest 127.0.0.0/8 scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(hba), 0o644); err != nil {
		return err
	}
	if f.Port, err = freePort(); err != nil {
		return err
	}
	args := []string{"-D", data, "-k", f.Dir, "-p", strconv.Itoa(f.Port)}
	for _, s := range append([]string{
		"listen_addresses=127.0.0.1,127.0.0.2", "ssl=on", "ssl_cert_file=" + f.file("server.crt"), "ssl_key_file=" + f.file("server.key"),
		"max_connections=60", "shared_buffers=64MB", "full_page_writes=off", "max_wal_size=2GB",
	}, settings...) {
		args = append(args, "-c", s)
	}
	if err := f.start(attr, args); err != nil {
		return err
	}
	_, err = f.exec("postgres", "CREATE ROLE bench LOGIN CREATEDB PASSWORD '"+ForeignPassword+"'; CREATE ROLE guest LOGIN PASSWORD '"+ForeignPassword+
		"'; CREATE ROLE plain LOGIN CREATEDB PASSWORD '"+ForeignPassword+"'")
	return err
}

func (f *Foreign) file(name string) string { return filepath.Join(f.Dir, name) }

func (f *Foreign) start(attr *syscall.SysProcAttr, args []string) error {
	log, err := os.Create(f.file("log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(filepath.Join(f.Bin, "postgres"), args...)
	cmd.SysProcAttr, cmd.Dir, cmd.Stderr = attr, f.Dir, log
	if err := cmd.Start(); err != nil {
		return err
	}
	f.server = cmd
	for range 300 {
		if _, err = f.exec("postgres", "SELECT 1"); err == nil {
			return nil
		}
		_ = clock.Real{}.SleepUntil(context.Background(), clock.Real{}.Now().Add(50*time.Millisecond))
	}
	said, _ := os.ReadFile(log.Name())
	return fmt.Errorf("the server does not answer: %w\n%s", err, said)
}

// Stop ends the server at once.
func (f *Foreign) Stop() {
	if f.server == nil {
		return
	}
	_ = f.server.Process.Signal(syscall.SIGQUIT) // its data is thrown away
	_ = f.server.Wait()
	f.server = nil
}

// Log is the server's log so far.
func (f *Foreign) Log() string {
	text, _ := os.ReadFile(f.file("log"))
	return string(text)
}

// URL is the endpoint of a user and database on TCP: query is what follows
// the question mark.
func (f *Foreign) URL(user, host, database, query string) string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s?%s", user, host, f.Port, database, query)
}

// Exec runs statements as superuser in a database and returns the rows of the
// last one as texts.
func (f *Foreign) Exec(tb testing.TB, database, sql string) [][]string {
	tb.Helper()
	rows, err := f.exec(database, sql)
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

func (f *Foreign) exec(database, sql string) (rows [][]string, err error) {
	cfg, err := pgconn.ParseConfig("host=" + f.Dir + " user=postgres sslmode=disable")
	if err != nil {
		return nil, err
	}
	cfg.Port, cfg.Database = uint16(f.Port), database
	conn, err := pgconn.ConnectConfig(context.Background(), cfg)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	results, err := conn.Exec(context.Background(), sql).ReadAll()
	if err != nil || len(results) == 0 {
		return nil, err
	}
	for _, row := range results[len(results)-1].Rows {
		var texts []string
		for _, v := range row {
			texts = append(texts, string(v))
		}
		rows = append(rows, texts)
	}
	return rows, nil
}

// Databases are the names of all databases but the product's own.
func (f *Foreign) Databases(tb testing.TB) string {
	tb.Helper()
	var names []string
	for _, r := range f.Exec(tb, "postgres", "SELECT datname FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1') ORDER BY 1") {
		names = append(names, r[0])
	}
	return strings.Join(names, " ")
}
