package twin

import (
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/twin/des"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

// Column is one counter, sampled each second. Its name ends in its unit.
type Column struct {
	Source string // "node 0", a guest's, instance's or store's name
	Name   string
	About  string // what an administrator's tool calls it, or what it is
}

// Columns lists the counters of a run of sc, in the order of their values.
func Columns(sc Scenario) []Column {
	var out []Column
	add := func(source string, cs []counterName) {
		for _, c := range cs {
			out = append(out, Column{source, c.name, c.about})
		}
	}
	for n := range sc.Host.Nodes {
		add(fmt.Sprint("node ", n), nodeCounters())
	}
	for _, g := range sc.Guests {
		add(g.Name, guestCounters())
	}
	for _, c := range sc.Instances {
		add(c.Name, instanceCounters())
		add(c.Name+" data", volumeCounters())
		add(c.Name+" log", volumeCounters())
	}
	for _, s := range sc.Host.Stores {
		add(s.Name, storeCounters())
	}
	return out
}

type counterName struct{ name, about string }

// nodeCounters names what meter.node gives, in its order.
func nodeCounters() []counterName {
	return []counterName{
		{"threads_busy_pct", "PCPU UTIL: threads that ran, of all"},
		{"cores_busy_pct", "CORE UTIL: cores with a running thread, of all"},
		{"work_pct", "work done, in percent of all cores at nominal frequency"},
		{"frequency_ghz", "mean frequency of the sockets at the end of the second"},
	}
}

// guestCounters names what meter.guest gives, in its order.
func guestCounters() []counterName {
	return []counterName{
		{"run_pct", "%RUN, summed over virtual processors"},
		{"ready_pct", "%RDY, summed; with %MLMTD"},
		{"costop_pct", "%CSTP, summed"},
		{"limited_pct", "%MLMTD, summed"},
		{"idle_pct", "%IDLE, summed"},
		{"local_pct", "N%L: memory on the home nodes"},
		{"queued_bursts", "runnable tasks of the guest without a virtual processor, at the end"},
	}
}

// instanceCounters names what meter.instance gives, in its order.
func instanceCounters() []counterName {
	return []counterName{
		{"transactions_per_s", "transactions that ended"},
		{"hit_pct", "buffer cache hits, of page accesses"},
		{"dirty_pages", "dirty pages at the end"},
		{"checkpoint_pages_per_s", "pages written by checkpoints"},
		{"evicted_pages_per_s", "dirty pages written to make room"},
		{"log_flushes_per_s", "writes of the log"},
		{"log_bytes_per_s", "bytes of these"},
		{"lock_wait_ms_per_s", "waited for hot rows, summed over users"},
		{"latch_wait_ms_per_s", "waited for and held the log's latch, summed"},
		{"commit_wait_ms_per_s", "waited for the log's writes, summed"},
		{"packets_in_per_s", "packets received"},
		{"packets_out_per_s", "packets sent"},
		{"bytes_in_per_s", "payload received"},
		{"bytes_out_per_s", "payload sent"},
		{"network_interrupts_per_s", "interrupts of the network"},
		{"disk_interrupts_per_s", "interrupts of disks"},
		{"busy_users", "transactions under way at the end"},
		{"backlog", "arrivals that wait for a connection at the end"},
		{"read_wait_ms_per_s", "waited for reads, summed over users"},
		{"burst_ms_per_s", "bursts of transactions that ran or waited for a processor, summed"},
		{"checkpoints_per_s", "checkpoints begun"},
	}
}

// volumeCounters names what meter.volume gives, in its order.
func volumeCounters() []counterName {
	return []counterName{
		{"reads_per_s", "READS/s"},
		{"writes_per_s", "WRITES/s"},
		{"read_bytes_per_s", "MBREAD/s, in bytes"},
		{"write_bytes_per_s", "MBWRTN/s, in bytes"},
		{"device_latency_ms", "DAVG: mean time in the array"},
		{"queue_latency_ms", "QAVG: mean wait for a place in the queue"},
	}
}

// storeCounters names what meter.store gives, in its order.
func storeCounters() []counterName {
	return []counterName{
		{"disk_operations_per_s", "operations of disks, begun"},
		{"disks_busy_pct", "disks' channels that worked, of all"},
		{"cache_hit_pct", "read cache hits; 0 without reads"},
		{"fast_tier_pct", "disk reads from the first tier; 0 without reads"},
		{"cache_dirty_bytes", "write cache at the end"},
		{"stalled_writes_per_s", "writes that found the write cache full"},
		{"promoted_extents_per_s", "extents that moved to a faster tier"},
	}
}

// meter reads counters as differences over a second.
type meter struct {
	sc     Scenario
	sys    *dbms.System
	values []float64
	before struct {
		nodes     []host.Usage
		guests    []host.ClientUsage
		instances []dbms.Usage
		volumes   []host.VolumeUsage
		stores    []host.StoreUsage
	}
}

func newMeter(sc Scenario, sys *dbms.System) *meter {
	m := &meter{sc: sc, sys: sys}
	b := &m.before
	b.nodes, b.guests = make([]host.Usage, sc.Host.Nodes), make([]host.ClientUsage, len(sc.Guests))
	b.instances, b.volumes = make([]dbms.Usage, len(sc.Instances)), make([]host.VolumeUsage, 2*len(sc.Instances))
	b.stores = make([]host.StoreUsage, len(sc.Host.Stores))
	return m
}

// read returns the values of the second that has ended.
func (m *meter) read() []float64 {
	m.values = m.values[:0]
	for i := range m.before.nodes {
		m.node(i)
	}
	for i := range m.before.guests {
		m.guest(i)
	}
	for i := range m.before.instances {
		u := m.instance(i)
		m.volume(2*i, u.Data)
		m.volume(2*i+1, u.Log)
	}
	for i := range m.before.stores {
		m.store(i)
	}
	return m.values
}

func (m *meter) add(v ...float64) { m.values = append(m.values, v...) }

// pct is a time of the second in percent of it.
func pct(nanos int64) float64 { return float64(nanos) * 100 / float64(des.Second) }

// ratio is 0 where there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func (m *meter) node(i int) {
	u, b, p := m.sys.CPUs[i].Usage(), &m.before.nodes[i], m.sc.Host.CPU
	cores := float64(p.Sockets * p.Cores)
	m.add(pct(u.ThreadNanos-b.ThreadNanos)/float64(p.CPUs()), pct(u.CoreNanos-b.CoreNanos)/cores,
		(u.Executed-b.Executed).Seconds()*100/cores, u.GHz)
	*b = u
}

func (m *meter) guest(i int) {
	u, b := m.sys.GuestUsage(i), &m.before.guests[i]
	limited := u.Limited - b.Limited
	m.add(pct(u.Run-b.Run), pct(u.Ready-b.Ready+limited), pct(u.CoStop-b.CoStop), pct(limited), pct(u.Idle-b.Idle),
		u.LocalPct, float64(u.Queued))
	*b = u
}

func (m *meter) instance(i int) dbms.Usage {
	u, b := m.sys.Usage(i), &m.before.instances[i]
	done := 0.0
	for c, n := range u.Done {
		done += float64(n)
		if b.Done != nil {
			done -= float64(b.Done[c])
		}
	}
	const ms = 1e6
	m.add(done, u.Pool.HitPct, float64(u.Pool.Dirty),
		float64(u.Pool.Checkpointed-b.Pool.Checkpointed), float64(u.Pool.Evicted-b.Pool.Evicted),
		float64(u.LogFlushes-b.LogFlushes), float64(u.LogBytes-b.LogBytes),
		float64(u.LockNanos-b.LockNanos)/ms, float64(u.LatchNanos-b.LatchNanos)/ms, float64(u.CommitNanos-b.CommitNanos)/ms,
		u.PacketsIn-b.PacketsIn, u.PacketsOut-b.PacketsOut, u.BytesIn-b.BytesIn, u.BytesOut-b.BytesOut,
		u.NetworkInterrupts-b.NetworkInterrupts, u.DiskInterrupts-b.DiskInterrupts,
		float64(u.Busy), float64(u.Backlog),
		float64(u.ReadNanos-b.ReadNanos)/ms, float64(u.BurstNanos-b.BurstNanos)/ms, float64(u.Checkpoints-b.Checkpoints))
	*b = u
	return u
}

func (m *meter) volume(i int, volume int32) {
	u, b := m.sys.Storage.VolumeUsage(volume), &m.before.volumes[i]
	reads, writes := float64(u.Reads-b.Reads), float64(u.Writes-b.Writes)
	const ms = 1e6
	m.add(reads, writes, float64(u.ReadBytes-b.ReadBytes), float64(u.WriteBytes-b.WriteBytes),
		ratio(float64(u.DeviceNanos-b.DeviceNanos)/ms, reads+writes), ratio(float64(u.QueueNanos-b.QueueNanos)/ms, reads+writes))
	*b = u
}

func (m *meter) store(i int) {
	u, b := m.sys.Storage.StoreUsage(i), &m.before.stores[i]
	hits, misses := float64(u.CacheHits-b.CacheHits), float64(u.CacheMisses-b.CacheMisses)
	fast, slow := float64(u.FastHits-b.FastHits), float64(u.SlowHits-b.SlowHits)
	m.add(float64(u.DiskOperations-b.DiskOperations), ratio(pct(u.DiskNanos-b.DiskNanos), float64(u.ChannelCount)),
		100*ratio(hits, hits+misses), 100*ratio(fast, fast+slow), float64(u.DirtyBytes),
		float64(u.StalledWrites-b.StalledWrites), float64(u.Promoted-b.Promoted))
	*b = u
}
