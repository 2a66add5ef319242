package analyse

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// product makes studies whose truth is known: loads and buffers vary, and what
// a trial gives is the law times the effect times noise.
type product struct {
	loads, buffers []string
	repeats        int
	between, block float64 // relative deviations of a repeat and of a block
	// effect multiplies throughput and divides response times, by buffers.
	effect map[string]float64
}

func usualProduct() product {
	return product{loads: []string{"1", "2", "4", "8"}, buffers: []string{"16MiB"}, repeats: 5, between: 0.005}
}

// study makes one, as Load would leave it.
func (p product) study(name string, src *stats.Random) *Study {
	s := &Study{Format: 1, Name: name, Dir: "results/" + name, Valid: true, Metric: Metric{"orders a minute", "OPM"},
		Factors: []string{"users", "buffers"}, seed: 3, Created: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), Machine: []Fact{{"CPU", "a"}}}
	w := usual().workload()
	w.Types = w.Types[:1]
	about := &record.Trial{Workload: w, Engine: record.Engine{Name: "postgres", Version: "15.18"}, Provider: "native"}
	for _, b := range p.buffers {
		for _, l := range p.loads {
			n, _ := number(l)
			s.Cells = append(s.Cells, Cell{Label: "users = " + l + ", buffers = " + b, Factors: []Factor{{"users", l, Number(n)}, {"buffers", b, Absent()}}})
		}
	}
	for block := range p.repeats {
		shared := math.Exp(p.block * gauss(src))
		for i := range s.Cells {
			c := &s.Cells[i]
			x := shared * math.Exp(p.between*gauss(src)) * (1 + math.Log(float64(c.Factors[0].Num)+1))
			if e, injected := p.effect[c.Factors[1].Value]; injected {
				x *= e
			}
			c.Trials = append(c.Trials, len(s.Trials))
			s.Trials = append(s.Trials, p.trial(block+1, i, x, about, src))
		}
	}
	for i := range s.Cells {
		var xs []float64
		for _, t := range s.Cells[i].Trials {
			xs = append(xs, s.Trials[t].Throughput)
		}
		s.Cells[i].Throughput = estimate(xs)
	}
	s.Peak = len(p.loads) - 1
	return s
}

// trial is one whose response times are lognormal, as fast as x.
func (p product) trial(block, cell int, x float64, about *record.Trial, src *stats.Random) Trial {
	t := Trial{Block: block, Cell: cell, Counts: true, Status: "finished", Throughput: 1000 * x, about: about}
	for k, name := range names(about.Workload) {
		t.Types = append(t.Types, Latency{Type: name})
		slow := math.Exp(p.between*gauss(src)) * float64(k+1) / x
		var d dist
		for i := -300; i <= 300; i++ {
			z := float64(i) / 100
			us := int64(1e6 * slow * math.Exp(0.4*z))
			d = append(d, bar{us, us, int64(1 + 500*math.Exp(-z*z/2))})
		}
		t.samples = append(t.samples, sample{times: times{response: d}})
	}
	return t
}

func compare(t *testing.T, base, other *Study) *Comparison {
	t.Helper()
	c, err := Compare(base, other, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// effects lists those of all cells that are of a quantity, or all for "".
func effectsOf(c *Comparison, quantity string) (out []Effect) {
	for _, cell := range c.Cells {
		for _, e := range cell.Effects {
			if quantity == "" || e.Quantity == quantity {
				out = append(out, e)
			}
		}
	}
	return out
}

func TestAAComparisonsErrAsOftenAsStated(t *testing.T) {
	const n = 150
	src := stats.Random(1)
	p := usualProduct()
	p.repeats = 3
	wrong, alone, rows, covered := map[bool]int{}, map[bool]int{}, map[bool]int{}, map[bool]int{}
	for range n {
		any := false
		c := compare(t, p.study("a", &src), p.study("b", &src))
		for _, e := range effectsOf(c, "") {
			times := e.Percentile > 0
			any = any || e.Verdict == Differs
			rows[times]++
			if e.P <= 0.05 {
				alone[times]++
			}
			if e.Low <= 1 && e.High >= 1 {
				covered[times]++
			}
		}
		if any {
			wrong[true]++
		}
	}
	// Three standard deviations of a binomial count.
	if got, most := float64(wrong[true])/n, 0.05+3*math.Sqrt(0.05*0.95/n); got > most {
		t.Errorf("%.1f %% of the comparisons find a difference, at most %.1f %% may", 100*got, 100*most)
	}
	t.Logf("any difference: %.1f %%", 100*float64(wrong[true])/n)
	for times, k := range rows {
		share := func(of map[bool]int) float64 { return 100 * float64(of[times]) / float64(k) }
		t.Logf("percentiles %v: p ≤ 5 %% in %.1f %% of %d, intervals cover in %.1f %%", times, share(alone), k, share(covered))
		if share(alone) > 6.5 || share(covered) < 93.5 || share(covered) > 98 {
			t.Errorf("percentiles %v: p ≤ 5 %% in %.1f %%, intervals cover in %.1f %%", times, share(alone), share(covered))
		}
	}
}

func TestInjectedSlowdownsAreRecovered(t *testing.T) {
	for _, slower := range []float64{0.02, 0.05, 0.10} {
		src := stats.Random(2)
		p := usualProduct()
		base := p.study("base", &src)
		p.effect = map[string]float64{"16MiB": 1 - slower}
		c := compare(t, base, p.study("slow", &src))
		if !c.Valid || !strings.Contains(c.Verdict, "for the worse") {
			t.Errorf("%g: %s", slower, c.Verdict)
		}
		for _, e := range effectsOf(c, "throughput") {
			if e.Verdict != Differs || e.Better || !strings.HasPrefix(e.Text, "differs by -") {
				t.Errorf("slower by %g: %s (p %g)", slower, e.Text, e.HolmP)
			}
			if math.Abs(change(e.Ratio)+100*slower) > 1 {
				t.Errorf("slower by %g is found as %s", slower, e.Change())
			}
			if e.RankP > 0.01 { // 2 of C(10,5) = 252
				t.Errorf("the rank test gives %g", e.RankP)
			}
		}
		for _, e := range effectsOf(c, "p95 order") {
			want := 100 * (1/(1-slower) - 1)
			if math.Abs(change(e.Ratio)-want) > 1.5 || e.Better {
				t.Errorf("p95 rises by %g %%, found %s", want, e.Text)
			}
			if slower == 0.10 && e.Verdict != Differs {
				t.Errorf("p95: %s", e.Text)
			}
		}
	}
}

func TestTheSameIsSaidOnlyWithinTheMargin(t *testing.T) {
	src := stats.Random(4)
	p := usualProduct()
	c := compare(t, p.study("a", &src), p.study("b", &src))
	for _, e := range effectsOf(c, "throughput") {
		if e.Verdict != Same || e.Text != "same within ±3 %" {
			t.Errorf("throughput: %s, found %s", e.Text, e.Change())
		}
	}
	p.between = 0.05 // too noisy to tell
	c = compare(t, p.study("a", &src), p.study("b", &src))
	for _, e := range effectsOf(c, "throughput") {
		if e.Verdict != Unresolved || !strings.Contains(e.Text, "not resolved (+") || e.MoreRepeats < 5 || e.MoreRepeats > 5000 {
			t.Errorf("noisy throughput: %s, found %s", e.Text, e.Change())
		}
	}
	p.repeats = 1
	c = compare(t, p.study("a", &src), p.study("b", &src))
	for _, e := range effectsOf(c, "") {
		if e.Verdict != Unresolved || e.Low.OK() || e.Text != "not resolved: one repeat" {
			t.Errorf("one repeat: %+v", e)
		}
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

// With the repeats that it asks for, a comparison is resolved in most cases:
// it plans for 80 %.
func TestTheRepeatsAskedForResolve(t *testing.T) {
	src := stats.Random(9)
	p := product{loads: []string{"4"}, buffers: []string{"x"}, repeats: 4, between: 0.02}
	asked, resolved, n := 0, 0, 0
	for range 25 {
		e := effectsOf(compare(t, p.study("a", &src), p.study("b", &src)), "throughput")[0]
		if e.Verdict == Unresolved {
			asked += e.MoreRepeats
			n++
		}
	}
	p.repeats += asked / n
	for range 25 {
		if effectsOf(compare(t, p.study("a", &src), p.study("b", &src)), "throughput")[0].Verdict != Unresolved {
			resolved++
		}
	}
	if resolved < 15 {
		t.Errorf("with %d repeats %d of 25 are resolved", p.repeats, resolved)
	}
}

func TestBlocksTakeAwayWhatTheirTrialsShare(t *testing.T) {
	src := stats.Random(5)
	p := usualProduct()
	p.block, p.buffers, p.effect = 0.2, []string{"16MiB", "25%", "1GiB"}, map[string]float64{"25%": 1.05}
	s := p.study("study", &src)
	cs := Within(s, CompareOptions{})
	if len(cs) != 2 || cs[0].Base.Name != "buffers = 16MiB" || cs[0].Other.Name != "buffers = 25%" || cs[1].Other.Name != "buffers = 1GiB" {
		t.Fatalf("%d comparisons: %+v", len(cs), cs)
	}
	for i, want := range []Verdict{Differs, Same} {
		c := cs[i]
		if !c.Paired || !c.Valid || len(c.Cells) != 4 || c.Cells[0].Label != "users = 1" {
			t.Errorf("%+v", c)
		}
		for _, e := range effectsOf(&c, "throughput") {
			if e.Verdict != want || want == Differs && !e.Better {
				t.Errorf("%s: %s (%s)", c.Other.Name, e.Text, e.Change())
			}
		}
		for _, e := range effectsOf(&c, "p95 order") {
			if e.Low.OK() && e.High-e.Low > 0.1 {
				t.Errorf("%s: the interval of p95 holds the blocks: %s", c.Other.Name, e.Change())
			}
		}
	}
	if !strings.HasPrefix(cs[0].Verdict, "buffers = 25% against buffers = 16MiB: at users = 8, throughput differs by +") {
		t.Error(cs[0].Verdict)
	}
	// A block that one side lacks is left out on both.
	s.Cells[0].Trials = s.Cells[0].Trials[1:]
	if e := Within(s, CompareOptions{})[0].Cells[0].Effects[0]; e.BaseN != 4 || e.OtherN != 4 || e.Verdict != Differs {
		t.Errorf("%+v", e)
	}
	// Where nothing but the load varies there is nothing to compare.
	p.buffers = []string{"16MiB"}
	if got := Within(p.study("x", &src), CompareOptions{}); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestHolmKeepsAWeakSignAmongManyFromBeingADifference(t *testing.T) {
	src := stats.Random(6)
	p := usualProduct()
	p.loads = nil
	for i := range 40 {
		p.loads = append(p.loads, fmt.Sprint(i+1))
	}
	c := compare(t, p.study("a", &src), p.study("b", &src))
	weak := 0
	for _, e := range effectsOf(c, "") {
		if e.Verdict == Differs {
			t.Errorf("%s: %s, p %g", e.Quantity, e.Text, e.P)
		}
		if e.P <= 0.05 {
			weak++
		}
		if e.HolmP < e.P {
			t.Errorf("corrected %g is below %g", e.HolmP, e.P)
		}
	}
	if weak == 0 {
		t.Error("not one of 280 p is below 5 %: nothing was tested")
	}
}

func TestConfigurationsAreMatchedByTheirFactors(t *testing.T) {
	src := stats.Random(7)
	p := usualProduct()
	base := p.study("old", &src)
	p.loads = []string{"16", "8", "4"}
	other := p.study("new", &src)
	for i := range other.Cells { // the order of factors is the file's
		f := other.Cells[i].Factors
		f[0], f[1] = f[1], f[0]
	}
	other.Machine = []Fact{{"CPU", "b"}, {"Hypervisor", "kvm"}}
	c := compare(t, base, other)
	if len(c.Cells) != 2 || c.Cells[0].Base != 2 || c.Cells[0].Other != 2 || c.Cells[1].Other != 1 {
		t.Errorf("%+v", c.Cells)
	}
	want := "users = 1, buffers = 16MiB: only in old|users = 2, buffers = 16MiB: only in old|users = 16, buffers = 16MiB: only in new"
	if got := strings.Join(c.Unmatched, "|"); got != want {
		t.Errorf("unmatched %q", got)
	}
	if got := fmt.Sprint(c.Differences); got != "[{CPU a b} {Hypervisor – kvm}]" {
		t.Errorf("differences %s", got)
	}
}

func TestWhatCannotBeComparedIsRefusedWithTheReason(t *testing.T) {
	for want, spoil := range map[string]func(*Study){
		"the workload is shop, version 1 in the first and shop, version 2 in the second": func(s *Study) { s.Trials[0].about.Workload.Version = 2 },
		"the metric is orders a minute in the first and sales in the second":             func(s *Study) { s.Trials[0].about.Workload.Metric.Name = "sales" },
		"the machine is real in the first and simulated":                                 func(s *Study) { s.Simulated = true },
		"is shop-10 in the first and shop-99":                                            func(s *Study) { s.Trials[0].about.Workload.DataKey = "shop-99" },
		"is closed in the first and open":                                                func(s *Study) { s.Trials[0].about.Load.RatePerS = 5 },
		"the mode of users = 1":                                                          func(s *Study) { s.Trials[0].about.Workload.Params = map[string]string{"mode": "x"} },
		"no configuration in common":                                                     func(s *Study) { s.Cells = nil },
		"other has no trial that was begun":                                              func(s *Study) { s.Trials = nil; s.Cells = nil },
	} {
		src := stats.Random(8)
		p := usualProduct()
		base, other := p.study("base", &src), p.study("other", &src)
		spoil(other)
		_, err := Compare(base, other, CompareOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "base and other can't be compared") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, o := range []CompareOptions{{MarginPct: -1}, {PercentileMarginPct: nan()}, {MarginPct: 101}} {
		if _, err := Compare(&Study{}, &Study{}, o); err == nil || !strings.Contains(err.Error(), "margin") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestInvalidStudiesMakeTheComparisonInvalid(t *testing.T) {
	src := stats.Random(8)
	p := usualProduct()
	base, other := p.study("base", &src), p.study("other", &src)
	other.Valid, other.Invalid = false, []string{"trial 3: checks: 1 failed"}
	c := compare(t, base, other)
	if c.Valid || !strings.HasPrefix(c.Verdict, "INVALID: other: trial 3: checks: 1 failed. What was found: other against base:") {
		t.Errorf("%v %s", c.Valid, c.Verdict)
	}
}

func TestChangesArePrintedForPeople(t *testing.T) {
	for _, c := range []struct {
		ratio, low, high float64
		want             string
	}{
		{1.041, 1.020, 1.063, "+4.1 % (2.0 to 6.3 %)"},
		{0.958, 0.949, 0.968, "-4.2 % (-5.1 to -3.2 %)"},
		{1.0004, 0.9996, 1.0012, "+0.04 % (-0.04 to 0.12 %)"},
		{1.5, 1.1, 2.4, "+50 % (10 to 140 %)"},
		{0.99999, 0.99, 1.01, "0.0 % (-1.0 to 1.0 %)"},
		{1.2, nan(), nan(), "+20.0 %"},
		{nan(), nan(), nan(), "unknown"},
	} {
		if got := changeText(Number(c.ratio), Number(c.low), Number(c.high)); got != c.want {
			t.Errorf("%g (%g to %g) is %q, want %q", c.ratio, c.low, c.high, got, c.want)
		}
	}
}
