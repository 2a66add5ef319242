package demand

import (
	"slices"

	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

// WithDriver is sc with a load generator on the host's own processors, which
// works w.Driver for each transaction. Users do not wait for it: what they wait
// is in the network's latency already. The instances of sc must be processes,
// not virtual machines. sc itself is left as it is.
func WithDriver(sc twin.Scenario, w *Workload) twin.Scenario {
	first := len(sc.Guests)
	sc.Guests, sc.Instances = slices.Clone(sc.Guests), slices.Clone(sc.Instances)
	for n := range sc.Host.Nodes {
		sc.Guests = append(sc.Guests, twin.Guest{Node: n, Client: host.Client{Name: "driver", Interleaved: true}})
	}
	for i := range sc.Instances {
		x := &sc.Instances[i]
		x.Driver = first + sc.Guests[x.Guest].Node + 1
		x.Costs.Driver = w.Driver.Value * w.GHz / sc.Host.CPU.GHz
	}
	return sc
}
