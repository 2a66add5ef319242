package cli

import (
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/report"
)

type reportCommand struct {
	Dir    string `arg:"" help:"Result directory."`
	Format string `enum:"html,text,json" default:"html" help:"html writes DIR/report and prints its path; text and json print the results."`
}

// Help is shown by 'loadstone report --help'.
func (reportCommand) Help() string {
	return `Every figure is computed again from the raw data in the result directory; nothing is run.

Examples:
  loadstone report results/quickstart-20260102-150405
  loadstone report results/quickstart-20260102-150405 --format text | less -R
  loadstone report results/quickstart-20260102-150405 --format json | jq .answer`
}

// Run analyses a result directory and reports.
func (c reportCommand) Run(e *env) error {
	dir, err := record.Open(c.Dir)
	if err != nil {
		return err
	}
	if c.Format == "html" {
		return publish(e, dir, false)
	}
	result, err := analyse.Load(dir)
	if err != nil {
		return err
	}
	if c.Format == "json" {
		text, err := report.JSON(result)
		if err != nil {
			return err
		}
		e.printf("%s\n", text)
	} else {
		width, colour := terminal(e.stdout)
		e.printf("%s", report.Text(result, width, colour))
	}
	if !result.Valid {
		return invalidError{fmt.Errorf("the result is INVALID: %d reasons, see above", len(result.Invalid))}
	}
	return nil
}

// terminal returns the width to write for, and whether w shows colours.
func terminal(w any) (width int, colour bool) {
	const plain = 100
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return plain, false
	}
	if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
		width = min(n, 140)
	} else {
		width = plain
	}
	return width, os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
