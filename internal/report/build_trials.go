package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// checks is the section on what must hold for the figures to be believed.
func (b *builder) checks() {
	var blocks []block
	if gates := b.gateTable(); len(gates.Rows) > 0 {
		b.data["gates.csv"] = gatesCSV(b.s)
		blocks = append(blocks, b.table(gates))
	}
	if checks := b.checkTable(); len(checks.Rows) > 0 {
		b.data["checks.csv"] = checksCSV(b.s)
		blocks = append(blocks, b.table(checks))
	}
	if len(blocks) == 0 {
		blocks = []block{{Text: "No checks were made."}}
	}
	b.section("checks", "Checks", blocks...)
}

// verdicts counts what a gate or check found over the trials, in the order in
// which names first appear.
type verdicts struct {
	names  []string
	want   map[string]string
	about  map[string]string
	passed map[string]int
	all    map[string]int
	faults map[string]*failures
}

func newVerdicts() *verdicts {
	return &verdicts{want: map[string]string{}, about: map[string]string{}, passed: map[string]int{}, all: map[string]int{}, faults: map[string]*failures{}}
}

func (v *verdicts) add(trial int, name, about, want, found string, passed bool) {
	if v.all[name] == 0 {
		v.names = append(v.names, name)
		v.want[name], v.about[name] = want, about
	}
	if v.want[name] != want {
		v.want[name] = "differs by trial"
	}
	v.all[name]++
	if passed {
		v.passed[name]++
		return
	}
	if v.faults[name] == nil {
		v.faults[name] = &failures{}
	}
	v.faults[name].add(trial, found, want)
}

func (v *verdicts) rows() (rows [][]field) {
	for _, n := range v.names {
		result := toned(fmt.Sprintf("passed in all %d", v.all[n]), good)
		if v.passed[n] < v.all[n] {
			result = toned(fmt.Sprintf("FAILED in %d of %d", v.all[n]-v.passed[n], v.all[n]), bad)
		}
		rows = append(rows, []field{{Text: n, Detail: v.about[n]}, c(v.want[n]), result, c(v.faults[n].String())})
	}
	return rows
}

func (b *builder) gateTable() table {
	v := newVerdicts()
	for _, t := range b.s.Trials {
		for _, g := range t.Gates {
			v.add(t.Number, g.Name, "", g.Want, g.Found, g.Passed)
		}
	}
	return table{Caption: "Validity gate: what each trial must meet to be believed.", CSV: "gates.csv",
		Columns: columns("Condition", "Wanted", "Result", "Found where it failed"), Rows: v.rows()}
}

func (b *builder) checkTable() table {
	v := newVerdicts()
	for _, t := range b.s.Trials {
		for _, k := range t.Checks {
			v.add(t.Number, k.Name, k.About, k.Want, k.Found, k.Passed)
		}
	}
	return table{Caption: "Conditions on the database, tested after each run.", CSV: "checks.csv",
		Columns: columns("Condition", "Wanted", "Result", "Found where it failed"), Rows: v.rows()}
}

// trials is the section that lists every trial, failed ones too.
func (b *builder) trials() {
	if len(b.s.Trials) == 0 {
		b.section("trials", "All trials", block{Text: "No trial was run."})
		return
	}
	b.data["trials.csv"] = trialsCSV(b.s)
	counts := 0
	for i := range b.s.Trials {
		if outcome(&b.s.Trials[i]).Tone == good {
			counts++
		}
	}
	t := table{
		Caption: fmt.Sprintf("%s in the order of running; %d finished and passed the gate.", counted(len(b.s.Trials), "trial"), counts),
		CSV:     "trials.csv",
		Columns: columns("Trial", "#Block", "Configuration", "Outcome", "#Throughput", "#p95, ms", "#Window, s", "#Restore?", "#Late p99, µs?"),
	}
	for i := range b.s.Trials {
		t.Rows = append(t.Rows, trialRow(&b.s.Trials[i]))
	}
	blocks := []block{b.table(t)}
	if lines := allRemarks(b.s.Trials); len(lines) > 0 {
		blocks = append(append(blocks, block{Heading: "Remarks"}), split(lines, visibleLines, "more remark")...)
	}
	b.section("trials", "All trials", blocks...)
}

func trialRow(t *analyse.Trial) []field {
	through, p95, window, restore := "–", "–", "–", "–"
	if t.Status == "finished" {
		through = chart.Number(t.Throughput)
		if u, ok := unitOf(t.Types); ok {
			p95 = percentileText(u, 95)
		}
	}
	steady := ""
	if t.Window.End > t.Window.Start {
		window = fmt.Sprintf("%s – %s", chart.Number(t.Window.Start), chart.Number(t.Window.End))
		steady = steadiness(t.Window)
	}
	if t.RestoreWay != "" {
		restore = chart.Number(t.RestoreS) + " s"
	}
	return []field{c(fmt.Sprint(t.Number)), c(fmt.Sprint(t.Block)), c(t.Label), outcome(t), c(through), c(p95),
		{Text: window, Detail: steady}, {Text: restore, Detail: t.RestoreWay}, c(num(t.LatenessP99Us))}
}

// outcome says in a word what became of a trial.
func outcome(t *analyse.Trial) field {
	switch {
	case t.Status != "finished":
		return toned(t.Status, bad)
	case !t.Counts:
		return toned("does not count", bad)
	case slices.ContainsFunc(t.Gates, func(g analyse.Gate) bool { return !g.Passed }):
		return toned("broke the gate", bad)
	}
	return toned("counts", good)
}

// steadiness tells in a word whether a window was steady.
func steadiness(w analyse.Window) string {
	switch {
	case !w.Steady:
		return "not steady"
	case !w.Tested:
		return "too short to tell"
	}
	return "steady"
}

// allRemarks are the remarks on trials, those that differ in their numbers
// alone in one line.
func allRemarks(trials []analyse.Trial) (lines []string) {
	of := map[string]*failures{}
	var order []*failures
	for i := range trials {
		for _, r := range remarkParts(&trials[i]) {
			f := of[frame(r)]
			if f == nil {
				f = &failures{}
				of[frame(r)], order = f, append(order, f)
			}
			f.add(trials[i].Number, r, "")
		}
	}
	for _, f := range order {
		if len(f.trials) == 1 {
			lines = append(lines, fmt.Sprintf("Trial %d: %s", f.trials[0], f.found[0]))
			continue
		}
		lines = append(lines, fmt.Sprintf("Trials %s: %s", trialList(f.trials), spread(f.found)))
	}
	return lines
}

// remarks are all remarks on t in one text.
func remarks(t *analyse.Trial) string { return strings.Join(remarkParts(t), "; ") }

// remarkParts are why a trial failed or does not count, and its warnings.
func remarkParts(t *analyse.Trial) (parts []string) {
	if t.Reason != "" {
		parts = append(parts, t.Reason)
	}
	for _, g := range t.Gates {
		if !g.Passed {
			parts = append(parts, fmt.Sprintf("%s: %s, wanted %s", g.Name, g.Found, g.Want))
		}
	}
	for _, k := range t.Checks {
		if !k.Passed {
			parts = append(parts, fmt.Sprintf("%s: found %s, wanted %s", k.Name, k.Found, k.Want))
		}
	}
	if t.Status == "finished" && !t.Window.Steady && t.Window.Why != "" {
		parts = append(parts, t.Window.Why)
	}
	return append(parts, t.Warnings...)
}
