package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/twin"
)

// statePolls is how often the states of a simulated second count as polled: the
// model knows them exactly, to the millisecond.
const statePolls = 1000

// view is the counters of one second of the model, by source and name.
type view struct {
	sc      twin.Scenario
	at      map[string]int // place of "source/name" in values
	values  []float64
	touched map[string]float64 // pages that the second's transactions touched, by instance
	begun   map[string]float64 // checkpoints so far, by instance
}

func newView(sc twin.Scenario) view {
	v := view{sc: sc, at: map[string]int{}, touched: map[string]float64{}, begun: map[string]float64{}}
	for i, c := range twin.Columns(sc) {
		v.at[c.Source+"/"+c.Name] = i
	}
	return v
}

// of is one counter; 0 before the first second.
func (v *view) of(source, name string) float64 {
	i, ok := v.at[source+"/"+name]
	if !ok {
		panic(fmt.Sprintf("trial: the model has no counter %s of %s", name, source))
	}
	if i >= len(v.values) {
		return 0
	}
	return v.values[i]
}

// checkpoints is how many an instance has begun; it is to be asked once a
// second.
func (v *view) checkpoints(instance string) float64 {
	v.begun[instance] += v.of(instance, "checkpoints_per_s")
	return v.begun[instance]
}

// waits are the sessions of an instance by what they did, over statePolls polls:
// a millisecond in a state is a session seen in it once. The names are those of
// the classes that the analysis knows.
func (v *view) waits(instance string) map[string]int64 {
	out := map[string]int64{}
	for state, name := range map[string]string{
		"CPU": "burst_ms_per_s", "IO:Read": "read_wait_ms_per_s", "Lock:row": "lock_wait_ms_per_s",
		"Latch:log": "latch_wait_ms_per_s", "Log:commit": "commit_wait_ms_per_s",
	} {
		if n := int64(v.of(instance, name) + 0.5); n > 0 {
			out[state] = n
		}
	}
	return out
}

// gauge is one recorded column and where its value of a second comes from: what
// was added in the second, for a total.
type gauge struct {
	record.Column
	of func(v *view) float64
}

// sheet is one file of counters.
type sheet struct {
	gauges []gauge
	log    *record.CounterLog
	totals []float64
	out    []float64
}

func (s *sheet) row(at time.Duration, v *view) error {
	for i, g := range s.gauges {
		x := g.of(v)
		if g.Total {
			s.totals[i] += x
			x = s.totals[i]
		}
		s.out[i] = x
	}
	return s.log.Row(at, s.out)
}

func added(name, about string, of func(v *view) float64) gauge {
	return gauge{record.Column{Name: name, Total: true, About: about}, of}
}

func standing(name, about string, of func(v *view) float64) gauge {
	return gauge{record.Column{Name: name, About: about}, of}
}

// counters begins the files of counters: those that trials on real machines
// have, as far as the model knows their contents, so that one analysis does for
// both, and all that the model has beside.
func (s *simulation) counters(sc twin.Scenario) ([]sheet, error) {
	files := map[string][]gauge{"host": hostGauges(sc), "model": ownGauges(sc, "", modelSources(sc)...)}
	for i, p := range s.places {
		name, scope := p.rec.Name, fmt.Sprintf("instance-%d/", p.number)
		files[scope+"cgroup"] = instanceGauges(sc, i)
		files[scope+"database"] = databaseGauges(name)
		files[scope+"domain"] = guestGauges(name)
		files[scope+"model"] = ownGauges(sc, name, name, name+" guest", name+" data", name+" log")
	}
	var out []sheet
	for _, name := range slices.Sorted(maps.Keys(files)) {
		x := sheet{gauges: files[name], totals: make([]float64, len(files[name])), out: make([]float64, len(files[name]))}
		var columns []record.Column
		for _, g := range x.gauges {
			columns = append(columns, g.Column)
		}
		var err error
		if x.log, err = s.w.Counters(name, columns); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// modelSources are the nodes and stores of sc, and the hypervisor's own clients.
func modelSources(sc twin.Scenario) (names []string) {
	for n := range sc.Host.Nodes {
		names = append(names, fmt.Sprint("node ", n))
	}
	for _, g := range sc.Guests {
		if g.Loose {
			names = append(names, g.Name)
		}
	}
	for _, s := range sc.Host.Stores {
		names = append(names, s.Name)
	}
	return names
}

// ownGauges are the model's own counters of some sources, as they are. A
// column's name begins with its source's, without that of the instance.
func ownGauges(sc twin.Scenario, instance string, sources ...string) (out []gauge) {
	for _, c := range twin.Columns(sc) {
		if !slices.Contains(sources, c.Source) {
			continue
		}
		name := c.Name
		if prefix := strings.TrimSpace(strings.TrimPrefix(c.Source, instance)); prefix != "" {
			name = strings.ReplaceAll(prefix, " ", "_") + "_" + name
		}
		out = append(out, standing(name, c.About, func(v *view) float64 { return v.of(c.Source, c.Name) }))
	}
	return out
}

// hostGauges are the machine's: all nodes together, and each store as one disk.
func hostGauges(sc twin.Scenario) []gauge {
	cpus := float64(sc.Host.Nodes * sc.Host.CPU.CPUs())
	busy := func(v *view) (s float64) {
		for n := range sc.Host.Nodes {
			s += v.of(fmt.Sprint("node ", n), "threads_busy_pct") / 100 * float64(sc.Host.CPU.CPUs())
		}
		return s
	}
	sum := func(of func(v *view, instance string) float64) func(*view) float64 {
		return func(v *view) (s float64) {
			for _, c := range sc.Instances {
				s += of(v, c.Name)
			}
			return s
		}
	}
	counter := func(name string) func(*view) float64 {
		return sum(func(v *view, instance string) float64 { return v.of(instance, name) })
	}
	out := []gauge{
		added("cpu_user_s", "time in which threads of the modelled processors ran, whatever they did", busy),
		added("cpu_idle_s", "time in which they ran nothing", func(v *view) float64 { return cpus - busy(v) }),
		standing("cpus", "threads of the modelled processors", func(*view) float64 { return cpus }),
		standing("frequency_ghz", "mean frequency of the sockets", func(v *view) (s float64) {
			for n := range sc.Host.Nodes {
				s += v.of(fmt.Sprint("node ", n), "frequency_ghz") / float64(sc.Host.Nodes)
			}
			return s
		}),
		added("interrupts", "interrupts of network and disks", sum(func(v *view, i string) float64 {
			return v.of(i, "network_interrupts_per_s") + v.of(i, "disk_interrupts_per_s")
		})),
		added("net_lan_rx_bytes", "payload received", counter("bytes_in_per_s")),
		added("net_lan_tx_bytes", "payload sent", counter("bytes_out_per_s")),
		added("net_lan_rx_packets", "packets received", counter("packets_in_per_s")),
		added("net_lan_tx_packets", "packets sent", counter("packets_out_per_s")),
	}
	for _, store := range sc.Host.Stores {
		out = append(out, storeGauges(sc, store.Name)...)
	}
	return out
}

// storeGauges are a store's volumes as one disk. Reads and writes of a volume
// are not told apart in its latency.
func storeGauges(sc twin.Scenario, store string) []gauge {
	var volumes []string
	for _, c := range sc.Instances {
		if c.DataStore == store {
			volumes = append(volumes, c.Name+" data")
		}
		if c.LogStore == store {
			volumes = append(volumes, c.Name+" log")
		}
	}
	each := func(of func(v *view, volume string) float64) func(*view) float64 {
		return func(v *view) (s float64) {
			for _, name := range volumes {
				s += of(v, name)
			}
			return s
		}
	}
	counter := func(name string) func(*view) float64 {
		return each(func(v *view, volume string) float64 { return v.of(volume, name) })
	}
	took := func(operations string) func(*view) float64 {
		return each(func(v *view, volume string) float64 {
			return v.of(volume, operations) * (v.of(volume, "device_latency_ms") + v.of(volume, "queue_latency_ms")) / 1000
		})
	}
	p := "disk_" + store + "_"
	return []gauge{
		added(p+"reads", "reads of its volumes", counter("reads_per_s")),
		added(p+"writes", "writes of its volumes", counter("writes_per_s")),
		added(p+"read_bytes", "bytes read", counter("read_bytes_per_s")),
		added(p+"write_bytes", "bytes written", counter("write_bytes_per_s")),
		added(p+"read_s", "time that reads took, queue included, added up", took("reads_per_s")),
		added(p+"write_s", "time that writes took, queue included, added up", took("writes_per_s")),
		added(p+"busy_s", "time of its disks at work, as a part of all their time", func(v *view) float64 { return v.of(store, "disks_busy_pct") / 100 }),
	}
}

// instanceGauges are those that a control group has.
func instanceGauges(sc twin.Scenario, i int) []gauge {
	c := sc.Instances[i]
	name, guest, data, log := c.Name, c.Name+" guest", c.Name+" data", c.Name+" log"
	pages := 0.0
	for _, t := range c.Database.Tables {
		pages += t.Pages
	}
	held := min(float64(c.Buffer), pages*float64(c.Database.PageBytes))
	both := func(counter string) func(*view) float64 {
		return func(v *view) float64 { return v.of(data, counter) + v.of(log, counter) }
	}
	return []gauge{
		added("cpu_user_s", "time in which the instance's processors ran", func(v *view) float64 { return v.of(guest, "run_pct") / 100 }),
		added("throttled_s", "time that they stood still for a limit, added up", func(v *view) float64 { return v.of(guest, "limited_pct") / 100 }),
		standing("mem_used_bytes", "pages that the caches hold", func(*view) float64 { return held }),
		added("read_bytes", "bytes read from disks", both("read_bytes_per_s")),
		added("write_bytes", "bytes written to disks", both("write_bytes_per_s")),
		added("reads", "reads from disks", both("reads_per_s")),
		added("writes", "writes to disks", both("writes_per_s")),
		added("rx_packets", "packets received", func(v *view) float64 { return v.of(name, "packets_in_per_s") }),
		added("tx_packets", "packets sent", func(v *view) float64 { return v.of(name, "packets_out_per_s") }),
	}
}

// databaseGauges are those that an engine counts.
func databaseGauges(name string) []gauge {
	plain := func(counter string) func(*view) float64 {
		return func(v *view) float64 { return v.of(name, counter) }
	}
	reads := func(v *view) float64 { return v.of(name+" data", "reads_per_s") }
	return []gauge{
		added("blocks_hit", "pages found in the caches", func(v *view) float64 { return max(0, v.touched[name]-reads(v)) }),
		added("blocks_read", "pages read from disks", reads),
		added("wal_bytes", "bytes of the log", plain("log_bytes_per_s")),
		added("log_flushes", "writes of the log", plain("log_flushes_per_s")),
		added("checkpoints_timed", "checkpoints begun", plain("checkpoints_per_s")),
		added("checkpoint_pages", "pages written by checkpoints", plain("checkpoint_pages_per_s")),
		added("evicted_pages", "dirty pages written to make room", plain("evicted_pages_per_s")),
		standing("dirty_pages", "dirty pages", plain("dirty_pages")),
	}
}

// guestGauges are what a hypervisor, or a kernel's scheduler, says of the
// instance's processors.
func guestGauges(name string) []gauge {
	part := func(counter string) func(*view) float64 {
		return func(v *view) float64 { return v.of(name+" guest", counter) / 100 }
	}
	return []gauge{
		added("vcpu_run_s", "time in which its processors ran, added up (%RUN)", part("run_pct")),
		added("vcpu_ready_s", "time in which they could run but had no thread, a limit's included, added up (%RDY)", part("ready_pct")),
		added("vcpu_costop_s", "time in which they were stopped for a sibling that lagged, added up (%CSTP)", part("costop_pct")),
		added("vcpu_idle_s", "time in which they had nothing to do, added up (%IDLE)", part("idle_pct")),
		standing("local_memory_pct", "memory on its home nodes (N%L)", func(v *view) float64 { return v.of(name+" guest", "local_pct") }),
	}
}
