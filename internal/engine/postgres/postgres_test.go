package postgres

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

func TestPostgreSQLPassesTheSuite(t *testing.T) {
	enginetest.Run(t, New, enginetest.LocalMachine)
}
