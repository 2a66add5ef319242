package demand

import (
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// truth is what made-up trials obey.
type truth struct {
	work   []float64 // s of processor, by class
	share  []float64
	io     float64 // s of an I/O
	trials int     // one load each
	noise  float64 // relative, of a trial's work
	second int     // seconds a trial
	rate   float64 // transactions a second of one user
}

func usual() truth {
	return truth{work: []float64{2e-3, 0.4e-3, 1e-3}, share: []float64{0.3, 0.5, 0.2}, io: 40e-6, trials: 6, noise: 0.02, second: 30, rate: 200}
}

// mean is the work of a mean transaction, without I/O.
func (x truth) mean() float64 { return dot(x.work, x.share) }

// observe makes trials up: commits share more writes of the log the more users
// there are.
func (x truth) observe(seed uint64) Observed {
	s := rng.At(seed)
	o := Observed{Name: "shop", Engine: "postgres", Mode: "procedures", GHz: 2, Classes: []string{"buy", "look", "pay"},
		Work: []float64{1, 1, 1}, LogBytes: []float64{300, 0, 100}, Trips: []float64{1, 1, 1}, Seed: seed}
	for n := range x.trials {
		by := math.Exp(x.noise * normal(&s))
		users := float64(int(1) << n)
		t := Trial{Name: "t", CPUs: 64, Alone: n == 0, Latched: 0, Polls: 100}
		for range x.second {
			sec := Second{Length: 1, Driver: math.NaN(), Pages: math.NaN(), PagesRead: math.NaN(), PagesWritten: math.NaN()}
			for k := range x.work {
				d := count(users*x.rate*x.share[k], &s)
				sec.Done = append(sec.Done, d)
				sec.CPU += by * d * x.work[k]
				if o.LogBytes[k] > 0 {
					sec.LogWrites += d / math.Sqrt(users)
				}
				sec.LogBytes += d * o.LogBytes[k] * 2
			}
			sec.LogSeconds = 5e-4 * sec.LogWrites
			sec.CPU += x.io * sec.LogWrites
			t.Seconds = append(t.Seconds, sec)
		}
		for k := range x.work {
			r := x.work[k] + 100e-6
			if o.LogBytes[k] > 0 {
				r += 5e-4
			}
			t.Response = append(t.Response, r)
		}
		o.Trials = append(o.Trials, t)
	}
	return o
}

// count is about a Poisson number.
func count(mean float64, s *rng.Stream) float64 {
	return max(0, math.Round(mean+math.Sqrt(mean)*normal(s)))
}

// total is the work of a mean transaction of these trials, I/O included.
func (x truth) total(o Observed) float64 {
	ios, done := 0.0, 0.0
	for _, t := range o.Trials {
		for _, s := range t.Seconds {
			ios, done = ios+s.LogWrites, done+s.done()
		}
	}
	return x.mean() + x.io*ios/done
}

func TestIntervalsHoldTheTruthAsOftenAsTheySay(t *testing.T) {
	if testing.Short() {
		t.Skip("so many fits take seconds")
	}
	const fits = 120
	held := map[string]int{}
	x := usual()
	x.second = 16
	for seed := range uint64(fits) {
		o := x.observe(seed + 1)
		f, err := Fit(o)
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			q  Quantity
			is float64
		}{"mix": {f.CPU, 1e9 * x.total(o)}, "bytes": {f.Classes[0].LogBytes, 600}} {
			if c.q.Low <= c.is && c.is <= c.q.High {
				held[name]++
			}
		}
	}
	// The mean of draws of trials that differ in size is not quite normal:
	// the bounds are three standard deviations of as many fits around 90 %.
	t.Logf("the interval of the mix held the truth in %d of %d fits", held["mix"], fits)
	if part := float64(held["mix"]) / fits; part < 0.82 || part > 0.97 {
		t.Errorf("the interval of the mix held the truth in %.3f of the fits, not in 0.9", part)
	}
	if held["bytes"] < fits {
		t.Errorf("the log's bytes, which have no noise, were held %d times of %d", held["bytes"], fits)
	}
}

func TestFitFindsClassesAndCostOfIO(t *testing.T) {
	x := usual()
	x.noise = 0.002
	x.second = 60
	x.io = 200e-6
	f, err := Fit(x.observe(3))
	if err != nil {
		t.Fatal(err)
	}
	if f.Split != ByRegression {
		t.Fatalf("split by %s: %q", f.Split, f.Notes)
	}
	if q := f.Costs.IO; q.Assumed || q.Low > 200e3 || q.High < 200e3 || math.Abs(q.Value-200e3) > 40e3 {
		t.Errorf("an I/O costs %+v, not 200 µs", f.Costs.IO)
	}
	for k, c := range f.Classes {
		work := 1e9 * x.work[k]
		if math.Abs(c.CPU()/work-1) > 0.1 {
			t.Errorf("%s costs %.0f ns, not %.0f", c.Name, c.CPU(), work)
		}
		if math.Abs(c.Share-x.share[k]) > 0.01 {
			t.Errorf("%s has a share of %.3f, not %.3f", c.Name, c.Share, x.share[k])
		}
	}
	if math.Abs(f.LogWrite.Value-5e5) > 1 || f.LogWrite.Assumed {
		t.Errorf("a write of the log takes %+v", f.LogWrite)
	}
	if math.Abs(f.Latency.Value-50e3) > 30e3 || f.Latency.Assumed {
		t.Errorf("the way takes %+v, not 50 µs", f.Latency)
	}
	if !f.DiskRead.Assumed || !f.Costs.Latch.Assumed || !f.Driver.Assumed || !f.Pages.Assumed {
		t.Error("what was not recorded is not marked as assumed")
	}
}

// TestClassesThatAlwaysGoTogetherAreNotToldApart keeps the mix the same in
// every second: then response times divide the work, and without a trial of
// one user the description does.
func TestClassesThatAlwaysGoTogetherAreNotToldApart(t *testing.T) {
	o := usual().observe(1)
	for _, tr := range o.Trials {
		for i := range tr.Seconds {
			s := &tr.Seconds[i]
			n := s.done()
			s.Done = []float64{0.3 * n, 0.5 * n, 0.2 * n}
		}
	}
	f, err := Fit(o)
	if err != nil {
		t.Fatal(err)
	}
	if f.Split != ByResponse || !strings.Contains(strings.Join(f.Notes, " "), "response times") {
		t.Fatalf("split by %s: %q", f.Split, f.Notes)
	}
	if r := f.Classes[0].CPU() / f.Classes[1].CPU(); math.Abs(r-5) > 0.3 {
		t.Errorf("buy costs %.2f times of look, not as their response times less the waits", r)
	}
	for i := range o.Trials {
		o.Trials[i].Alone = false
	}
	if f, err = Fit(o); err != nil || f.Split != ByAccess {
		t.Fatalf("split by %s, %v", f.Split, err)
	}
	if r := f.Classes[0].CPU() / f.Classes[1].CPU(); math.Abs(r-1) > 1e-9 || !f.Latency.Assumed {
		t.Errorf("buy costs %.2f times of look, the way %+v", r, f.Latency)
	}
	mix := f.IOs.Value * f.Costs.IO.Value
	for _, c := range f.Classes {
		mix += c.Share * c.CPU()
	}
	if math.Abs(mix/f.CPU.Value-1) > 1e-9 {
		t.Errorf("classes and I/O add up to %g of %g ns", mix, f.CPU.Value)
	}
}

func TestWaitsForLatchesTellHowLongTheyAreHeld(t *testing.T) {
	o := usual().observe(1)
	// In a queue M/M/1 that is used by half there wait 0.5 on average.
	for i := range o.Trials {
		o.Trials[i].Latched = 0.5
	}
	f, err := Fit(o)
	if err != nil {
		t.Fatal(err)
	}
	commits, seconds := 0.0, 0.0
	for _, tr := range o.Trials {
		for _, s := range tr.Seconds {
			commits, seconds = commits+s.Done[0]+s.Done[2], seconds+s.Length
		}
	}
	if want := 0.5e9 * seconds / commits; math.Abs(f.Costs.Latch.Value/want-1) > 1e-9 || f.Costs.Latch.Assumed {
		t.Errorf("held for %+v, not %g ns", f.Costs.Latch, want)
	}
}

func TestFitRefusesWhatTellsNothing(t *testing.T) {
	for name, spoil := range map[string]func(*Observed){
		"no trials":      func(o *Observed) { o.Trials = nil },
		"no classes":     func(o *Observed) { o.Classes = nil },
		"too short":      func(o *Observed) { o.Trials = o.Trials[:1]; o.Trials[0].Seconds = o.Trials[0].Seconds[:3] },
		"other classes":  func(o *Observed) { o.Trials[0].Seconds[0].Done = []float64{1} },
		"no description": func(o *Observed) { o.Work = nil },
		"no counters": func(o *Observed) {
			for _, t := range o.Trials {
				for i := range t.Seconds {
					t.Seconds[i].CPU = math.NaN()
				}
			}
		},
	} {
		o := usual().observe(1)
		spoil(&o)
		if f, err := Fit(o); err == nil {
			t.Errorf("%s: %+v", name, f.CPU)
		}
	}
}
