package mysql

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

func TestMariaDBPassesTheSuite(t *testing.T) {
	enginetest.Run(t, New, enginetest.LocalMachine)
}
