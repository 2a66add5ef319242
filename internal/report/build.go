package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// builder puts a document together and gathers the data files on the way.
type builder struct {
	s       *analyse.Study // as it is shown: see shown
	all     *analyse.Study // with everything that was recorded, for data over time
	doc     document
	data    map[string][]byte
	chosen  *analyse.Trial // the peak's median trial; nil where there is none
	figures int
	tables  int
}

func build(s *analyse.Study) *builder {
	b := &builder{s: shown(s), all: s, data: map[string][]byte{}}
	b.chosen = chosenTrial(b.s)
	b.head()
	b.glance()
	b.curve()
	b.sweeps()
	b.fairness()
	b.contention()
	b.within()
	b.published()
	b.overTime()
	b.events()
	b.response()
	b.resources()
	b.limit()
	b.checks()
	b.trials()
	b.machine()
	b.settings()
	b.scale()
	b.study()
	b.method()
	b.made()
	return b
}

// peak returns the cell with the highest throughput; nil where nothing was
// measured.
func (b *builder) peak() *analyse.Cell { return peakCell(b.s) }

func peakCell(s *analyse.Study) *analyse.Cell {
	if s.Peak < 0 || s.Peak >= len(s.Cells) || !measured(s.Cells[s.Peak]) {
		return nil
	}
	return &s.Cells[s.Peak]
}

// measured says whether a trial of c finished and counts.
func measured(c analyse.Cell) bool { return len(c.Trials) > 0 && c.Throughput.N > 0 }

// chosenTrial returns the trial that stands for the peak in figures over
// time: the one with the median throughput, the lower of two. Where nothing
// counts it is the last trial that left a timeline: a failed study is read
// for its reasons.
func chosenTrial(s *analyse.Study) *analyse.Trial {
	var of []*analyse.Trial
	if peak := peakCell(s); peak != nil {
		for _, i := range peak.Trials {
			if i >= 0 && i < len(s.Trials) && len(s.Trials[i].Timeline.Seconds) > 0 {
				of = append(of, &s.Trials[i])
			}
		}
	}
	if len(of) > 0 {
		slices.SortStableFunc(of, func(a, b *analyse.Trial) int { return cmp.Compare(a.Throughput, b.Throughput) })
		return of[(len(of)-1)/2]
	}
	for i := len(s.Trials) - 1; i >= 0; i-- {
		if len(s.Trials[i].Timeline.Seconds) > 0 {
			return &s.Trials[i]
		}
	}
	return nil
}

func (b *builder) section(id, title string, blocks ...block) {
	b.doc.Sections = append(b.doc.Sections, section{id, title, blocks})
}

// visibleLines is how many lines of a long list are shown at once.
const visibleLines = 8

// split is a list of which a page shows the first n lines, and the others on
// demand.
func split(of []string, n int, rest string) (blocks []block) {
	n = max(0, min(n, len(of)))
	if n > 0 {
		blocks = append(blocks, block{List: of[:n]})
	}
	if len(of) > n {
		blocks = append(blocks, block{More: &more{counted(len(of)-n, rest), of[n:]}})
	}
	return blocks
}

// small numbers figures that stand beside each other.
func (b *builder) small(of []figure) block {
	for i, f := range of {
		of[i] = *b.figure(f).Figure
	}
	return block{Small: of}
}

// figure numbers f and, where the study is not valid, says so in its caption.
func (b *builder) figure(f figure) block {
	b.figures++
	f.Number = b.figures
	if !b.s.Valid {
		f.Caption += " The study is not valid: for diagnosis only."
	}
	return block{Figure: &f}
}

func (b *builder) table(t table) block {
	b.tables++
	t.Wide = len(t.Columns) > 9
	t.Number = b.tables
	return block{Table: &t}
}

// wide and narrow are the sizes of full figures, in CSS pixels.
var (
	wide   = [2]float64{760, 320}
	narrow = [2]float64{340, 270}
)

// both draws a figure in the two sizes.
func (f figure) both(height float64, draw func(w, h float64) string) figure {
	f.Wide = draw(wide[0], wide[1]*height)
	f.Narrow = draw(narrow[0], narrow[1]*max(height, 0.8))
	return f
}

// metricUnit is how the headline figure's unit is written: "orders a minute
// (OPM)".
func metricUnit(m analyse.Metric) string {
	switch {
	case m.Name == "":
		return m.Short
	case m.Short == "" || m.Short == m.Name:
		return m.Name
	}
	return m.Name + " (" + m.Short + ")"
}

// throughputLabel names the headline quantity with its unit.
func throughputLabel(m analyse.Metric) string {
	return strings.TrimSuffix("throughput, "+metricUnit(m), ", ")
}

// inUnit is " in orders a minute (OPM)", for captions.
func inUnit(m analyse.Metric) string {
	return strings.TrimSuffix(" in "+metricUnit(m), " in ")
}

// interval tells an estimate's interval and how it was made.
func interval(e analyse.Estimate) string {
	if !e.Low.OK() || !e.High.OK() {
		return e.Method
	}
	note := ""
	if cutLow(e) {
		note = ", cut at 0"
	}
	return fmt.Sprintf("interval %s to %s (%s, %s%s)", num(low(e)), num(e.High), e.Method, repeats(e.N), note)
}

// low is the lower end of e's interval as it is shown, not below 0: Student's
// interval knows no bounds, but what was counted does.
func low(e analyse.Estimate) float64 { return max(0, float64(e.Low)) }

// cutLow says that e's interval reaches below 0.
func cutLow(e analyse.Estimate) bool { return e.Low < 0 }

func repeats(n int) string { return counted(n, "repeat") }

// counted prints n things, in the plural where there is not one.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return chart.Count(int64(n)) + " " + thing + "s"
}

// num prints a number, or a dash where it is absent.
func num[T ~float64](v T) string { return chart.Number(float64(v)) }

// percent prints a percentage: to a tenth, and what is less with two digits.
func percent(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case a != 0 && a < 0.095:
		return strconv.FormatFloat(v, 'g', 2, 64) + " %"
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " %"
}

// unitOf returns the row of the work that the metric counts: the unit of work,
// which is the last row, or a type of transaction.
func unitOf(types []analyse.Latency) (analyse.Latency, bool) {
	if i := slices.IndexFunc(types, func(l analyse.Latency) bool { return l.Headline }); i >= 0 {
		return types[i], true
	}
	if len(types) == 0 {
		return analyse.Latency{}, false
	}
	return types[len(types)-1], true
}

func quantile(l analyse.Latency, p float64) (analyse.Quantile, bool) {
	for _, q := range l.P {
		if q.Percentile == p {
			return q, true
		}
	}
	return analyse.Quantile{}, false
}

// trialList prints numbers of trials with runs joined: "1–4, 7".
func trialList(ns []int) string {
	slices.Sort(ns)
	var parts []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] <= ns[j]+1 {
			j++
		}
		switch {
		case j == i:
			parts = append(parts, fmt.Sprint(ns[i]))
		case j == i+1:
			parts = append(parts, fmt.Sprint(ns[i]), fmt.Sprint(ns[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d–%d", ns[i], ns[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// sentence begins s with a capital and ends it with a full stop.
func sentence(s string) string {
	s = firstUpper(strings.TrimSpace(s))
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// firstUpper writes the first letter of s as a capital.
func firstUpper(s string) string {
	for i, r := range s {
		if i == 0 {
			return strings.ToUpper(string(r)) + s[len(string(r)):]
		}
	}
	return s
}
