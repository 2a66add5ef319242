package analyse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// bounds is what is known when a configuration's limiting resource is sought.
type bounds struct {
	usage []Resource
	waits []Wait
	// growth is the elasticity of throughput over load near this
	// configuration: by how many percent it grows for one percent more load;
	// NaN where no other load was measured.
	growth float64
	open   bool    // open loop
	served float64 // open loop: the part of arrivals that was served, 0 to 1
}

// active is the part, 0 to 1, of the sessions at work that were in states of
// one class; NaN where waits were not recorded.
func (b bounds) active(class string) float64 {
	all, part := 0.0, 0.0
	for _, w := range b.waits {
		all += w.Mean
		if strings.HasPrefix(w.State, class) {
			part += w.Mean
		}
	}
	if all == 0 {
		return nan()
	}
	return part / all
}

// notFound is the resource of a Limit that no rule explains.
const notFound = "not found"

// rule is one way in which throughput can be limited. It looks at the
// resources and states of waiting whose names begin so, and at growth.
type rule struct {
	resource string
	looks    []string
	holds    func(b bounds) bool
	because  func(b bounds) string
}

// Thresholds of the rules.
const (
	cpuFull      = 0.90 // of what an instance may use
	hostFull     = 0.95 // of all CPUs of the machine
	driverFull   = mostDriverPct / 100
	diskFull     = 0.90 // of the time with a request under way
	slowDiskMs   = 10.0 // mean latency
	waitsMuch    = 0.30 // of the sessions at work, in one kind of wait
	stillGrowing = 0.50 // percent of throughput for one percent of load
	allServed    = 0.98 // of the arrivals
)

// growing is what a rule looks at that asks whether more load would help.
const growing = "growth"

// rules lists, in the order in which they are tried, what limits a
// configuration; the first that holds is the answer. Whatever spoils the
// measurement comes first, then the CPU, which a full queue anywhere else
// could not fill. That more load brings more throughput goes before waits:
// waits that more users overlap do not limit yet.
func rules() []rule {
	at := func(list []Resource, name string) string {
		r, _ := resource(list, name)
		return r.String()
	}
	part := func(b bounds, what, class string) string {
		return fmt.Sprintf("%s of the sessions at work wait for %s", percent(100*b.active(class)), what)
	}
	return []rule{
		{"driver", []string{driverCPU},
			func(b bounds) bool { return load(b.usage, driverCPU) >= driverFull },
			func(b bounds) string {
				return "the driver has no CPU left, so the database was not measured: " + at(b.usage, driverCPU)
			}},
		{"CPU", []string{instanceCPU, throttled, stateCPU},
			func(b bounds) bool { return load(b.usage, instanceCPU) >= cpuFull },
			func(b bounds) string {
				r, _ := resource(b.usage, instanceCPU)
				return fmt.Sprintf("CPU of the instance limits it (%s of what it may use)", percent(r.Value))
			}},
		{"CPU", []string{togetherCPU, stateCPU},
			func(b bounds) bool { return load(b.usage, togetherCPU) >= cpuFull },
			func(b bounds) string {
				return "CPU of the process in which driver and database run limits it: " + at(b.usage, togetherCPU)
			}},
		{"host CPU", []string{hostCPU, driverCPU, otherCPU, stealCPU, stateCPU},
			func(b bounds) bool { return load(b.usage, hostCPU) >= hostFull },
			func(b bounds) string {
				shares := at(b.usage, hostCPU)
				for _, name := range []string{driverCPU, otherCPU, stealCPU} {
					if r, known := resource(b.usage, name); known {
						shares += ", " + r.String()
					}
				}
				return "CPU of the machine, of which the instance has a part, limits it: " + shares
			}},
		{"load offered", []string{growing},
			func(b bounds) bool { return b.open && b.served >= allServed },
			func(b bounds) string {
				return fmt.Sprintf("the arrivals offered limit it: %s of them were served", percent(100*b.served))
			}},
		{"load offered", []string{growing},
			func(b bounds) bool { return !b.open && b.growth >= stillGrowing },
			func(b bounds) string {
				return fmt.Sprintf("the load offered limits it: throughput still grows by %s for 1 %% more load", percent(b.growth))
			}},
		{"locks", []string{stateLock},
			func(b bounds) bool { return b.active(stateLock) >= waitsMuch },
			func(b bounds) string { return "locks limit it: " + part(b, "locks", stateLock) }},
		{"log", []string{stateLog, walWritten},
			func(b bounds) bool { return b.active(stateLog) >= waitsMuch },
			func(b bounds) string { return "writing the log limits it: " + part(b, "the log", stateLog) }},
		{"disk", []string{diskBusy, diskLatency, stateIO, ioWait},
			func(b bounds) bool {
				return load(b.usage, diskBusy) >= diskFull || b.active(stateIO) >= waitsMuch || slow(b)
			},
			func(b bounds) string {
				return "the disk limits it: " + at(b.usage, diskBusy) + ", " + at(b.usage, diskLatency)
			}},
		{"latches", []string{stateLatch},
			func(b bounds) bool { return b.active(stateLatch) >= waitsMuch },
			func(b bounds) string {
				return "the database's internal locks limit it: " + part(b, "them", stateLatch)
			}},
	}
}

// slow says that the disk's latency is high and that somebody waits for it.
func slow(b bounds) bool {
	r, known := resource(b.usage, diskLatency)
	return known && r.Value >= slowDiskMs && !(b.active(stateIO)+b.active(stateLog) < waitsMuch/2)
}

// limit names the limiting resource, or "not found" where no rule holds.
func limit(b bounds) Limit {
	for _, r := range rules() {
		if r.holds(b) {
			out := Limit{Resource: r.resource, Summary: r.because(b)}
			out.Evidence, out.Decisive = evidence(b, r.looks)
			return out
		}
	}
	out := Limit{Resource: notFound}
	out.Evidence, _ = evidence(b, nil)
	out.Summary = "no resource was found at its limit"
	if len(b.usage) == 0 && len(b.waits) == 0 {
		out.Summary = "no counters were recorded that could tell what limits it"
	}
	return out
}

// evidence lists the figures that the rules look at: those whose subject
// begins with one of looks first, and how many these are.
func evidence(b bounds, looks []string) (out []string, decisive int) {
	var others []string
	add := func(subject, text string) {
		if slices.ContainsFunc(looks, func(l string) bool { return strings.HasPrefix(subject, l) }) {
			out = append(out, text)
		} else {
			others = append(others, text)
		}
	}
	for _, name := range []string{instanceCPU, throttled, hostCPU, driverCPU, otherCPU, stealCPU, ioWait, diskBusy, diskLatency, diskRead, diskWrite, walWritten, networkMoved} {
		if r, known := resource(b.usage, name); known {
			add(name, r.String())
		}
	}
	switch {
	case b.open && !math.IsNaN(b.served):
		add(growing, fmt.Sprintf("%s of the arrivals served", percent(100*b.served)))
	case !b.open && !math.IsNaN(b.growth):
		add(growing, fmt.Sprintf("1 %% more load changes throughput by %s", signed(b.growth)))
	}
	for i, w := range b.waits {
		if i == 5 {
			break
		}
		add(w.State, fmt.Sprintf("%s sessions in %s (%s)", figure(w.Mean), w.State, percent(w.Pct)))
	}
	return append(out, others...), len(out)
}

// Broken returns in words the first limit that the load of t broke: CPU of the
// instance, latency of the disk, a response time, errors; "" where it broke
// none. What was not measured breaks nothing. It is no gate: a load that is
// too much was measured all the same, and ends a search for the saturation.
func (t Trial) Broken(l record.Limits) string {
	_, text := t.broke(l)
	return text
}

// broke is Broken with the limit's name, as in Stop.
func (t Trial) broke(l record.Limits) (limit, text string) {
	if r, known := databaseCPU(t.Usage); known && l.CPUPct > 0 && r.Value > l.CPUPct {
		return "cpu", fmt.Sprintf("%s is over its limit of %s", r, percent(l.CPUPct))
	}
	if r, known := resource(t.Usage, diskLatency); known && l.DiskLatencyS > 0 && r.Value > 1e3*l.DiskLatencyS {
		return "disk latency", fmt.Sprintf("%s is over its limit of %s ms", r, figure(1e3*l.DiskLatencyS))
	}
	for _, limit := range l.Response {
		if text := t.slower(limit); text != "" {
			return "response", text
		}
	}
	var bad, all int64
	for _, y := range t.transactions() {
		bad += y.Errors
		all += y.Errors + y.Count + y.RolledBack
	}
	if pct := 100 * float64(bad) / float64(max(1, all)); pct > l.ErrorsPct {
		return "errors", fmt.Sprintf("errors %s are over their limit of %s", percent(pct), percent(l.ErrorsPct))
	}
	return "", ""
}

// stop finds the least load of l, of which the cells go by rising load, that
// broke a limit.
func (l *Line) stop(s *Study, limits record.Limits) {
	for _, i := range l.Cells {
		for _, t := range s.Cells[i].Trials {
			if limit, text := s.Trials[t].broke(limits); limit != "" {
				l.Stop = &Stop{s.Cells[i].Factors[loadFactor(s.Cells)].Num, s.Cells[i].Label, s.Trials[t].Number, limit, text}
				return
			}
		}
	}
}

// transactions are the types without the unit that they make up.
func (t Trial) transactions() []Latency {
	if t.about == nil {
		return t.Types
	}
	return t.Types[:min(len(t.about.Workload.Types), len(t.Types))]
}

// slower says that a response time is over limit, "" where it is not.
func (t Trial) slower(limit record.ResponseLimit) string {
	if limit.MaxS <= 0 {
		return ""
	}
	for i, y := range t.Types {
		if y.Type != limit.Type || i >= len(t.samples) {
			continue
		}
		if ms := t.samples[i].response.at(limit.Percentile); ms > Number(1e3*limit.MaxS) {
			return fmt.Sprintf("p%g of %s %s ms is over its limit of %s ms", limit.Percentile, y.Type, figure(float64(ms)), figure(1e3*limit.MaxS))
		}
	}
	return ""
}
