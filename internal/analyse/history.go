package analyse

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

// History is the throughput of one study run again and again: over builds,
// over nights.
type History struct {
	Metric    Metric `json:"metric"`
	Simulated bool   `json:"simulated,omitempty"` // all of it was calculated
	// Runs are what is compared, by time of creation; the newest decides what
	// belongs with it.
	Runs []HistoryRun `json:"runs"`
	// Left are the results that were left out, with the reasons.
	Left []LeftOut `json:"left_out,omitempty"`
	// Lines hold a series for each configuration of the newest run, in its
	// order.
	Lines []HistoryLine `json:"lines"`
	Notes []string      `json:"notes,omitempty"`
	// Verdict is the outcome in a sentence.
	Verdict    string      `json:"verdict"`
	Conditions []Judgement `json:"conditions,omitempty"` // see Require
}

// HistoryRun is one result directory.
type HistoryRun struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Engine  string    `json:"engine"`
	// Differences are against the run before.
	Differences []Difference `json:"differences,omitempty"`
}

// LeftOut is a result that is not in a History.
type LeftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// HistoryLine is one configuration over all runs.
type HistoryLine struct {
	Label   string          `json:"label"`
	Points  []HistoryPoint  `json:"points"`
	Changes []HistoryChange `json:"changes"` // by time
}

// HistoryPoint is a run's throughput.
type HistoryPoint struct {
	Run        int      `json:"run"` // index in Runs
	Throughput Estimate `json:"throughput"`
}

// HistoryChange is a shift of the level.
type HistoryChange struct {
	Run  int    `json:"run"`   // index in Runs of the first run after it
	At   int    `json:"point"` // index in Points likewise
	Name string `json:"name"`
	// Ratio is the level after ÷ that before, up to the neighbouring changes,
	// with its 95 % interval. That the place was chosen for being the clearest
	// makes it a little larger than the truth.
	Ratio Number  `json:"ratio"`
	Low   Number  `json:"low"`
	High  Number  `json:"high"`
	P     float64 `json:"p"` // probability of so clear a change by chance
	Text  string  `json:"text"`
}

// leastRuns is how many runs a permutation test needs to find a change in the
// middle at 5 %: of the C(7,3) = 35 ways to divide seven, one is as clear.
const leastRuns = 7

// NewHistory orders studies by their creation and finds where the level of
// each configuration changed: E-divisive on the logarithms of each run's
// throughput, at 5 % divided by the number of configurations. Results that
// are not valid, or not comparable with the newest valid one, are left out.
// The error is for fewer than two that belong together.
func NewHistory(studies []*Study) (*History, error) {
	studies = slices.Clone(studies)
	slices.SortStableFunc(studies, func(a, b *Study) int { return a.Created.Compare(b.Created) })
	out := &History{Lines: []HistoryLine{}}
	newest := -1
	for i, s := range studies {
		if s.Valid {
			newest = i
		}
	}
	if newest < 0 {
		return nil, fmt.Errorf("none of %s is valid", count(len(studies), "result"))
	}
	last := studies[newest]
	var kept []*Study
	for _, s := range studies {
		if reason := belongs(s, last); reason != "" {
			out.Left = append(out.Left, LeftOut{sideOf(s).Name, reason})
			continue
		}
		kept = append(kept, s)
	}
	if len(kept) < 2 {
		return nil, fmt.Errorf("only %s belongs to a history: %s", count(len(kept), "result"), leftText(out.Left))
	}
	out.Metric = last.Metric
	out.runs(kept)
	for _, c := range last.Cells {
		if c.Throughput.N > 0 {
			out.Lines = append(out.Lines, lineThrough(c, kept))
		}
	}
	src := stats.Random(last.seed)
	for i := range out.Lines {
		out.changes(&out.Lines[i], &src)
	}
	if len(kept) < leastRuns {
		out.Notes = append(out.Notes, fmt.Sprintf("%s: with fewer than %d no change can be told from chance", count(len(kept), "run"), leastRuns))
	}
	out.Verdict = out.sentence()
	if out.Simulated = last.Simulated; out.Simulated { // belongs lets no others in
		out.Verdict = simulatedMark + out.Verdict
	}
	return out, nil
}

// belongs says why s is not in a history with last; "" where it is.
func belongs(s, last *Study) string {
	if !s.Valid {
		return "INVALID: " + s.Invalid[0]
	}
	if s == last {
		return ""
	}
	matches, _ := matched(s, last)
	if reasons := apart(s, last, matches); len(reasons) > 0 {
		return strings.Join(reasons, "; ") + " (" + sideOf(last).Name + ")"
	}
	return ""
}

func leftText(left []LeftOut) string {
	var parts []string
	for _, l := range left {
		parts = append(parts, l.Name+": "+l.Reason)
	}
	if len(parts) == 0 {
		return "there is no other"
	}
	return strings.Join(parts, "; ")
}

// runs describes the runs, each with what is new in it.
func (h *History) runs(kept []*Study) {
	for i, s := range kept {
		r := HistoryRun{Name: sideOf(s).Name, Created: s.Created}
		if m := manifestOf(s); m != nil {
			r.Engine = titled(m.Engine)
		}
		if i > 0 {
			matches, _ := matched(kept[i-1], s)
			r.Differences = differences(kept[i-1], s, matches)
		}
		h.Runs = append(h.Runs, r)
	}
}

// lineThrough gathers the configuration c from all runs that have it.
func lineThrough(c Cell, kept []*Study) HistoryLine {
	out := HistoryLine{Label: named(c), Changes: []HistoryChange{}}
	for i, s := range kept {
		for _, o := range s.Cells {
			if key(o, "") == key(c, "") && o.Throughput.N > 0 && o.Throughput.Value > 0 {
				out.Points = append(out.Points, HistoryPoint{i, o.Throughput})
			}
		}
	}
	return out
}

// changes finds where the level of l shifts.
func (h *History) changes(l *HistoryLine, src stats.Source) {
	logs := make([]float64, len(l.Points))
	for i, p := range l.Points {
		logs[i] = math.Log(p.Throughput.Value)
	}
	found := stats.EDivisive(logs, 2, shown/float64(len(h.Lines)), src)
	for i, c := range found {
		from, to := 0, len(logs)
		if i > 0 {
			from = found[i-1].At
		}
		if i+1 < len(found) {
			to = found[i+1].At
		}
		before, after := logs[from:c.At], logs[c.At:to]
		r := stats.RatioOf(stats.Mean(after)-stats.Mean(before), []stats.Part{meanPart(before), meanPart(after)}, confidence, 0)
		run := l.Points[c.At].Run
		x := HistoryChange{Run: run, At: c.At, Name: h.Runs[run].Name, Ratio: Number(r.Value), Low: Number(r.Low), High: Number(r.High), P: c.P}
		x.Text = fmt.Sprintf("from the run of %s on: %s", h.Runs[run].Created.UTC().Format(time.DateOnly), changeText(x.Ratio, x.Low, x.High))
		l.Changes = append(l.Changes, x)
	}
}

// sentence names the newest change of each configuration that has one.
func (h *History) sentence() string {
	var parts []string
	for _, l := range h.Lines {
		if n := len(l.Changes); n > 0 {
			parts = append(parts, l.Label+" "+l.Changes[n-1].Text)
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("No change of throughput in %s.", count(len(h.Runs), "run"))
	}
	return fmt.Sprintf("Throughput changed: %s.", strings.Join(parts, "; "))
}

// Require judges conditions and keeps the outcomes in h.Conditions.
func (h *History) Require(conditions []Condition) error {
	var err error
	h.Conditions, err = judgeAll(conditions, h.Judge)
	return err
}

// Judge decides a condition on throughput by the newest change of every
// configuration: one without a change passes. The error says where the
// condition is about something else, which no history follows.
func (h *History) Judge(c Condition) (Judgement, error) {
	if c.Percentile != 0 {
		return Judgement{}, fmt.Errorf("condition %q: a history follows throughput only", c)
	}
	out := Judgement{Condition: c.text, Outcome: Passes, Reasons: []string{}}
	why := map[Outcome][]string{}
	for _, l := range h.Lines {
		if n := len(l.Changes); n > 0 {
			x := l.Changes[n-1]
			o := c.decide(x.Low, x.High)
			why[o] = append(why[o], l.Label+" "+x.Text)
		} else if c.decide(1, 1) == Fails {
			why[Fails] = append(why[Fails], l.Label+" has not changed")
		}
	}
	for _, o := range []Outcome{Undecided, Fails} {
		if len(why[o]) > 0 {
			out.Outcome = o
		}
	}
	if r := why[out.Outcome]; r != nil {
		out.Reasons = r
	}
	return out, nil
}
