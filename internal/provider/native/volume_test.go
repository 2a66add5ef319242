//go:build linux

package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// passable is a new directory that every user can pass.
func passable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "loadstone-volume-*")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func left(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "loadstone/instances/[^.]*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAVolumeForLogsIsTheInstancesAndGoesWithIt(t *testing.T) {
	log, cache := passable(t), passable(t)
	made, err := New().Provision(t.Context(), provider.Request{Name: "apart", Cache: cache, Shape: provider.Shape{LogVolume: log}})
	if err != nil {
		t.Fatal(err)
	}
	i := made.(*Instance)
	if out, err := i.Command(t.Context(), "sh", "-c", `ls -A "$0" | wc -l && echo log >"$0/wal" && stat -c %U "$0"`, i.LogDir()).CombinedOutput(); err != nil || strings.Join(strings.Fields(string(out)), " ") != "0 "+i.user.Name {
		t.Errorf("the directory for the log: %q, %v; want it empty and %s's", out, err, i.user.Name)
	}
	if i.Confined() {
		t.Error("a place for the log was taken for a limit")
	}
	knobs, err := i.Effective(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, k := range knobs {
		if k.Name == "instance.log_volume" && k.Matches && k.Intended == log && strings.HasPrefix(k.Effective, log+" (") {
			read++
		}
	}
	if read != 1 || len(left(t, log)) != 1 {
		t.Errorf("the volume is not read back (%+v), or not used: %v", knobs, left(t, log))
	}
	if err := i.Close(t.Context()); err != nil || len(left(t, log)) > 0 {
		t.Errorf("closed: %v; left are %v", err, left(t, log))
	}
	if err := i.Close(t.Context()); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// TestLogsOfTheDeadAreSwept: the owner of a volume's directory dies without
// closing it.
func TestLogsOfTheDeadAreSwept(t *testing.T) {
	log, cache := passable(t), passable(t)
	shape := provider.Shape{LogVolume: log}
	made, err := New().Provision(t.Context(), provider.Request{Name: "dead", Cache: cache, Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	dead := made.(*Instance)
	if err := dead.logs.Abandon(); err != nil {
		t.Fatal(err)
	}
	made, err = New().Provision(t.Context(), provider.Request{Name: "next", Cache: cache, Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	next := made.(*Instance)
	if _, err := os.Stat(dead.LogDir()); !os.IsNotExist(err) || len(left(t, log)) != 1 {
		t.Errorf("the dead owner's log is still there (%v): %v", err, left(t, log))
	}
	for _, i := range []*Instance{next, dead} {
		if err := i.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestAVolumeThatTheInstanceCannotUseIsRefused(t *testing.T) {
	closed := passable(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	i, err := New().Provision(t.Context(), provider.Request{Name: "shut", Cache: passable(t), Shape: provider.Shape{LogVolume: closed}})
	if os.Geteuid() != 0 {
		t.Skip("who is not root runs instances as himself and may enter what is his")
	}
	if err == nil || !strings.Contains(err.Error(), "instance.log_volume") {
		t.Errorf("got %v; want the volume refused", err)
	}
	if i != nil || len(left(t, closed)) > 0 {
		t.Errorf("left are %v", left(t, closed))
	}
}
