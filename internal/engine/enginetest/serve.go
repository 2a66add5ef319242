package enginetest

import (
	"context"
	"os"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
)

// Serve starts a server of e on a new, empty database for the test: for
// workloads that try their statements on a real one. A machine without a
// server skips the test, with the reason; in CI it fails.
func Serve(t *testing.T, e engine.Engine, c engine.Config) engine.Database {
	t.Helper()
	in := located(t, e)
	m := LocalMachine(t)
	if err := in.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	db, err := in.Start(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return db
}

// located is e's server program. Without one the test is skipped, or fails in
// CI.
func located(t testing.TB, e engine.Engine) engine.Installation {
	t.Helper()
	in, err := e.Locate(t.Context(), engine.Want{})
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("needs a server: %v", err)
	}
	return in
}
