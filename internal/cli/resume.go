package cli

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

type resumeCommand struct {
	Dir    string `arg:"" help:"Result directory of an earlier run."`
	Failed bool   `help:"Run failed trials again, too."`
	JSON   bool   `help:"Print the results as JSON; progress still goes to standard error."`
}

// Help is shown by 'loadstone resume --help'.
func (resumeCommand) Help() string {
	return `Finished trials stay as they are. Trials that were cut short, given up or never begun run now, in the order and with the seeds of the plan.

Examples:
  loadstone resume results/quickstart-20260102-150405
  loadstone resume results/quickstart-20260102-150405 --failed`
}

// Run runs what is missing.
func (c resumeCommand) Run(e *env) error {
	dir, err := record.Open(c.Dir)
	if err != nil {
		return err
	}
	if dir.Busy() {
		return fmt.Errorf("%s: another loadstone is working on it", c.Dir)
	}
	// A scaled study stays scaled for the machine that it began on: how much
	// memory a machine has changes a little with its kernel.
	var to study.Size
	if s := dir.Study().Scale; s != nil {
		to = study.Size{CPUs: s.To.CPUs, Memory: unit.Bytes(s.To.MemBytes)}
	}
	j, err := newJob(e, dir.Study().File, dir.Source(), to)
	if err != nil {
		return fmt.Errorf("the study file in %s is not what this build can run: %w", c.Dir, err)
	}
	if j.plan.Study.Search == nil && !reflect.DeepEqual(j.records(j.plan.Trials), dir.Study().Plan) {
		return errors.New("this build plans other trials from the same study file: finish it with the version that began it (" + dir.Study().Loadstone + ")")
	}
	var again []record.Status
	if c.Failed {
		again = append(again, record.Failed)
	}
	show := newProgress(e, j)
	if complete, err := j.complete(dir, again); err != nil {
		return err
	} else if complete {
		show.line("nothing is missing")
		return publish(e, dir, c.JSON)
	}
	defer j.detach()
	if err := j.ready(e, show); err != nil {
		return err
	}
	return j.finish(e, dir, show, c.JSON, again...)
}

// complete says that nothing of the study is left to run. A search is complete
// once every block that it found has been planned and has run.
func (j *job) complete(dir *record.Dir, again []record.Status) (bool, error) {
	pending, err := dir.Pending(again...)
	if err != nil || len(pending) > 0 {
		return false, err
	}
	if j.plan.Study.Search == nil {
		return true, nil
	}
	plan := dir.Study().Plan
	return len(plan) > 0 && plan[len(plan)-1].Block == j.plan.Study.Repeats && ended(dir.Study().Search) == len(j.plan.Bases), nil
}

// ended counts the searches that came to their end.
func ended(search []record.Decision) (n int) {
	for _, d := range search {
		if d.Done {
			n++
		}
	}
	return n
}
