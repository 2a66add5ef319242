package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

func (b *builder) head() {
	s := b.s
	b.doc.Title, b.doc.Question, b.doc.Answer = s.Name, s.Question, s.Answer
	b.doc.Valid, b.doc.Simulated, b.doc.Invalid, b.doc.Notes = s.Valid, s.Simulated, reasons(b.all), s.Notes
	b.doc.Caveats = s.Caveats
	switch {
	case s.Valid:
	case s.Measured != "":
		// The banner above has the reasons, with which the answer begins.
		b.doc.Answer = "For diagnosis only: " + s.Measured + "."
	case s.Peak < 0:
		b.doc.Answer = "Nothing was measured."
	}
	if peak := b.peak(); s.Valid && peak != nil {
		b.doc.Key = b.keyFigures(*peak)
	}
}

func (b *builder) keyFigures(peak analyse.Cell) []keyFigure {
	s := b.s
	key := []keyFigure{{
		Name: "Peak throughput", Value: chart.Number(peak.Throughput.Value), Unit: s.Metric.Short,
		Detail: s.Metric.Name + " at " + peak.Label + "; " + interval(peak.Throughput),
	}}
	if n := s.Nominal; n != nil {
		var params []string
		for _, p := range n.Params {
			params = append(params, p.Name+" = "+p.Value)
		}
		key = append(key, keyFigure{
			Name: "Share of the nominal figure", Value: chart.Number(n.SharePct), Unit: "%",
			Detail: fmt.Sprintf("the data stand for %s %s: %s", chart.Number(n.Value), s.Metric.Short, strings.Join(params, ", ")),
		})
	}
	if unit, ok := unitOf(peak.Types); ok {
		for _, p := range []float64{95, 99} {
			if q, ok := quantile(unit, p); ok {
				k := keyFigure{Name: fmt.Sprintf("%s, %gth percentile", unit.Type, p), Value: num(q.Ms), Unit: "ms"}
				k.Detail = "response time at the peak"
				if q.LowMs.OK() && q.HighMs.OK() {
					k.Detail += fmt.Sprintf("; %s to %s", num(q.LowMs), num(q.HighMs))
				}
				key = append(key, k)
			}
		}
	}
	if s.Limit.Resource != "" {
		key = append(key, keyFigure{Name: "Limiting resource", Value: s.Limit.Resource, Detail: s.Limit.Summary})
	}
	return key
}

// reasons lists why s is not valid: a gate that several trials failed is told
// once, with the range of what was found.
func reasons(s *analyse.Study) (out []string) {
	gates := map[string]*failures{} // by name
	of := map[string]string{}       // name of the gate that a reason is about
	asked := map[string]int{}       // trials that had to pass a gate
	for _, t := range s.Trials {
		for _, g := range t.Gates {
			asked[g.Name]++
			if fault := t.Fault(g); !g.Passed && slices.Contains(s.Invalid, fault) {
				if gates[g.Name] == nil {
					gates[g.Name] = &failures{}
				}
				gates[g.Name].add(t.Number, g.Found, g.Want)
				of[fault] = g.Name
			}
		}
	}
	for _, reason := range s.Invalid {
		f := gates[of[reason]]
		switch {
		case f == nil || len(f.trials) == 1:
			out = append(out, reason)
		case !f.told:
			f.told = true
			out = append(out, fmt.Sprintf("%s: %d of %s (%s): %s; wanted: %s", of[reason], len(f.trials),
				counted(asked[of[reason]], "trial"), trialList(f.trials), spread(f.found), spread(f.want)))
		}
	}
	return out
}

// failures are the trials that failed one condition, with what was found in
// each.
type failures struct {
	trials      []int
	found, want []string
	told        bool
}

func (f *failures) add(trial int, found, want string) {
	f.trials, f.found, f.want = append(f.trials, trial), append(f.found, found), append(f.want, want)
}

// String tells up to three failures one by one, and more of them together.
func (f *failures) String() string {
	if f == nil {
		return ""
	}
	const few = 3
	if len(f.trials) > few {
		return fmt.Sprintf("trials %s: %s (wanted: %s)", trialList(f.trials), spread(f.found), spread(f.want))
	}
	var parts []string
	for i, n := range f.trials {
		parts = append(parts, fmt.Sprintf("trial %d: %s (wanted: %s)", n, f.found[i], f.want[i]))
	}
	return strings.Join(parts, "; ")
}

// numbers finds numbers as results print them: "1,234.5".
func numbers() *regexp.Regexp { return regexp.MustCompile(`\d[\d,]*(?:\.\d+)?`) }

// frame is text without its numbers.
func frame(text string) string { return numbers().ReplaceAllString(text, "\x00") }

// spread joins texts that differ in their numbers alone to one with ranges:
// "16 % used" and "9 % used" to "9 to 16 % used". Of texts that differ in more
// it lists three kinds at most.
func spread(texts []string) string {
	const kinds = 3
	var frames []string
	alike := map[string][]string{}
	for _, t := range texts {
		f := frame(t)
		if alike[f] == nil {
			frames = append(frames, f)
		}
		alike[f] = append(alike[f], t)
	}
	var out []string
	for i, f := range frames {
		if i == kinds {
			out = append(out, fmt.Sprintf("and %d other kinds", len(frames)-kinds))
			break
		}
		out = append(out, ranges(alike[f]))
	}
	return strings.Join(out, "; ")
}

// ranges is the first of texts, which differ in their numbers alone, with each
// number that differs replaced by the least and the greatest.
func ranges(texts []string) string {
	numbers := numbers()
	var all [][]string
	for _, t := range texts {
		all = append(all, numbers.FindAllString(t, -1))
	}
	at := -1
	return numbers.ReplaceAllStringFunc(texts[0], func(string) string {
		at++
		least, most := all[0][at], all[0][at]
		for _, of := range all {
			if value(of[at]) < value(least) {
				least = of[at]
			}
			if value(of[at]) > value(most) {
				most = of[at]
			}
		}
		if least == most {
			return least
		}
		return least + " to " + most
	})
}

// value reads a number that numbers found.
func value(text string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
