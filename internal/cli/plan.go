package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

type planCommand struct {
	File  string `arg:"" help:"Study file, or the name of a ready-made study."`
	Pilot string `help:"Result directory of an earlier run: its spread between repeats tells what interval this study's repeats will buy." placeholder:"DIR"`
	To    string `help:"Scale the study for another machine than this one or the one that it names (only studies with scale)." placeholder:"cpus=N,memory=SIZE"`
	JSON  bool   `help:"Print as JSON."`
}

// Help is shown by 'loadstone plan --help'.
func (planCommand) Help() string {
	return `Finds every fault in the study file and every reason why it can't run on this machine. Nothing is started or fetched.

Examples:
  loadstone plan studies/quickstart.yaml
  loadstone plan quickstart --pilot results/quickstart-20260102-150405
  loadstone plan large-host.yaml --to cpus=60,memory=512GiB
  loadstone plan quickstart --json | jq '.trials | length'`
}

// planned is what 'plan --json' prints.
type planned struct {
	Study    string           `json:"study"`
	Question string           `json:"question,omitempty"`
	Seed     uint64           `json:"seed"`
	Cells    int              `json:"cells"`
	Repeats  int              `json:"repeats"`
	Trials   []record.Planned `json:"trials"`
	Seconds  float64          `json:"estimated_s"`
	Driven   float64          `json:"driven_s"`
	Disk     unit.Bytes       `json:"disk_bytes"`
	Server   string           `json:"server"`
	// SpreadPct is how far a pilot's repeats differ, and IntervalPct the half
	// width of the 95 % interval that this study's repeats will then have.
	SpreadPct   float64        `json:"pilot_spread_pct,omitempty"`
	IntervalPct analyse.Number `json:"expected_interval_pct"`
	// Scale tells how the file's figures were scaled; nil where they stand as
	// they are.
	Scale *record.Scale `json:"scale,omitempty"`
	// Published are what others printed of the question: the report shows them
	// beside what is measured.
	Published []record.Published `json:"published,omitempty"`
	// Events are what happens to instances while load runs, in words.
	Events []string `json:"events,omitempty"`
	// Notes are what the provider says of its instances here.
	Notes    []string  `json:"notes,omitempty"`
	Problems []problem `json:"problems"`
}

// Run shows the plan.
func (c planCommand) Run(e *env) error {
	file, source, err := readStudy(c.File)
	if err != nil {
		return err
	}
	var to study.Size
	if c.To != "" {
		if to, err = study.ParseSize(c.To); err != nil {
			return usageError{fmt.Errorf("loadstone: --to: %w", err)}
		}
	}
	j, err := newJob(e, file, source, to)
	if err != nil {
		return err
	}
	if c.To != "" && j.plan.Study.Scale == nil {
		return usageError{fmt.Errorf("loadstone: --to: %s has no section scale, so its figures hold for every machine", file)}
	}
	out := j.outline(e)
	if c.Pilot != "" {
		if out.SpreadPct, err = spread(c.Pilot); err != nil {
			return err
		}
		out.IntervalPct = analyse.Bought(out.SpreadPct, out.Repeats)
	}
	if c.JSON {
		err = e.json(out)
	} else {
		err = nil
		out.print(e, j)
	}
	if err == nil && len(out.Problems) > 0 {
		err = errors.New("this study can't run here as it is")
	}
	return err
}

// spread is how far the repeats of an earlier run differ, in percent.
func spread(pilot string) (float64, error) {
	dir, err := record.Open(pilot)
	if err != nil {
		return 0, err
	}
	result, err := analyse.Load(dir)
	if err != nil {
		return 0, err
	}
	return result.Spread()
}

func (j *job) outline(e *env) planned {
	s := j.plan.Study
	out := planned{
		Study: s.Name, Question: s.Question, Seed: s.Seed, Cells: len(j.plan.Cells), Repeats: s.Repeats,
		IntervalPct: analyse.Absent(), Trials: j.records(j.plan.Trials), Disk: j.diskNeeded(), Scale: recordScale(s.Scale), Problems: []problem{},
		Published: recordPublished(s.Published),
	}
	for _, t := range out.Trials {
		out.Driven += driven(j.plan.Cells[t.Cell-1].Config)
	}
	if s.Search != nil {
		out.Driven = driven(j.plan.Bases[0].Config) * float64(j.guessedTrials())
	}
	out.Seconds = out.Driven + j.overhead()*float64(max(len(out.Trials), j.guessedTrials())) + j.loadSeconds()
	j.locate(e, false, nil)
	defer j.detach()
	if j.endpoint().URL != "" {
		out.Server = j.serverText()
	} else if j.model != nil {
		out.Server = "none: a model of " + j.engine.Name() + " on host " + j.model.Model().Host.Name
		out.Seconds = j.overhead() * float64(max(len(out.Trials), j.guessedTrials()))
	} else if j.install != nil {
		out.Server = j.engine.Name() + " " + j.install.Version() + ", " + j.install.Origin()
	} else {
		out.Server = "not on this machine: 'run' would fetch it"
		j.missing = j.unfetchable()
	}
	out.Events, out.Notes = j.events(), j.notes(e)
	out.Problems = append(out.Problems, j.problems(e)...)
	return out
}

// events are what happens in each trial while load runs.
func (j *job) events() (all []string) {
	for _, x := range j.configs()[0].Events {
		all = append(all, fmt.Sprintf("%s after measuring began, instance %s: %s", x.At, x.Instance, x))
	}
	return all
}

// notes are what the provider says of the study's instances here, each once.
func (j *job) notes(e *env) (all []string) {
	for _, c := range j.configs() {
		noter, ok := j.of(c).(provider.Noter)
		if !ok {
			continue
		}
		seating, _ := j.cpus.Seat(c)
		for _, s := range seating.Shapes {
			for _, n := range noter.Notes(e.ctx, s) {
				if !slices.Contains(all, n) {
					all = append(all, n)
				}
			}
		}
	}
	return all
}

// printScale tells what became of the file's figures.
func (p planned) printScale(e *env) {
	if p.Scale == nil {
		return
	}
	size := func(s record.Size) study.Size { return study.Size{CPUs: s.CPUs, Memory: unit.Bytes(s.MemBytes)} }
	e.printf("scaled from %s to %s\n", size(p.Scale.From), size(p.Scale.To))
	for _, v := range p.Scale.Values {
		e.printf("  %-32s %12s → %s\n", v.Knob, v.Original, v.Value)
	}
	e.printf("\n")
}

// printPilot tells what repeats buy, these and more of them.
func (p planned) printPilot(e *env) {
	if p.SpreadPct == 0 {
		return
	}
	e.printf("the pilot's repeats differ by %.1f %% (standard deviation); 95 %% intervals of throughput will be about\n", p.SpreadPct)
	for _, n := range []int{p.Repeats, 2 * p.Repeats, 4 * p.Repeats} {
		if w := analyse.Bought(p.SpreadPct, n); w.OK() {
			e.printf("  ±%.1f %% with %d repeats\n", float64(w), n)
		}
	}
	e.printf("\n")
}

// guessedTrials is about how many trials a search makes; 0 without one.
func (j *job) guessedTrials() int {
	s := j.plan.Study
	if s.Search == nil {
		return 0
	}
	const beyond = 3 // loads that closing in takes beyond the least number
	return len(j.plan.Bases) * (s.Search.Loads + beyond) * s.Repeats
}

// unfetchable keeps the error of a study that no fetched server can help: one
// that varies the version.
func (j *job) unfetchable() error {
	all := j.configs()
	for _, c := range all {
		if c.Version != all[0].Version {
			return j.missing
		}
	}
	return nil
}

func (p planned) print(e *env, j *job) {
	e.printf("%s", p.Study)
	if p.Question != "" {
		e.printf(": %s", p.Question)
	}
	if s := j.plan.Study.Search; s != nil {
		e.printf("\n\nthe search tries %s from %g to %g on %d configurations, at least %d loads each,\nand repeats what it finds: about %d trials in all (seed %d)\n",
			s.Knob, s.From, s.To, len(j.plan.Bases), s.Loads, j.guessedTrials(), p.Seed)
	} else {
		e.printf("\n\n%d configurations × %d repeats = %d trials, in randomised blocks (seed %d)\n", p.Cells, p.Repeats, len(p.Trials), p.Seed)
	}
	if j.model != nil {
		e.printf("%s of load are simulated\n", short(p.Driven))
	} else {
		e.printf("about %s in all, of which %s drive load\n", short(p.Seconds), short(p.Driven))
	}
	if j.model != nil {
		e.printf("nothing is loaded or restored\n")
	} else if j.endpoint().URL == "" {
		e.printf("about %s of disk below %s\n", p.Disk.Human(), e.cache)
	} else if j.endpoint().Load {
		e.printf("about %s of disk on the server, for golden states and working copies\n", j.onServer().Human())
	} else {
		e.printf("the database is not restored before each repeat (engine.load is not allowed)\n")
	}
	e.printf("server: %s\n", p.Server)
	if n := len(p.Published); n > 0 {
		e.printf("beside it the report shows %s\n", counted(n, "published value"))
	}
	for _, x := range p.Events {
		e.printf("event: %s\n", x)
	}
	for _, n := range p.Notes {
		e.printf("caution: %s\n", n)
	}
	e.printf("\n")
	p.printScale(e)
	p.printPilot(e)
	block := 0
	for _, t := range p.Trials {
		if t.Block != block {
			block = t.Block
			e.printf("block %d\n", block)
		}
		e.printf("  trial %*d  %s  (%s)\n", len(fmt.Sprint(len(p.Trials))), t.Trial, label(t.Factors), short(driven(j.plan.Cells[t.Cell-1].Config)))
	}
	for _, problem := range p.Problems {
		e.printf("\ncan't run here: %s\n  remedy: %s\n", problem.What, problem.Remedy)
	}
	if j.endpoint().URL != "" || j.model != nil {
		return
	}
	if _, err := os.Stat(filepath.Join(e.cache, "golden")); err != nil {
		e.printf("\nno golden state is kept yet: the first trial loads it\n")
	}
}
