package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

type planCommand struct {
	File string `arg:"" help:"Study file, or the name of a ready-made study."`
	JSON bool   `help:"Print as JSON."`
}

// Help is shown by 'loadstone plan --help'.
func (planCommand) Help() string {
	return `Finds every fault in the study file and every reason why it can't run on this machine. Nothing is started or fetched.

Examples:
  loadstone plan studies/quickstart.yaml
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
	Problems []problem        `json:"problems"`
}

// Run shows the plan.
func (c planCommand) Run(e *env) error {
	file, source, err := readStudy(c.File)
	if err != nil {
		return err
	}
	j, err := newJob(file, source)
	if err != nil {
		return err
	}
	out := j.outline(e)
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

func (j *job) outline(e *env) planned {
	s := j.plan.Study
	out := planned{
		Study: s.Name, Question: s.Question, Seed: s.Seed, Cells: len(j.plan.Cells), Repeats: s.Repeats,
		Trials: j.records(j.plan.Trials), Disk: j.diskNeeded(), Problems: []problem{},
	}
	for _, t := range out.Trials {
		out.Driven += driven(j.plan.Cells[t.Cell-1].Config)
	}
	out.Seconds = out.Driven + j.overhead()*float64(len(out.Trials)) + j.loadSeconds()
	j.locate(e, false, nil)
	if j.install != nil {
		out.Server = j.engine.Name() + " " + j.install.Version() + ", " + j.install.Origin()
	} else {
		out.Server = "not on this machine: 'run' would fetch it"
		j.missing = j.unfetchable()
	}
	out.Problems = append(out.Problems, j.problems(e)...)
	return out
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
	e.printf("\n\n%d configurations × %d repeats = %d trials, in randomised blocks (seed %d)\n", p.Cells, p.Repeats, len(p.Trials), p.Seed)
	e.printf("about %s in all, of which %s drive load\n", short(p.Seconds), short(p.Driven))
	e.printf("about %s of disk below %s\n", p.Disk.Human(), e.cache)
	e.printf("server: %s\n\n", p.Server)
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
	if _, err := os.Stat(filepath.Join(e.cache, "golden")); err != nil {
		e.printf("\nno golden state is kept yet: the first trial loads it\n")
	}
}
