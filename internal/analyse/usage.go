package analyse

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// The names of the resources that rules and gates look for. Usage lists only
// what was recorded.
const (
	instanceCPU  = "instance CPU"
	throttled    = "instance CPU throttled"
	hostCPU      = "host CPU"
	driverCPU    = "driver CPU"
	togetherCPU  = "driver and database CPU" // of a database inside the driver's process
	otherCPU     = "other processes' CPU"
	stealCPU     = "steal"
	ioWait       = "I/O wait"
	diskBusy     = "disk busy"
	diskLatency  = "disk latency"
	diskRequests = "disk requests"
	diskRead     = "disk read"
	diskWrite    = "disk write"
	memoryUsed   = "instance memory"
	walWritten   = "WAL written"
	networkMoved = "network"
)

// busyCPU are the counters of a host's CPUs at work. Steal counts: the CPU
// was wanted, and not to be had.
func busyCPU() []string {
	return []string{"cpu_user_s", "cpu_nice_s", "cpu_system_s", "cpu_irq_s", "cpu_softirq_s", "cpu_steal_s"}
}

const mebibyte = 1 << 20

// usage is what the trial used of each resource in its window.
func usage(r raw, m record.Machine, w Window) []Resource {
	host, driver := columns{r.host}, columns{r.driver}
	from, to := w.Start, w.End
	var out []Resource
	add := func(name string, value float64, unit string, load float64) {
		if !math.IsNaN(value) {
			out = append(out, Resource{name, value, unit, Number(load)})
		}
	}
	share := func(name string, cpus, of float64) { add(name, 100*cpus/of, "%", cpus/of) }

	cpus := hostCPUs(r, m, w)
	busy := host.sum(from, to, busyCPU()...)
	steal := host.mean("cpu_steal_s", from, to)
	drive := driver.sum(from, to, "cpu_user_s", "cpu_system_s")
	inside, allowed := instancesCPU(r, cpus, w)
	if r.trial.Engine.InProcess {
		// The instance's counters are of an empty instance, and the driver's
		// of two in one.
		inside = 0
		share(togetherCPU, drive, driverAllowance(r, cpus, w))
	} else {
		share(instanceCPU, inside, allowed)
		share(throttled, eachCgroup(r, w, "throttled_s"), allowed)
	}
	share(hostCPU, busy, cpus)
	if !r.trial.Engine.InProcess {
		share(driverCPU, drive, driverAllowance(r, cpus, w))
	}
	// Differences of counters that are read one after the other may come out
	// a little below nothing.
	share(otherCPU, max(0, busy-orZero(steal)-inside-drive), cpus)
	share(stealCPU, steal, cpus)
	share(ioWait, host.mean("cpu_iowait_s", from, to), cpus)

	if d := disk(host, m.Disk.Device, from, to); d != "" {
		p := "disk_" + d + "_"
		rate := func(name string) float64 { return host.mean(p+name, from, to) }
		share(diskBusy, rate("busy_s"), 1)
		requests := rate("reads") + rate("writes")
		if requests > 0 {
			add(diskLatency, 1e3*(rate("read_s")+rate("write_s"))/requests, "ms", nan())
		}
		add(diskRequests, requests, "/s", nan())
		add(diskRead, rate("read_bytes")/mebibyte, "MiB/s", nan())
		add(diskWrite, rate("write_bytes")/mebibyte, "MiB/s", nan())
	}
	if used, limit := eachCgroup(r, w, "mem_used_bytes"), memoryLimit(r, m); !r.trial.Engine.InProcess {
		add(memoryUsed, used/mebibyte, "MiB", used/limit)
	}
	wal := nan()
	for _, d := range r.database {
		wal = plus(wal, columns{d}.mean("wal_bytes", from, to))
	}
	add(walWritten, wal/mebibyte, "MiB/s", nan())
	add(networkMoved, network(host, from, to)/mebibyte, "MiB/s", nan())
	return out
}

// databaseCPU is the CPU that the database may have used: the instance's, or,
// where it runs inside the driver's process, what both used together.
func databaseCPU(list []Resource) (Resource, bool) {
	if r, known := resource(list, instanceCPU); known {
		return r, true
	}
	return resource(list, togetherCPU)
}

func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// plus adds y to x, where NaN is "nothing yet".
func plus(x, y float64) float64 {
	switch {
	case math.IsNaN(y):
		return x
	case math.IsNaN(x):
		return y
	}
	return x + y
}

// hostCPUs is how many CPUs the machine had, as counted in the window or as
// the study found it; NaN where neither knows.
func hostCPUs(r raw, m record.Machine, w Window) float64 {
	if n := (columns{r.host}).mean("cpus", w.Start, w.End); n > 0 {
		return n
	}
	if m.Threads > 0 {
		return float64(m.Threads)
	}
	return nan()
}

// driverAllowance is how many CPUs the driver may use: all of the machine's
// unless its own counter says fewer.
func driverAllowance(r raw, cpus float64, w Window) float64 {
	if n := (columns{r.driver}).mean("cpus_allowed", w.Start, w.End); n > 0 && !(n > cpus) {
		return n
	}
	return cpus
}

// eachCgroup adds up a counter over the instances; NaN where one lacks it.
func eachCgroup(r raw, w Window, counters ...string) float64 {
	out := nan()
	for _, c := range r.cgroup {
		v := columns{c}.sum(w.Start, w.End, counters...)
		if math.IsNaN(v) {
			return v
		}
		out = plus(out, v)
	}
	return out
}

// instancesCPU is how many CPUs the instances used, and how many they could
// have: no more than the host's.
func instancesCPU(r raw, cpus float64, w Window) (used, allowed float64) {
	for _, i := range r.trial.Instances {
		allowed += capacity(i.Shape, cpus)
	}
	if cpus > 0 {
		allowed = min(allowed, cpus)
	}
	return eachCgroup(r, w, "cpu_user_s", "cpu_system_s"), allowed
}

// capacity is how many CPUs an instance of a shape may use: the least of its
// quota, its set of CPUs and the host's. Knobs are read by the last part of
// their names: "instance.cpus", "instance.cpu_set".
func capacity(shape []record.Knob, host float64) float64 {
	out := host
	for _, k := range shape {
		switch strings.NewReplacer("_", "", "-", "").Replace(lastPart(k.Name)) {
		case "cpus":
			if n, err := strconv.ParseFloat(k.Effective, 64); err == nil && n > 0 && !(n > out) {
				out = n
			}
		case "cpuset":
			if n := cpusIn(k.Effective); n > 0 && !(float64(n) > out) {
				out = float64(n)
			}
		}
	}
	return out
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// cpusIn counts the CPUs of a list as the kernel writes it, "0-1,4"; 0 where
// it is none.
func cpusIn(list string) (n int) {
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		if errA != nil || errB != nil || b < a {
			return 0
		}
		n += b - a + 1
	}
	return n
}

// memoryLimit is the memory that the instances may use, in bytes; NaN where
// it is not known.
func memoryLimit(r raw, m record.Machine) float64 {
	out := nan()
	for _, i := range r.trial.Instances {
		own := nan()
		for _, k := range i.Shape {
			if b, ok := number(k.Effective); lastPart(k.Name) == "memory" && ok && b > 0 {
				own = b
			}
		}
		out = plus(out, own)
	}
	switch all := float64(m.MemBytes); {
	case all > 0 && !(out < all):
		return all
	case out > 0:
		return out
	}
	return nan()
}

// disk is the recorded device that holds the instances, or the busiest where
// that one is not known; "" without any.
func disk(host columns, device string, from, to float64) string {
	device = device[strings.LastIndexByte(device, '/')+1:]
	best, most := "", -1.0
	for _, n := range host.Names {
		d, ok := strings.CutPrefix(n, "disk_")
		if d, ok2 := strings.CutSuffix(d, "_busy_s"); ok && ok2 {
			// A partition's name begins with its disk's.
			if device != "" && strings.HasPrefix(device, d) {
				return d
			}
			if b := host.mean(n, from, to); b > most {
				best, most = d, b
			}
		}
	}
	return best
}

// network is bytes a second in and out over all interfaces, loopback apart:
// what crosses it is counted twice and leaves no machine.
func network(host columns, from, to float64) float64 {
	out := nan()
	for _, n := range host.Names {
		if strings.HasPrefix(n, "net_") && !strings.HasPrefix(n, "net_lo_") && strings.HasSuffix(n, "_bytes") {
			out = plus(out, host.mean(n, from, to))
		}
	}
	return out
}

// waits is how many sessions were in each state on average over the window,
// most first.
func waits(r raw, w Window) []Wait {
	mean := map[string]float64{}
	for _, s := range r.waits {
		polls := 0.0
		inside := func(row int) bool {
			return row < len(s.Polls) && s.At[row] >= w.Start-slack && s.At[row] <= w.End+slack
		}
		for row := range s.At {
			if inside(row) {
				polls += s.Polls[row]
			}
		}
		for i, state := range s.Names {
			sum := 0.0
			for row, n := range s.Sessions[i] {
				if row < len(s.At) && inside(row) && !math.IsNaN(n) {
					sum += n
				}
			}
			if polls > 0 && sum > 0 {
				mean[state] += sum / polls
			}
		}
	}
	return ranked(mean)
}

// ranked lists states with their part of the whole, the largest first.
func ranked(mean map[string]float64) []Wait {
	all := 0.0
	states := make([]string, 0, len(mean))
	for state := range mean {
		states = append(states, state)
	}
	sort.Strings(states) // sums and order must not depend on the map
	for _, state := range states {
		all += mean[state]
	}
	out := make([]Wait, 0, len(states))
	for _, state := range states {
		out = append(out, Wait{State: state, Mean: mean[state], Pct: 100 * mean[state] / all})
	}
	slices.SortStableFunc(out, func(a, b Wait) int {
		switch {
		case a.Mean > b.Mean:
			return -1
		case a.Mean < b.Mean:
			return 1
		}
		return 0
	})
	return out
}

// resource finds a resource by name.
func resource(list []Resource, name string) (Resource, bool) {
	i := slices.IndexFunc(list, func(r Resource) bool { return r.Name == name })
	if i < 0 {
		return Resource{Value: nan(), Load: Absent()}, false
	}
	return list[i], true
}

// load is how much of a resource was used, 0 to 1; NaN where not known.
func load(list []Resource, name string) float64 {
	r, _ := resource(list, name)
	return float64(r.Load)
}

// meanUsage averages each resource over trials, those that lack it apart.
func meanUsage(trials [][]Resource) []Resource {
	var out []Resource
	n := map[string]float64{}
	for _, list := range trials {
		for _, r := range list {
			i := slices.IndexFunc(out, func(o Resource) bool { return o.Name == r.Name })
			if i < 0 {
				out = append(out, Resource{Name: r.Name, Unit: r.Unit})
				i = len(out) - 1
			}
			out[i].Value += r.Value
			out[i].Load += r.Load
			n[r.Name]++
		}
	}
	for i := range out {
		out[i].Value /= n[out[i].Name]
		out[i].Load /= Number(n[out[i].Name])
	}
	return out
}

// meanWaits averages waits over trials; a state that a trial did not see
// counts as 0 in it.
func meanWaits(trials [][]Wait) []Wait {
	mean := map[string]float64{}
	for _, list := range trials {
		for _, w := range list {
			mean[w.State] += w.Mean / float64(len(trials))
		}
	}
	return ranked(mean)
}

// String prints r for evidence: "instance CPU 93 %".
func (r Resource) String() string {
	if r.Unit == "%" {
		return fmt.Sprintf("%s %s", r.Name, percent(r.Value))
	}
	return fmt.Sprintf("%s %s %s", r.Name, figure(r.Value), r.Unit)
}
