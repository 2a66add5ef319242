package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Summary is how the predictions of a study, or of several, did.
type Summary struct {
	Fitted, Predictions   int
	Numbers               int     // predictions that are numbers, not orderings
	Median, P90           float64 // of their relative errors without sign
	Ratios                int     // of throughputs
	RatioMedian, RatioP90 float64
	Orders                int // orderings, bounds and likenesses
	Right, Ties, Wrong    int // of these
	Covered               int // numbers within their 90 % interval
	Drawn                 int // numbers that the draws alone cover
}

// Summarize counts over results.
func Summarize(results ...*Result) Summary {
	var s Summary
	var all, ratios []float64
	for _, r := range results {
		s.Fitted += len(r.Study.Parameters)
		for _, o := range r.Outcomes {
			s.Predictions++
			if o.Sense != Equal {
				s.order(o)
				continue
			}
			s.Numbers++
			e := math.Abs(o.Error())
			all = append(all, e)
			if o.Covered() {
				s.Covered++
			}
			if o.CoveredByDraws() {
				s.Drawn++
			}
			if o.Ratio {
				s.Ratios++
				ratios = append(ratios, e)
			}
		}
	}
	s.Median, s.P90 = quantile(0.5, all), quantile(0.9, all)
	s.RatioMedian, s.RatioP90 = quantile(0.5, ratios), quantile(0.9, ratios)
	return s
}

func (s *Summary) order(o Outcome) {
	s.Orders++
	switch o.Verdict() {
	case Right:
		s.Right++
	case Tie:
		s.Ties++
	default:
		s.Wrong++
	}
}

// quantile sorts x; NaN where it is empty.
func quantile(p float64, x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return stat.Quantile(p, stat.LinInterp, x, nil)
}

// page is Markdown under way.
type page struct{ bytes.Buffer }

func (p *page) line(format string, args ...any) { _, _ = fmt.Fprintf(p, format+"\n", args...) }

// table writes a heading row and its rule.
func (p *page) table(heads ...string) {
	p.line("")
	p.line("| %s |", strings.Join(heads, " | "))
	p.line("|%s", strings.Repeat("---|", len(heads)))
}

func (p *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", "\\|")
	}
	p.line("| %s |", strings.Join(cells, " | "))
}

// number has four significant digits, and no exponent where people use none.
func number(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "none"
	case a >= 1e4 && a < 1e7:
		return fmt.Sprintf("%.0f", x)
	default:
		return fmt.Sprintf("%.4g", x)
	}
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// signed is a change in percent, or what else a prediction can be.
func (o Outcome) signed() string {
	if o.Sense == Equal {
		return fmt.Sprintf("%+.1f %%", 100*o.Error())
	}
	return string(o.Verdict())
}

// published is the number as it is compared.
func (o Outcome) published() string {
	switch o.Sense {
	case Greater:
		return "> " + number(o.Value)
	case Less:
		return "< " + number(o.Value)
	case Similar:
		return fmt.Sprintf("%s ± %.0f %%", number(o.Value), 100*o.Within)
	}
	return number(o.Value)
}

func (i Interval) text() string { return number(i.Low) + " to " + number(i.High) }

// Page is docs/replay.md: failures first, then the summary, then each study.
func Page(results []*Result, o Options) []byte {
	p := &page{}
	p.line("# The published studies, calculated again")
	p.line("")
	p.line("SIMULATED: every number of ours on this page is calculated by the [twin](adr/0009-twin.md), not measured. `make replay` writes the page from `studies/*/replay.yaml` and `hosts/*.yaml`: %d draws, seed %d.", o.Draws, o.Seed)
	p.failures(results)
	p.summary(results)
	p.line("")
	p.line("## How to read it")
	p.line("")
	p.line("Each published number either sets a parameter (calibrated), is predicted, or is left out with a reason. Which is which was fixed before the first calculation ([decision 9](adr/0009-twin.md)), and a number that changed sides since says so. Predictions are read by nothing but this page.")
	p.line("")
	p.line("The interval holds a new measurement in nine cases of ten. It has the draws, each of which moves every calibrated number within its rounding and a repeatability of %.0f %%, every assumption within its range, and the seed, and fits anew; the repeatability of the measurement itself and the rounding of its print; and for numbers the error of queueing network models whose inputs are right, %.1f %% for rates and %.0f %% for times (Lazowska and others, Quantitative System Performance, 1984). Calibrated numbers have the draws alone.", 100*repeatability, 100*rateError, 100*timeError)
	p.line("")
	p.line("An ordering is a tie where its interval has both sides. A prediction fails where it errs by more than %.0f %%, or has an ordering wrong.", 100*failedError)
	for _, r := range results {
		p.study(r)
	}
	return p.Bytes()
}

func (p *page) failures(results []*Result) {
	p.line("")
	p.line("## Failures")
	p.table("study", "published number", "published", "ours", "90 %", "error", "likely reason")
	none := true
	for _, r := range results {
		for _, o := range r.Outcomes {
			if o.Verdict() == Wrong {
				none = false
				p.row(r.Study.Name, o.Metric+" ("+o.ID+")", o.published(), number(o.Ours), o.text(), o.signed(), cmp.Or(o.Why, "not known"))
			}
		}
	}
	if none {
		p.row("none", "", "", "", "", "", "")
	}
}

func (p *page) summary(results []*Result) {
	p.line("")
	p.line("## Summary")
	p.table("study", "fitted", "predictions", "numbers: median error", "90th percentile", "throughput ratios: median", "90th percentile", "orderings right, ties, wrong", "numbers in their 90 % interval", "in that of the draws alone")
	put := func(name string, s Summary) {
		p.row(name, fmt.Sprint(s.Fitted), fmt.Sprint(s.Predictions), fmt.Sprintf("%s of %d", percent(s.Median), s.Numbers), percent(s.P90),
			fmt.Sprintf("%s of %d", percent(s.RatioMedian), s.Ratios), percent(s.RatioP90),
			fmt.Sprintf("%d, %d, %d", s.Right, s.Ties, s.Wrong), fmt.Sprintf("%d of %d", s.Covered, s.Numbers), fmt.Sprintf("%d of %d", s.Drawn, s.Numbers))
	}
	for _, r := range results {
		put(r.Study.Name, Summarize(r))
	}
	all := Summarize(results...)
	put("all", all)
	p.line("")
	coverage := float64(all.Covered) / float64(max(1, all.Numbers))
	p.line("Targets: throughput ratios with a median error of at most 5 %% (%s: %s) and a 90th percentile of 15 %% (%s: %s); no ordering wrong (%d: %s); intervals that cover 85 to 95 %% (%.0f %%: %s).",
		percent(all.RatioMedian), met(all.RatioMedian <= 0.05), percent(all.RatioP90), met(all.RatioP90 <= 0.15),
		all.Wrong, met(all.Wrong == 0), 100*coverage, met(coverage >= 0.85 && coverage <= 0.95))
}

func met(b bool) string {
	if b {
		return "met"
	}
	return "missed"
}

func (p *page) study(r *Result) {
	s := r.Study
	p.line("")
	p.line("## %s", s.Name)
	p.line("")
	p.line("%s. Source: %s.", s.About, s.Source)
	p.parameters(r)
	p.line("")
	p.line("Published numbers:")
	p.table("published number", "source", "unit", "role", "published", "ours", "90 %", "error", "in the interval")
	for _, c := range r.Calibrations {
		p.row(c.Metric+" ("+c.ID+")", c.Source, c.Unit, "calibrates "+c.Sets, number(c.Value), number(c.Ours), c.text(), fmt.Sprintf("%+.1f %%", 100*(c.Ours/c.Value-1)), "")
	}
	for _, o := range r.Outcomes {
		in := ""
		if o.Sense == Equal {
			in = map[bool]string{true: "yes", false: "no"}[o.Covered()]
		}
		p.row(o.Metric+" ("+o.ID+")", o.Source, o.Unit, "predicted", o.published(), number(o.Ours), o.text(), o.signed(), in)
	}
	p.assumptions(r)
	if len(s.Omitted) > 0 {
		p.line("")
		p.line("Left out:")
		p.table("published number", "source", "unit", "published", "why")
		for _, o := range s.Omitted {
			p.row(o.Metric+" ("+o.ID+")", o.Source, o.Unit, number(o.Value), o.Why)
		}
	}
}

func (p *page) parameters(r *Result) {
	s := r.Study
	if len(s.Parameters) == 0 {
		return
	}
	p.line("")
	p.line("Fitted parameters, %d for %d predictions:", len(s.Parameters), len(s.Predicted))
	p.table("parameter", "value", "90 %", "unit", "what it is", "set by")
	for i, x := range s.Parameters {
		var by []string
		for _, c := range s.Calibrated {
			if c.Sets == x.Name {
				by = append(by, c.ID)
			}
		}
		p.row(x.Name, number(r.Fit.Values[x.Name]), r.Parameters[i].text(), x.Unit, x.About, strings.Join(by, ", "))
	}
}

// shown is how many of an assumption's greatest effects the page has.
const shown = 3

func (p *page) assumptions(r *Result) {
	s := r.Study
	if len(s.Assumptions) == 0 {
		return
	}
	p.line("")
	p.line("Assumptions, which no figure sets, and the predictions that move most where one goes to the ends of the last column but one (half of it and half as much again, or its range where that is wider), all else fitted anew:")
	p.table("assumption", "value", "drawn from", "unit", "what it is", "moved to", "what that does")
	for i, a := range s.Assumptions {
		effect := "not calculated"
		if r.Effects != nil {
			effect = r.Effects[i].text(s.Predicted)
		}
		p.row(a.Name, number(a.Value), Interval{a.Low, a.High}.text(), a.Unit, a.About, a.Moved().text(), effect)
	}
}

// text names the predictions that e moves most.
func (e Effect) text(predicted []Prediction) string {
	order := make([]int, len(predicted))
	size := func(i int) float64 { return max(math.Abs(e.Low[i]), math.Abs(e.High[i])) }
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	var parts []string
	for _, i := range order[:min(shown, len(order))] {
		if size(i) >= 0.005 {
			parts = append(parts, fmt.Sprintf("%s %+.1f %%, %+.1f %%", predicted[i].ID, 100*e.Low[i], 100*e.High[i]))
		}
	}
	if len(parts) == 0 {
		return "nothing by 0.5 %"
	}
	return strings.Join(parts, "; ")
}
