package sqlite

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

func TestSQLitePassesTheSuite(t *testing.T) {
	enginetest.Run(t, New, enginetest.LocalMachine)
}
