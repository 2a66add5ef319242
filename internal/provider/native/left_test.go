//go:build linux

package native

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// TestSharedMemoryGoesWithAnOwner starts a real server, which shares memory
// under names of the system's, and ends its owner's pipe as its death would:
// once with a watchdog, once where that was killed, too.
func TestSharedMemoryGoesWithAnOwner(t *testing.T) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(dirs) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("no PostgreSQL server in /usr/lib/postgresql")
		}
		t.Skip("no PostgreSQL server in /usr/lib/postgresql")
	}
	bin, cache := dirs[len(dirs)-1], open(t)
	for _, watched := range []bool{true, false} {
		i := made(t, cache, provider.Shape{})
		shared := share(t, i, bin)
		if watched {
			if err := i.watch.pipe.Close(); err != nil {
				t.Fatal(err)
			}
			if err := i.watch.cmd.Wait(); err != nil {
				t.Errorf("the watchdog ended with %v", err)
			}
		} else {
			i.watch.stop()
			if err := i.home.Abandon(); err != nil {
				t.Fatal(err)
			}
			removeLeft(t, cache, i.home.Dir, shared)
		}
		for _, path := range shared.Files {
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("watched %v: %s is left", watched, path)
			}
		}
		table, err := os.ReadFile("/proc/sysvipc/shm")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(table)) {
			for _, name := range shared.Names() {
				if f := strings.Fields(line); len(f) > 1 && name == "shared memory segment "+f[1] {
					t.Errorf("watched %v: %s is left", watched, name)
				}
			}
		}
	}
}

// share starts a server in i and returns what it shares.
func share(t *testing.T, i *Instance, bin string) (shared cgroup.Shared) {
	t.Helper()
	data := filepath.Join(i.Dir(), "data")
	if out, err := i.Command(t.Context(), filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	server := i.Command(context.WithoutCancel(t.Context()), filepath.Join(bin, "postgres"), "-D", data, "-k", i.Dir(), "-c", "listen_addresses=")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Wait() }()
	clk := clock.Real{}
	for range 1000 {
		if shared = cgroup.SharedBy(running(i.home.Dir, i.home.Mark)); len(shared.Files) > 0 && len(shared.Segments) > 0 {
			return shared
		}
		if err := clk.SleepUntil(t.Context(), clk.Now().Add(1e7)); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("the server shares nothing: %+v", shared)
	return shared
}

// removeLeft removes what is left of the instance in dir, which must tell of
// what was shared.
func removeLeft(t *testing.T, cache, dir string, shared cgroup.Shared) {
	t.Helper()
	found, err := New().(provider.Cleaner).Leftovers(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range found {
		if l.What != dir {
			continue
		}
		for _, name := range shared.Names() {
			if !strings.Contains(strings.Join(l.Parts, "\n")+"\n", name+"\n") {
				t.Errorf("%s is not among %v", name, l.Parts)
			}
		}
		if err := l.Remove(t.Context()); err != nil {
			t.Error(err)
		}
		return
	}
	t.Errorf("%s is not among %+v", dir, found)
}

// TestSocketsBelowTmpGoWithTheInstance makes the socket's directory as an
// engine does where the cache has a long path, and leaves it.
func TestSocketsBelowTmpGoWithTheInstance(t *testing.T) {
	long := filepath.Join(open(t), strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	other := made(t, long, provider.Shape{})
	theirs, err := daemon.SocketDir(t.Context(), other, "socket")
	if err != nil {
		t.Fatal(err)
	}
	dead, closed := made(t, long, provider.Shape{}), made(t, long, provider.Shape{})
	for _, i := range []*Instance{dead, closed} {
		dir, err := daemon.SocketDir(t.Context(), i, "socket")
		if err != nil || filepath.Dir(dir) != "/tmp" {
			t.Fatalf("the socket is in %s, %v", dir, err)
		}
		if i == dead {
			i.watch.stop()
			if err := i.home.Abandon(); err != nil {
				t.Fatal(err)
			}
			found, err := New().(provider.Cleaner).Leftovers(t.Context(), long)
			if err != nil || len(found) == 0 || !strings.Contains(strings.Join(found[0].Parts, " "), dir) {
				t.Errorf("%s is not among %+v, %v", dir, found, err)
			}
			_, err = Sweep(long)
			if err != nil {
				t.Fatal(err)
			}
		} else if err := i.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Errorf("another's socket: %v", err)
	}
}

// TestControlGroupsWithoutADirectoryAreLeftovers removes the cache of a dead
// owner by hand, whose watchdog was killed; and that of a living one.
func TestControlGroupsWithoutADirectoryAreLeftovers(t *testing.T) {
	i := made(t, open(t), provider.Shape{})
	if i.group == nil {
		t.Skip("no cgroup can be had")
	}
	orphans := func() (found []provider.Leftover) {
		all, err := New().(provider.Cleaner).Leftovers(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			if filepath.Base(l.What) == cgroup.Name(i.home.ID) {
				found = append(found, l)
			}
		}
		return found
	}
	if err := os.Rename(i.home.Dir, i.home.Dir+"-away"); err != nil {
		t.Fatal(err)
	}
	if found := orphans(); len(found) > 0 {
		t.Errorf("of an owner that lives: %+v", found)
	}
	i.watch.stop()
	left := i.home.Mark.Owner
	i.home.Mark.StartTime--
	if err := i.markGroup(); err != nil {
		t.Fatal(err)
	}
	found := orphans()
	if len(found) != len(i.group.Dirs()) {
		t.Errorf("of %v found are %+v", i.group.Dirs(), found)
	}
	for _, l := range found {
		if err := l.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, dir := range i.group.Dirs() {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	i.home.Mark.Owner = left
	if err := os.Rename(i.home.Dir+"-away", i.home.Dir); err != nil {
		t.Fatal(err)
	}
}

// TestGoldenStatesStayWhileAnInstanceRuns: they are removed on demand alone.
func TestGoldenStatesStayWhileAnInstanceRuns(t *testing.T) {
	cache := open(t)
	i := made(t, cache, provider.Shape{})
	if err := i.Save(t.Context(), "state", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(cache, "golden", "notes", "data"), 0o755); err != nil { // somebody else's
		t.Fatal(err)
	}
	store := New().(provider.Storer)
	if found, err := store.Stored(t.Context(), cache); !errors.Is(err, provider.ErrOwned) || len(found) > 0 {
		t.Errorf("while an instance runs: %+v, %v", found, err)
	}
	if err := i.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := store.Stored(t.Context(), cache)
	if err != nil || len(found) != 1 || found[0].Owner.PID != os.Getpid() || found[0].Since.IsZero() {
		t.Fatalf("stored are %+v, %v", found, err)
	}
	later := made(t, cache, provider.Shape{})
	if err := found[0].Remove(t.Context()); !errors.Is(err, provider.ErrOwned) {
		t.Errorf("removing while an instance runs again gives %v", err)
	}
	if err := later.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := found[0].Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := later.Find(t.Context(), "state"); ok || err != nil {
		t.Errorf("after removing: %v, %v", ok, err)
	}
	if _, err := home.Living(t.Context(), clock.Real{}, filepath.Join(cache, "nowhere")); err != nil {
		t.Error(err)
	}
}
