package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Experiment is one configuration that a study measured: machines under load,
// or a stream of packets.
type Experiment struct {
	Name string `yaml:"name"`
	// Like names an earlier experiment: what is not given here is as there.
	Like     string    `yaml:"like"`
	Template bool      `yaml:"template"` // never run
	Host     string    `yaml:"host"`
	Fair     bool      `yaml:"fair"` // a Linux-like scheduler instead of proportional shares
	Seconds  int       `yaml:"seconds"`
	RampS    Expr      `yaml:"ramp-s"`
	Kernel   Expr      `yaml:"kernel"` // processors that the hypervisor's own worlds may use on a node; 0 is none
	Hardware Hardware  `yaml:"hardware"`
	Sched    Scheduler `yaml:"scheduler"`
	Costs    Costs     `yaml:"costs"`
	Pages    Pages     `yaml:"pages"`
	Machines []Machine `yaml:"machines"`
	Stream   *Stream   `yaml:"stream"`
	at       *token.Token
}

// Hardware replaces what a host file assumes.
type Hardware struct {
	SMTGain  Expr `yaml:"smt-gain"`
	Remote   Expr `yaml:"remote"`
	Times    Expr `yaml:"device-times"` // a factor on all of them
	Hop      Expr `yaml:"hop-times"`
	Latency  Expr `yaml:"latency-times"`
	WriteGiB Expr `yaml:"write-cache-gib"`
}

// Scheduler is host.Scheduler in formulas.
type Scheduler struct {
	SkewMS    Expr `yaml:"skew-ms"`
	QuantumMS Expr `yaml:"quantum-ms"`
	OffHomeMS Expr `yaml:"off-home-ms"`
	RefillUS  Expr `yaml:"refill-us"`
}

// Costs is dbms.Costs in formulas.
type Costs struct {
	IO            Expr `yaml:"io-ns"`
	Packet        Expr `yaml:"packet-ns"`
	Interrupt     Expr `yaml:"interrupt-ns"`
	DiskInterrupt Expr `yaml:"disk-interrupt"`
	HostIO        Expr `yaml:"host-io-ns"`
	HostPacket    Expr `yaml:"host-packet-ns"`
	Latch         Expr `yaml:"latch-ns"`
	LatchByte     Expr `yaml:"latch-byte-ns"`
}

// Pages is host.PageCosts in formulas.
type Pages struct {
	GuestSmall Expr `yaml:"guest-small-ns"`
	GuestLarge Expr `yaml:"guest-large-ns"`
	HostSmall  Expr `yaml:"host-small-ns"`
	HostLarge  Expr `yaml:"host-large-ns"`
}

// Machine is equal virtual machines, or processes, with their databases.
type Machine struct {
	Count         Expr   `yaml:"count"`
	CPUs          Expr   `yaml:"cpus"`
	Threads       string `yaml:"threads"` // affinity, such as 0-59; machine n of several takes the n-th part of parts by ;
	Reservation   Expr   `yaml:"reservation"`
	Exclusive     bool   `yaml:"exclusive"`
	HaltUS        Expr   `yaml:"halt-us"`
	NodeSize      Expr   `yaml:"node-size"`
	Interleaved   bool   `yaml:"interleaved"`
	SharedMemory  Expr   `yaml:"shared-memory"`
	Instances     Expr   `yaml:"instances"` // a machine
	Database      string `yaml:"database"`
	Scale         Expr   `yaml:"scale"`
	BufferGiB     Expr   `yaml:"buffer-gib"`
	GuestLarge    bool   `yaml:"guest-large-pages"`
	HostLarge     bool   `yaml:"host-large-pages"`
	Data          string `yaml:"data"`
	Log           string `yaml:"log"`
	NIC           string `yaml:"nic"`
	Users         Expr   `yaml:"users"` // an instance
	ThinkMS       Expr   `yaml:"think-ms"`
	CheckpointS   Expr   `yaml:"checkpoint-s"`
	CheckpointMBs Expr   `yaml:"checkpoint-mb-per-s"`
}

// Stream is host.Stream and host.StreamCosts in formulas.
type Stream struct {
	NIC          string `yaml:"nic"`
	Connections  Expr   `yaml:"connections"`
	WindowB      Expr   `yaml:"window-b"`
	RoundTripUS  Expr   `yaml:"round-trip-us"`
	WireB        Expr   `yaml:"wire-b"`
	DeliveredB   Expr   `yaml:"delivered-b"`
	Merged       bool   `yaml:"merged"`
	Cores        Expr   `yaml:"cores"`
	CoreLimit    Expr   `yaml:"core-limit"`
	Rho          Expr   `yaml:"rho"`
	PerGigabit   Expr   `yaml:"per-gigabit"`
	PerDelivered Expr   `yaml:"per-delivered"`
	PerMerged    Expr   `yaml:"per-merged"`
}

// experiments resolves Like while it reads.
type experiments []Experiment

// UnmarshalYAML reads a list of experiments.
func (xs *experiments) UnmarshalYAML(n ast.Node) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return faultAt(n.GetToken(), "experiments are a list")
	}
	for _, item := range list.Values {
		var peek struct {
			Name string `yaml:"name"`
			Like string `yaml:"like"`
		}
		if err := yaml.NodeToValue(item, &peek); err != nil {
			return err
		}
		var x Experiment
		if peek.Like != "" {
			i := slices.IndexFunc(*xs, func(x Experiment) bool { return x.Name == peek.Like })
			if i < 0 {
				return faultAt(firstToken(item), "%s is like %q, which does not stand before it", peek.Name, peek.Like)
			}
			x = (*xs)[i]
			x.Template = false
			x.Machines = slices.Clone(x.Machines)
			if x.Stream != nil {
				stream := *x.Stream
				x.Stream = &stream
			}
		}
		if err := overlay(item, &x); err != nil {
			return err
		}
		x.at = firstToken(item)
		if x.Name == "" || slices.ContainsFunc(*xs, func(o Experiment) bool { return o.Name == x.Name }) {
			return faultAt(x.at, "an experiment has a name of its own, not %q", x.Name)
		}
		*xs = append(*xs, x)
	}
	return nil
}

// overlay reads the entries of n into x. Machines that are given replace those
// of the base one by one, each beginning as its counterpart or the last.
func overlay(n ast.Node, x *Experiment) error {
	base := x.Machines
	x.Machines = nil
	if err := yaml.NodeToValue(n, x, yaml.Strict()); err != nil {
		return err
	}
	given := x.Machines
	x.Machines = base
	if given == nil {
		return nil
	}
	list := entry(n, "machines").(*ast.SequenceNode)
	x.Machines = make([]Machine, len(given))
	for i, item := range list.Values {
		if len(base) > 0 {
			x.Machines[i] = base[min(i, len(base)-1)]
		}
		if err := yaml.NodeToValue(item, &x.Machines[i], yaml.Strict()); err != nil {
			return err
		}
	}
	return nil
}

// entry is the value of a key of a mapping.
func entry(n ast.Node, key string) ast.Node {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return nil
	}
	for _, v := range m.Values {
		if v.Key.GetToken().Value == key {
			return v.Value
		}
	}
	return nil
}

// experiments checks what Parse can: names; the rest is checked when they are
// built.
func (c *checker) experiments() {
	for i := range c.doc.Experiments {
		x := &c.doc.Experiments[i]
		for _, e := range x.formulas() {
			c.formulas(e)
		}
		for _, m := range x.Machines {
			if !slices.ContainsFunc(c.doc.Databases, func(d Database) bool { return d.Name == m.Database }) && !x.Template {
				c.fault(x.at, "%s runs %q, which is no database", x.Name, m.Database)
			}
			if _, err := threads(m.Threads); err != nil {
				c.fault(x.at, "%s: %v", x.Name, err)
			}
		}
		if x.Template {
			continue
		}
		if x.Host == "" || (x.Stream == nil) == (len(x.Machines) == 0) {
			c.fault(x.at, "%s needs a host, and either machines or a stream", x.Name)
		}
		if x.Stream == nil && (x.Seconds < 1 || x.Seconds > 600) {
			c.fault(x.at, "%s: %d seconds, not 1 to 600", x.Name, x.Seconds)
		}
	}
}

// formulas lists all of x.
func (x *Experiment) formulas() []Expr {
	h, s, k, p := x.Hardware, x.Sched, x.Costs, x.Pages
	out := []Expr{x.RampS, x.Kernel, h.SMTGain, h.Remote, h.Times, h.Hop, h.Latency, h.WriteGiB,
		s.SkewMS, s.QuantumMS, s.OffHomeMS, s.RefillUS,
		k.IO, k.Packet, k.Interrupt, k.DiskInterrupt, k.HostIO, k.HostPacket, k.Latch, k.LatchByte,
		p.GuestSmall, p.GuestLarge, p.HostSmall, p.HostLarge}
	for _, m := range x.Machines {
		out = append(out, m.Count, m.CPUs, m.Reservation, m.HaltUS, m.NodeSize, m.SharedMemory, m.Instances, m.Scale,
			m.BufferGiB, m.Users, m.ThinkMS, m.CheckpointS, m.CheckpointMBs)
	}
	if st := x.Stream; st != nil {
		out = append(out, st.Connections, st.WindowB, st.RoundTripUS, st.WireB, st.DeliveredB, st.Cores, st.CoreLimit,
			st.Rho, st.PerGigabit, st.PerDelivered, st.PerMerged)
	}
	return out
}

// threads reads 0-59, or 0-3,8 and the like, with ; between the parts.
func threads(text string) (parts [][]int, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ";") {
		var list []int
		for span := range strings.SplitSeq(part, ",") {
			from, to, pair := strings.Cut(strings.TrimSpace(span), "-")
			if !pair {
				to = from
			}
			a, errA := strconv.Atoi(from)
			b, errB := strconv.Atoi(to)
			if errA != nil || errB != nil || a < 0 || b < a || b > 4096 {
				return nil, fmt.Errorf("%q is no range of threads", span)
			}
			for t := a; t <= b; t++ {
				list = append(list, t)
			}
		}
		parts = append(parts, list)
	}
	return parts, nil
}

// lookup is names with those of one host and machine.
func lookup(names map[string]float64, ghz, scale float64) map[string]float64 {
	out := make(map[string]float64, len(names)+2)
	for k, v := range names {
		out[k] = v
	}
	out["ghz"], out["scale"] = ghz, scale
	return out
}

// hardware is h with x's replacements.
func (x *Experiment) hardware(h *host.Host, names map[string]float64) *host.Host {
	out := *h
	out.CPU.SMTGain = x.Hardware.SMTGain.or(h.CPU.SMTGain, names)
	out.CPU.Remote = x.Hardware.Remote.or(h.CPU.Remote, names)
	times, hop, latency := x.Hardware.Times.or(1, names), x.Hardware.Hop.or(1, names), x.Hardware.Latency.or(1, names)
	by := func(d time.Duration, factor float64) time.Duration { return time.Duration(float64(d) * factor) }
	out.Stores = slices.Clone(h.Stores)
	for i := range out.Stores {
		s := &out.Stores[i]
		s.Hop, s.CacheTime = by(s.Hop, hop), by(s.CacheTime, hop)
		if x.Hardware.WriteGiB.set() {
			s.WriteCache = gib(x.Hardware.WriteGiB.value(names))
		}
		s.Tiers = slices.Clone(s.Tiers)
		for t := range s.Tiers {
			d := &s.Tiers[t].Device
			d.Read, d.Write = by(d.Read, times), by(d.Write, times)
		}
	}
	out.NICs = slices.Clone(h.NICs)
	for i := range out.NICs {
		out.NICs[i].Latency = by(out.NICs[i].Latency, latency)
	}
	return &out
}

func gib(n float64) unit.Bytes { return unit.Bytes(n * float64(unit.GiB)) }

// scenario builds a run of x.
func (m *Model) scenario(x *Experiment, hosts Hosts, values map[string]float64, seed uint64) (twin.Scenario, error) {
	h, err := hosts(x.Host)
	if err != nil {
		return twin.Scenario{}, fmt.Errorf("experiment %s: %w", x.Name, err)
	}
	names := lookup(values, h.CPU.GHz, 1)
	ms := func(e Expr) int64 { return int64(e.value(names) * 1e6) }
	sc := twin.Scenario{Host: x.hardware(h, names), Seconds: x.Seconds, Seed: seed,
		Ramp: time.Duration(x.RampS.value(names) * 1e9),
		Scheduler: host.Scheduler{Skew: ms(x.Sched.SkewMS), Quantum: ms(x.Sched.QuantumMS), OffHome: ms(x.Sched.OffHomeMS),
			Refill: host.Nanos(1000 * x.Sched.RefillUS.value(names))}}
	if x.Fair {
		sc.Scheduler.Kind = host.Fair
	}
	if n := int(x.Kernel.value(names)); n > 0 {
		for node := range h.Nodes {
			sc.Guests = append(sc.Guests, twin.Guest{Node: node, Client: host.Client{Name: fmt.Sprint("kernel ", node),
				CPUs: n, Loose: true, Interleaved: true}})
		}
	}
	for i := range x.Machines {
		m.machines(&sc, x, i, names, h.CPU.GHz)
	}
	return sc, nil
}

// machines adds those of x.Machines[i] to sc.
func (m *Model) machines(sc *twin.Scenario, x *Experiment, i int, names map[string]float64, ghz float64) {
	mc := &x.Machines[i]
	names = lookup(names, ghz, mc.Scale.or(1, names))
	at := slices.IndexFunc(m.Databases, func(d Database) bool { return d.Name == mc.Database })
	parts, _ := threads(mc.Threads) // Parse has read them
	count := int(mc.Count.or(1, names))
	for n := range count {
		c := host.Client{Name: fmt.Sprintf("machine %d.%d", i, n), CPUs: int(mc.CPUs.or(1, names)),
			Reservation: mc.Reservation.value(names), Exclusive: mc.Exclusive, HaltCost: host.Nanos(1000 * mc.HaltUS.value(names)),
			NodeSize: int(mc.NodeSize.value(names)), Interleaved: mc.Interleaved, SharedMemory: mc.SharedMemory.value(names)}
		if len(parts) > 0 {
			c.Affinity = parts[n%len(parts)]
		}
		node := n % sc.Host.Nodes
		sc.Guests = append(sc.Guests, twin.Guest{Node: node, Client: c})
		for k := range int(mc.Instances.or(1, names)) {
			cfg := x.instance(mc, names)
			cfg.Name, cfg.Guest = fmt.Sprintf("%s%d.%d", databaseName(i), n, k), len(sc.Guests)-1
			cfg.Database = m.Databases[at].database(names)
			if x.Kernel.value(names) >= 1 {
				cfg.Kernel = node + 1
			}
			sc.Instances = append(sc.Instances, cfg)
		}
	}
}

// databaseName begins the names of the databases of Experiment.Machines[i].
func databaseName(i int) string { return fmt.Sprintf("database %d.", i) }

// instance is what all databases of a machine have alike.
func (x *Experiment) instance(mc *Machine, names map[string]float64) dbms.Config {
	k, p := x.Costs, x.Pages
	c := dbms.Config{Buffer: gib(mc.BufferGiB.value(names)), DataStore: mc.Data, LogStore: mc.Log, NIC: mc.NIC,
		PageCosts: host.PageCosts{Guest: [2]float64{p.GuestSmall.value(names), p.GuestLarge.value(names)},
			Host: [2]float64{p.HostSmall.value(names), p.HostLarge.value(names)}},
		Costs: dbms.Costs{IO: k.IO.value(names), Packet: k.Packet.value(names), Interrupt: k.Interrupt.value(names),
			DiskInterrupt: k.DiskInterrupt.value(names), HostIO: k.HostIO.value(names), HostPacket: k.HostPacket.value(names),
			Latch: k.Latch.value(names), LatchByte: k.LatchByte.value(names)},
		Checkpoint: dbms.Checkpoint{Every: time.Duration(mc.CheckpointS.value(names) * 1e9), BytesPerSecond: 1e6 * mc.CheckpointMBs.value(names)},
		Load:       dbms.Load{Users: int(math.Round(mc.Users.value(names))), Think: time.Duration(mc.ThinkMS.value(names) * 1e6)}}
	if mc.GuestLarge {
		c.GuestPages = host.LargePages
	}
	if mc.HostLarge {
		c.HostPages = host.LargePages
	}
	return c
}

// Hosts gives the host of a name, which nobody may change.
type Hosts func(name string) (*host.Host, error)

// outputs are what formulas may read of an experiment.
var outputs = []string{"tps", "tps_first", "opm", "fairness", "resp_ms", "iops", "reads", "writes", "mb", "io_ms", "cpu_pct", "cores_pct", "work",
	"guest_pct", "rx_pps", "tx_pps", "rx_mbit", "tx_mbit", "disk_irq", "net_irq", "ready_pct", "costop_pct", "hit_pct",
	"gbps", "cores", "per_core", "delivered_pps", "wire_pps"}

// run gives the outputs of x under "x.output".
func (m *Model) run(ctx context.Context, x *Experiment, hosts Hosts, values map[string]float64, seed uint64) (map[string]float64, error) {
	if x.Stream != nil {
		return x.stream(hosts, values)
	}
	sc, err := m.scenario(x, hosts, values, seed)
	if err != nil {
		return nil, err
	}
	s, err := twin.Repeat(ctx, sc, 1, 1)
	if err != nil {
		return nil, fmt.Errorf("experiment %s: %w", x.Name, err)
	}
	return x.read(sc, s[0]), nil
}

// read derives the outputs from a run.
func (x *Experiment) read(sc twin.Scenario, s twin.Summary) map[string]float64 {
	out := map[string]float64{}
	set := func(name string, v float64) { out[x.Name+"."+name] = v }
	sum := map[string]float64{}
	weighted := func(name string, v, by float64) { sum[name] += v * by }
	volumes, nodes := 0.0, float64(sc.Host.Nodes)
	values := map[string]float64{} // of one source; columns of a source stand together
	for i, c := range twin.Columns(sc) {
		v := s.Counters[i]
		values[c.Source+"/"+c.Name] = v
		if !strings.HasPrefix(c.Source, "kernel") {
			sum[c.Name] += v
		}
		if c.Name == "device_latency_ms" || c.Name == "queue_latency_ms" {
			n := values[c.Source+"/reads_per_s"] + values[c.Source+"/writes_per_s"]
			if strings.HasSuffix(c.Source, " data") { // the log's writes end in a cache
				weighted("io_ms", v, n)
				volumes += n / 2
			}
		}
	}
	least, most, tps, first, resp := math.Inf(1), 0.0, 0.0, 0.0, 0.0
	for i, v := range s.PerSecond {
		least, most, tps = min(least, v), max(most, v), tps+v
		resp += v * s.Mean[i].Seconds() * 1000
		if strings.HasPrefix(sc.Instances[i].Name, databaseName(0)) {
			first += v
		}
	}
	cpus := 0.0
	for _, g := range sc.Guests {
		if !g.Loose {
			cpus += float64(g.CPUs)
		}
	}
	set("tps", tps)
	set("tps_first", first) // of the first entry of machines
	set("opm", 60*tps)
	set("fairness", least/most)
	set("resp_ms", resp/tps)
	set("reads", sum["reads_per_s"])
	set("writes", sum["writes_per_s"])
	set("iops", sum["reads_per_s"]+sum["writes_per_s"])
	set("mb", (sum["read_bytes_per_s"]+sum["write_bytes_per_s"])/1e6)
	set("io_ms", sum["io_ms"]/max(1, volumes))
	set("cpu_pct", sum["threads_busy_pct"]/nodes)
	set("cores_pct", sum["cores_busy_pct"]/nodes)
	set("work", sum["work_pct"]/100*float64(sc.Host.CPU.Sockets*sc.Host.CPU.Cores))
	set("guest_pct", sum["run_pct"]/cpus)
	set("rx_pps", sum["packets_in_per_s"])
	set("tx_pps", sum["packets_out_per_s"])
	set("rx_mbit", sum["bytes_in_per_s"]*8/1e6)
	set("tx_mbit", sum["bytes_out_per_s"]*8/1e6)
	set("disk_irq", sum["disk_interrupts_per_s"])
	set("net_irq", sum["network_interrupts_per_s"])
	set("ready_pct", sum["ready_pct"]/cpus)
	set("costop_pct", sum["costop_pct"]/cpus)
	set("hit_pct", sum["hit_pct"]/float64(len(s.PerSecond)))
	return out
}

// stream solves x.Stream.
func (x *Experiment) stream(hosts Hosts, values map[string]float64) (map[string]float64, error) {
	h, err := hosts(x.Host)
	if err != nil {
		return nil, fmt.Errorf("experiment %s: %w", x.Name, err)
	}
	st := x.Stream
	nic, err := h.NIC(st.NIC)
	if err != nil {
		return nil, fmt.Errorf("experiment %s: %w", x.Name, err)
	}
	n := lookup(values, h.CPU.GHz, 1)
	r := nic.Solve(host.Stream{Connections: int(st.Connections.or(1, n)), Window: st.WindowB.value(n), RoundTrip: st.RoundTripUS.value(n) / 1e6,
		WirePacket: st.WireB.value(n), Delivered: st.DeliveredB.value(n), Merged: st.Merged, Cores: st.Cores.value(n),
		CoreLimit: st.CoreLimit.value(n), Rho: st.Rho.or(1, n)},
		host.StreamCosts{PerGigabit: st.PerGigabit.value(n), PerDelivered: st.PerDelivered.value(n), PerMerged: st.PerMerged.value(n)})
	gbps := r.BitsPerSecond / 1e9
	return map[string]float64{x.Name + ".gbps": gbps, x.Name + ".cores": r.Cores, x.Name + ".per_core": gbps / r.Cores,
		x.Name + ".delivered_pps": r.DeliveredPerSecond, x.Name + ".wire_pps": r.WirePerSecond}, nil
}
