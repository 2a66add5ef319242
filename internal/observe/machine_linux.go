package observe

import (
	"slices"

	"github.com/prometheus/procfs"

	"github.com/loadstone-perf/loadstone/internal/record"
)

func describeCPUs(m *record.Machine, proc procfs.FS) {
	cpus, err := proc.CPUInfo()
	if err != nil || len(cpus) == 0 {
		return
	}
	sockets, cores := map[string]bool{}, map[string]bool{}
	for _, c := range cpus {
		sockets[c.PhysicalID] = true
		cores[c.PhysicalID+"/"+c.CoreID] = true
	}
	m.CPUModel, m.MHz, m.Threads = cpus[0].ModelName, cpus[0].CPUMHz, len(cpus)
	m.Sockets, m.Cores = len(sockets), len(cores)
	if slices.Contains(cpus[0].Flags, "hypervisor") {
		m.Hypervisor = "a hypervisor (the CPU says so)"
		if name := word("/sys/hypervisor/type"); name != "" {
			m.Hypervisor = name
		} else if name := word("/sys/class/dmi/id/sys_vendor"); name != "" {
			m.Hypervisor = name
		}
	}
}
