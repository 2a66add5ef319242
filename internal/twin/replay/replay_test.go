package replay

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

const root = "../../../"

// projectHosts reads a host of the project, or the toy's.
func projectHosts(name string) (*host.Host, error) {
	if name == "wire" {
		return &host.Host{Name: "wire", Nodes: 1, CPU: host.Processor{Sockets: 1, Cores: 1, Threads: 1, GHz: 1},
			NICs: []host.NIC{{Name: "lan", BitsPerSecond: 1e12, Queues: 1, MTU: 1500}}}, nil
	}
	file := filepath.Join(root, "hosts", name+".yaml")
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return host.Parse(file, src)
}

func parseToy(t testing.TB) *Study {
	t.Helper()
	s, err := Parse("toy.yaml", []byte(toy))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func near(t testing.TB, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got/want-1) <= relative) {
		t.Errorf("%s is %g, want %g within %g", what, got, want, relative)
	}
}

// TestAFitFindsTheParameters solves the toy on paper: a gigabit takes copy +
// packet·100,000 s in small packets and copy + packet·10,000 s in large ones,
// and one core gives 5 and 8 Gb/s: 1/5 and 1/8 s.
func TestAFitFindsTheParameters(t *testing.T) {
	r, err := Run(t.Context(), parseToy(t), projectHosts, Options{Draws: 20, Workers: 2, Seed: 3, Sensitivity: true})
	if err != nil {
		t.Fatal(err)
	}
	packet := (1./5 - 1./8) / 90_000
	near(t, "packet", r.Fit.Values["packet"], packet, 0.01)
	near(t, "copy", r.Fit.Values["copy"], 1./8-packet*10_000, 0.01)
	near(t, "prediction", r.Outcomes[0].Ours, 5/1.2, 0.01)
	for i, p := range r.Study.Parameters {
		if in := r.Parameters[i]; !(in.Low < r.Fit.Values[p.Name] && r.Fit.Values[p.Name] < in.High) {
			t.Errorf("%s lies outside %+v", p.Name, in)
		}
	}
	// rho is drawn from 1.1 to 1.3: 3.85 to 4.55 Gb/s, all but the tails; the
	// error of models is added.
	if in := r.Outcomes[0].Drawn; in.Low < 3.7 || in.Low > 3.95 || in.High > 4.7 || in.High < 4.4 {
		t.Errorf("drawn %+v", in)
	}
	if in := r.Outcomes[0].Interval; in.Low < 3.5 || in.Low > 3.95 || in.High > 4.8 || in.High < 4.4 {
		t.Errorf("interval %+v", in)
	}
	// A remote cost of half of 1.2 is no cost: 1.2 times as fast.
	near(t, "effect of half of rho", 1+r.Effects[0].Low[0], 1.2, 0.001)
	near(t, "effect of rho and a half", 1+r.Effects[0].High[0], 1/1.5, 0.001)
}

// TestDerivativesLearnFromAStep: afterwards they give what the step did, and
// what they gave before in directions that it did not go; a short step teaches
// nothing.
func TestDerivativesLearnFromAStep(t *testing.T) {
	from := state{at: point{1, 2}, res: []float64{0.1, 0.2, 0}}
	to := state{at: point{1.3, 1.6}, res: []float64{0.5, -0.2, 0.7}}
	j := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	before := mat.DenseCopyOf(j)
	learn(j, from, to)
	along, across := mat.NewVecDense(2, []float64{0.3, -0.4}), mat.NewVecDense(2, []float64{0.4, 0.3})
	var got, want mat.VecDense
	got.MulVec(j, along)
	if !mat.EqualApprox(&got, mat.NewVecDense(3, []float64{0.4, -0.4, 0.7}), 1e-12) {
		t.Errorf("along the step %v", got.RawVector().Data)
	}
	got.MulVec(j, across)
	want.MulVec(before, across)
	if !mat.EqualApprox(&got, &want, 1e-12) {
		t.Errorf("across the step %v, before %v", got.RawVector().Data, want.RawVector().Data)
	}
	learn(before, from, state{at: point{1.001, 2}, res: []float64{9, 9, 9}})
	if before.At(0, 0) != 1 {
		t.Error("a short step taught something")
	}
}

// TestDrawsMeetTheirNumbers: each draw fits anew what it moved, so calibrated
// numbers lie within their repeatability and the fit's tolerance.
func TestDrawsMeetTheirNumbers(t *testing.T) {
	r, err := Run(t.Context(), parseToy(t), projectHosts, Options{Draws: 20, Workers: 2, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Calibrations {
		half := math.Log(c.High/c.Low) / 2
		if want := normal95 * math.Hypot(repeatability, c.Rounding/c.Value/math.Sqrt(3)); half < want/2 || half > 2*want+refitTolerance {
			t.Errorf("%s: from %g to %g around %g", c.ID, c.Low, c.High, c.Value)
		}
	}
}

// TestAFitNeverReadsAPrediction changes every predicted number, and takes
// them all away: parameters, predictions and intervals stay to the last bit.
func TestAFitNeverReadsAPrediction(t *testing.T) {
	o := Options{Draws: 4, Workers: 2, Seed: 3}
	want, err := Run(t.Context(), parseToy(t), projectHosts, o)
	if err != nil {
		t.Fatal(err)
	}
	s := parseToy(t)
	for i := range s.Predicted {
		s.Predicted[i].Value *= 17
	}
	got, err := Run(t.Context(), s, projectHosts, o)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Fit.Values, want.Fit.Values) || !reflect.DeepEqual(got.Parameters, want.Parameters) {
		t.Errorf("other predictions, other parameters: %v and %v", got.Fit.Values, want.Fit.Values)
	}
	for i := range got.Outcomes {
		if got.Outcomes[i].Ours != want.Outcomes[i].Ours || got.Outcomes[i].Interval != want.Outcomes[i].Interval {
			t.Errorf("%s: %+v and %+v", got.Outcomes[i].ID, got.Outcomes[i], want.Outcomes[i])
		}
	}
	s.Predicted = nil
	alone, err := Run(t.Context(), s, projectHosts, o)
	if err != nil || !reflect.DeepEqual(alone.Fit.Values, want.Fit.Values) {
		t.Errorf("without predictions: %v, %v", alone, err)
	}
	s.Calibrated[0].Value *= 1.1
	moved, err := Run(t.Context(), s, projectHosts, o)
	if err != nil || reflect.DeepEqual(moved.Fit.Values, want.Fit.Values) {
		t.Errorf("a calibrated number moved nothing: %v", err)
	}
}

// TestThePageIsTheSameOnAnyNumberOfCores compares it byte by byte: of the toy,
// which has streams only, and of machines under load, cut short.
func TestThePageIsTheSameOnAnyNumberOfCores(t *testing.T) {
	for _, s := range []*Study{parseToy(t), short(t)} {
		var want []byte
		for _, workers := range []int{1, 2, 3} {
			o := Options{Draws: 3, Workers: workers, Seed: 9, Sensitivity: s.Name == "toy"}
			r, err := Run(t.Context(), s, projectHosts, o)
			if err != nil {
				t.Fatal(err)
			}
			got := Page([]*Result{r}, o)
			if want != nil && !bytes.Equal(got, want) {
				t.Errorf("%s: %d workers give another page", s.Name, workers)
			}
			want = got
		}
	}
}

// short is a study of machines in which one second is simulated, and few
// experiments.
func short(t testing.TB) *Study {
	t.Helper()
	for _, s := range published(t) {
		if s.Name == "sql-server-2012-vsphere6" {
			s.Experiments = slices.Clone(s.Experiments)
			for i := range s.Experiments {
				s.Experiments[i].Seconds, s.Experiments[i].RampS = 1, Expr{}
			}
			s.Predicted = slices.DeleteFunc(s.Predicted, func(p Prediction) bool { return p.ID != "sql6.gen.ratio" })
			return s
		}
	}
	t.Fatal("no study of machines")
	return nil
}

// TestIntervalsCoverWhatTheyState draws what an interval is made of: with a
// spread of the draws and an error of the measurement that are known, nine in
// ten intervals hold a new measurement.
func TestIntervalsCoverWhatTheyState(t *testing.T) {
	stream := rng.At(7, rng.Name("coverage"))
	for _, c := range []struct{ spread, widen float64 }{{0.1, 0}, {0.1, 0.1}, {0.02, 0.08}} {
		const n = 4000
		held := 0
		for range n {
			draws := make([]drawn, 12)
			for i := range draws {
				draws[i].read = []float64{100 * math.Exp(c.spread*normal(&stream))}
			}
			new := 100 * math.Exp(c.spread*normal(&stream)+c.widen*normal(&stream))
			in := interval(draws, draws[0].read[0], c.widen, func(d drawn) float64 { return d.read[0] })
			if in.Low <= new && new <= in.High {
				held++
			}
		}
		near(t, fmt.Sprintf("coverage at %+v", c), float64(held)/n, 0.9, 0.025)
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		sense     Sense
		value     float64
		ours      float64
		low, high float64
		want      Verdict
	}{
		{Equal, 100, 114, 0, 0, Right}, {Equal, 100, 116, 0, 0, Wrong}, {Equal, 100, 84, 0, 0, Wrong}, {Equal, 100, math.NaN(), 0, 0, Wrong},
		{Greater, 1, 1.1, 1.05, 1.2, Right}, {Greater, 1, 1.1, 0.99, 1.2, Tie}, {Greater, 1, 0.9, 0.8, 1.1, Tie}, {Greater, 1, 0.9, 0.8, 0.95, Wrong},
		{Less, 1, 0.9, 0.8, 0.95, Right}, {Less, 1, 1.1, 1.05, 1.2, Wrong}, {Less, 1, 1.1, 0.9, 1.2, Tie},
		{Similar, 1, 1.04, 0.9, 1.2, Right}, {Similar, 1, 1.06, 1.04, 1.2, Tie}, {Similar, 1, 1.1, 1.06, 1.2, Wrong}, {Similar, 1, 0.9, 0.8, 0.94, Wrong},
	} {
		o := Outcome{Prediction: Prediction{Number: Number{Value: c.value}, Sense: c.sense, Within: 0.05}, Ours: c.ours, Interval: Interval{c.low, c.high}}
		if got := o.Verdict(); got != c.want {
			t.Errorf("%+v is %s, want %s", c, got, c.want)
		}
	}
}

func TestThePageListsFailuresFirst(t *testing.T) {
	s := parseToy(t)
	s.Predicted[0].Value = 8 // ours is 4.2
	s.Predicted[0].Why = "it is | a toy"
	o := Options{Draws: 4, Workers: 2, Seed: 3, Sensitivity: true}
	r, err := Run(t.Context(), s, projectHosts, o)
	if err != nil {
		t.Fatal(err)
	}
	text := string(Page([]*Result{r}, o))
	failures, summary, _ := strings.Cut(text, "## Summary")
	for _, want := range []string{"SIMULATED", "## Failures", "(c)", `it is \| a toy`} {
		if !strings.Contains(failures, want) {
			t.Errorf("%q does not stand before the summary", want)
		}
	}
	for _, want := range []string{"| toy | 2 | 3 |", "rho", "no reason", "set by", "c +20.0 %, -33.3 %"} {
		if !strings.Contains(summary, want) {
			t.Errorf("%q is not on the page:\n%s", want, summary)
		}
	}
	sum := Summarize(r, r)
	if sum.Fitted != 4 || sum.Predictions != 6 || sum.Numbers != 2 || sum.Ratios != 2 || sum.Orders != 4 || sum.Right != 2 || sum.Wrong != 2 || sum.Covered != 0 {
		t.Errorf("%+v", sum)
	}
	near(t, "median", sum.Median, 1-5/1.2/8, 0.01)
}

// published reads the project's replay files.
func published(t testing.TB) []*Study {
	t.Helper()
	files, err := fs.Glob(os.DirFS(root), "studies/*/replay.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d replay files, %v", len(files), err)
	}
	var out []*Study
	for _, file := range files {
		src, err := os.ReadFile(root + file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(file, src)
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Base(filepath.Dir(file)); s.Name != want {
			t.Errorf("%s holds %s", file, s.Name)
		}
		out = append(out, s)
	}
	return out
}

func TestFittedParametersAreFewerThanPredictions(t *testing.T) {
	for _, s := range published(t) {
		if len(s.Parameters) >= len(s.Predicted) || len(s.Calibrated) < len(s.Parameters) {
			t.Errorf("%s: %d parameters, %d calibrated and %d predicted numbers", s.Name, len(s.Parameters), len(s.Calibrated), len(s.Predicted))
		}
		for _, p := range s.Predicted {
			for _, c := range s.Calibrated {
				if p.ID == c.ID {
					t.Errorf("%s: %s calibrates and is predicted", s.Name, p.ID)
				}
			}
		}
	}
}

// frozen is the split of docs/adr/0009-twin.md, written before the first
// calculation: what each study is calibrated on, and what it has to predict.
// Whoever moves a number changes this table, and the record of the decision.
func frozen() map[string]struct{ calibrated, predicted string } {
	return map[string]struct{ calibrated, predicted string }{
		"sql-server-2012-vsphere6": {"sql6.aff.60cores sql6.aff.30cores",
			"sql6.gen.ratio sql6.size.order.15 sql6.size.order.30 sql6.size.order.60 sql6.size.smaller.15.30 sql6.size.smaller.30.60 sql6.size.smaller.16.32 sql6.size.smaller.32.64 sql6.size.best sql6.lat.ratio"},
		"sql-server-2008-vsphere4": {"brk.t1.native.tps brk.t1.native.iops brk.t1.native.iolat brk.t1.native.rxmb brk.t1.native.txmb brk.t1.vm.tps brk.lp.ls brk.lp.sl brk.t9.tps",
			"brk.rel.1 brk.rel.2 brk.rel.4 brk.scale.native84 brk.scale.vm84 brk.cons.cpu_per_vm brk.cons.iops_per_vm brk.cons.linear4 brk.cons.6v4 brk.cons.8v6 brk.lp.ll brk.cons.fair brk.io.irq_half"},
		"vroom-2015": {"lro.n.eff.64KB lro.n.psz.64KB.on lro.v.eff.64KB lro.v.tput.64KB.off lro.v.tput.64KB.on n40.single.v55 n40.single.cpu n40.numa.cpu",
			"lro.n.eff.16KB lro.n.eff.256B lro.v.tput.16KB.on lro.n.pps.64KB.off lro.n.pps.64KB.on n40.single.v6 n40.multi.eff n40.numa.intel dock.vm_gt_native dock.pinned pool.vmk.score pool.iom cs.order.lat cs.order.native vsan.drop36"},
		"oracle-12c-vsphere6": {"oe.native.tps oe.native.cpu oe.native.iops oe.native.mbs oe.native.rxmb oe.native.txmb oe.tlb.native oe.tlb.vm",
			"oe.rel oe.native.max.tps oe.vm.guestcpu oe.vm.max.cpu oe.51.rel"},
		"sql-server-2016-hc380": {"hc.up.16.br hc.up.cpu hc.t0.iops",
			"hc.up.64.br hc.out.4 hc.t0.total hc.up.linear hc.out.linear hc.mem.opt hc.mem.good hc.mem.bad"},
	}
}

func TestTheSplitIsTheFrozenOne(t *testing.T) {
	table := frozen()
	for _, s := range published(t) {
		var calibrated, predicted []string
		for _, c := range s.Calibrated {
			calibrated = append(calibrated, c.ID)
		}
		for _, p := range s.Predicted {
			predicted = append(predicted, p.ID)
		}
		want := strings.Fields(table[s.Name].calibrated)
		slices.Sort(want)
		slices.Sort(calibrated)
		if !slices.Equal(calibrated, want) {
			t.Errorf("%s is calibrated on %v, not %v", s.Name, calibrated, want)
		}
		for _, id := range strings.Fields(table[s.Name].predicted) {
			if !slices.Contains(predicted, id) {
				t.Errorf("%s does not predict %s", s.Name, id)
			}
		}
	}
}

// TestNoModelHoldsAPredictedNumber looks for predictions' numbers of three
// digits or more among all constants that a calibration reads.
func TestNoModelHoldsAPredictedNumber(t *testing.T) {
	for _, s := range published(t) {
		held := map[string]string{}
		add := func(where string, v float64) { held[fmt.Sprintf("%.6g", v)] = where }
		for _, p := range s.Parameters {
			add(p.Name, p.Start)
		}
		for _, a := range s.Assumptions {
			add(a.Name, a.Value)
		}
		constants := func(where string, es ...Expr) {
			for _, e := range es {
				e.root.constants(func(v float64) { add(where, v) })
			}
		}
		for i := range s.Experiments {
			constants(s.Experiments[i].Name, s.Experiments[i].formulas()...)
		}
		for i := range s.Databases {
			constants(s.Databases[i].Name, s.Databases[i].formulas()...)
		}
		for _, c := range s.Calibrated {
			constants(c.ID, c.Reads)
		}
		for _, p := range s.Predicted {
			text := fmt.Sprintf("%.6g", p.Value)
			if where, ok := held[text]; ok && len(strings.Trim(strings.Replace(text, ".", "", 1), "0")) >= 3 {
				t.Errorf("%s: %s holds %s, which %s has to predict", s.Name, where, text, p.ID)
			}
		}
	}
}

func (n *node) constants(visit func(float64)) {
	if n == nil {
		return
	}
	if n.op == '#' {
		visit(n.value)
	}
	n.left.constants(visit)
	n.right.constants(visit)
}

// TestACalibrationOfAFileNeverReadsItsPredictions writes other numbers into
// every prediction of a published study's file: its fit stays to the last bit.
func TestACalibrationOfAFileNeverReadsItsPredictions(t *testing.T) {
	fit := func(change bool) map[string]float64 {
		for _, s := range published(t) {
			if s.Name != "vroom-2015" { // all that it fits are streams
				continue
			}
			if change {
				for i := range s.Predicted {
					s.Predicted[i].Value, s.Predicted[i].Rounding = 7+3*s.Predicted[i].Value, 1
				}
			}
			f, err := newRunner(&s.Model, projectHosts, 1).fit(t.Context(), targets(s.Calibrated, 1))
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range s.Calibrated {
				near(t, c.ID, f.Read[i], c.Value, 0.005)
			}
			return f.Values
		}
		t.Fatal("no such study")
		return nil
	}
	if a, b := fit(false), fit(true); !reflect.DeepEqual(a, b) {
		t.Errorf("other predictions, other parameters: %v and %v", a, b)
	}
}

// TestARunIsNotMadeTwice: an experiment that depends on nothing that moved
// gives what it gave, and one that does is run again.
func TestARunIsNotMadeTwice(t *testing.T) {
	s := parseToy(t)
	r := newRunner(&s.Model, projectHosts, 1)
	values := s.values(s.start(), s.assumed())
	first, err := r.run(t.Context(), &s.Experiments[0], values, 1)
	if err != nil {
		t.Fatal(err)
	}
	values["rho"] *= 2 // small does not read it
	if again, _ := r.run(t.Context(), &s.Experiments[0], values, 1); len(r.known) != 1 || !reflect.DeepEqual(first, again) {
		t.Errorf("%d runs, %v and %v", len(r.known), first, again)
	}
	values["copy"] *= 2
	if again, _ := r.run(t.Context(), &s.Experiments[0], values, 1); len(r.known) != 2 || reflect.DeepEqual(first, again) {
		t.Errorf("%d runs, twice %v", len(r.known), first)
	}
	if _, err := r.run(t.Context(), &s.Experiments[0], values, 2); err != nil || len(r.known) != 3 {
		t.Errorf("%d runs, %v", len(r.known), err)
	}
}

// BenchmarkHostOf120Threads simulates eight machines of fifteen virtual
// processors on the R920 at the load of their study, and reports how many
// simulated seconds a second gives, and one of processor time. Packets are counted, not
// simulated one by one, and interrupts are work of the transaction that raises
// them; all else has events of its own.
func BenchmarkHostOf120Threads(b *testing.B) {
	for _, s := range published(b) {
		if s.Name != "sql-server-2012-vsphere6" {
			continue
		}
		values := s.values(s.start(), s.assumed())
		for i := range s.Experiments {
			if s.Experiments[i].Name != "eight15" {
				continue
			}
			x := s.Experiments[i]
			x.Seconds, x.RampS = 1, Expr{}
			sc, err := s.scenario(&x, projectHosts, values, 1)
			if err != nil {
				b.Fatal(err)
			}
			done := 0
			began := cpuSeconds(b)
			for b.Loop() {
				if err := twin.Run(b.Context(), sc, func(twin.Transaction) { done++ }, nil); err != nil {
					b.Fatal(err)
				}
			}
			used := cpuSeconds(b) - began
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "simulated-s/s")
			b.ReportMetric(float64(b.N)/used, "simulated-s/CPU-s")
			b.ReportMetric(float64(done)/used, "transactions/CPU-s")
		}
	}
}

// cpuSeconds is the processor time of this process.
func cpuSeconds(t testing.TB) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// TestEveryExperimentIsRead: what nothing reads needs no place in the file.
func TestEveryExperimentIsRead(t *testing.T) {
	for _, s := range published(t) {
		var reads []Expr
		for _, c := range s.Calibrated {
			reads = append(reads, c.Reads)
		}
		for _, p := range s.Predicted {
			reads = append(reads, p.Reads)
		}
		if got := s.need(reads); len(got) != len(s.Experiments) {
			t.Errorf("%s: %d of %d experiments are read", s.Name, len(got), len(s.Experiments))
		}
	}
}

// TestEveryExperimentRuns runs each for its first second.
func TestEveryExperimentRuns(t *testing.T) {
	for _, s := range published(t) {
		values := s.values(s.start(), s.assumed())
		for i := range s.Experiments {
			x := s.Experiments[i]
			x.Seconds, x.RampS = 1, Expr{}
			out, err := s.run(t.Context(), &x, projectHosts, values, 1)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
				continue
			}
			if v := out[x.Name+".cores_pct"] + out[x.Name+".gbps"]; !(v > 0) {
				t.Errorf("%s: %s does nothing: %v", s.Name, x.Name, out)
			}
			first, all := out[x.Name+".tps_first"], out[x.Name+".tps"]
			if n := len(x.Machines); n == 1 && math.Abs(first-all) > 1e-9*all || n > 1 && !(0 < first && first < all) {
				t.Errorf("%s: %g transactions a second of the first of %d entries, %g of all", x.Name, first, n, all)
			}
		}
	}
}

// TestAShortReplay fits and predicts machines under load with few draws: the
// calibrated numbers are met, and everything is read as a number.
func TestAShortReplay(t *testing.T) {
	r, err := Run(t.Context(), short(t), projectHosts, Options{Draws: 2, Workers: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Calibrations {
		near(t, fmt.Sprint("calibrated ", c.ID), c.Ours, c.Value, 0.02)
	}
	for _, o := range r.Outcomes {
		if math.IsNaN(o.Ours) || math.IsNaN(o.Low) || o.Low > o.High {
			t.Errorf("%+v", o)
		}
	}
}
