//go:build linux

package container

import (
	"context"
	"os"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m, New) }

// open returns a directory that every user may enter.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "container-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// need skips where containers can't be had, but never where CI=true.
func need(t *testing.T, s provider.Shape) {
	t.Helper()
	if problems := New().Check(t.Context(), s); len(problems) > 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal(problems)
		}
		t.Skip(problems[0].Reason)
	}
}

// made provisions an instance for one test.
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

func TestSuite(t *testing.T) {
	need(t, provider.Shape{})
	providertest.Run(t, New, open(t))
}
