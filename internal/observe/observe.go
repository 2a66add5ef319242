// Package observe samples counters of host, instances, databases and the
// driver on one clock, and hands them to a record.
//
// A Source is one thing with a fixed list of columns; the Sampler reads all
// sources at each tick. A counter that a machine does not have is absent, or
// NaN where only a reading failed; it is never zero.
package observe

import (
	"context"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// Column is one counter. Its name is in snake case with the unit last:
// cpu_user_s, read_bytes, mem_used_bytes. Totals are recorded raw: rates are
// the analysis's business.
type Column = record.Column

// Source is one thing that has counters.
type Source interface {
	// Name is the scope, unique in a trial: "host", "driver",
	// "instance.cgroup", "instance.database".
	Name() string
	// Columns never change after the first call.
	Columns() []Column
	// Read fills out, which is as long as Columns; NaN stands for a reading
	// that failed. The error is for a source that is gone for good.
	Read(ctx context.Context, out []float64) error
}

// StateSource counts things by a state whose names are not known beforehand:
// the wait events of sessions. It is polled more often than Sources, and
// recorded as counts a second.
type StateSource interface {
	Name() string
	// Poll calls add once for each state with the number of things in it now.
	Poll(ctx context.Context, add func(state string, n int)) error
}
