package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"

	"github.com/loadstone-perf/loadstone/hosts"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/twin/replay"
	"github.com/loadstone-perf/loadstone/studies"
)

type replayCommand struct {
	Studies []string `arg:"" optional:"" help:"Published studies, such as oracle-12c-vsphere6; all where omitted."`
	Draws   int      `default:"12" help:"Draws for the intervals."`
	Seed    uint64   `default:"1" help:"Seed of everything random."`
	Quick   bool     `help:"Leave the effects of the assumptions out."`
	Output  string   `short:"o" help:"File for the page; printed where omitted." placeholder:"FILE"`
}

// Help is shown by 'loadstone replay --help'.
func (replayCommand) Help() string {
	return `Fits the model of each study's host to the numbers marked as calibrated, predicts the others, and writes both as Markdown, failures first. Everything it prints is simulated.

Examples:
  loadstone replay --output docs/replay.md
  loadstone replay sql-server-2008-vsphere4 --draws 4 --quick`
}

// Run calculates published studies again.
func (c replayCommand) Run(e *env) error {
	if c.Draws < 2 {
		return usageError{fmt.Errorf("loadstone: --draws %d: an interval takes at least 2", c.Draws)}
	}
	files, err := c.files()
	if err != nil {
		return err
	}
	o := replay.Options{Draws: c.Draws, Sensitivity: !c.Quick, Workers: runtime.GOMAXPROCS(0), Seed: c.Seed}
	var results []*replay.Result
	for _, file := range files {
		source, err := studies.Files.ReadFile(file)
		if err != nil {
			return usageError{fmt.Errorf("loadstone: there is no published study %q: only %s", path.Dir(file), c.known())}
		}
		s, err := replay.Parse("studies/"+file, source)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(e.stderr, "%s: %d parameters, %d predictions", s.Name, len(s.Parameters), len(s.Predicted))
		began := e.clock.Now()
		r, err := replay.Run(e.ctx, s, twinHost, o)
		_, _ = fmt.Fprintf(e.stderr, ", %.0f s\n", e.clock.Now().Sub(began).Seconds())
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	page := replay.Page(results, o)
	if c.Output == "" {
		_, err = e.stdout.Write(page)
		return err
	}
	if err := os.WriteFile(c.Output, page, 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// known lists the published studies.
func (c replayCommand) known() string {
	files, _ := fs.Glob(studies.Files, "*/replay.yaml") // the pattern is well formed
	for i := range files {
		files[i] = path.Dir(files[i])
	}
	return strings.Join(files, ", ")
}

// files are the replay files of the studies that were asked for.
func (c replayCommand) files() ([]string, error) {
	if len(c.Studies) == 0 {
		return fs.Glob(studies.Files, "*/replay.yaml")
	}
	var out []string
	for _, s := range c.Studies {
		out = append(out, s+"/replay.yaml")
	}
	return out, nil
}

// twinHost reads a host that comes with the program.
func twinHost(name string) (*host.Host, error) {
	source, err := hosts.Files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no host %q: %w", name, err)
	}
	return host.Parse("hosts/"+name+".yaml", source)
}
