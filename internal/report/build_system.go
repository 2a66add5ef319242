package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

// machine is two sections: where the study ran, and what was under test.
func (b *builder) machine() {
	b.section("machine", "The machine", b.facts("Where the study ran.", b.s.Machine))
	blocks := []block{b.facts("What was under test.", b.s.System)}
	if t := b.shapeTable(); len(t.Rows) > 0 {
		b.data["shape.csv"] = knobsCSV(shapeOf(b.s))
		blocks = append(blocks, b.table(t))
	}
	b.section("system", "System under test", blocks...)
}

func (b *builder) facts(caption string, of []analyse.Fact) block {
	if len(of) == 0 {
		return block{Text: "Nothing was recorded."}
	}
	t := table{Caption: caption, Columns: columns("What", "Found")}
	for _, f := range of {
		t.Rows = append(t.Rows, []field{c(f.Name), c(f.Value)})
	}
	return b.table(t)
}

// seenKnob is a knob with the trials that had it so.
type seenKnob struct {
	analyse.Knob
	trials []int
}

// gather joins equal knobs of several trials.
func gather(trials []analyse.Trial, knobs func(analyse.Trial) []analyse.Knob) (out []seenKnob) {
	at := map[analyse.Knob]int{}
	for _, t := range trials {
		for _, k := range knobs(t) {
			i, known := at[k]
			if !known {
				i = len(out)
				at[k] = i
				out = append(out, seenKnob{Knob: k})
			}
			out[i].trials = append(out[i].trials, t.Number)
		}
	}
	slices.SortStableFunc(out, func(x, y seenKnob) int { return strings.Compare(x.Name, y.Name) })
	return out
}

func shapeOf(s *analyse.Study) []seenKnob {
	return gather(s.Trials, func(t analyse.Trial) []analyse.Knob { return t.Shape })
}

// shapeTable proves the instance's size: intended and read back.
func (b *builder) shapeTable() table {
	t := table{Caption: "The instance's shape, as intended and as read back.", CSV: "shape.csv",
		Columns: columns("Knob", "Intended", "Effective", "Verdict", "Trials")}
	for _, k := range shapeOf(b.s) {
		t.Rows = append(t.Rows, []field{{Text: k.Name, Detail: k.Why}, c(orDash(k.Intended)), c(orDash(k.Effective)), verdict(k.Knob), c(trialList(k.trials))})
	}
	return t
}

func verdict(k analyse.Knob) field {
	switch {
	case !k.Matches:
		return toned("MISMATCH", bad)
	case k.Intended == "":
		return toned("as found", muted)
	}
	return toned("as intended", good)
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// settingsOf lists the study's settings, and those of single trials that
// differ from them, each with its trials.
func settingsOf(s *analyse.Study) []seenKnob {
	out := gather(s.Trials, func(t analyse.Trial) []analyse.Knob { return t.Settings })
	for _, k := range s.Settings {
		if !slices.ContainsFunc(out, func(o seenKnob) bool { return o.Knob == k }) {
			out = append(out, seenKnob{Knob: k})
		}
	}
	slices.SortStableFunc(out, func(x, y seenKnob) int { return strings.Compare(x.Name, y.Name) })
	return out
}

// withSettings counts the trials whose settings were read.
func withSettings(s *analyse.Study) (n int) {
	for _, t := range s.Trials {
		if len(t.Settings) > 0 {
			n++
		}
	}
	return n
}

// settings is the appendix with all settings that are not the default.
func (b *builder) settings() {
	of := settingsOf(b.s)
	t := table{Caption: "Every setting of the database that was asked for or is not its default; the data file has all that were read.", CSV: "settings.csv",
		Columns: columns("Setting", "Intended", "Effective", "Default", "Verdict", "Trials?", "Why")}
	all := withSettings(b.s)
	for _, k := range of {
		if k.Intended == "" && k.Effective == k.Default && k.Matches {
			continue
		}
		which := "all"
		if len(k.trials) < all {
			which = trialList(k.trials)
		}
		t.Rows = append(t.Rows, []field{c(k.Name), c(orDash(k.Intended)), c(orDash(k.Effective)), c(orDash(k.Default)), verdict(k.Knob), c(which), c(k.Why)})
	}
	if len(of) == 0 {
		b.section("settings", "Appendix: settings", block{Text: "No settings were read."})
		return
	}
	b.data["settings.csv"] = knobsCSV(of)
	b.section("settings", "Appendix: settings", b.table(t))
}

// study is the appendix with the study file.
func (b *builder) study() {
	if b.s.Source == "" {
		b.section("study", "Appendix: the study file", block{Text: "The study file was not kept."})
		return
	}
	b.section("study", "Appendix: the study file", block{Text: "What was asked for, word for word:"}, block{Code: b.s.Source})
}

// method is the appendix on how to read the figures.
func (b *builder) method() {
	order := "in random order"
	if len(b.s.Search) > 0 {
		order = "in random order (but the first block, which is the search itself)"
	}
	b.section("method", "How to read this report", block{Terms: []term{
		{"Window", "Only what ended within a trial's measured window counts; ramp, warm-up and what came after do not. The table of trials gives each window, and says where no steady state was found. Figures over time leave out an interval shorter than half of the usual one; the data has it."},
		{"Trial, repeat, block", "A trial is one run, from a freshly restored database where the settings above name a way of restoring. Repeats of a configuration are trials of their own, and a block holds every configuration once " + order + ", so that slow drift of the machine does not favour one of them."},
		{"Interval", "How far the figure may be from its true value, judged from the differences between repeats: of throughput by Student's t, or by ranks from six repeats on; of percentiles by Student's t on the logarithm, from three on. Two configurations whose intervals overlap widely have not been told apart. One repeat gives no interval."},
		{"Response time", "From the moment work was meant to start until it ended, waiting for the database included. Percentiles come from the histograms of all repeats merged; they are never averaged."},
		{"Percentile", "p95 = 12 ms says that 95 of 100 took 12 ms or less."},
		{"Errors, rolled back, retries", "Work that failed or was rolled back is counted apart and is in no response time; retries are attempts beyond the first."},
		{"Limiting resource", "The resource that was used up at the peak, with the figures that speak for it. “Not found” means that none was, not that there is none."},
		{"Valid", "Headline figures are shown only where every trial behind them passed the validity gate. Otherwise the report says INVALID and why; its figures serve to find the cause."},
		{"Data", "Each figure and table links to a file with the values behind it; report.json beside this page holds all results."},
	}})
}

// made is the appendix on what made the report.
func (b *builder) made() {
	s := b.s
	facts := []analyse.Fact{
		{Name: "Program", Value: "Loadstone " + orDash(s.Loadstone)},
		{Name: "Format of the results", Value: fmt.Sprint(s.Format)},
		{Name: "Trials", Value: fmt.Sprintf("%s of %s", counted(len(s.Trials), "trial"), counted(len(s.Cells), "configuration"))},
	}
	if !s.Created.IsZero() {
		facts = append(facts, analyse.Fact{Name: "Study begun", Value: s.Created.UTC().Format("2006-01-02 15:04:05 UTC")})
	}
	if len(s.Factors) > 0 {
		facts = append(facts, analyse.Fact{Name: "Varied", Value: strings.Join(s.Factors, ", ")})
	}
	if s.Simulated {
		facts = append(facts, analyse.Fact{Name: "Origin of the figures", Value: "simulated: a model, not a measurement"})
	}
	b.section("made", "How it was made", b.facts("What made this report.", facts))
}
