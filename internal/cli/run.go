package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/report"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/trial"
)

type runCommand struct {
	File string `arg:"" help:"Study file, or the name of a ready-made study ('loadstone list')."`
	Out  string `short:"o" help:"Directory for the results; must not exist or be empty. Default: results/STUDY-DATE-TIME." placeholder:"DIR"`
	On   string `help:"Calculate the study on a model of this host instead of running it: a host file, or the name of one that comes with the program. Everything it gives is marked SIMULATED." placeholder:"HOSTFILE"`
	JSON bool   `help:"Print the results as JSON; progress still goes to standard error."`
}

// Help is shown by 'loadstone run --help'.
func (runCommand) Help() string {
	return `The last line of output is the path of the report. Ctrl-C gives up the trial in flight and keeps the finished ones; 'loadstone resume DIR' runs the rest.

Exit codes: 0 good, 1 failed, 2 wrong usage or study file, 3 ran but a check or the validity gate said no.

Examples:
  loadstone run quickstart
  loadstone run studies/quickstart.yaml --out /tmp/first
  loadstone run studies/quickstart.yaml --on hosts/r920.yaml
  loadstone run my.yaml --json > result.json`
}

// Run runs a study from its file to its report.
func (c runCommand) Run(e *env) error {
	file, source, err := readStudy(c.File)
	if err != nil {
		return err
	}
	if c.On != "" {
		if source, err = onHostFile(source, c.On); err != nil {
			return usageError{fmt.Errorf("loadstone: %s: %w", file, err)}
		}
	}
	j, err := newJob(e, file, source, study.Size{})
	if err != nil {
		return err
	}
	show := newProgress(e, j)
	defer j.detach()
	if err := j.ready(e, show); err != nil {
		return err
	}
	out := c.Out
	if out == "" {
		out = filepath.Join("results", j.plan.Study.Name+"-"+e.clock.Now().Format("20060102-150405"))
	}
	dir, err := record.Create(out, j.describe(e), source)
	if err != nil {
		return err
	}
	return j.finish(e, dir, show, c.JSON)
}

// ready makes sure that everything a study needs is there.
func (j *job) ready(e *env, show *progress) error {
	j.locate(e, true, show.fetching)
	if err := e.ctx.Err(); err != nil {
		return errors.New("stopped before anything was started")
	}
	problems := j.problems(e)
	if len(problems) == 0 {
		return os.MkdirAll(e.cache, 0o755)
	}
	text := "this study can't run here; nothing was started:"
	for _, p := range problems {
		text += fmt.Sprintf("\n  %s\n    remedy: %s", p.What, p.Remedy)
	}
	return errors.New(text)
}

// describe is the head of a result directory.
func (j *job) describe(e *env) record.Study {
	s := j.plan.Study
	return record.Study{
		Format: record.Format, Loadstone: programVersion(), Name: s.Name, Question: s.Question,
		File: filepath.Base(s.File), Seed: s.Seed, Created: e.clock.Now().UTC().Truncate(time.Second),
		Machine: j.machine(e), Simulated: j.model != nil, Plan: j.records(j.plan.Trials), Limits: recordLimits(s.Limits),
		Scale: recordScale(s.Scale), Published: recordPublished(s.Published),
	}
}

// machine is where the study runs, or the host that it is calculated on.
func (j *job) machine(e *env) record.Machine {
	if j.model != nil {
		return hostMachine(j.model.Model().Host)
	}
	m := observe.Machine(e.cache)
	if us, err := observe.FsyncMicroseconds(e.clock, e.cache); err == nil {
		m.Disk.FsyncUs = us
	}
	return j.seenFrom(m)
}

// finish runs the trials that are missing, and those whose status is among
// again, and, whatever became of them, writes the report of what is there.
func (j *job) finish(e *env, dir *record.Dir, show *progress, asJSON bool, again ...record.Status) error {
	unlock, err := dir.Lock()
	if err != nil {
		return err
	}
	seq := trial.Sequence{
		Bench: &trial.Bench{
			Clock: e.clock, Provider: j.provider, Engine: j.engine, Install: j.install, Server: j.server, CPUs: j.cpus,
			Cache: e.cache, Loadstone: programVersion(), Progress: show.step, Simulated: j.model != nil,
		},
		Plan: j.plan, Dir: dir, Kind: j.kind, Providers: j.providers, Began: show.began, Done: show.done,
		Retries: j.plan.Study.Retries, Disturbed: func(p record.Planned) (string, error) { return disturbed(dir, p) },
	}
	runErr := j.runAll(e, dir, &seq, show, again)
	show.end()
	unlock()
	if errors.Is(runErr, context.Canceled) {
		runErr = fmt.Errorf("stopped; 'loadstone resume %s' runs what is missing", dir.Path())
	}
	return errors.Join(runErr, publish(e, dir, asJSON))
}

// runAll runs what is missing: the trials of the plan, or of the search.
func (j *job) runAll(e *env, dir *record.Dir, seq *trial.Sequence, show *progress, again []record.Status) error {
	if j.plan.Study.Search != nil {
		s := search{env: e, job: j, dir: dir, seq: seq, show: show}
		return s.run(again...)
	}
	pending, err := dir.Pending(again...)
	if err != nil {
		return err
	}
	show.more(pending)
	return seq.Run(e.ctx, pending)
}

// disturbed asks the analysis what outside the study spoilt a trial.
func disturbed(dir *record.Dir, p record.Planned) (string, error) {
	t, err := analyse.LoadTrial(dir, p.Trial)
	return t.Disturbed(), err
}

// recordScale is a study's scaling as records hold it; nil where there is none.
func recordScale(s *study.Scale) *record.Scale {
	if s == nil || s.To == (study.Size{}) {
		return nil
	}
	out := &record.Scale{From: recordSize(s.From), To: recordSize(s.To), Data: s.Data}
	for _, v := range s.Values {
		out.Values = append(out.Values, record.Scaled(v))
	}
	return out
}

// recordPublished are a study's published values as records hold them.
func recordPublished(of []study.Published) (out []record.Published) {
	places := func(from []study.Place) (to []record.Place) {
		for _, p := range from {
			to = append(to, record.Place(p))
		}
		return to
	}
	for _, p := range of {
		out = append(out, record.Published{
			Series: p.Series, Metric: p.Metric, At: places(p.At), Against: places(p.Against), CPUPct: p.CPUPct,
			Value: p.Value, Bound: p.Bound, Says: p.Says, Unit: p.Unit, Source: p.Source,
		})
	}
	return out
}

func recordSize(s study.Size) record.Size {
	return record.Size{CPUs: s.CPUs, MemBytes: int64(s.Memory)}
}

// recordLimits are a study's limits as records hold them.
func recordLimits(l study.Limits) record.Limits {
	out := record.Limits{
		ErrorsPct: l.ErrorsPct, CPUPct: l.CPUPct, DiskLatencyS: l.DiskLatency.Seconds(),
		OtherCPUPct: l.OtherCPUPct, StealPct: l.StealPct,
	}
	for _, r := range l.Response {
		out.Response = append(out.Response, record.ResponseLimit{Type: r.Type, Percentile: r.Percentile, MaxS: r.Max.Seconds()})
	}
	return out
}

// publish analyses a result directory, writes its report and prints where it
// is. A result that the gate refuses is an invalidError.
func publish(e *env, dir *record.Dir, asJSON bool) error {
	result, err := analyse.Load(dir)
	if err != nil {
		return err
	}
	page, err := report.Write(result, filepath.Join(dir.Path(), "report"))
	if err != nil {
		return err
	}
	if asJSON {
		err = e.json(struct {
			Directory string         `json:"directory"`
			Report    string         `json:"report"`
			Result    *analyse.Study `json:"result"`
		}{dir.Path(), page, result})
	} else {
		e.printf("\n%s\n", result.Answer)
		for _, c := range result.Caveats {
			e.printf("caution: %s\n", c)
		}
		e.printf("\n%s\n", page)
	}
	if err == nil && !result.Valid {
		err = invalidError{fmt.Errorf("the result is INVALID: %d reasons, see the report", len(result.Invalid))}
	}
	return err
}
