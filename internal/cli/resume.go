package cli

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/loadstone-perf/loadstone/internal/record"
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
	j, err := newJob(dir.Study().File, dir.Source())
	if err != nil {
		return fmt.Errorf("the study file in %s is not what this build can run: %w", c.Dir, err)
	}
	if !reflect.DeepEqual(j.planned(), dir.Study().Plan) {
		return errors.New("this build plans other trials from the same study file: finish it with the version that began it (" + dir.Study().Loadstone + ")")
	}
	var again []record.Status
	if c.Failed {
		again = append(again, record.Failed)
	}
	pending, err := dir.Pending(again...)
	if err != nil {
		return err
	}
	show := newProgress(e, j)
	if len(pending) == 0 {
		show.line("nothing is missing")
		return publish(e, dir, c.JSON)
	}
	if err := j.ready(e, show); err != nil {
		return err
	}
	return j.finish(e, dir, show, pending, c.JSON)
}
