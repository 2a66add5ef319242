package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report"
)

type historyCommand struct {
	Dirs   []string `arg:"" help:"Result directories, or directories that hold them, in any order."`
	Format string   `enum:"text,json" default:"text" help:"How to print it."`
	verdictFlags
}

// Help is shown by 'loadstone history --help'.
func (historyCommand) Help() string {
	return `Follows the throughput of one study over many runs, by the time at which each was created, and finds where its level changed. Results that are INVALID, or not comparable with the newest valid one, are left out with the reason.

--fail-if judges the newest change of each configuration. Exit codes are those of 'compare'.

Examples:
  loadstone history results
  loadstone history results/nightly-* --fail-if 'throughput < -3%'
  loadstone history results --format json | jq '.lines[].changes'`
}

// Run follows a study over time.
func (c historyCommand) Run(e *env) error {
	conditions, err := c.conditions()
	if err != nil {
		return err
	}
	var paths []string
	for _, dir := range c.Dirs {
		found, err := resultsIn(dir)
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	var studies []*analyse.Study
	var unread []analyse.LeftOut
	for _, path := range paths {
		s, err := loadResult(path)
		if err != nil {
			unread = append(unread, analyse.LeftOut{Name: filepath.Base(path), Reason: err.Error()})
			continue
		}
		studies = append(studies, s)
	}
	h, err := analyse.NewHistory(studies)
	if err != nil {
		return err
	}
	h.Left = append(h.Left, unread...)
	if err := h.Require(conditions); err != nil {
		return usageError{err}
	}
	if c.Format == "json" {
		text, err := report.HistoryJSON(h)
		if err != nil {
			return err
		}
		e.printf("%s", text)
	} else {
		width, colour := terminal(e.stdout)
		e.printf("%s", report.HistoryText(h, width, colour))
	}
	return c.refused(h.Conditions)
}

// resultsIn is dir itself where it is a result, else the results right below
// it.
func resultsIn(dir string) ([]string, error) {
	isResult := func(path string) bool {
		_, err := os.Stat(filepath.Join(path, "study.json"))
		return err == nil
	}
	if isResult(dir) {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			continue
		}
		if isResult(path) {
			out = append(out, path)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s is no result directory and holds none", dir)
	}
	return out, nil
}
