package analyse

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Comparison says how the configurations of one side differ from those of
// another: two studies, or two values of one factor within a study.
type Comparison struct {
	Base  Side `json:"base"`
	Other Side `json:"other"`
	// Valid says that both sides may be believed; Invalid lists why not.
	Valid   bool     `json:"valid"`
	Invalid []string `json:"invalid,omitempty"`
	// Verdict is the outcome in a few sentences; it begins with INVALID where
	// Valid is false.
	Verdict string `json:"verdict"`
	Metric  Metric `json:"metric"`
	// Paired says that trials of the same block were compared with each other.
	Paired bool `json:"paired"`
	// MarginPct and PercentileMarginPct are the margins within which
	// throughput and percentiles count as the same.
	MarginPct           float64 `json:"margin_pct"`
	PercentileMarginPct float64 `json:"percentile_margin_pct"`
	// Cells are the configurations that both sides have, in the base's order.
	Cells []Contrast `json:"cells"`
	// EqualCPU compares at equal CPU use, where both sides have several loads.
	EqualCPU []AtCPU `json:"equal_cpu,omitempty"`
	// AtPeak compares each side at its own best load, where both have several.
	AtPeak []AtPeak `json:"at_peak,omitempty"`
	// Published are values that others printed of the same ratio.
	Published []Published `json:"published,omitempty"`
	Unmatched []string    `json:"unmatched,omitempty"` // configurations that one side lacks
	// Differences are what else the sides do not have in common.
	Differences []Difference `json:"differences,omitempty"`
	Notes       []string     `json:"notes,omitempty"`
	Conditions  []Judgement  `json:"conditions,omitempty"` // see Require
}

// Side is one side of a Comparison.
type Side struct {
	// Name is the result directory's, or the factor with its value within a
	// study.
	Name      string    `json:"name"`
	Study     string    `json:"study"`
	Created   time.Time `json:"created"`
	Simulated bool      `json:"simulated,omitempty"`
}

// Contrast compares one configuration.
type Contrast struct {
	Label string `json:"label"`
	// Base and Other are indices in Cells of each side's study.
	Base  int `json:"base_cell"`
	Other int `json:"other_cell"`
	// Effects are throughput, then the percentiles of each type, the unit's
	// first. What too little was recorded of is not among them.
	Effects []Effect `json:"effects"`
}

// Effect is how one quantity of a configuration differs.
type Effect struct {
	Quantity   string  `json:"quantity"` // "throughput", "p95 order"
	Type       string  `json:"type,omitempty"`
	Percentile float64 `json:"percentile,omitempty"` // 0 is throughput
	Unit       string  `json:"unit"`
	// Base and Other are the figures of both sides: the geometric means of
	// throughput over the trials compared, the percentiles of their merged
	// histograms.
	Base   float64 `json:"base"`
	Other  float64 `json:"other"`
	BaseN  int     `json:"base_n"` // trials
	OtherN int     `json:"other_n"`
	// Ratio is Other ÷ Base with its 95 % interval, which is absent where a
	// side has one trial.
	Ratio Number `json:"ratio"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
	// P is two-sided, that the ratio is not 1; HolmP is P corrected for all
	// effects of the comparison; RankP is Mann and Whitney's beside it, over
	// what each trial gave; EquivalenceP is that of TOST within MarginPct.
	P            Number  `json:"p"`
	HolmP        Number  `json:"holm_p"`
	RankP        Number  `json:"rank_p"`
	EquivalenceP Number  `json:"equivalence_p"`
	MarginPct    float64 `json:"margin_pct"`
	Verdict      Verdict `json:"verdict"`
	Text         string  `json:"text"` // the verdict with its figures
	// Better is set for a difference for the better: more throughput, or a
	// shorter response time.
	Better bool `json:"better"`
	// MoreRepeats is about how many more repeats would resolve it; 0 where it
	// is resolved or that can't be told.
	MoreRepeats int `json:"more_repeats,omitempty"`

	unit bool    // of the unit of work
	sd   float64 // of what one repeat gives to the logarithm of Ratio
}

// Verdict is what a comparison may say of a quantity.
type Verdict string

// The verdicts. Differs: HolmP is at most 5 %. Same: not that, and
// EquivalenceP is at most 5 %. Unresolved: neither is shown.
const (
	Differs    Verdict = "differs"
	Same       Verdict = "same"
	Unresolved Verdict = "not resolved"
)

// Difference is a fact that two sides do not share.
type Difference struct {
	Name  string `json:"name"`
	Base  string `json:"base"`
	Other string `json:"other"`
}

// CompareOptions says what counts as the same. It must be chosen before the
// figures are seen.
type CompareOptions struct {
	MarginPct           float64 // of throughput; 0 is 3
	PercentileMarginPct float64 // of percentiles; 0 is 10
}

// The margins where none are named.
const (
	usualMarginPct           = 3
	usualPercentileMarginPct = 10
)

// Validate says which option is out of range.
func (o CompareOptions) Validate() error {
	for _, m := range []struct {
		of  string
		pct float64
	}{{"throughput", o.MarginPct}, {"percentiles", o.PercentileMarginPct}} {
		if !(m.pct >= 0 && m.pct <= 100) {
			return fmt.Errorf("the margin of %s is %g %%: it must be between 0 and 100 %%", m.of, m.pct)
		}
	}
	return nil
}

// Compare sets other against base, which both come from Load. Configurations
// are matched by their factors' texts. The error says what makes the two
// incomparable: another metric, workload, data or mode, closed against open
// loop, measured against simulated, or no configuration in common. Other differences
// are listed in the result.
func Compare(base, other *Study, o CompareOptions) (*Comparison, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	out := newComparison(base, o)
	out.Base, out.Other = sideOf(base), sideOf(other)
	matches, unmatched := matched(base, other)
	out.Unmatched = unmatched
	if reasons := apart(base, other, matches); len(reasons) > 0 {
		return nil, fmt.Errorf("%s and %s can't be compared: %s", out.Base.Name, out.Other.Name, strings.Join(reasons, "; "))
	}
	for _, s := range []*Study{base, other} {
		for _, reason := range s.Invalid {
			out.Invalid = append(out.Invalid, sideOf(s).Name+": "+reason)
		}
	}
	out.Differences = differences(base, other, matches)
	out.contrast(matches, base.seed^other.seed)
	out.EqualCPU, out.AtPeak = equalCPU(base, matches, ""), atPeaks(base, other, matches, "", false)
	out.Published = publishedBetween(base, other, matches)
	out.finish(base.Peak)
	return out, nil
}

// Within compares, in one study, each value of a factor that is not the load
// with the factor's first value, everything else equal: one Comparison a
// value. It is empty where nothing varies but the load. Options out of range
// count as not named.
func Within(s *Study, o CompareOptions) []Comparison {
	if o.Validate() != nil {
		o = CompareOptions{}
	}
	var out []Comparison
	load := loadFactor(s.Cells)
	for k := range s.Factors {
		values := valuesOf(s.Cells, k)
		if k == load || len(values) < 2 {
			continue
		}
		for _, value := range values[1:] {
			matches, unmatched := matchedBy(s, k, values[0], value)
			if len(matches) == 0 {
				continue
			}
			c := newComparison(s, o)
			c.Paired, c.Unmatched, c.Invalid = true, unmatched, s.Invalid
			c.Base, c.Other = sideOf(s), sideOf(s)
			c.Base.Name, c.Other.Name = s.Factors[k]+" = "+values[0], s.Factors[k]+" = "+value
			c.contrast(matches, s.seed+uint64(len(out)))
			c.EqualCPU, c.AtPeak = equalCPU(s, matches, s.Factors[k]), atPeaks(s, s, matches, s.Factors[k], true)
			c.finish(s.Peak)
			out = append(out, *c)
		}
	}
	return out
}

func newComparison(base *Study, o CompareOptions) *Comparison {
	c := &Comparison{Metric: base.Metric, MarginPct: o.MarginPct, PercentileMarginPct: o.PercentileMarginPct, Cells: []Contrast{}}
	if c.MarginPct == 0 {
		c.MarginPct = usualMarginPct
	}
	if c.PercentileMarginPct == 0 {
		c.PercentileMarginPct = usualPercentileMarginPct
	}
	return c
}

func sideOf(s *Study) Side {
	name := s.Name
	if s.Dir != "" {
		name = filepath.Base(s.Dir)
	}
	return Side{name, s.Name, s.Created, s.Simulated}
}

// match is one configuration of both sides with its trials that count.
type match struct {
	label  string
	cells  [2]int
	trials [2][]*Trial // where paired, those at the same place are of the same block
}

func matchOf(base, other *Study, b, o int, paired bool) match {
	m := match{label: other.Cells[o].Label, cells: [2]int{b, o}}
	if m.label == "" {
		m.label = base.Cells[b].Label
	}
	for side, cell := range []*Cell{&base.Cells[b], &other.Cells[o]} {
		from := []*Study{base, other}[side]
		for _, i := range cell.Trials {
			m.trials[side] = append(m.trials[side], &from.Trials[i])
		}
	}
	if paired {
		m.trials = inBlocks(m.trials)
	}
	return m
}

// inBlocks keeps the trials whose block both sides have, in the order of the
// blocks.
func inBlocks(trials [2][]*Trial) (out [2][]*Trial) {
	for _, a := range slices.SortedFunc(slices.Values(trials[0]), func(a, b *Trial) int { return a.Block - b.Block }) {
		i := slices.IndexFunc(trials[1], func(b *Trial) bool { return b.Block == a.Block })
		if i >= 0 {
			out[0], out[1] = append(out[0], a), append(out[1], trials[1][i])
		}
	}
	return out
}

// key is what configurations are matched by: their factors but for the one
// called except, in an order that does not depend on the study file.
func key(c Cell, except string) string {
	var parts []string
	for _, f := range c.Factors {
		if f.Knob != except {
			parts = append(parts, f.Knob+"\x00"+f.Value)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x01")
}

// matched finds the configurations that both studies have, and lists those
// that one has not.
func matched(base, other *Study) (matches []match, unmatched []string) {
	at := map[string]int{}
	for i, c := range other.Cells {
		at[key(c, "")] = i
	}
	for i, c := range base.Cells {
		if k, both := at[key(c, "")]; both {
			matches = append(matches, matchOf(base, other, i, k, false))
			delete(at, key(c, ""))
		} else {
			unmatched = append(unmatched, fmt.Sprintf("%s: only in %s", named(c), sideOf(base).Name))
		}
	}
	for _, c := range other.Cells {
		if _, alone := at[key(c, "")]; alone {
			unmatched = append(unmatched, fmt.Sprintf("%s: only in %s", named(c), sideOf(other).Name))
		}
	}
	return matches, unmatched
}

// named is the cell's label, made of its factors where none of its trials was
// begun.
func named(c Cell) string {
	if c.Label != "" {
		return c.Label
	}
	var parts []string
	for _, f := range c.Factors {
		parts = append(parts, f.Knob+" = "+f.Value)
	}
	return strings.Join(parts, ", ")
}

// valuesOf lists the values of factor k in the order in which they come.
func valuesOf(cells []Cell, k int) []string {
	var out []string
	for _, c := range cells {
		if k < len(c.Factors) && !slices.Contains(out, c.Factors[k].Value) {
			out = append(out, c.Factors[k].Value)
		}
	}
	return out
}

// matchedBy matches the cells in which factor k has the first value with those
// in which it has the second, all else equal.
func matchedBy(s *Study, k int, first, second string) (matches []match, unmatched []string) {
	knob := s.Factors[k]
	at := map[string]int{}
	for i, c := range s.Cells {
		if c.Factors[k].Value == second {
			at[key(c, knob)] = i
		}
	}
	for i, c := range s.Cells {
		if c.Factors[k].Value != first {
			continue
		}
		o, both := at[key(c, knob)]
		if !both {
			unmatched = append(unmatched, fmt.Sprintf("%s: not measured with %s = %s", named(c), knob, second))
			continue
		}
		m := matchOf(s, s, i, o, true)
		m.label = withoutFactor(c, knob)
		matches = append(matches, m)
	}
	return matches, unmatched
}

// withoutFactor labels a cell by its other factors.
func withoutFactor(c Cell, knob string) string {
	c.Label = ""
	c.Factors = slices.DeleteFunc(slices.Clone(c.Factors), func(f Factor) bool { return f.Knob == knob })
	if len(c.Factors) == 0 {
		return "the only load"
	}
	return named(c)
}

// headline is the contrast at cell peak of the base, else the last one with a
// throughput; nil where there is none.
func (c *Comparison) headline(peak int) *Contrast {
	var out *Contrast
	for i := range c.Cells {
		if e := c.Cells[i].Effects; len(e) > 0 && e[0].Percentile == 0 {
			out = &c.Cells[i]
			if c.Cells[i].Base == peak {
				return out
			}
		}
	}
	return out
}

// finish judges the effects and puts the verdict into words.
func (c *Comparison) finish(peak int) {
	c.judge()
	if len(c.Invalid) == 0 && c.headline(peak) == nil {
		c.Invalid = append(c.Invalid, "no configuration was measured on both sides")
	}
	c.Valid = len(c.Invalid) == 0
	c.Verdict = c.sentence(peak)
	if c.Verdict != "" && (c.Base.Simulated || c.Other.Simulated) {
		c.Verdict = simulatedMark + c.Verdict
	}
	if !c.Valid {
		more := ""
		if n := len(c.Invalid) - 1; n > 0 {
			more = fmt.Sprintf(" (and %s)", count(n, "more reason"))
		}
		text := "INVALID: " + c.Invalid[0] + more + "."
		if c.Verdict != "" {
			text += " What was found: " + c.Verdict
		}
		c.Verdict = text
	}
}

// sentence says what was found: throughput at the peak first, then how many
// of all quantities came out how.
func (c *Comparison) sentence(peak int) string {
	head := c.headline(peak)
	if head == nil {
		return ""
	}
	text := fmt.Sprintf("%s against %s: at %s, %s", c.Other.Name, c.Base.Name, head.Label, said(head.Effects[0]))
	text += "."
	var throughput, times tally
	for _, cell := range c.Cells {
		for _, e := range cell.Effects {
			if e.Percentile == 0 {
				throughput.add(e)
			} else {
				times.add(e)
			}
		}
	}
	if len(c.Cells) > 1 {
		text += fmt.Sprintf(" Throughput in all %s: %s.", count(len(c.Cells), "configuration"), throughput)
	}
	if times != (tally{}) {
		text += fmt.Sprintf(" Percentiles of response times: %s.", times)
	}
	return text
}

// said is the verdict on throughput as part of a sentence.
func said(e Effect) string {
	switch {
	case e.Verdict == Differs && e.Better:
		return "throughput " + e.Text + ", for the better"
	case e.Verdict == Differs:
		return "throughput " + e.Text + ", for the worse"
	case e.Verdict == Same:
		return "throughput is the " + e.Text
	}
	return fmt.Sprintf("a difference of throughput, %s, is %s", e.Change(), e.Text)
}

// tally counts verdicts.
type tally struct{ better, worse, same, open int }

func (t *tally) add(e Effect) {
	switch {
	case e.Verdict == Differs && e.Better:
		t.better++
	case e.Verdict == Differs:
		t.worse++
	case e.Verdict == Same:
		t.same++
	default:
		t.open++
	}
}

func (t tally) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		text string
	}{{t.better, "better"}, {t.worse, "worse"}, {t.same, "the same"}, {t.open, "not resolved"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
		}
	}
	return strings.Join(parts, ", ")
}

// change is a ratio as a change in percent.
func change[T ~float64](ratio T) float64 { return 100 * (float64(ratio) - 1) }

// Change is the change in words, with its interval: "+4.1 % (2.0 to 6.3 %)".
func (e Effect) Change() string { return changeText(e.Ratio, e.Low, e.High) }

// changeText prints a ratio with its interval as changes: "+4.1 % (2.0 to
// 6.3 %)".
func changeText(ratio, low, high Number) string {
	if !ratio.OK() {
		return "unknown"
	}
	scale := math.Abs(change(ratio)) // decimals follow from how well it is known
	if low.OK() && high.OK() {
		scale = change(high) - change(low)
	}
	digits := 1
	switch {
	case scale >= 50:
		digits = 0
	case scale < 0.5:
		digits = 2
	}
	print := func(n Number) string {
		text := fmt.Sprintf("%.*f", digits, change(n))
		if strings.Trim(text, "-0.") == "" { // no negative zero
			return strings.TrimPrefix(text, "-")
		}
		return text
	}
	text := print(ratio) + " %"
	if change(ratio) > 0 {
		text = "+" + text
	}
	if low.OK() && high.OK() {
		text += fmt.Sprintf(" (%s to %s %%)", print(low), print(high))
	}
	return text
}
