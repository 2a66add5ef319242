//go:build linux

package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// The suite of package providertest makes some fifty instances, whose files it
// looks at from the host; a machine takes many seconds to boot where it is
// emulated, and has a disk of its own. So what the suite asks for is asked here,
// of few machines.

// cacheVar names a cache directory that is kept from run to run, with its
// images.
const cacheVar = "LOADSTONE_TEST_CACHE"

func TestMain(m *testing.M) {
	if code, ok := Hidden(os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(inOneCache(m))
}

// inOneCache runs the tests with one cache for all, so that images are made once.
func inOneCache(m *testing.M) int {
	if os.Getenv(cacheVar) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "libvirt-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = errors.Join(os.Chmod(dir, 0o755), os.Setenv(cacheVar, dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// open returns the cache directory, which every user may enter.
func open(t *testing.T) string {
	t.Helper()
	return os.Getenv(cacheVar)
}

// small is a machine that boots where everything is emulated.
var small = provider.Shape{CPUs: 1, Memory: 512 * unit.MiB}

func need(t *testing.T, s provider.Shape) {
	t.Helper()
	if problems := New().Check(t.Context(), s); len(problems) > 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal(problems)
		}
		t.Skip(problems[0].Reason)
	}
}

func made(t *testing.T, cache string, shape provider.Shape) *Instance {
	t.Helper()
	need(t, shape)
	inst, err := New().Provision(t.Context(), provider.Request{Name: "subject", Shape: shape, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := inst.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return inst.(*Instance)
}
