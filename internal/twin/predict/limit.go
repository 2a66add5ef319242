package predict

import (
	"fmt"
	"strings"
)

// Limit is what bounds the throughput, and why we say so.
type Limit struct {
	Resource string
	Reason   string
}

// The resources of Limit.
const (
	HostProcessors     = "host processors"
	InstanceProcessors = "instance processors"
	Disks              = "disks"
	Log                = "log"
	Locks              = "locks"
	Latch              = "latch"
	Reads              = "reads"
	Load               = "load offered"
	Mixed              = "nothing alone"
)

// What counts as used up, and as the main part of a transaction's time.
const (
	busyPct  = 90.0
	mainPart = 0.5
	mostIdle = 0.5 // of their time users may think, and still press on
)

// limit names what bounds a run: what is used up, or what transactions spend
// most of their time on.
func (r *run) limit() Limit {
	if r.rate(all) == 0 {
		return Limit{Mixed, "no transaction ended"}
	}
	if pct := r.hostCPU(); pct >= busyPct {
		return Limit{HostProcessors, fmt.Sprintf("the host's threads are busy for %.0f %% of the time", pct)}
	}
	if pct := r.instanceCPU(); pct >= busyPct {
		return Limit{InstanceProcessors, fmt.Sprintf("instances use %.0f %% of the processors that they may use", pct)}
	}
	for _, s := range r.sc.Host.Stores {
		if pct := r.mixed[s.Name]["disks_busy_pct"]; pct >= busyPct {
			return Limit{Disks, fmt.Sprintf("the disks of store %s are busy for %.0f %% of the time", s.Name, pct)}
		}
	}
	if l, open := r.offered(); open {
		return l
	}
	return r.longest()
}

// offered says whether the load asks for no more: arrivals are all served, or
// users think for most of the time.
func (r *run) offered() (Limit, bool) {
	asked, backlog := 0.0, 0.0
	for _, x := range r.sc.Instances {
		asked += x.Load.Rate
		backlog += r.mixed[x.Name]["backlog"]
	}
	if asked > 0 {
		return Limit{Load, fmt.Sprintf("%.4g arrivals a second are asked for and served", asked)}, backlog < asked
	}
	think := r.planned.Seconds() / r.seconds / r.rate(all) // a transaction
	for _, x := range r.sc.Instances {
		think = max(think, x.Load.Think.Seconds()) // of users without a script
	}
	idle := think / (think + r.mean(all)/1e3)
	return Limit{Load, fmt.Sprintf("users think for %.0f %% of their time", 100*idle)}, idle > mostIdle
}

// longest is what takes most of a mean transaction's time.
func (r *run) longest() Limit {
	ms := map[string]float64{}
	for _, x := range r.sc.Instances {
		of := r.mixed[x.Name]
		ms[Log] += of["commit_wait_ms_per_s"]
		ms[Locks] += of["lock_wait_ms_per_s"]
		ms[Latch] += of["latch_wait_ms_per_s"]
		ms[Reads] += of["read_wait_ms_per_s"]
		ms["processors"] += of["burst_ms_per_s"]
	}
	mean, best := r.mean(all), ""
	var parts []string
	for _, what := range []string{"processors", Reads, Log, Locks, Latch} {
		ms[what] /= r.rate(all)
		if ms[what] >= 0.01*mean {
			parts = append(parts, fmt.Sprintf("%s %.2f ms", what, ms[what]))
		}
		if best == "" || ms[what] > ms[best] {
			best = what
		}
	}
	reason := fmt.Sprintf("of a mean response of %.2f ms: %s", mean, strings.Join(parts, ", "))
	if ms[best] < mainPart*mean || best == "processors" {
		return Limit{Mixed, reason + "; more users would bring more"}
	}
	return Limit{best, reason}
}
