package cli

import (
	"strings"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/studies"
)

type listCommand struct {
	What string `arg:"" optional:"" enum:"all,workloads,engines,providers,studies" default:"all" help:"workloads, engines, providers or studies; all of them where omitted."`
	JSON bool   `help:"Print as JSON."`
}

// Help is shown by 'loadstone list --help'.
func (listCommand) Help() string {
	return `Examples:
  loadstone list
  loadstone list workloads       with every parameter, its default and what it may be
  loadstone list studies --json`
}

// listed is one thing that a study can name, or a study.
type listed struct {
	Name   string      `json:"name"`
	About  string      `json:"about"`
	Params []parameter `json:"params,omitempty"`
}

type parameter struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Allowed string `json:"allowed"`
	About   string `json:"about"`
}

// Run lists what there is.
func (c listCommand) Run(e *env) error {
	known := catalog.Known()
	all := map[string][]listed{
		"workloads": offers(known.Workloads), "engines": offers(known.Engines), "providers": offers(known.Providers),
	}
	own, err := readyMade(known)
	if err != nil {
		return err
	}
	all["studies"] = own
	order := []string{"workloads", "engines", "providers", "studies"}
	if c.What != "all" {
		order, all = []string{c.What}, map[string][]listed{c.What: all[c.What]}
	}
	if c.JSON {
		return e.json(all)
	}
	for _, kind := range order {
		e.printf("%s\n", kind)
		for _, l := range all[kind] {
			e.printf("  %-14s %s\n", l.Name, l.About)
			for _, p := range l.Params {
				e.printf("    %-20s %s (default %s): %s\n", p.Name, p.About, p.Default, p.Allowed)
			}
		}
	}
	return nil
}

func offers(from []study.Offer) []listed {
	out := []listed{}
	for _, o := range from {
		l := listed{Name: o.Name, About: o.About}
		for _, p := range o.Params {
			l.Params = append(l.Params, describeParam(p))
		}
		out = append(out, l)
	}
	return out
}

func describeParam(p unit.Param) parameter {
	d := p.Default
	if d == "" {
		d = "none"
	}
	return parameter{p.Name, d, p.Shape(), p.About}
}

// readyMade lists the studies that come with the program, with the question
// that each answers.
func readyMade(known study.Known) ([]listed, error) {
	paths, err := studies.Paths()
	if err != nil {
		return nil, err
	}
	out := []listed{}
	for _, path := range paths {
		source, err := studies.Files.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s, err := study.Parse(path, source, known)
		if err != nil {
			return nil, err
		}
		out = append(out, listed{Name: strings.TrimSuffix(path, ".yaml"), About: s.Question})
	}
	return out, nil
}
