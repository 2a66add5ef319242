package catalog

import (
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/study"
)

// happenings are what can happen to running instances of p, found out by what
// its instances implement.
func happenings(p provider.Provider) (names []string) {
	live, ok := p.(provider.Live)
	if !ok {
		return nil
	}
	kind := live.Prototype()
	if _, ok := kind.(provider.Resizer); ok {
		names = append(names, study.EventSet)
	}
	if _, ok := kind.(provider.Migrator); ok {
		names = append(names, study.EventMigrate)
	}
	if _, ok := kind.(provider.StorageMover); ok {
		names = append(names, study.EventMoveStorage)
	}
	return names
}
