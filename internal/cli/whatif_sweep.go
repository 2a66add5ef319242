package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/provider/twin"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/trial"
	model "github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
	"github.com/loadstone-perf/loadstone/internal/twin/predict"
	"github.com/loadstone-perf/loadstone/internal/twin/scenario"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// sweep is what is asked.
type sweep struct {
	command  whatifCommand
	file     *demand.File
	hostAxes []axis
	plan     *study.Plan
	kind     workload.Kind
	first    *workload.Definition // whose types and metric all others share
	classes  []string
	until    []predict.Condition
	last     string // the knob that a lane follows
	stops    bool   // lanes end where a condition is sure to fail
	fit      *demand.Workload
	differs  []string
}

// describe fills in what the plan says, and reads the conditions.
func (s *sweep) describe(plan *study.Plan) error {
	s.plan = plan
	base := plan.Study.Base
	for _, k := range catalog.Workloads() {
		if k.Name == base.Workload.Name {
			s.kind = k
		}
	}
	if s.kind.New == nil {
		return errors.New("loadstone: whatif asks about one workload: --set workload.name can't be had")
	}
	defs, err := trial.Definitions(s.kind, plan.Cells[0].Config)
	if err != nil {
		return err
	}
	s.first = defs[0]
	for _, t := range s.first.Transactions {
		s.classes = append(s.classes, t.Name)
	}
	for _, text := range s.command.Until {
		c, err := predict.ParseCondition(text, s.classes)
		if err != nil {
			return fmt.Errorf("loadstone: --until: %w", err)
		}
		s.until = append(s.until, c)
	}
	s.fit, s.differs = s.file.Find(s.first.Name, base.Engine.Name, scenario.Mode(s.first), s.first.Params.All())
	if s.command.Driver == "shared" {
		switch {
		case s.fit == nil || s.fit.Driver.Assumed:
			return fmt.Errorf("loadstone: --driver shared: host %s has no calibration that tells what the driver costs", s.file.Host.Name)
		case s.command.Like == twin.LikeLibvirt:
			return errors.New("loadstone: --driver shared: the model has no driver beside virtual machines")
		}
	}
	if n := s.size(); n > mostConfigurations {
		return fmt.Errorf("loadstone: %d configurations: at most %d", n, mostConfigurations)
	}
	return nil
}

func (s *sweep) size() int {
	n := len(s.plan.Cells)
	for _, a := range s.hostAxes {
		n *= len(a.values)
	}
	return n
}

// asked is one configuration.
type asked struct {
	factors []study.Factor
	cell    study.Cell
	host    []study.Factor // knobs of the host
	laneKey string
}

// questions sorts configurations into lanes: where instances are asked about,
// their numbers follow each other in a lane; else each has one of its own.
func (s *sweep) questions() (lanes [][]asked, questions [][]predict.Question) {
	s.last = instancesKnob
	at := map[string]int{}
	for _, h := range s.combined() {
		for _, cell := range s.plan.Cells {
			a := asked{factors: slices.Concat(h, cell.Factors), cell: cell, host: h}
			for _, f := range a.factors {
				if f.Knob != s.last {
					a.laneKey += f.Knob + "=" + f.Value + "\x00"
				} else {
					s.stops = len(s.until) > 0
				}
			}
			if !slices.ContainsFunc(a.factors, func(f study.Factor) bool { return f.Knob == s.last }) {
				a.laneKey = fmt.Sprint(len(lanes))
			}
			i, known := at[a.laneKey]
			if !known {
				i = len(lanes)
				at[a.laneKey] = i
				lanes, questions = append(lanes, nil), append(questions, nil)
			}
			lanes[i] = append(lanes[i], a)
		}
	}
	for i, lane := range lanes {
		slices.SortStableFunc(lane, func(a, b asked) int { return a.cell.Config.Instances - b.cell.Config.Instances })
		for _, a := range lane {
			questions[i] = append(questions[i], s.question(a))
		}
	}
	return lanes, questions
}

// combined are all combinations of the host's axes.
func (s *sweep) combined() [][]study.Factor {
	out := [][]study.Factor{nil}
	for _, a := range s.hostAxes {
		var next [][]study.Factor
		for _, before := range out {
			for _, v := range a.values {
				next = append(next, append(slices.Clone(before), study.Factor{Knob: a.knob, Value: v}))
			}
		}
		out = next
	}
	return out
}

// question is one configuration for the model.
func (s *sweep) question(a asked) predict.Question {
	c := a.cell.Config
	c.Run = study.Run{Ramp: whatifRamp, Measure: time.Duration(s.command.Seconds) * time.Second}
	q := predict.Question{Classes: s.classes, Metric: metricOf(s.first), Per: s.first.Metric.Per.Seconds()}
	if s.fit != nil {
		q.Misfit = s.fit.Misfit
	}
	defs, err := trial.Definitions(s.kind, c)
	var at *twin.Twin
	if err == nil {
		at, err = twinOf(c)
	}
	q.Build = func(f *demand.File, seed uint64) (model.Scenario, error) {
		if err != nil {
			return model.Scenario{}, err
		}
		known := *f
		for _, h := range a.host {
			changed, err := onHost(known.Host, h.Knob, h.Value)
			if err != nil {
				return model.Scenario{}, err
			}
			known.Host = changed
		}
		return s.scenario(c, defs, drawn{at, &known}, seed)
	}
	return q
}

// twinOf is the provider of c.
func twinOf(c study.Config) (*twin.Twin, error) { return twin.New(c.Provider.Params) }

// drawn is the twin of a host that was changed or drawn.
type drawn struct {
	*twin.Twin
	file *demand.File
}

// Model is the host as it was drawn.
func (d drawn) Model() *demand.File { return d.file }

// scenario is a run of c on m, or why there is none.
func (s *sweep) scenario(c study.Config, defs []*workload.Definition, m drawn, seed uint64) (model.Scenario, error) {
	seating, problems := trial.ModelCPUs(m.file.Host).Seat(c)
	problems = append(problems, trial.Unmodelled(c, m.file.Host)...)
	for _, shape := range seating.Shapes {
		problems = append(problems, m.Check(context.Background(), shape)...)
	}
	if len(problems) > 0 {
		return model.Scenario{}, fmt.Errorf("%s: %s", problems[0].Knob, problems[0].Reason)
	}
	sc, err := trial.Scenario(c, defs, m, seating, seed)
	if err != nil || s.command.Driver != "shared" {
		return sc, err
	}
	w, _ := m.file.Find(s.first.Name, c.Engine.Name, scenario.Mode(s.first), s.first.Params.All())
	return demand.WithDriver(sc, w), nil
}

// metricOf counts what the metric of d counts.
func metricOf(d *workload.Definition) func(model.Transaction) bool {
	class := slices.IndexFunc(d.Transactions, func(t *workload.Transaction) bool { return t.Name == d.Metric.Series })
	return func(t model.Transaction) bool {
		return (class < 0 && t.Last || t.Class == class) && (d.Metric.WithRollbacks || !t.RolledBack)
	}
}

// progress tells how far the sweep is: all the time on a terminal, else at
// each tenth.
func (s *sweep) progress(e *env, done, total int) {
	_, live := terminal(e.stderr)
	switch {
	case live && done < total:
		_, _ = fmt.Fprintf(e.stderr, "\r%d of at most %d configurations", done, total)
	case live:
		_, _ = fmt.Fprintf(e.stderr, "\r%d of at most %d configurations\n", done, total)
	case 10*done/total > 10*(done-1)/total:
		_, _ = fmt.Fprintf(e.stderr, "%d of at most %d configurations\n", done, total)
	}
}

// about says what the answers are made from.
func (s *sweep) about() (lines []string) {
	h := s.file.Host
	nodes := ""
	if h.Nodes > 1 {
		nodes = fmt.Sprintf("%d nodes, each with ", h.Nodes)
	}
	lines = append(lines, fmt.Sprintf("%s%s with %s of %g GHz, %s a core; %s of memory",
		nodes, counted(h.CPU.Sockets, "socket"), counted(h.CPU.Cores, "core"), h.CPU.GHz, counted(h.CPU.Threads, "thread"), h.Memory.Human()))
	switch {
	case s.fit == nil:
		lines = append(lines, fmt.Sprintf("not calibrated for %s on %s: what transactions cost is assumed, so that ratios are better founded than figures", s.first.Name, s.plan.Study.Base.Engine.Name))
	default:
		lines = append(lines, fmt.Sprintf("calibrated for %s on %s %s by %s", s.fit.Name, s.fit.Engine, s.fit.Version, counted(len(s.fit.Trials), "trial")))
		if s.fit.Misfit > 0 {
			lines = append(lines, fmt.Sprintf("the model misses the throughput of these trials by %.1f %% (root mean square), which the intervals of throughput hold; of response times nothing like it is known", 100*s.fit.Misfit))
		}
		if s.fit.Invalid {
			lines = append(lines, "the validity gate had refused some of these trials")
		}
		if len(s.differs) > 0 {
			lines = append(lines, "calibrated with another "+strings.Join(s.differs, ", ")+": the demands are taken over as they are")
		}
	}
	if s.command.Draws > 0 {
		lines = append(lines, fmt.Sprintf("intervals: 90 %% of further draws, from %d draws of what calibration could not tell", s.command.Draws))
	}
	if s.command.Driver == "shared" {
		lines = append(lines, "the load generator shares the host's processors")
	}
	return lines
}
