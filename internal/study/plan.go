package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// NewPlan orders the trials of a study that Parse made: every block holds each
// cell once, in an order drawn from the study's seed. A study with another
// Seed or other Repeats than in its file may be planned too. The plan of a
// study with a Search has no trials yet.
func NewPlan(s *Study) (*Plan, error) {
	if len(s.cells) == 0 {
		return nil, fmt.Errorf("study %q has no cells: it was not made by Parse", s.Name)
	}
	if s.Repeats < 1 {
		return nil, fmt.Errorf("study %q asks for %d repeats: at least 1 is needed", s.Name, s.Repeats)
	}
	if s.Repeats > maxTrials/s.mostCells() {
		return nil, fmt.Errorf("study %q has %d cells × %d repeats: more than %d trials", s.Name, s.mostCells(), s.Repeats, maxTrials)
	}
	if s.Search != nil {
		return &Plan{Study: s, Bases: s.cells}, nil
	}
	p := &Plan{Study: s, Cells: s.cells}
	for block := 1; block <= s.Repeats; block++ {
		p.Repeat(block)
	}
	return p, nil
}

// mostCells is how many cells the study has, or at most finds.
func (s *Study) mostCells() int {
	if s.Search != nil {
		return len(s.cells) * mostLoads
	}
	return len(s.cells)
}

// Extend adds the cell that is Bases[base] under load, as Search.Next proposed
// it, and its trial in block; it returns both. Seed and number of the trial
// follow from the plan so far: the same calls make the same plan. Trial.Cell
// stays valid, as cells stand in the order in which they were found: ByLoad
// sorts them.
func (p *Plan) Extend(base int, load float64, block int) (Cell, []Trial) {
	search, from := p.Study.Search, p.Bases[base]
	c := Cell{Factors: append(slices.Clone(from.Factors), Factor{Knob: search.Knob, Value: search.value(load)}), Config: from.Config.under(search.Knob, load)}
	p.Cells = append(p.Cells, c)
	p.found = append(p.found, found{base, load})
	p.add(block, len(p.Cells)-1)
	return c, slices.Clone(p.Trials[len(p.Trials)-1:])
}

// under is c with the load that a search found. Groups with a load of their
// own keep it.
func (c Config) under(knob string, load float64) Config {
	c.Groups = slices.Clone(c.Groups)
	loads := []*Load{&c.Load}
	for i := range c.Groups {
		loads = append(loads, &c.Groups[i].Load)
	}
	switch knob {
	case "users", "rate":
		for _, l := range loads {
			switch {
			case l.Users > 0 || l.RatePerS > 0:
			case knob == "users":
				l.Users = int(load)
			default:
				l.RatePerS = load
			}
		}
	case "instances": // there is one group, or the knob would be a section
		c.Instances, c.Groups[0].Count = int(load), int(load)
	}
	return c
}

// Repeat adds a block of trials, one of each cell that the plan has, in an
// order drawn from the study's seed, and returns them. Once a search has ended
// it is called for the blocks from 2 to Study.Repeats.
func (p *Plan) Repeat(block int) []Trial {
	n := len(p.Trials)
	for _, cell := range order(p.Study.Seed, block, len(p.Cells)) {
		p.add(block, cell)
	}
	return slices.Clone(p.Trials[n:])
}

// ByLoad returns the indices of Cells in the order of tables and curves: that
// of the study file, and what a search found by base, then by load.
func (p *Plan) ByLoad() []int {
	cells := make([]int, len(p.Cells))
	for i := range cells {
		cells[i] = i
	}
	if p.Bases != nil {
		slices.SortStableFunc(cells, func(i, j int) int {
			return cmp.Or(cmp.Compare(p.found[i].base, p.found[j].base), cmp.Compare(p.found[i].load, p.found[j].load))
		})
	}
	return cells
}

// Load is the load of Cells[cell] as Extend was given it, in the unit of
// Search.From; 0 where the study searches for none.
func (p *Plan) Load(cell int) float64 {
	if p.Bases == nil {
		return 0
	}
	return p.found[cell].load
}

// add appends a trial of a cell.
func (p *Plan) add(block, cell int) {
	digits := max(3, len(fmt.Sprint(p.Study.mostCells()*p.Study.Repeats)))
	number, factors := len(p.Trials)+1, p.Cells[cell].Factors
	p.Trials = append(p.Trials, Trial{
		Number: number,
		Block:  block,
		Cell:   cell,
		Seed:   trialSeed(p.Study.Seed, block, factors),
		Dir:    fmt.Sprintf("%0*d-b%d%s", digits, number, block, dirSuffix(factors)),
	})
}

// order permutes the n cells of a block.
func order(seed uint64, block, n int) []int {
	cells := make([]int, n)
	for i := range cells {
		cells[i] = i
	}
	r := rng.At(seed, rng.Name("order"), uint64(block))
	r.Shuffle(n, func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	return cells
}

// trialSeed depends on what a cell is and not on where it stands, so that a
// value added to the study leaves the seeds of all other cells as they were.
func trialSeed(seed uint64, block int, factors []Factor) uint64 {
	path := []uint64{rng.Name("trial"), uint64(block)}
	for _, f := range factors {
		path = append(path, rng.Name(f.Knob), rng.Name(f.Value))
	}
	r := rng.At(seed, path...)
	return r.Uint64()
}

// dirSuffix names a cell for people: "-users-4". The number before it makes
// directories unique, so it may be cut.
func dirSuffix(factors []Factor) string {
	const longest = 64
	var b strings.Builder
	for _, f := range factors {
		group, path := inGroup(f.Knob)
		leaf := path[strings.LastIndexByte(path, '.')+1:]
		if leaf == "name" {
			leaf, _, _ = strings.Cut(path, ".")
		}
		if group != "" {
			leaf = group + "-" + leaf
		}
		b.WriteString("-" + leaf + "-" + f.Value)
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '-'
	}, strings.ReplaceAll(b.String(), "%", "pct"))
	for strings.Contains(clean, "--") {
		clean = strings.ReplaceAll(clean, "--", "-")
	}
	clean = clean[:min(len(clean), longest)]
	return strings.TrimRight(clean, "-.")
}

// Duration is the time of the driven phases of all trials, without setting
// up, restoring and checking. Where measuring ends by itself, it is the least.
func (p *Plan) Duration() time.Duration {
	var sum time.Duration
	for _, t := range p.Trials {
		r := p.Cells[t.Cell].Config.Run
		sum += r.Ramp + r.Warmup + r.Measure
	}
	return sum
}
