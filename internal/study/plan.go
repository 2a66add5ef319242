package study

import (
	"fmt"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// NewPlan orders the trials of a study that Parse made: every block holds each
// cell once, in an order drawn from the study's seed. A study with another
// Seed or other Repeats than in its file may be planned too.
func NewPlan(s *Study) (*Plan, error) {
	if len(s.cells) == 0 {
		return nil, fmt.Errorf("study %q has no cells: it was not made by Parse", s.Name)
	}
	if s.Repeats < 1 {
		return nil, fmt.Errorf("study %q asks for %d repeats: at least 1 is needed", s.Name, s.Repeats)
	}
	if s.Repeats > maxTrials/len(s.cells) {
		return nil, fmt.Errorf("study %q has %d cells × %d repeats: more than %d trials", s.Name, len(s.cells), s.Repeats, maxTrials)
	}
	p := &Plan{Study: s, Cells: s.cells}
	digits := max(3, len(fmt.Sprint(len(s.cells)*s.Repeats)))
	for block := 1; block <= s.Repeats; block++ {
		for _, cell := range order(s.Seed, block, len(s.cells)) {
			number := len(p.Trials) + 1
			p.Trials = append(p.Trials, Trial{
				Number: number,
				Block:  block,
				Cell:   cell,
				Seed:   trialSeed(s.Seed, block, s.cells[cell].Factors),
				Dir:    fmt.Sprintf("%0*d-b%d%s", digits, number, block, dirSuffix(s.cells[cell].Factors)),
			})
		}
	}
	return p, nil
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
		leaf := f.Knob[strings.LastIndexByte(f.Knob, '.')+1:]
		if leaf == "name" {
			leaf, _, _ = strings.Cut(f.Knob, ".")
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
// up, restoring and checking.
func (p *Plan) Duration() time.Duration {
	var sum time.Duration
	for _, t := range p.Trials {
		r := p.Cells[t.Cell].Config.Run
		sum += r.Ramp + r.Warmup + r.Measure
	}
	return sum
}
