package analyse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// apart lists why two studies can't be compared at all.
func apart(base, other *Study, matches []match) []string {
	var out []string
	b, o := manifestOf(base), manifestOf(other)
	for side, m := range []*record.Trial{b, o} {
		if m == nil {
			out = append(out, sideOf([]*Study{base, other}[side]).Name+" has no trial that was begun")
		}
	}
	if len(out) > 0 {
		return out
	}
	differ := func(what, x, y string) {
		if x != y {
			out = append(out, fmt.Sprintf("%s is %s in the first and %s in the second", what, x, y))
		}
	}
	differ("the workload", fmt.Sprintf("%s, version %d", b.Workload.Name, b.Workload.Version), fmt.Sprintf("%s, version %d", o.Workload.Name, o.Workload.Version))
	differ("the metric", b.Workload.Metric.Name, o.Workload.Metric.Name)
	differ("the machine", origin(base), origin(other))
	if len(out) > 0 {
		return out
	}
	if len(matches) == 0 {
		return []string{"they have no configuration in common"}
	}
	for _, m := range matches {
		if len(m.trials[0]) == 0 || len(m.trials[1]) == 0 {
			continue
		}
		x, y := m.trials[0][0].about, m.trials[1][0].about
		differ("the data of "+m.label, x.Workload.DataKey, y.Workload.DataKey)
		differ("the loop of "+m.label, loop(x.Load), loop(y.Load))
		differ("the mode of "+m.label, x.Workload.Params["mode"], y.Workload.Params["mode"])
	}
	return out
}

// manifestOf is the manifest of the first trial that was begun, the counting
// ones first; nil where there is none.
func manifestOf(s *Study) *record.Trial {
	var begun *record.Trial
	for _, t := range s.Trials {
		if t.about == nil || t.about.Workload.Name == "" {
			continue
		}
		if t.Counts {
			return t.about
		}
		if begun == nil {
			begun = t.about
		}
	}
	return begun
}

func origin(s *Study) string {
	if s.Simulated {
		return "simulated"
	}
	return "real"
}

func loop(l record.Load) string {
	if l.RatePerS > 0 {
		return "open"
	}
	return "closed"
}

// differences lists the facts in which two studies differ: of the machines,
// and of the configurations that are matched.
func differences(base, other *Study, matches []match) []Difference {
	out := differing(lasting(base), lasting(other))
	for _, m := range matches {
		if len(m.trials[0]) == 0 || len(m.trials[1]) == 0 {
			continue
		}
		for _, d := range differing(traits(m.trials[0][0]), traits(m.trials[1][0])) {
			if !slices.ContainsFunc(out, func(o Difference) bool { return o.Name == d.Name }) {
				out = append(out, d)
			}
		}
	}
	return out
}

// lasting are the facts of a study's machine that do not change by
// themselves, and the program's version.
func lasting(s *Study) []Fact {
	out := []Fact{{"Loadstone", s.Loadstone}}
	for _, f := range s.Machine {
		switch f.Name {
		case "Frequency", "Synced append": // measured anew for every study
		case "Disk":
			f.Value, _, _ = strings.Cut(f.Value, ", ") // not how much of it is free
			out = append(out, f)
		default:
			out = append(out, f)
		}
	}
	return out
}

// traits are the facts of one trial that a comparison should know of.
func traits(t *Trial) []Fact {
	m := t.about
	var out factList
	out.add("Engine", titled(m.Engine))
	out.add("Engine from", m.Engine.Origin)
	out.add("Provider", m.Provider)
	out.add("Restored by", t.RestoreWay)
	if len(drivesOf(*m)) > 1 {
		out.add("Load of the groups", offered(*m))
	} else {
		out.add("Users", fmt.Sprint(m.Load.Users))
	}
	out.add("Arrivals", strings.TrimSpace(fmt.Sprintf("%g a second %s", m.Load.RatePerS, m.Load.Arrivals)))
	out.add("Warm-up", fmt.Sprintf("%g s", m.Load.WarmupS))
	out.add("Measured", fmt.Sprintf("%g s", m.Load.MeasureS))
	names := make([]string, 0, len(m.Workload.Params))
	for name := range m.Workload.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out.add("workload."+name, m.Workload.Params[name])
	}
	for _, k := range slices.Concat(t.Shape, t.Settings) {
		out.add(k.Name, k.Effective)
	}
	return out
}

// differing lists the facts that are not in both with the same value; what one
// lacks is "–".
func differing(base, other []Fact) []Difference {
	const none = "–"
	var out []Difference
	find := func(in []Fact, name string) string {
		if i := slices.IndexFunc(in, func(f Fact) bool { return f.Name == name }); i >= 0 && in[i].Value != "" {
			return in[i].Value
		}
		return none
	}
	for _, f := range base {
		if o := find(other, f.Name); o != find(base, f.Name) {
			out = append(out, Difference{f.Name, find(base, f.Name), o})
		}
	}
	for _, f := range other {
		if v := find(other, f.Name); v != none && !slices.ContainsFunc(base, func(b Fact) bool { return b.Name == f.Name }) {
			out = append(out, Difference{f.Name, none, v})
		}
	}
	return out
}
