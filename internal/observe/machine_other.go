//go:build !linux

package observe

import (
	"github.com/prometheus/procfs"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// describeCPUs knows nothing more than runtime.NumCPU where there is no /proc.
func describeCPUs(*record.Machine, procfs.FS) {}
