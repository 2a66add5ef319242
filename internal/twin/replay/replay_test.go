package replay

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

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
	// rho is drawn from 1.1 to 1.3: 3.85 to 4.55 Gb/s, all but the tails.
	if in := r.Outcomes[0].Interval; in.Low < 3.6 || in.Low > 3.95 || in.High > 4.8 || in.High < 4.4 {
		t.Errorf("interval %+v", in)
	}
	// A remote cost of half of 1.2 is no cost: 1.2 times as fast.
	near(t, "effect of half of rho", 1+r.Effects[0].Low[0], 1.2, 0.001)
	near(t, "effect of rho and a half", 1+r.Effects[0].High[0], 1/1.5, 0.001)
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

func TestResultsDoNotDependOnTheWorkers(t *testing.T) {
	var want *Result
	for _, workers := range []int{1, 3} {
		got, err := Run(t.Context(), parseToy(t), projectHosts, Options{Draws: 5, Workers: workers, Seed: 9, Sensitivity: true})
		if err != nil {
			t.Fatal(err)
		}
		if want != nil && (!reflect.DeepEqual(got.Outcomes, want.Outcomes) || !reflect.DeepEqual(got.Effects, want.Effects)) {
			t.Error("another number of workers, another result")
		}
		want = got
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
		o := Outcome{Prediction{Number: Number{Value: c.value}, Sense: c.sense, Within: 0.05}, c.ours, Interval{c.low, c.high}}
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
		}
	}
}

// TestAShortReplay fits and predicts one study of machines with few draws: the
// calibrated numbers are met, and everything is read as a number.
func TestAShortReplay(t *testing.T) {
	for _, s := range published(t) {
		if s.Name != "sql-server-2012-vsphere6" {
			continue
		}
		r, err := Run(t.Context(), s, projectHosts, Options{Draws: 2, Workers: 2, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range s.Calibrated {
			near(t, fmt.Sprint("calibrated ", c.ID), r.Fit.Read[i], c.Value, 0.02)
		}
		for _, o := range r.Outcomes {
			if math.IsNaN(o.Ours) || math.IsNaN(o.Low) || o.Low > o.High {
				t.Errorf("%+v", o)
			}
		}
	}
}
