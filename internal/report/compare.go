package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
	"github.com/loadstone-perf/loadstone/internal/report/figure/forest"
)

// compared is what `compare --format json` prints.
type compared struct {
	Format      int                   `json:"format"`
	Comparisons []*analyse.Comparison `json:"comparisons"`
}

// ComparisonJSON returns cs for programs. It is an error where a number that
// must be there is NaN or infinite.
func ComparisonJSON(cs []*analyse.Comparison) ([]byte, error) {
	return indented("comparison", compared{1, cs})
}

// indented is v as JSON, with a newline at its end.
func indented(name string, v any) ([]byte, error) {
	if at := notFinite(reflect.ValueOf(v), name); at != "" {
		return nil, fmt.Errorf("%s.json: %s is not a finite number", name, at)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s.json: %w", name, err)
	}
	return append(out, '\n'), nil
}

// ComparisonText returns cs, of which there is at least one, for a terminal of
// width columns, as Text does: the verdicts first.
func ComparisonText(cs []*analyse.Comparison, width int, colour bool) string {
	return renderText(buildComparison(cs).doc, width, colour)
}

// WriteComparison writes cs, of which there is at least one, into dir, which
// it makes where it is missing: index.html, data/*.csv, comparison.json and
// comparison.txt. It returns the path of index.html, which comes last.
func WriteComparison(cs []*analyse.Comparison, dir string) (indexPath string, err error) {
	b := buildComparison(cs)
	page, err := renderPage(b.doc)
	if err != nil {
		return "", err
	}
	results, err := ComparisonJSON(cs)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(b.data)) {
		if err := writeWhole(filepath.Join(dir, "data", name), b.data[name]); err != nil {
			return "", err
		}
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{{"comparison.json", results}, {"comparison.txt", []byte(renderText(b.doc, textWidth, false))}, {"index.html", page}} {
		if err := writeWhole(filepath.Join(dir, f.name), f.content); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "index.html"), nil
}

// buildComparison puts comparisons with one base together.
func buildComparison(cs []*analyse.Comparison) *builder {
	valid, verdicts := true, []string{}
	var invalid, notes []string
	for _, c := range cs {
		valid = valid && c.Valid
		verdicts = append(verdicts, c.Verdict)
		for _, r := range c.Invalid {
			if !slices.Contains(invalid, r) {
				invalid = append(invalid, r)
			}
		}
		for _, n := range c.Notes {
			notes = append(notes, c.Other.Name+": "+n)
		}
	}
	b := &builder{s: &analyse.Study{Valid: valid}, data: map[string][]byte{}}
	b.doc = document{
		Title: "Comparison with " + cs[0].Base.Name, Answer: strings.Join(verdicts, " "),
		Valid: valid, Invalid: invalid, Notes: notes,
		Simulated: slices.ContainsFunc(cs, func(c *analyse.Comparison) bool { return c.Base.Simulated || c.Other.Simulated }),
	}
	for i, c := range cs {
		b.section(fmt.Sprintf("comparison-%d", i+1), c.Other.Name+" against "+c.Base.Name, b.comparison(c)...)
	}
	b.section("method", "How it was compared", block{List: comparisonMethod(cs[0])})
	return b
}

// comparison is what is said of one comparison: its conditions, the figure of
// changes, the table by configuration and quantity, and what else differs.
func (b *builder) comparison(c *analyse.Comparison) []block {
	var out []block
	if len(c.Conditions) > 0 {
		out = append(out, b.conditions(c.Conditions))
	}
	csv := b.addData("comparison-"+slug(c.Other.Name), comparisonCSV(c))
	if len(c.Cells) > 0 {
		out = append(out, b.forest(c, csv), b.effects(c, csv))
	}
	out = append(append(out, b.atPeak(c)...), b.atEqualCPU(c)...)
	if len(c.Published) > 0 {
		out = append(append(out, block{Heading: "What others published of the same ratio"}), b.publishedTable(c.Published, "published-"+slug(c.Other.Name))...)
	}
	if len(c.Unmatched) > 0 {
		out = append(out, block{Heading: "Not on both sides"}, block{List: c.Unmatched})
	}
	if len(c.Differences) > 0 {
		out = append(out, block{Heading: "What else differs"}, b.differences(c))
	}
	return out
}

// conditions is the table of what was demanded.
func (b *builder) conditions(of []analyse.Judgement) block {
	t := table{Caption: "Conditions: each fails only where a whole interval lies beyond it.", Columns: columns("Fails if", "Outcome", "Decided by")}
	for _, j := range of {
		how := plain
		switch j.Outcome {
		case analyse.Passes:
			how = good
		case analyse.Fails:
			how = bad
		}
		why := strings.Join(j.Reasons, "; ")
		if j.Outcome == analyse.Passes {
			why = ""
		}
		t.Rows = append(t.Rows, []field{c(j.Condition), toned(string(j.Outcome), how), c(why)})
	}
	return b.table(t)
}

// effects is the table by configuration and quantity.
func (b *builder) effects(x *analyse.Comparison, csv string) block {
	t := table{
		Caption: "Change against " + x.Base.Name + ", with its 95 % interval; better and worse are differences that are shown. The p are those of the verdict, corrected for the number of comparisons, and of the rank test, which is not.",
		CSV:     csv,
		Columns: columns("Configuration", "Quantity", "#Base?", "#Other?", "#Change", "Verdict", "#p?", "#Rank p?"),
	}
	for _, cell := range x.Cells {
		for _, e := range cell.Effects {
			verdict := toned(e.Text, plain)
			switch {
			case e.Verdict == analyse.Differs && e.Better:
				verdict = toned("better", good)
			case e.Verdict == analyse.Differs:
				verdict = toned("worse", bad)
			case e.Verdict == analyse.Unresolved:
				verdict.Tone = muted
			}
			t.Rows = append(t.Rows, []field{c(cell.Label), c(e.Quantity), c(measure(e, e.Base)), c(measure(e, e.Other)), c(e.Change()), verdict, c(chance(e.HolmP)), c(chance(e.RankP))})
		}
	}
	return b.table(t)
}

// measure prints a figure of a quantity with the unit of response times.
func measure(e analyse.Effect, v float64) string {
	if e.Unit == "ms" {
		return chart.Number(v) + " ms"
	}
	return chart.Number(v)
}

// chance prints a probability.
func chance(p analyse.Number) string {
	switch {
	case !p.OK():
		return "–"
	case p < 0.0001:
		return "< 0.0001"
	}
	return fmt.Sprintf("%.2g", float64(p))
}

// forest is the figure of changes: throughput of every configuration, then the
// percentiles of what comes first among the types, which is the unit of work.
func (b *builder) forest(x *analyse.Comparison, csv string) block {
	var rows []forest.Row
	add := func(take func(analyse.Effect) bool) {
		for _, cell := range x.Cells {
			first := firstType(cell)
			for _, e := range cell.Effects {
				if (e.Percentile == 0 || e.Type == first) && take(e) {
					rows = append(rows, forestRow(cell.Label, e))
				}
			}
		}
	}
	add(func(e analyse.Effect) bool { return e.Percentile == 0 })
	for _, p := range []float64{50, 95, 99} {
		add(func(e analyse.Effect) bool { return e.Percentile == p })
	}
	f := figure{
		Title: "Changes with their intervals", CSV: csv,
		Caption: "Change against " + x.Base.Name + ": dots with 95 % intervals. The line is no change; the shaded band is the margin within which a quantity counts as the same. Throughput is better to the right, response times to the left; green is better, red is worse, grey is the same or not resolved.",
	}
	draw := func(w float64) string { return forest.SVG(forest.Data{Width: w, Label: "change, %", Rows: rows}) }
	f.Wide, f.Narrow = draw(wide[0]), draw(narrow[0])
	return b.figure(f)
}

// firstType is the type whose percentiles come first in a configuration.
func firstType(cell analyse.Contrast) string {
	for _, e := range cell.Effects {
		if e.Type != "" {
			return e.Type
		}
	}
	return ""
}

func forestRow(label string, e analyse.Effect) forest.Row {
	const green, red, grey = 3, 5, 6
	r := forest.Row{
		Name: label + ": " + e.Quantity, Change: 100 * (float64(e.Ratio) - 1), Low: 100 * (float64(e.Low) - 1), High: 100 * (float64(e.High) - 1),
		Margin: e.MarginPct, Text: e.Text, Colour: grey,
	}
	if e.Verdict == analyse.Differs {
		r.Colour = red
		if e.Better {
			r.Colour = green
		}
	}
	return r
}

func (b *builder) differences(x *analyse.Comparison) block {
	t := table{Caption: "Facts in which the two differ. A change of throughput may come from any of them.", Columns: columns("Fact", x.Base.Name, x.Other.Name)}
	for _, d := range x.Differences {
		t.Rows = append(t.Rows, []field{c(d.Name), c(d.Base), c(d.Other)})
	}
	return b.table(t)
}

// comparisonMethod says how the figures were made.
func comparisonMethod(x *analyse.Comparison) []string {
	pairs := "Trials of the two are independent: Welch's comparison of the means of the logarithms."
	if x.Paired {
		pairs = "Trials of the same block are compared with each other, which takes away what all trials of a block share."
	}
	return []string{
		"Throughput: the ratio of the geometric means over repeats, with Student's interval. " + pairs,
		"Percentiles: the ratio of the percentiles of merged histograms, with an interval from a bootstrap over repeats; percentiles are never averaged.",
		"A quantity differs where its p, corrected after Holm for all quantities and configurations of the comparison, is at most 5 %. Half of these 5 % goes to throughput, a quarter to the percentiles of the unit of work and a quarter to those of its parts.",
		fmt.Sprintf("It is the same where two one-sided tests show, at 5 %% each, that it differs by less than the margin: ±%g %% for throughput and ±%g %% for percentiles. All else is not resolved.", x.MarginPct, x.PercentileMarginPct),
	}
}

func comparisonCSV(x *analyse.Comparison) []byte {
	f := newSheet("configuration", "quantity", "unit", "base", "other", "base_repeats", "other_repeats", "ratio", "low", "high",
		"p", "holm_p", "rank_p", "equivalence_p", "margin_pct", "verdict", "better", "more_repeats")
	for _, cell := range x.Cells {
		for _, e := range cell.Effects {
			f.text(cell.Label, e.Quantity, e.Unit).num(e.Base, e.Other).int(int64(e.BaseN), int64(e.OtherN))
			f.num(float64(e.Ratio), float64(e.Low), float64(e.High), float64(e.P), float64(e.HolmP), float64(e.RankP), float64(e.EquivalenceP), e.MarginPct)
			f.text(string(e.Verdict)).bool(e.Better).int(int64(e.MoreRepeats)).end()
		}
	}
	return f.bytes()
}
