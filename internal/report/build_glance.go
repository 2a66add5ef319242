package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// glance is the section with what one asks first of any measurement.
func (b *builder) glance() {
	s := b.s
	var of []analyse.Fact
	add := func(name string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
		if len(parts) > 0 {
			of = append(of, analyse.Fact{Name: name, Value: strings.Join(parts, "; ")})
		}
	}
	add("Under test", fact(s.System, "Engine"), fact(s.System, "Provider"), fact(s.System, "Workload"))
	add("Machine", fact(s.Machine, "CPU"), fact(s.Machine, "CPUs"), fact(s.Machine, "Memory"))
	add("Instance", instanceSize(s))
	add("Data", dataSize(s)...)
	add("Durability", durability(s)...)
	if synced := fact(s.Machine, "Synced append"); synced != "" {
		add("Synced write", synced)
	}
	add("Restored", restores(s)...)
	add("Measured", measuredFor(s)...)
	add("Load of the groups", fact(s.System, "Load of the groups"))
	add("Driver", b.driverUse()...)
	if len(of) > 0 {
		b.section("glance", "At a glance", b.facts("The conditions of the measurement; everything is told in full further down.", of))
	}
}

// fact returns the value of the fact called name, "" where there is none.
func fact(of []analyse.Fact, name string) string {
	for _, f := range of {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// finished are the trials with figures.
func finished(s *analyse.Study) (out []*analyse.Trial) {
	for i := range s.Trials {
		if s.Trials[i].Status == "finished" {
			out = append(out, &s.Trials[i])
		}
	}
	return out
}

// kinds lists what trials say, each text once and the first few of them.
func kinds(of []*analyse.Trial, say func(*analyse.Trial) string) (out []string) {
	const most = 4
	others := 0
	for _, t := range of {
		text := say(t)
		switch {
		case text == "" || slices.Contains(out, text):
		case len(out) == most:
			others++
		default:
			out = append(out, text)
		}
	}
	if others > 0 {
		out = append(out, "and others")
	}
	return out
}

// instanceSize tells the CPUs and the memory that instances had.
func instanceSize(s *analyse.Study) string {
	return strings.Join(kinds(finished(s), func(t *analyse.Trial) string {
		if !t.Confined {
			return "not confined: it may use the whole machine"
		}
		var sizes []string // by instance
		of := ""
		for _, k := range t.Shape {
			name := lastName(k.Name)
			if name != "cpus" && name != "memory" {
				continue
			}
			text := name + " " + k.Effective
			if inst, _ := instanceOf(k.Name); len(sizes) == 0 || inst != of {
				of, sizes = inst, append(sizes, text)
			} else {
				sizes[len(sizes)-1] += ", " + text
			}
		}
		slices.Sort(sizes)
		return strings.Join(slices.Compact(sizes), " and ")
	}), " or ")
}

// instanceOf takes a name such as "instance-2: fsync" apart; knobs of trials
// with one instance have no instance's name before them.
func instanceOf(name string) (instance, rest string) {
	if before, after, ok := strings.Cut(name, ": "); ok {
		return before, after
	}
	return "", name
}

// lastName is a knob's name without where it belongs.
func lastName(name string) string { return name[strings.LastIndexAny(name, ". ")+1:] }

// dataSize sets the data against the memory.
func dataSize(s *analyse.Study) []string {
	return kinds(finished(s), func(t *analyse.Trial) string {
		if t.DatabaseBytes <= 0 {
			return ""
		}
		n := int64(max(1, len(t.Parts)))
		text := "a database of " + unit.Bytes(t.DatabaseBytes/n).Human()
		if n > 1 {
			text += " for each instance, on average"
		}
		if t.MemoryBytes > 0 {
			text += fmt.Sprintf(", %s of the %s of memory that may be used", percent(100*float64(t.DatabaseBytes)/float64(t.MemoryBytes)), unit.Bytes(t.MemoryBytes/n).Human())
			if t.DatabaseBytes > t.MemoryBytes {
				text += ": it can't all be held there"
			}
		}
		return text
	})
}

// durability lists the settings that say what a commit survives: those that
// the engine marks so, and those that a study may have set itself.
func durability(s *analyse.Study) (out []string) {
	known := []string{"fsync", "synchronous_commit", "full_page_writes", "innodb_flush_log_at_trx_commit", "innodb_doublewrite", "sync_binlog"}
	all := withSettings(s)
	in := map[string][]int{} // trials by text: instances that are alike are told once
	for _, k := range settingsOf(s) {
		if k.Why != "durability" && !slices.Contains(known, lastName(k.Name)) {
			continue
		}
		_, name := instanceOf(k.Name)
		text := name + " = " + orDash(k.Effective)
		if k.Default != "" && k.Effective != k.Default {
			text += " (default: " + k.Default + ")"
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
		in[text] = append(in[text], k.trials...)
	}
	for i, text := range out {
		trials := in[text]
		slices.Sort(trials)
		if trials = slices.Compact(trials); len(trials) < all {
			out[i] += " in trials " + trialList(trials)
		}
	}
	slices.Sort(out)
	return out
}

// restores tells how the initial state came back, and how long that took.
func restores(s *analyse.Study) (out []string) {
	var took chart.Extent
	for _, t := range finished(s) {
		if t.RestoreWay != "" {
			took.Add(t.RestoreS)
		}
	}
	ways := kinds(finished(s), func(t *analyse.Trial) string { return t.RestoreWay })
	if len(ways) == 0 {
		return nil
	}
	out = append(out, fmt.Sprintf("by %s in %s s", strings.Join(ways, " or "), between(took)))
	if verified := kinds(finished(s), func(t *analyse.Trial) string { return t.Verified }); len(verified) > 0 {
		out = append(out, "verified: "+strings.Join(verified, " or "))
	}
	return out
}

// between is the range of what was seen: "0.21 to 0.35".
func between(e chart.Extent) string {
	least, most := chart.Number(e.Min), chart.Number(e.Max)
	if least == most {
		return least
	}
	return least + " to " + most
}

// measuredFor tells how many trials there were, and how long each measured.
func measuredFor(s *analyse.Study) (out []string) {
	var long chart.Extent
	n := 0
	for _, t := range finished(s) {
		if t.Window.End > t.Window.Start {
			long.Add(t.Window.End - t.Window.Start)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	out = append(out, fmt.Sprintf("%s of %s finished, in windows of %s s", counted(n, "trial"), counted(len(s.Cells), "configuration"), between(long)))
	return out
}

// driverUse tells what the load generator took, and whether it was on time.
func (b *builder) driverUse() (out []string) {
	var cost, late chart.Extent
	for _, t := range finished(b.s) {
		cost.Add(float64(t.DriverCPUUs))
		late.Add(float64(t.LatenessP99Us))
	}
	if cost.Seen {
		per := "unit of the metric"
		if b.peak() != nil {
			if u, ok := unitOf(b.peak().Types); ok && strings.HasPrefix(b.s.Metric.Name, u.Type) {
				per = u.Type
			}
		}
		out = append(out, fmt.Sprintf("%s µs of CPU per %s", between(cost), per))
	}
	if peak := b.peak(); peak != nil {
		for _, r := range peak.Usage {
			if r.Name == "driver CPU" {
				out = append(out, fmt.Sprintf("%s of the machine's CPU at the peak", percent(r.Value)))
			}
		}
	}
	if seat := fact(b.s.System, "Driver's CPUs"); seat != "" {
		out = append(out, "on CPUs "+seat)
	}
	switch {
	case late.Seen:
		out = append(out, fmt.Sprintf("late by %s µs (99th percentile)", between(late)))
	case cost.Seen:
		out = append(out, "lateness: none to measure, since users without think time begin when they are done")
	}
	return out
}
