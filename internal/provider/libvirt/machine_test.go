//go:build linux

package libvirt

import (
	"context"
	"os"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/providertest"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

func TestMain(m *testing.M) {
	if code, ok := Hidden(os.Args[1:]); ok {
		os.Exit(code)
	}
	providertest.Main(m, New)
}

// open returns a cache directory that every user may enter. Where
// LOADSTONE_TEST_CACHE names one, it is kept from test to test with its images.
func open(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("LOADSTONE_TEST_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.MkdirTemp("", "libvirt-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
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
