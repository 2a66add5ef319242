package cli

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/twin/predict"
)

// simulation is what whatif prints.
type simulation struct {
	Simulated bool     `json:"simulated"` // always
	Host      string   `json:"host"`
	Study     string   `json:"study"`
	About     []string `json:"about"` // what the answers are made from
	// Calibrated says that the demands were fitted to trials of the workload.
	Calibrated     bool            `json:"calibrated"`
	Metric         string          `json:"metric"`
	Until          []string        `json:"until,omitempty"`
	Configurations []configuration `json:"configurations"`
	Answers        []string        `json:"answers"`

	short string
}

// configuration is one row.
type configuration struct {
	Factors    []factor           `json:"factors"`
	Throughput figure90           `json:"throughput"`
	PerSecond  figure90           `json:"transactions_per_s"`
	Response   timesMs            `json:"response_ms"` // of all transactions
	Types      map[string]timesMs `json:"types,omitempty"`
	CPU        figure90           `json:"instance_cpu_pct"`
	HostCPU    figure90           `json:"host_cpu_pct"`
	Limit      string             `json:"limit"`
	Reason     string             `json:"reason"`
	Verdict    predict.Verdict    `json:"verdict,omitempty"` // of all conditions
	// Skipped says why there is no answer; "" where there is one.
	Skipped string `json:"skipped,omitempty"`

	answer predict.Answer
}

type factor struct {
	Knob  string `json:"knob"`
	Value string `json:"value"`
}

// figure90 is a figure with its 90 % interval, absent where nothing was drawn.
type figure90 struct {
	Value analyse.Number `json:"value"`
	Low   analyse.Number `json:"low"`
	High  analyse.Number `json:"high"`
}

type timesMs struct {
	Mean figure90 `json:"mean"`
	P50  figure90 `json:"p50"`
	P90  figure90 `json:"p90"`
	P95  figure90 `json:"p95"`
	P99  figure90 `json:"p99"`
}

func figureOf(x predict.Interval) figure90 {
	return figure90{analyse.Number(x.Value), analyse.Number(x.Low), analyse.Number(x.High)}
}

func timesOf(t predict.Times) timesMs {
	return timesMs{figureOf(t.Mean), figureOf(t.P[0]), figureOf(t.P[1]), figureOf(t.P[2]), figureOf(t.P[3])}
}

// result is what was found, in the order of the lanes.
func (s *sweep) result(lanes [][]asked, found [][]predict.Found) simulation {
	m := s.first.Metric
	out := simulation{Simulated: true, Host: s.file.Host.Name, Study: s.plan.Study.Name, About: s.about(), Calibrated: s.fit != nil,
		Metric: m.Name, short: m.Short, Configurations: []configuration{}, Answers: []string{}}
	for _, c := range s.until {
		out.Until = append(out.Until, c.Text)
	}
	for l, lane := range lanes {
		var rows []configuration
		for q, a := range lane {
			if f := found[l][q]; f.Asked {
				rows = append(rows, s.row(a, f))
			}
		}
		out.Configurations = append(out.Configurations, rows...)
		if s.stops && len(rows) > 0 {
			out.Answers = append(out.Answers, s.fits(lane, rows, len(rows) == len(lane)))
		}
	}
	if !s.stops {
		out.Answers = append(out.Answers, s.best(out.Configurations)...)
	}
	return out
}

// row is the answer to one question.
func (s *sweep) row(a asked, f predict.Found) configuration {
	out := configuration{Factors: []factor{}, answer: f.Answer}
	for _, x := range a.factors {
		out.Factors = append(out.Factors, factor{x.Knob, x.Value})
	}
	if f.Err != nil {
		out.Skipped = f.Err.Error()
		return out
	}
	x := f.Answer
	out.Throughput, out.PerSecond, out.Response = figureOf(x.Throughput), figureOf(x.PerSecond), timesOf(x.All)
	out.CPU, out.HostCPU, out.Limit, out.Reason = figureOf(x.InstanceCPU), figureOf(x.HostCPU), x.Limit.Resource, x.Limit.Reason
	out.Types = map[string]timesMs{}
	for i, name := range s.classes {
		if !math.IsNaN(x.Classes[i].Mean.Value) {
			out.Types[name] = timesOf(x.Classes[i])
		}
	}
	if len(s.until) > 0 {
		out.Verdict = predict.Judge(s.until, x)
	}
	return out
}

// fits answers how many instances fit in a lane.
func (s *sweep) fits(lane []asked, rows []configuration, whole bool) string {
	sure, likely, broke := 0, 0, -1
	for i, r := range rows {
		n := lane[i].cell.Config.Instances
		switch {
		case r.Skipped != "" || r.Verdict == predict.Fails:
			if broke < 0 {
				broke = i
			}
		case broke >= 0: // more instances than already broke it do not count
		case r.Verdict == predict.Holds && sure == likely:
			sure, likely = n, n
		default:
			likely = n
		}
	}
	text := others(lane[0].factors, s.last)
	switch {
	case sure == 0 && likely == 0:
		text += "no number of instances that was asked about fits"
	case sure == likely:
		text += fmt.Sprintf("%s fit for sure", counted(sure, "instance"))
	default:
		text += fmt.Sprintf("%s fit for sure; up to %d is open", counted(sure, "instance"), likely)
	}
	if broke < 0 {
		if whole {
			return text + ", the most that was asked about: " + limited(rows[len(rows)-1])
		}
		return text + ", as far as it was calculated"
	}
	r := rows[broke]
	if r.Skipped != "" {
		return text + fmt.Sprintf("; %d can't be had: %s", lane[broke].cell.Config.Instances, r.Skipped)
	}
	for _, c := range s.until {
		if c.Judge(r.answer) == predict.Fails {
			text += fmt.Sprintf("; %d break '%s' with %s", lane[broke].cell.Config.Instances, c.Text, spread90(figureOf(c.Of(r.answer))))
			break
		}
	}
	return text + ": " + limited(r)
}

func limited(r configuration) string {
	if r.Limit == predict.Mixed {
		return r.Reason
	}
	return fmt.Sprintf("limited by %s (%s)", r.Limit, r.Reason)
}

// others names the factors of a lane but the one that it follows.
func others(factors []study.Factor, knob string) string {
	var parts []string
	for _, f := range factors {
		if f.Knob != knob {
			parts = append(parts, f.Knob+" = "+f.Value)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}

// best names the configuration with the highest throughput of those that hold
// every condition, and those that can't be told from it.
func (s *sweep) best(rows []configuration) []string {
	at := -1
	for i, r := range rows {
		if r.Skipped == "" && r.Verdict != predict.Fails && (at < 0 || r.Throughput.Value > rows[at].Throughput.Value) {
			at = i
		}
	}
	if at < 0 {
		if len(s.until) > 0 && len(rows) > 0 {
			return []string{"no configuration holds every condition"}
		}
		return nil
	}
	alike := 0
	for i, r := range rows {
		if i != at && r.Skipped == "" && r.Verdict != predict.Fails && float64(r.Throughput.High) >= float64(rows[at].Throughput.Low) {
			alike++
		}
	}
	label := name(rows[at])
	text := fmt.Sprintf("the most: %s %s at %s, %s", spread90(rows[at].Throughput), s.first.Metric.Short, label, limited(rows[at]))
	if alike > 0 {
		text += fmt.Sprintf("; the intervals of %s reach as far", counted(alike, "other configuration"))
	}
	return append(s.holding(rows), text)
}

// holding names the first configuration, in the order asked, that holds every
// condition for sure: where sizes rise, the smallest.
func (s *sweep) holding(rows []configuration) []string {
	if len(s.until) == 0 {
		return nil
	}
	first, n := -1, 0
	for i, r := range rows {
		if r.Verdict == predict.Holds {
			n++
			if first < 0 {
				first = i
			}
		}
	}
	if n == 0 {
		return []string{fmt.Sprintf("none of %s holds every condition for sure", counted(len(rows), "configuration"))}
	}
	return []string{fmt.Sprintf("%d of %s hold every condition for sure, the first of them %s", n, counted(len(rows), "configuration"), name(rows[first]))}
}

// name is a row's factors in words.
func name(r configuration) string {
	var parts []string
	for _, f := range r.Factors {
		parts = append(parts, f.Knob+" = "+f.Value)
	}
	if len(parts) == 0 {
		return "the study's configuration"
	}
	return strings.Join(parts, ", ")
}

// answered is how many rows have an answer.
func (s simulation) answered() (n int) {
	for _, r := range s.Configurations {
		if r.Skipped == "" {
			n++
		}
	}
	return n
}

// print writes answers first, then the table.
func (s simulation) print(e *env) {
	e.printf("SIMULATED: %s on host %s\n", s.Study, s.Host)
	for _, a := range s.About {
		e.printf("  %s\n", a)
	}
	for _, a := range s.Answers {
		e.printf("\nSIMULATED: %s\n", a)
	}
	if len(s.Configurations) == 0 {
		return
	}
	e.printf("\n")
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	line := func(cells []string) { _, _ = fmt.Fprintln(w, strings.Join(cells, "\t")) }
	var head []string
	for _, f := range s.Configurations[0].Factors {
		head = append(head, f.Knob)
	}
	head = append(head, s.short, "p95 ms", "p99 ms", "instance CPU %", "host CPU %")
	if len(s.Until) > 0 {
		head = append(head, strings.Join(s.Until, ", "))
	}
	line(append(head, "limited by"))
	for _, r := range s.Configurations {
		var cells []string
		for _, f := range r.Factors {
			cells = append(cells, f.Value)
		}
		if r.Skipped != "" {
			line(append(cells, "not calculated: "+r.Skipped))
			continue
		}
		cells = append(cells, spread90(r.Throughput), spread90(r.Response.P95), spread90(r.Response.P99), spread90(r.CPU), spread90(r.HostCPU))
		if r.Verdict != "" {
			cells = append(cells, string(r.Verdict))
		}
		line(append(cells, r.Limit))
	}
	_ = w.Flush() // a closed pipe is not worth an error
	e.printf("\nSIMULATED: every figure above is calculated, none is measured.\n")
}

// spread90 is a figure with its interval.
func spread90(x figure90) string {
	v := short90(float64(x.Value))
	if math.IsNaN(float64(x.Low)) || x.Low == x.High {
		return v
	}
	return fmt.Sprintf("%s (%s–%s)", v, short90(float64(x.Low)), short90(float64(x.High)))
}

// short90 writes a number with three digits, whole from 1,000 on.
func short90(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case math.Abs(x) >= 1000:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
