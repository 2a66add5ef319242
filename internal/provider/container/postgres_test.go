//go:build linux

package container

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// serverPrograms returns the directory of a PostgreSQL server.
func serverPrograms(t *testing.T) string {
	t.Helper()
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(dirs) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("no PostgreSQL server in /usr/lib/postgresql")
		}
		t.Skip("no PostgreSQL server in /usr/lib/postgresql")
	}
	return dirs[len(dirs)-1]
}

// TestARealServer makes a database, starts the server, reaches it from the
// host through its socket, ends it by a signal, keeps a golden state and
// starts from that in a second container.
func TestARealServer(t *testing.T) {
	bin, cache := serverPrograms(t), open(t)
	shape := provider.Shape{CPUs: 1, Memory: 512 * unit.MiB}
	i := made(t, cache, shape)
	run(t, i, filepath.Join(bin, "initdb"), "-D", filepath.Join(i.Dir(), "data"), "-A", "trust", "-U", "owner", "--no-sync")
	server := serve(t, i, bin)
	query(t, i, bin, "create table t as select generate_series(1, 1000) n")
	stop(t, server)
	if err := i.Save(t.Context(), "state", nil); err != nil {
		t.Fatal(err)
	}
	if err := i.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := made(t, cache, shape)
	if _, err := other.Restore(t.Context(), "state"); err != nil {
		t.Fatal(err)
	}
	server = serve(t, other, bin)
	if got := query(t, other, bin, "select sum(n) from t"); got != "500500" {
		t.Errorf("the restored database says %q", got)
	}
	// Shared memory is larger than an engine's own default would allow.
	if got := query(t, other, bin, "set max_parallel_workers_per_gather=0; select count(*) from generate_series(1, 100000)"); !strings.HasSuffix(got, "100000") {
		t.Errorf("got %q", got)
	}
	stop(t, server)
}

func run(t *testing.T, i *Instance, name string, args ...string) string {
	t.Helper()
	out, err := i.Command(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return strings.TrimSpace(string(out))
}

func serve(t *testing.T, i *Instance, bin string) *exec.Cmd {
	t.Helper()
	var log strings.Builder
	cmd := i.Command(context.WithoutCancel(t.Context()), filepath.Join(bin, "postgres"), "-D", filepath.Join(i.Dir(), "data"),
		"-k", i.Dir(), "-c", "listen_addresses=", "-c", "fsync=off")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(i.Dir(), ".s.PGSQL.5432")
	eventually(t, "the server answers", func() bool {
		conn, err := net.Dial("unix", socket) // from the host
		if err != nil {
			return false
		}
		_ = conn.Close()
		return i.Command(t.Context(), filepath.Join(bin, "psql"), "-h", i.Dir(), "-U", "owner", "-c", "select 1", "postgres").Run() == nil
	})
	return cmd
}

func query(t *testing.T, i *Instance, bin, sql string) string {
	t.Helper()
	return run(t, i, filepath.Join(bin, "psql"), "-qAtX", "-h", i.Dir(), "-U", "owner", "-c", sql, "postgres")
}

// stop is PostgreSQL's fast shutdown.
func stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
