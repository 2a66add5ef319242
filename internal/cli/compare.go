package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/report"
)

// verdictFlags are the conditions that compare and history share. The
// separator is off: a comma belongs to no condition, but may to a name.
type verdictFlags struct {
	FailIf []string `name:"fail-if" sep:"none" placeholder:"CONDITION" help:"Exit with 3 where a change is beyond this for certain: 'throughput < -3%', 'p95 > +10%', 'p99:login > 5%'. May be given several times."`
	Strict bool     `help:"Fail, too, where a condition can't be decided."`
}

// conditions reads the conditions; all that is wrong with them is told at once.
func (v verdictFlags) conditions() ([]analyse.Condition, error) {
	var out []analyse.Condition
	var wrong []string
	for _, text := range v.FailIf {
		c, err := analyse.ParseCondition(text)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		out = append(out, c)
	}
	if len(wrong) > 0 {
		return nil, usageError{fmt.Errorf("--fail-if: %s", strings.Join(wrong, "\n--fail-if: "))}
	}
	return out, nil
}

// refused says which judgements refuse the result; nil where none does.
func (v verdictFlags) refused(of []analyse.Judgement) error {
	var bad []string
	for _, j := range of {
		if j.Outcome == analyse.Fails || v.Strict && j.Outcome == analyse.Undecided {
			bad = append(bad, fmt.Sprintf("'%s' %s: %s", j.Condition, j.Outcome, strings.Join(j.Reasons, "; ")))
		}
	}
	if len(bad) > 0 {
		return invalidError{fmt.Errorf("--fail-if %s", strings.Join(bad, "\n--fail-if "))}
	}
	return nil
}

type compareCommand struct {
	Base   string   `arg:"" help:"Result directory that the others are set against."`
	Others []string `arg:"" help:"Result directories to compare with it."`
	Format string   `enum:"text,json,html" default:"text" help:"text and json print the comparison; html writes it to --out and prints its path."`
	Out    string   `placeholder:"DIR" help:"Directory for --format html."`
	Margin float64  `default:"3" placeholder:"PERCENT" help:"Throughput within so many percent counts as the same. Default: ${default}. Choose it before you look."`
	Within float64  `name:"percentile-margin" default:"10" placeholder:"PERCENT" help:"Likewise for percentiles of response times. Default: ${default}."`
	verdictFlags
}

// Help is shown by 'loadstone compare --help'.
func (compareCommand) Help() string {
	return `Says of every configuration that the results have in common whether throughput and response times differ, are the same within a margin, or can't be told apart yet. It works on the raw data; nothing is run.

Exit codes: 0 good, 1 failed (or not comparable), 2 wrong usage, 3 a result is INVALID or a condition of --fail-if was not met.

Examples:
  loadstone compare results/before results/after
  loadstone compare results/15.17 results/15.18 results/16.2 --format html --out upgrade
  loadstone compare before after --fail-if 'throughput < -3%' --fail-if 'p95 > +10%'
  loadstone compare before after --format json | jq '.comparisons[].verdict'`
}

// Run compares.
func (c compareCommand) Run(e *env) error {
	conditions, err := c.conditions()
	if err != nil {
		return err
	}
	options := analyse.CompareOptions{MarginPct: c.Margin, PercentileMarginPct: c.Within}
	switch err := options.Validate(); {
	case err != nil:
		return usageError{err}
	case c.Margin == 0 || c.Within == 0:
		return usageError{fmt.Errorf("a margin of 0 %% can't be tested: nothing is ever exactly the same")}
	case (c.Format == "html") != (c.Out != ""):
		return usageError{fmt.Errorf("--format html and --out DIR go together")}
	}
	base, err := loadResult(c.Base)
	if err != nil {
		return err
	}
	var out []*analyse.Comparison
	var judged []analyse.Judgement
	for _, path := range c.Others {
		if filepath.Clean(path) == filepath.Clean(c.Base) {
			return usageError{fmt.Errorf("%s is set against itself", path)}
		}
		other, err := loadResult(path)
		if err != nil {
			return err
		}
		x, err := analyse.Compare(base, other, options)
		if err != nil {
			return err
		}
		if err := x.Require(conditions); err != nil {
			return usageError{err}
		}
		out, judged = append(out, x), append(judged, x.Conditions...)
	}
	if err := c.print(e, out); err != nil {
		return err
	}
	for _, x := range out {
		if !x.Valid {
			return invalidError{fmt.Errorf("the comparison of %s with %s is INVALID: %s, see above", x.Other.Name, x.Base.Name, counted(len(x.Invalid), "reason"))}
		}
	}
	return c.refused(judged)
}

func (c compareCommand) print(e *env, out []*analyse.Comparison) error {
	switch c.Format {
	case "json":
		text, err := report.ComparisonJSON(out)
		if err != nil {
			return err
		}
		e.printf("%s", text)
	case "html":
		index, err := report.WriteComparison(out, c.Out)
		if err != nil {
			return err
		}
		e.printf("%s\n", index)
	default:
		width, colour := terminal(e.stdout)
		e.printf("%s", report.ComparisonText(out, width, colour))
	}
	return nil
}

// loadResult analyses the result directory at path.
func loadResult(path string) (*analyse.Study, error) {
	dir, err := record.Open(path)
	if err != nil {
		return nil, err
	}
	s, err := analyse.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// counted prints n things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
