package trial

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
	hardware "github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/twin/scenario"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Model is a provider whose trials are calculated: provider/twin.
type Model interface {
	provider.Provider
	Model() *demand.File // the host, and what was fitted to real trials
	Source() []byte      // text of its file
	Virtual() bool       // instances are virtual machines
	// Stores name the stores of data and logs, "" being the usual ones.
	Stores() (data, log string)
}

// ModelCPUs are the CPUs of a node of a modelled host, numbered by socket, core
// and thread, so that instances are placed on it as on a real one.
func ModelCPUs(h *hardware.Host) CPUs {
	var out CPUs
	n := 0
	for s := range h.CPU.Sockets {
		socket := observe.Socket{Number: s}
		node := observe.Node{Number: s, Memory: h.Memory / unit.Bytes(h.CPU.Sockets)}
		for range h.CPU.Cores {
			var core observe.Core
			for range h.CPU.Threads {
				core.CPUs = append(core.CPUs, n)
				n++
			}
			out.Allowed, node.CPUs = append(out.Allowed, core.CPUs...), append(node.CPUs, core.CPUs...)
			socket.Cores = append(socket.Cores, core)
		}
		out.Topology.Sockets = append(out.Topology.Sockets, socket)
		out.Topology.Nodes = append(out.Topology.Nodes, node)
	}
	return out
}

// Unmodelled lists what c asks for and a model of h has not, shapes apart:
// those the provider refuses.
func Unmodelled(c study.Config, h *hardware.Host) (problems []provider.Problem) {
	refuse := func(asked bool, knob, reason string) {
		p := provider.Problem{Knob: knob, Reason: reason, Remedy: "leave " + knob + " out: left in, it would be asked for and not calculated"}
		if asked && !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	refuse(c.Driver != study.Driver{}, "driver", "the users of the twin take no CPU of its host")
	length := c.Run.Ramp + c.Run.Warmup + c.Run.Measure
	refuse((length+c.Run.MeasureMax)%time.Second != 0, "run", fmt.Sprintf("the twin simulates whole seconds, and ramp, warm-up and measuring are %s together", length))
	for _, g := range c.Groups {
		l := g.Load
		refuse(len(l.Profile) > 0, "profile", "the twin's load is steady once the ramp is over")
		refuse(l.RatePerS == 0 && l.Connections > 0 && l.Connections != l.Users, "connections", "each user of the twin has a connection")
		for _, name := range slices.Sorted(maps.Keys(g.Settings)) {
			_, known := modelledSettings(c.Engine.Name)[name]
			refuse(!known, "engine.settings."+name, fmt.Sprintf("the twin's database knows only %s of the settings of %s",
				strings.Join(slices.Sorted(maps.Keys(modelledSettings(c.Engine.Name))), " and "), c.Engine.Name))
		}
	}
	return append(problems, crowded(c, h)...)
}

// crowded says where the instances' memory or reservations together are more
// than a node has. Instances go to the nodes in turn.
func crowded(c study.Config, h *hardware.Host) (problems []provider.Problem) {
	memory, reserved := make([]unit.Bytes, h.Nodes), make([]float64, h.Nodes)
	n := 0
	for _, g := range c.Groups {
		for range g.Count {
			memory[n%h.Nodes] += g.Shape.Memory
			reserved[n%h.Nodes] += g.Shape.Reservation
			n++
		}
	}
	if most := slices.Max(memory); most > h.Memory {
		problems = append(problems, provider.Problem{Knob: "instance.memory", Remedy: "fewer or smaller instances, or another host",
			Reason: fmt.Sprintf("the instances on a node of %s have %s together, and it has %s: the twin has no swapping", h.Name, most.Human(), h.Memory.Human())})
	}
	if cores := float64(h.CPU.Sockets * h.CPU.Cores); slices.Max(reserved) > cores {
		problems = append(problems, provider.Problem{Knob: "instance.cpu_reservation", Remedy: "less, or another host",
			Reason: fmt.Sprintf("%g CPUs are kept on a node of %s, which has %g cores", slices.Max(reserved), h.Name, cores)})
	}
	return problems
}

// setting is one that the model has, with the product's own default.
type setting struct {
	usual string
	about string
}

// modelledSettings are the settings of an engine that the model has. The
// defaults are those of the products' documentation.
func modelledSettings(engine string) map[string]setting {
	switch engine {
	case "postgres":
		return map[string]setting{
			"shared_buffers":     {"128MB", "pages in it need no copying from the page cache, which has the rest of the memory"},
			"checkpoint_timeout": {"5min", "time between checkpoints, which write over nine tenths of it"},
		}
	case "mysql":
		return map[string]setting{"innodb_buffer_pool_size": {"128MB", "the only cache: files are read past the page cache"}}
	}
	return nil
}

// flushEvery is over how long InnoDB's flushing, which has no checkpoints in the
// sense of the model, gets round to all dirty pages.
const flushEvery = time.Minute

// pageCachePart is the part of an instance's memory that is left for caches:
// the rest is the system's and the sessions' own.
const pageCachePart = 0.9

// modelled is one instance of a configuration in the model's terms. s is
// the shape that Seat gave it, and memory what it may use.
func modelled(c study.Config, g study.Group, d *workload.Definition, m Model, s provider.Shape, memory unit.Bytes) (scenario.Instance, error) {
	demands, _, err := scenario.DemandsOf(m.Model(), d, c.Engine.Name)
	if err != nil {
		return scenario.Instance{}, err
	}
	data, log := m.Stores()
	out := scenario.Instance{
		Workload: d, Demands: demands, Data: data, Log: log,
		Shape: scenario.Shape{
			CPUs: s.CPUs, Threads: listed(s.CPUSet), Shares: float64(s.CPUShares), Reservation: s.Reservation,
			VirtualNUMA: s.VirtualNUMA, LowLatency: s.LatencySensitivity == "high", Memory: memory,
		},
		Load: scenario.Load{Users: g.Load.Users, RatePerS: g.Load.RatePerS, Constant: g.Load.Arrivals == "constant"},
	}
	if g.Load.RatePerS > 0 {
		out.Load.Users, out.Load.Connections = 0, load(g.Load, d).Sessions()-load(g.Load, d).Extra()
	}
	if s.LargePages == provider.LargePagesGuest || s.LargePages == provider.LargePagesBoth || s.LargePages == provider.LargePagesHost && !m.Virtual() {
		out.Shape.GuestPages = hardware.LargePages
	}
	if s.LargePages == provider.LargePagesHost || s.LargePages == provider.LargePagesBoth {
		out.Shape.HostPages = hardware.LargePages
	}
	text := func(name string) string {
		if t, ok := g.Settings[name]; ok {
			return t
		}
		return modelledSettings(c.Engine.Name)[name].usual
	}
	if c.Engine.Name == "mysql" {
		out.Cache, err = settingBytes(text("innodb_buffer_pool_size"), memory)
		out.Checkpoint = dbms.Checkpoint{Every: flushEvery}
		return out, err
	}
	own, err := settingBytes(text("shared_buffers"), memory)
	if err != nil {
		return out, err
	}
	out.Own, out.Cache = own, max(own, unit.Bytes(pageCachePart*float64(memory)))
	out.Checkpoint.Every, err = settingTime(text("checkpoint_timeout"))
	return out, err
}

// settingBytes reads an amount of memory as engines write it: 25% of the
// instance's, 4GB (of 1,024 MB), or 8 kB pages without a unit.
func settingBytes(text string, memory unit.Bytes) (unit.Bytes, error) {
	t := strings.TrimSpace(text)
	if pct, ok := strings.CutSuffix(t, "%"); ok {
		p, err := strconv.ParseFloat(strings.TrimSpace(pct), 64)
		if err != nil || !(p > 0 && p <= 100) {
			return 0, fmt.Errorf("%q is not a part of the memory", text)
		}
		return unit.Bytes(float64(memory) * p / 100), nil
	}
	if n, err := strconv.ParseInt(t, 10, 64); err == nil {
		return unit.Bytes(n) * 8 * unit.KiB, nil
	}
	binary := strings.NewReplacer("kB", "KiB", "KB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB", "iiB", "iB").Replace(t)
	for short, long := range map[string]string{"K": "KiB", "M": "MiB", "G": "GiB"} {
		if rest, ok := strings.CutSuffix(binary, short); ok {
			binary = rest + long
		}
	}
	b, err := unit.ParseBytes(binary)
	if err != nil {
		return 0, fmt.Errorf("%q is not an amount of memory", text)
	}
	return b, nil
}

// settingTime reads a duration as PostgreSQL writes it: 5min, 30s, or seconds
// without a unit.
func settingTime(text string) (time.Duration, error) {
	t := strings.TrimSpace(strings.Replace(text, "min", "m", 1))
	if n, err := strconv.Atoi(t); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	d, err := unit.ParseDuration(t)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time", text)
	}
	return d, nil
}

// Scenario is a trial of c on the model m: what a simulated trial runs, and what
// a planner asks for. defs are what Definitions made for c, and seating what
// ModelCPUs(…).Seat gave. Names of instances are those of records.
func Scenario(c study.Config, defs []*workload.Definition, m Model, seating Seating, seed uint64) (twin.Scenario, error) {
	h := m.Model().Host
	run := c.Run
	longest := max(run.Measure, run.MeasureMax)
	t := scenario.Trial{Host: h, Virtual: m.Virtual(), Ramp: run.Ramp, Seconds: int((run.Ramp + run.Warmup + longest) / time.Second), Seed: seed}
	n := 0
	for g, group := range c.Groups {
		for i := range group.Count {
			shape := seating.Shapes[n]
			x, err := modelled(c, group, defs[g], m, shape, memoryOf(shape, h, c.Instances))
			if err != nil {
				return twin.Scenario{}, err
			}
			x.Name = instanceName(group, i+1)
			t.Instances = append(t.Instances, x)
			n++
		}
	}
	return scenario.Build(t)
}

// memoryOf is what an instance may use: its limit, or its share of the host's.
func memoryOf(s provider.Shape, h *hardware.Host, instances int) unit.Bytes {
	if s.Memory > 0 {
		return s.Memory
	}
	each := (instances + h.Nodes - 1) / h.Nodes
	return h.Memory / unit.Bytes(max(1, each))
}

// instanceName is what records call instance i, from 1, of a group.
func instanceName(g study.Group, i int) string {
	if g.Name != "" {
		return fmt.Sprintf("%s-%d", g.Name, i)
	}
	return fmt.Sprintf("instance-%d", i)
}
