package load

import (
	"context"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/pgtest"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
)

var shared pgtest.Shared

func TestMain(m *testing.M) { shared.Main(m) }

// dial connects to a database as superuser.
func dial(tb testing.TB, database string) *wire.Conn {
	tb.Helper()
	cfg := shared.Get(tb).Config()
	cfg.Database = database
	c, err := wire.Connect(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// waitFor returns when done does, or fails.
func waitFor(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	const tries, pause = 200, 20 * time.Millisecond
	for range tries {
		if done() {
			return
		}
		_ = clock.Real{}.SleepUntil(context.Background(), clock.Real{}.Now().Add(pause))
	}
	tb.Fatalf("%s: not within %d tries", what, tries)
}
