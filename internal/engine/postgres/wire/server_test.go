package wire

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine/postgres/pgtest"
)

var shared pgtest.Shared

func TestMain(m *testing.M) { shared.Main(m) }

// config is how the tests connect to s.
func config(s *pgtest.Server) Config {
	return Config{Network: "unix", Address: s.Socket, User: "postgres", Database: "postgres"}
}

// dial connects, with statements prepared; the connection closes with the test.
func dial(tb testing.TB, change func(*Config)) *Conn {
	tb.Helper()
	cfg := config(shared.Get(tb))
	if change != nil {
		change(&cfg)
	}
	c, err := Dial(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}
