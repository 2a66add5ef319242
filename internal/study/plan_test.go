package study

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawStudy draws a study that is right, as text.
func drawStudy(t *rapid.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, "study: %s\n", rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{0,20}`).Draw(t, "name"))
	axes := map[string][]string{
		"users":                     {"8", "9", "16", "64", "100000"},
		"instance.cpus":             {"0.5", "1", "1.5", "2"},
		"instance.memory":           {"512MiB", "1GiB", "1.5GiB"},
		"instance.cpu_shares":       {"2", "1024"},
		"connections":               {"1", "4", "8"},
		"engine.version":            {`"15"`, `">=16,<18"`},
		"engine.settings.work_mem":  {"4MB", "1%", "65536", "'on'"},
		"engine.settings.a.b":       {"~x", "false"},
		"workload.size":             {"small", "medium", "300MiB"},
		"workload.think_time":       {"0s", "10ms", "1.5s"},
		"workload.n_searches":       {"1", "5"},
		"run.warmup":                {"0s", "1m"},
		"run.measure":               {"1s", "10s"},
		"run.measure.max":           {"1m", "10m", "7d"},
		"run.measure.precision":     {"0.5%", "2%"},
		"run.measure.checkpoints":   {"0", "1", "10"},
		"instances":                 {"1", "2", "64"},
		"provider.name":             {"native", "container"},
		"workload.mode + run.ramp":  {"[strict, 0s]", "[compat, 5s]"},
		"rate + arrivals":           {"[10/s, poisson]", "[20/min, constant]", "[10/s, constant]"},
		"workload.pct_newcustomers": {"1%", "100%"},
	}
	names := make([]string, 0, len(axes))
	for n := range axes {
		names = append(names, n)
	}
	slices.Sort(names)
	picked := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID).Draw(t, "axes")
	if slices.Contains(picked, "rate + arrivals") {
		picked = slices.DeleteFunc(picked, func(n string) bool { return n == "users" || n == "connections" })
	}
	vary := ""
	for _, n := range picked {
		values := rapid.SliceOfNDistinct(rapid.SampledFrom(axes[n]), 1, -1, rapid.ID).Draw(t, n)
		vary += fmt.Sprintf("  %s: [%s]\n", n, strings.Join(values, ", "))
	}
	b.WriteString("workload: {name: dvdstore}\nengine: {name: postgres}\n")
	if !slices.Contains(picked, "provider.name") {
		b.WriteString("provider: {name: native}\n")
	}
	if slices.Contains(picked, "connections") && !slices.Contains(picked, "users") {
		b.WriteString("users: 8\n")
	}
	if slices.Contains(picked, "run.measure.max") && !slices.Contains(picked, "run.measure") {
		b.WriteString("profile: [{for: 200ms, load: 0%}, {for: 500ms, load: 100%}]\n")
		vary += "  run.measure: [1s, 2s]\n"
	}
	if vary != "" {
		b.WriteString("vary:\n" + vary)
	}
	fmt.Fprintf(&b, "run: {repeats: %d, seed: %d}\n", rapid.IntRange(1, 6).Draw(t, "repeats"), rapid.Int64Range(0, 1<<62).Draw(t, "seed"))
	return b.String()
}

func drawPlan(t *rapid.T) *Plan {
	src := drawStudy(t)
	s, err := Parse("random.yaml", []byte(src), known())
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, src)
	}
	p, err := NewPlan(s)
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, src)
	}
	return p
}

func TestBlocksAreCompleteAndBalanced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		cells, repeats := 1, p.Study.Repeats
		for _, a := range p.Study.Vary {
			cells *= len(a.Values)
		}
		if len(p.Cells) != cells || len(p.Trials) != cells*repeats {
			t.Fatalf("%d cells and %d trials, want %d × %d", len(p.Cells), len(p.Trials), cells, repeats)
		}
		for block := range repeats {
			seen := make([]bool, cells)
			for i, trial := range p.Trials[block*cells : (block+1)*cells] {
				if trial.Number != block*cells+i+1 || trial.Block != block+1 {
					t.Fatalf("trial %+v stands at place %d of block %d", trial, i, block+1)
				}
				if seen[trial.Cell] {
					t.Fatalf("cell %d is twice in block %d", trial.Cell, block+1)
				}
				seen[trial.Cell] = true
			}
		}
	})
}

func TestCellsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		seen := map[string]int{}
		for i, c := range p.Cells {
			key := fmt.Sprint(c.Factors)
			if other, ok := seen[key]; ok {
				t.Fatalf("cells %d and %d have the same factors %s", other, i, key)
			}
			seen[key] = i
		}
	})
}

// TestDirectoriesAreUniqueAndSort: names are fit for every file system, and
// listing them gives the order of running.
func TestDirectoriesAreUniqueAndSort(t *testing.T) {
	fit := regexp.MustCompile(`^[0-9]{3,5}-b[0-9]+[A-Za-z0-9_.-]*$`)
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		for i, trial := range p.Trials {
			if !fit.MatchString(trial.Dir) || len(trial.Dir) > 80 || strings.HasSuffix(trial.Dir, ".") {
				t.Fatalf("directory %q", trial.Dir)
			}
			if i > 0 && p.Trials[i-1].Dir >= trial.Dir {
				t.Fatalf("%q does not sort after %q", trial.Dir, p.Trials[i-1].Dir)
			}
		}
	})
}

func TestTheSeedFixesThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		again, err := NewPlan(p.Study)
		if err != nil || !slices.Equal(p.Trials, again.Trials) {
			t.Fatalf("the same study was planned otherwise: %v\n%v\n%v", err, p.Trials, again.Trials)
		}
		other := *p.Study
		other.Seed++
		q, err := NewPlan(&other)
		if err != nil {
			t.Fatal(err)
		}
		for i := range q.Trials {
			if q.Trials[i].Seed == p.Trials[i].Seed {
				t.Fatalf("trial %d has the same seed under another study seed", i+1)
			}
		}
	})
}

const eightUsers = minimal + "vary: {users: [1, 2, 3, 4, 5, 6, 7, 8]}\n"

// TestSeedsGiveDifferentOrders also finds an order that is no order at all:
// of 20 seeds × 3 blocks of 8! orders, none is likely to come twice or sorted.
func TestSeedsGiveDifferentOrders(t *testing.T) {
	seen := map[string]bool{"[0 1 2 3 4 5 6 7]": true}
	for seed := range 20 {
		p, err := NewPlan(parse(t, fmt.Sprintf("%srun: {seed: %d}\n", eightUsers, seed)))
		if err != nil {
			t.Fatal(err)
		}
		for block := range 3 {
			var order []int
			for _, trial := range p.Trials[block*8 : block*8+8] {
				order = append(order, trial.Cell)
			}
			if key := fmt.Sprint(order); seen[key] {
				t.Errorf("seed %d, block %d: order %s again", seed, block+1, key)
			} else {
				seen[key] = true
			}
		}
	}
}

// TestEveryCellTakesEveryPlaceAlike guards against an order that favours some
// cells: over 800 blocks each of 8 cells is first about 100 times. 150 is more
// than five standard deviations away.
func TestEveryCellTakesEveryPlaceAlike(t *testing.T) {
	first := make([]int, 8)
	for block := range 800 {
		first[order(1, block+1, 8)[0]]++
	}
	for cell, n := range first {
		if n < 50 || n > 150 {
			t.Errorf("cell %d is first in %d of 800 blocks", cell, n)
		}
	}
}

// TestSeedsOfTrialsBelongToTheirCells: neither the order nor other values in
// the study change the seed of a cell in a block.
func TestSeedsOfTrialsBelongToTheirCells(t *testing.T) {
	seeds := func(src string) map[string]uint64 {
		p, err := NewPlan(parse(t, src))
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]uint64{}
		all := map[uint64]bool{}
		for _, trial := range p.Trials {
			out[fmt.Sprint(trial.Block, p.Cells[trial.Cell].Factors)] = trial.Seed
			all[trial.Seed] = true
		}
		if len(all) != len(p.Trials) {
			t.Errorf("%d trials have %d seeds", len(p.Trials), len(all))
		}
		return out
	}
	some, more := seeds(minimal+"vary: {users: [2, 4]}\n"), seeds(minimal+"vary: {users: [8, 4, 3, 2]}\n")
	for cell, seed := range some {
		if more[cell] != seed {
			t.Errorf("cell %s has seed %d, and %d among more cells", cell, seed, more[cell])
		}
	}
}

func TestDirectoryNames(t *testing.T) {
	for _, c := range []struct{ vary, want string }{
		{"", "001-b1"},
		{"users: [4]", "001-b1-users-4"},
		{"engine.settings.shared_buffers: [25%]", "001-b1-shared_buffers-25pct"},
		{`engine.version: [">=15,<17"]`, "001-b1-version-15-17"},
		{"engine.settings.x: [../../etc/passwd]", "001-b1-x-..-..-etc-passwd"},
		{"instance.cpus + users: [[1.5, 8]]", "001-b1-cpus-1.5-users-8"},
		{"engine.settings.path: ['größe / 日本']", "001-b1-path-gr-e"},
		{"engine.settings.long: [" + strings.Repeat("x", 300) + "]", "001-b1-long-" + strings.Repeat("x", 58)},
	} {
		src := minimal
		if c.vary != "" {
			src += "vary:\n  " + c.vary + "\n"
		}
		p, err := NewPlan(parse(t, src))
		if err != nil {
			t.Fatal(err)
		}
		if p.Trials[0].Dir != c.want {
			t.Errorf("%s: directory %q, want %q", c.vary, p.Trials[0].Dir, c.want)
		}
	}
	many, err := NewPlan(parse(t, eightUsers+"run: {repeats: 1000}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := many.Trials[0].Dir; !strings.HasPrefix(got, "0001-b1-users-") {
		t.Errorf("the first of 8000 directories is %q", got)
	}
}

func TestPlanHasBounds(t *testing.T) {
	s := parse(t, eightUsers)
	for _, c := range []struct {
		repeats int
		want    string
	}{
		{0, "asks for 0 repeats"},
		{-1, "asks for -1 repeats"},
		{1250, ""},
		{1251, "8 cells × 1251 repeats: more than 10000 trials"},
		{1 << 62, "more than 10000 trials"},
	} {
		s.Repeats = c.repeats
		p, err := NewPlan(s)
		switch {
		case c.want == "" && (err != nil || len(p.Trials) != 8*c.repeats):
			t.Errorf("%d repeats: %v", c.repeats, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%d repeats: error %v, want %q", c.repeats, err, c.want)
		}
	}
	if _, err := NewPlan(&Study{Name: "made by hand", Repeats: 1}); err == nil {
		t.Error("a study that Parse did not make was planned")
	}
}

func TestDurationAddsTheDrivenPhases(t *testing.T) {
	p, err := NewPlan(parse(t, minimal+"run: {ramp: 1s, measure: 10s, repeats: 2}\nvary: {run.warmup: [5s, 10s]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Duration(), 2*(16+21)*time.Second; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// searchStudy is a study of two configurations that searches for the load.
const searchStudy = minimal + "vary: {workload.n_searches: [1, 3]}\nrun: {repeats: 3, seed: 9}\n"

func TestTheSearchBeginsWithBasesAlone(t *testing.T) {
	p, err := NewPlan(parse(t, searchStudy+"users: saturate\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Cells) != 0 || len(p.Trials) != 0 || len(p.Bases) != 2 || p.Duration() != 0 {
		t.Fatalf("%d cells, %d trials, %d bases", len(p.Cells), len(p.Trials), len(p.Bases))
	}
	for i, b := range p.Bases {
		if len(b.Factors) != 1 || b.Config.Load.Users != 0 || b.Config.Workload.Params.Int("n_searches") != int64(1+2*i) {
			t.Errorf("base %d: %+v", i, b)
		}
	}
	planned, err := NewPlan(parse(t, searchStudy))
	if err != nil || planned.Bases != nil || planned.Load(0) != 0 {
		t.Errorf("a study without a search has bases: %v, %v", planned.Bases, err)
	}
}

func TestExtendAddsTheLoad(t *testing.T) {
	for _, c := range []struct {
		knob   string
		load   float64
		factor Factor
		dir    string
		reach  func(Config) bool // says whether the load is in the configuration
	}{
		{"users: saturate", 16, Factor{"users", "16"}, "001-b1-n_searches-3-users-16", func(c Config) bool { return c.Load.Users == 16 && c.Load.RatePerS == 0 }},
		{"rate: saturate\nsaturate: {from: 5/s}", 120, Factor{"rate", "120/s"}, "001-b1-n_searches-3-rate-120-s",
			func(c Config) bool {
				return c.Load.RatePerS == 120 && c.Load.Users == 0 && c.Load.Arrivals == "poisson"
			}},
		{"rate: saturate\nsaturate: {from: 1/h}", 1.0 / 3600, Factor{"rate", "0.0002777777777777778/s"}, "001-b1-n_searches-3-rate-0.0002777777777777778-s",
			func(c Config) bool { return c.Load.RatePerS == 1.0/3600 }},
		{"instances: saturate\nusers: 4", 3, Factor{"instances", "3"}, "001-b1-n_searches-3-instances-3",
			func(c Config) bool { return c.Instances == 3 && c.Load.Users == 4 }},
	} {
		p, err := NewPlan(parse(t, searchStudy+c.knob+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		cell, trials := p.Extend(1, c.load, 1)
		want := []Factor{{"workload.n_searches", "3"}, c.factor}
		if !slices.Equal(cell.Factors, want) || !c.reach(cell.Config) {
			t.Errorf("%s: factors %v, instances %d, load %+v", c.knob, cell.Factors, cell.Config.Instances, cell.Config.Load)
		}
		if len(trials) != 1 || len(p.Trials) != 1 || trials[0] != p.Trials[0] || len(p.Cells) != 1 {
			t.Fatalf("%s: trials %v, in the plan %v", c.knob, trials, p.Trials)
		}
		if got := trials[0]; got.Number != 1 || got.Block != 1 || got.Cell != 0 || got.Dir != c.dir {
			t.Errorf("%s: %+v", c.knob, got)
		}
		if got := p.Load(0); got != c.load {
			t.Errorf("%s: the plan holds the load %g, want %g", c.knob, got, c.load)
		}
		if len(p.Bases[1].Factors) != 1 {
			t.Errorf("%s: the base has the factors %v", c.knob, p.Bases[1].Factors)
		}
	}
}

// TestAFoundCellRunsLikeAPlannedOne: a load that a search found has the seeds
// that it would have had in the file.
func TestAFoundCellRunsLikeAPlannedOne(t *testing.T) {
	found, err := NewPlan(parse(t, searchStudy+"users: saturate\n"))
	if err != nil {
		t.Fatal(err)
	}
	found.Extend(0, 8, 1)
	found.Extend(1, 8, 1)
	planned, err := NewPlan(parse(t, strings.Replace(searchStudy, "[1, 3]", "[1, 3], users: [8]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(found.Cells, planned.Cells) {
		t.Errorf("found %+v, planned %+v", found.Cells, planned.Cells)
	}
	for _, x := range found.Trials {
		for _, y := range planned.Trials {
			if x.Block == y.Block && x.Cell == y.Cell && x.Seed != y.Seed {
				t.Errorf("cell %d has seed %d, planned %d", x.Cell, x.Seed, y.Seed)
			}
		}
	}
}

func TestRepeatsOfASearchAreCompleteBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := Parse("x.yaml", []byte(searchStudy+"users: saturate\n"), known())
		if err != nil {
			t.Fatal(err)
		}
		bases := rapid.SliceOfN(rapid.IntRange(0, 1), 1, 20).Draw(t, "bases")
		grow := func() *Plan {
			p, err := NewPlan(s)
			if err != nil {
				t.Fatal(err)
			}
			for i, base := range bases {
				p.Extend(base, float64((i*7)%23+1), 1) // different loads, up and down
			}
			for block := 2; block <= s.Repeats; block++ {
				if got := p.Repeat(block); !slices.Equal(got, p.Trials[len(p.Trials)-len(bases):]) {
					t.Fatalf("Repeat returned %v", got)
				}
			}
			return p
		}
		p := grow()
		if again := grow(); !slices.Equal(p.Trials, again.Trials) {
			t.Fatalf("the same calls gave another plan")
		}
		n := len(bases)
		if len(p.Cells) != n || len(p.Trials) != n*s.Repeats {
			t.Fatalf("%d cells and %d trials", len(p.Cells), len(p.Trials))
		}
		seeds := map[uint64]bool{}
		for i, trial := range p.Trials {
			if trial.Number != i+1 || trial.Block != i/n+1 || i > 0 && p.Trials[i-1].Dir >= trial.Dir {
				t.Fatalf("trial %d is %+v", i, trial)
			}
			seeds[trial.Seed] = true
		}
		for block := range s.Repeats {
			seen := make([]bool, n)
			for _, trial := range p.Trials[block*n : (block+1)*n] {
				if seen[trial.Cell] {
					t.Fatalf("cell %d is twice in block %d", trial.Cell, block+1)
				}
				seen[trial.Cell] = true
			}
		}
		if len(seeds) != len(p.Trials) {
			t.Fatalf("%d trials have %d seeds", len(p.Trials), len(seeds))
		}
		byLoad := p.ByLoad()
		for i := range byLoad[1:] {
			x, y := p.Cells[byLoad[i]], p.Cells[byLoad[i+1]]
			a, b := x.Config.Workload.Params.Int("n_searches"), y.Config.Workload.Params.Int("n_searches")
			if a > b || a == b && x.Config.Load.Users >= y.Config.Load.Users {
				t.Fatalf("%v stands before %v", x.Factors, y.Factors)
			}
		}
		if sorted := slices.Sorted(slices.Values(byLoad)); sorted[0] != 0 || sorted[n-1] != n-1 || len(slices.Compact(sorted)) != n {
			t.Fatalf("order %v of %d cells", byLoad, n)
		}
	})
}

// TestRepeatsOfASearchAreShuffled: the order in which loads were found is
// rising, and repeating it would favour some.
func TestRepeatsOfASearchAreShuffled(t *testing.T) {
	p, err := NewPlan(parse(t, searchStudy+"users: saturate\n"))
	if err != nil {
		t.Fatal(err)
	}
	for load := range 10 {
		p.Extend(0, float64(load+1), 1)
	}
	var second, third []int
	for _, trial := range p.Repeat(2) {
		second = append(second, trial.Cell)
	}
	for _, trial := range p.Repeat(3) {
		third = append(third, trial.Cell)
	}
	if slices.IsSorted(second) || slices.IsSorted(third) || slices.Equal(second, third) {
		t.Errorf("blocks in the orders %v and %v", second, third)
	}
}

func TestPlanOfASearchHasBounds(t *testing.T) {
	s := parse(t, searchStudy+"users: saturate\n")
	s.Repeats = maxTrials/(2*mostLoads) + 1
	if _, err := NewPlan(s); err == nil || !strings.Contains(err.Error(), "44 cells × 228 repeats") {
		t.Errorf("%d repeats: %v", s.Repeats, err)
	}
	s.Repeats--
	if _, err := NewPlan(s); err != nil {
		t.Error(err)
	}
}
