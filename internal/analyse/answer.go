package analyse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// format is the version of Study as JSON.
const format = 1

// assemble joins the trials of a study to its result.
func assemble(study record.Study, runs []run) *Study {
	out := &Study{
		Format: format, Loadstone: study.Loadstone, Name: study.Name, Question: study.Question,
		Created: study.Created, Simulated: study.Simulated, Machine: machine(study.Machine), seed: study.Seed,
		published: study.Published, Scale: scaleOf(study.Scale),
	}
	out.Cells = cells(study.Plan, runs, study.Seed)
	if len(study.Plan) > 0 {
		for _, f := range study.Plan[0].Factors {
			out.Factors = append(out.Factors, f.Knob)
		}
	}
	if out.Curve = curve(out.Cells); out.Curve != nil {
		out.Curve.model(out.Cells, runs, study.Seed)
	}
	out.Peak = peak(out.Cells)
	for i := range out.Cells {
		if c := &out.Cells[i]; len(c.Trials) > 0 {
			c.Limit = limit(bound(out, runs, i))
		}
	}
	out.Limit = Limit{Resource: notFound, Summary: "nothing was measured"}
	if out.Peak >= 0 {
		out.Limit = peakLimit(out)
	}
	for i := range runs {
		out.Trials = append(out.Trials, runs[i].Trial)
		out.Simulated = out.Simulated || runs[i].Simulated
	}
	for i, c := range out.Cells {
		out.Cells[i].Stretches = overRepeats(out.Trials, c.Trials)
	}
	if out.Curve != nil {
		for i := range out.Curve.Lines {
			out.Curve.Lines[i].stop(out, study.Limits)
		}
	}
	if about := speaker(out, runs); about != nil {
		m := about.manifest
		out.Metric = Metric{m.Workload.Metric.Name, m.Workload.Metric.Short}
		out.System, out.Settings, out.Nominal = allProviders(system(m), runs), about.Settings, nominal(out, m)
	}
	out.Notes, out.Caveats = notes(out, runs), caveats(runs)
	out.Invalid = faults(out, runs)
	out.Valid = len(out.Invalid) == 0
	out.Measured = headline(out, runs)
	out.Answer = answer(out, runs)
	out.Sweeps, out.Contention = sweeps(out), contention(out)
	if out.Published = publishedHere(out); out.Curve != nil {
		out.Curve.publishedOver(out)
	}
	out.Comparisons = Within(out, CompareOptions{})
	return out
}

// scaleOf is how a study was scaled; nil where it was not.
func scaleOf(s *record.Scale) *Scale {
	if s == nil {
		return nil
	}
	size := func(s record.Size) string {
		return fmt.Sprintf("%s CPUs and %s", strconv.FormatFloat(s.CPUs, 'g', -1, 64), unit.Bytes(s.MemBytes).Human())
	}
	out := &Scale{From: size(s.From), To: size(s.To), Data: Number(s.Data)}
	if s.Data == 0 {
		out.Data = 1
	}
	for _, v := range s.Values {
		out.Values = append(out.Values, Scaled(v))
	}
	return out
}

// peakLimit is what limits throughput at the peak. Where nothing is at its
// limit there, the greatest load of the same line tells what keeps more load
// from giving more.
func peakLimit(s *Study) Limit {
	at := s.Cells[s.Peak].Limit
	line := lineOf(s, s.Peak)
	if at.Resource != notFound || line == nil {
		return at
	}
	last := line.Cells[len(line.Cells)-1]
	beyond := s.Cells[last].Limit
	if last == s.Peak || len(s.Cells[last].Trials) == 0 || beyond.Resource == notFound {
		return at
	}
	beyond.Summary = fmt.Sprintf("with more load (%s) %s", s.Cells[last].Label, beyond.Summary)
	return beyond
}

// speaker is the trial whose manifest stands for the study: the first that
// counts at the peak, else the first that was begun.
func speaker(s *Study, runs []run) *run {
	if s.Peak >= 0 {
		return &runs[s.Cells[s.Peak].Trials[0]]
	}
	for i := range runs {
		if runs[i].manifest.Workload.Name != "" {
			return &runs[i]
		}
	}
	return nil
}

// nominal sets the peak of s, of which m is a trial, against the amount of data.
func nominal(s *Study, m record.Trial) *Nominal {
	w := m.Workload
	value := w.Metric.Nominal * float64(max(1, len(m.Instances)))
	differ := slices.ContainsFunc(m.Instances, func(i record.Instance) bool { return len(i.Params) > 0 })
	if value <= 0 || s.Peak < 0 || differ {
		return nil
	}
	out := &Nominal{Value: value, SharePct: 100 * s.Cells[s.Peak].Throughput.Value / value}
	for _, name := range w.Metric.Beside {
		out.Params = append(out.Params, Fact{name, w.Params[name]})
	}
	return out
}

// bound gathers what is known of what limits cell i.
func bound(s *Study, runs []run, i int) bounds {
	b := bounds{usage: s.Cells[i].Usage, growth: s.Curve.growth(s.Cells, i), served: nan()}
	var seen [][]Wait
	served := 0.0
	for _, t := range s.Cells[i].Trials {
		seen = append(seen, runs[t].Waits)
		b.open = runs[t].load.RatePerS > 0
		served += runs[t].served / float64(len(s.Cells[i].Trials))
	}
	b.waits, b.served = meanWaits(seen), served
	return b
}

// faults lists why the headline may not be shown: nothing was measured, or a
// trial that counts failed a gate.
func faults(s *Study, runs []run) []string {
	var out []string
	if s.Peak < 0 {
		out = append(out, "no trial finished and measured something")
	}
	for _, r := range runs {
		for _, g := range r.Gates {
			if r.Status == string(record.Finished) && !g.Passed {
				out = append(out, r.Fault(g))
			}
		}
	}
	return out
}

// Fault says that t failed g, as in Study.Invalid.
func (t Trial) Fault(g Gate) string {
	return fmt.Sprintf("trial %d (%s): %s: %s; wanted: %s", t.Number, t.Label, g.Name, g.Found, g.Want)
}

// notes lists what a careful reader should know beside the figures.
func notes(s *Study, runs []run) []string {
	var out []string
	for i, c := range s.Cells {
		lost, planned := 0, 0
		for _, r := range runs {
			if r.Cell == i {
				planned++
				if !r.Counts {
					lost++
				}
			}
		}
		switch {
		case lost == planned && planned > 0:
			out = append(out, fmt.Sprintf("%s: none of %s counts", c.Label, count(planned, "repeat")))
		case lost > 0:
			out = append(out, fmt.Sprintf("%s: %d of %s do not count; the interval is from the others", c.Label, lost, count(planned, "repeat")))
		}
	}
	pending := 0
	for _, r := range runs {
		if r.manifest.Status == "" {
			pending++
			continue
		}
		if !r.Counts {
			text := fmt.Sprintf("trial %d (%s) is %s", r.Number, r.Label, r.Status)
			if r.Reason != "" {
				text += ": " + r.Reason
			}
			out = append(out, text)
		}
		if r.Counts && !r.Window.Steady && !r.Window.Tested { // else the gate says so
			out = append(out, fmt.Sprintf("trial %d (%s) has no steady state: %s", r.Number, r.Label, r.Window.Why))
		}
	}
	if pending > 0 {
		out = append(out, fmt.Sprintf("%s of the plan never begun", count(pending, "trial")))
	}
	return append(append(out, eventNotes(runs)...), repeatNotes(s, runs)...)
}

// repeatNotes tells what too few repeats and short windows mean for the
// figures.
func repeatNotes(s *Study, runs []run) []string {
	var out []string
	if s.Peak >= 0 {
		switch n := s.Cells[s.Peak].Throughput.N; {
		case n == 1:
			out = append(out, "one repeat gives no interval: how far another run would differ is not known")
		case n < leastRepeats:
			out = append(out, "two repeats give percentiles no interval: three are the fewest")
		}
	}
	short := 0
	for _, r := range runs {
		if r.Counts && !r.Window.Tested {
			short++
		}
	}
	if short > 0 {
		out = append(out, fmt.Sprintf("the windows of %s are too short to tell whether they were steady", count(short, "trial")))
	}
	return out
}

// headline tells the throughput at the peak; "" where there is none.
func headline(s *Study, runs []run) string {
	if s.Peak < 0 {
		return ""
	}
	c := s.Cells[s.Peak]
	m := runs[c.Trials[0]].manifest
	return fmt.Sprintf("%s on %s does %s %s%s at %s", titled(m.Engine), where(m), figure(c.Throughput.Value), m.Workload.Metric.Name, within(c.Throughput), at(m, c))
}

// answer is the study's answer in one sentence with its figures.
func answer(s *Study, runs []run) string {
	if s.Peak < 0 {
		return "INVALID: " + s.Invalid[0] + "."
	}
	c, text := s.Cells[s.Peak], s.Measured
	if line := lineOf(s, s.Peak); line != nil {
		switch {
		case line.Knee != nil:
			text += fmt.Sprintf("; throughput saturates at about %s %s", figure(float64(*line.Knee)), lastPart(s.Curve.Knob))
		case strings.HasPrefix(line.Saturation, "not reached"):
			text += "; saturation was " + line.Saturation
		}
	}
	text += "; " + s.Limit.Summary + "."
	if n := unsteadyTrials(s, c); n > 0 {
		text += fmt.Sprintf(" Not steady in %d of %s there.", n, count(len(c.Trials), "repeat"))
	}
	if s.Simulated {
		text = simulatedMark + text
	}
	if !s.Valid {
		more := ""
		if n := len(s.Invalid) - 1; n > 0 {
			more = fmt.Sprintf(" (and %s)", count(n, "more reason"))
		}
		text = "INVALID: " + s.Invalid[0] + more + ". What was measured: " + text
	}
	return text
}

// simulatedMark begins whatever is said of figures that come from a model.
const simulatedMark = "SIMULATED: "

// titled is the engine's name and version for a sentence. The engine mysql is
// two products, which their versions tell apart: MariaDB's are numbered from 10,
// MySQL's up to 9.
func titled(e record.Engine) string {
	name := e.Name
	if proper, ok := map[string]string{"postgres": "PostgreSQL", "mysql": "MySQL", "sqlite": "SQLite", "sqlserver": "SQL Server", "oracle": "Oracle"}[name]; ok {
		name = proper
	}
	major, _, _ := strings.Cut(e.Version, ".")
	if n, err := strconv.Atoi(major); err == nil && n >= 10 && e.Name == "mysql" {
		name = "MariaDB"
	}
	return strings.TrimSpace(name + " " + e.Version)
}

func where(m record.Trial) string {
	if m.Simulated {
		return "a simulated machine"
	}
	if address, elsewhere := remote(m); elsewhere {
		return address
	}
	return "this machine"
}

// remote returns the address of a server that ran already on a machine whose
// counters were not observed.
func remote(m record.Trial) (address string, ok bool) {
	for _, i := range m.Instances {
		for _, k := range i.Shape {
			switch {
			case k.Name == "endpoint.address":
				address = k.Effective
			case k.Name == "endpoint.host" && strings.HasPrefix(k.Effective, "not observed"):
				ok = true
			}
		}
	}
	return address, ok
}

// within is an interval in brackets.
func within(e Estimate) string {
	if !e.Low.OK() {
		return fmt.Sprintf(" (%s)", e.Method)
	}
	level := "95 %"
	if _, l, ok := strings.Cut(e.Method, "median, "); ok {
		level = l
	}
	// Student's interval knows no bounds, but throughput does.
	return fmt.Sprintf(" (%s interval %s to %s, %s)", level, figure(max(0, float64(e.Low))), figure(float64(e.High)), count(e.N, "repeat"))
}

// at names the load in words, and the other factors as they are.
func at(m record.Trial, c Cell) string {
	var parts []string
	load := offered(m)
	for _, f := range c.Factors {
		told := f.Knob == "instances" && len(m.Instances) > 1 && load != ""
		if name := lastPart(f.Knob); name != "users" && name != "rate" && name != "rate_per_s" && !told {
			parts = append(parts, f.Knob+" = "+f.Value)
		}
	}
	switch {
	case load == "" && len(parts) == 0:
		return "the load of the study"
	case load == "":
		return strings.Join(parts, ", ")
	case len(parts) == 0:
		return load
	}
	return load + " with " + strings.Join(parts, ", ")
}

// offered is the load of a trial in words: of each instance, or, where groups
// have loads of their own, of each group. "" where none is known.
func offered(m record.Trial) string {
	parts := drivesOf(m)
	if len(parts) == 1 || len(parts) == 0 {
		text := loadText(m.Load.Users, m.Load.RatePerS)
		if len(parts) == 1 && parts[0].drive != (record.Drive{}) {
			text = loadText(parts[0].drive.Users, parts[0].drive.RatePerS)
		}
		if n := len(m.Instances); n > 1 && text != "" {
			text += fmt.Sprintf(" on each of %d instances", n)
		}
		return text
	}
	var out []string
	for _, p := range parts {
		text := loadText(p.drive.Users, p.drive.RatePerS) + " on "
		if p.count > 1 {
			text += "each of "
		}
		out = append(out, text+count(p.count, strings.TrimSpace(p.group+" instance")))
	}
	return strings.Join(out, " and ")
}

// sharedLoad is a load of a trial, and the instances that have it.
type sharedLoad struct {
	group string // "" where several groups share the load
	drive record.Drive
	count int
}

// drivesOf are the different loads of a trial's instances, in their order;
// groups that share one are one.
func drivesOf(m record.Trial) (out []sharedLoad) {
	for _, i := range m.Instances {
		d := record.Drive{Users: i.Drive.Users, RatePerS: i.Drive.RatePerS}
		k := slices.IndexFunc(out, func(p sharedLoad) bool { return p.drive == d })
		if k < 0 {
			out = append(out, sharedLoad{i.Group, d, 1})
			continue
		}
		if out[k].count++; out[k].group != i.Group {
			out[k].group = ""
		}
	}
	return out
}

// loadText is a load in words, "" for none.
func loadText(users int, ratePerS float64) string {
	switch {
	case ratePerS > 0:
		return figure(ratePerS) + " arrivals a second"
	case users > 0:
		return count(users, "user")
	}
	return ""
}

func lineOf(s *Study, cell int) *Line {
	if s.Curve == nil {
		return nil
	}
	for i := range s.Curve.Lines {
		for _, c := range s.Curve.Lines[i].Cells {
			if c == cell {
				return &s.Curve.Lines[i]
			}
		}
	}
	return nil
}

func unsteadyTrials(s *Study, c Cell) (n int) {
	for _, t := range c.Trials {
		if !s.Trials[t].Window.Steady {
			n++
		}
	}
	return n
}

// machine describes where a study ran.
func machine(m record.Machine) []Fact {
	var out factList
	out.add("Host", m.Host)
	out.add("Operating system", strings.TrimSpace(m.OS+" "+m.Kernel+" "+m.Arch))
	out.add("CPU", m.CPUModel)
	if m.Threads > 0 {
		out.add("CPUs", fmt.Sprintf("%s, %s, %s", count(m.Sockets, "socket"), count(m.Cores, "core"), count(m.Threads, "thread")))
	}
	if m.MHz > 0 {
		out.add("Frequency", figure(m.MHz)+" MHz")
	}
	if m.NUMANodes > 0 {
		out.add("NUMA nodes", fmt.Sprint(m.NUMANodes))
	}
	out.add("Caches", strings.Join(m.Caches, ", "))
	if m.MemBytes > 0 {
		out.add("Memory", unit.Bytes(m.MemBytes).Human())
		out.add("Swap", unit.Bytes(m.SwapBytes).Human())
	}
	out.add("Hypervisor", m.Hypervisor)
	out.add("Frequency governor", m.Governor)
	out.add("Large pages", m.HugePages)
	out.add("Control groups", m.Cgroup)
	out.add("Clock source", m.ClockRes)
	d := m.Disk
	if d.SizeBytes > 0 {
		out.add("Disk", fmt.Sprintf("%s on %s, %s, %s free", d.FileSystem, d.Device, unit.Bytes(d.SizeBytes).Human(), unit.Bytes(d.FreeBytes).Human()))
	}
	if d.FsyncUs > 0 {
		out.add("Synced append", figure(d.FsyncUs)+" µs (median, before the study)")
	}
	return out
}

// allProviders names every provider of a study that varies it in place of one
// trial's.
func allProviders(facts []Fact, runs []run) []Fact {
	var names []string
	for _, r := range runs {
		if name := r.manifest.Provider; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, f := range facts {
		if f.Name == "Provider" && len(names) > 1 {
			facts[i].Value = strings.Join(names, ", ")
		}
	}
	return facts
}

// shortPrint is how much of a fingerprint people are shown: enough to tell
// two golden states apart.
const shortPrint = 12

// system describes what was under test, from one trial's manifest.
func system(m record.Trial) []Fact {
	var out factList
	out.add("Engine", strings.TrimSpace(titled(m.Engine)))
	out.add("Engine from", m.Engine.Origin)
	out.add("Provider", m.Provider)
	w := m.Workload
	out.add("Workload", fmt.Sprintf("%s, version %d", w.Name, w.Version))
	out.add("Data", w.DataKey)
	if len(m.Load.Profile) > 0 {
		out.add("Load over time", (&profile{phases: m.Load.Profile}).String())
	}
	out.add("Driver's CPUs", seatText(m.Seat))
	if len(drivesOf(m)) > 1 {
		out.add("Load of the groups", offered(m))
	}
	for _, i := range m.Instances {
		for _, k := range i.Shape {
			out.addOf(m.Instances, i.Name, k)
		}
		if i.Golden.Key != "" {
			out.add("Golden state", fmt.Sprintf("%s rows, %s, fingerprint %s", figure(float64(i.Golden.Rows)), unit.Bytes(i.Golden.Bytes).Human(), i.Golden.Fingerprint[:min(len(i.Golden.Fingerprint), shortPrint)]))
		}
		if i.Restore.Way != "" {
			out.add("Restored", fmt.Sprintf("by %s before every trial; verified: %s", i.Restore.Way, i.Restore.Verified))
		}
	}
	return out
}

// seatText says on which CPUs the driver ran, and with whom; "" where that is
// not known.
func seatText(s record.Seat) string {
	if s.CPUs == "" {
		return ""
	}
	text := s.CPUs
	if s.Intended != "" && s.Intended != s.CPUs {
		text += " (intended: " + s.Intended + ")"
	}
	if s.Shared != "" {
		return text + ", shared with " + s.Shared
	}
	return text + ", its own"
}

// factList leaves out what is not known, and what it has already.
type factList []Fact

func (l *factList) add(name, value string) {
	if f := (Fact{name, value}); value != "" && !slices.Contains(*l, f) {
		*l = append(*l, f)
	}
}

// addOf adds a knob of the shape of one of the instances: once for all where
// all have the same.
func (l *factList) addOf(all []record.Instance, name string, k record.Knob) {
	same := len(all) > 1
	for _, i := range all {
		same = same && slices.ContainsFunc(i.Shape, func(o record.Knob) bool { return o.Name == k.Name && o.Effective == k.Effective })
	}
	if same {
		name = fmt.Sprintf("each of %d instances", len(all))
	}
	l.add(name+" "+k.Name, k.Effective)
}
