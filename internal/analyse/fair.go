package analyse

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// Part is what one of several instances of a trial did.
type Part struct {
	Name       string  `json:"name"`
	Group      string  `json:"group,omitempty"`
	Throughput float64 `json:"throughput"` // in the metric's unit over the window
	// Entitled is what the instance may use, in Entitlement of the trial: its
	// part by weight where the instances have different weights, else its CPUs
	// where every instance has them given, else 1: all are entitled to the same.
	Entitled float64 `json:"entitled"`
}

// Fairness is how evenly several instances that run at once were served, from
// their throughputs divided by what each is entitled to.
type Fairness struct {
	Instances []Share `json:"instances"`
	// Jain is Jain's index, (Σx)² ÷ (n Σx²): 1 where all get what they are
	// entitled to, 1/n where one has all. MinOfMean is the least of them as a
	// part of their mean, and CV their coefficient of variation (standard
	// deviation as a part of the mean). Each is that of a trial, estimated over
	// repeats.
	Jain      Estimate `json:"jain"`
	MinOfMean Estimate `json:"min_of_mean"`
	CV        Estimate `json:"cv"`
	// Entitlement is what Entitled of the instances counts: "CPUs", "CPU shares",
	// or "equal parts".
	Entitlement string `json:"entitlement"`
	// Groups add up the instances of each group; none where the study names none.
	Groups []GroupSum `json:"groups,omitempty"`
}

// GroupSum is what a group of instances does together.
type GroupSum struct {
	Name       string   `json:"name"`
	Instances  int      `json:"instances"`
	Throughput Estimate `json:"throughput"` // of all of them
	Each       Estimate `json:"each"`       // mean of an instance
	Entitled   float64  `json:"entitled"`   // of all of them
	// SharePct is the group's part of the trial's throughput.
	SharePct Estimate `json:"share_pct"`
}

// Share is one instance of a Fairness.
type Share struct {
	Name       string   `json:"name"`
	Throughput Estimate `json:"throughput"`
	Entitled   float64  `json:"entitled"`
}

// parts is what each instance did in the window; nil where there is one.
func parts(in raw, w Window) []Part {
	if len(in.intervals) < 2 || len(in.trial.Instances) != len(in.intervals) || w.End <= w.Start {
		return nil
	}
	m := in.trial.Workload.Metric
	var out []Part
	for i, rows := range in.intervals {
		done := counted(total(between(rows, w.Start, w.End), metricSeries(in.trial.Workload)), m)
		of := in.trial.Instances[i]
		out = append(out, Part{Name: of.Name, Group: of.Group, Throughput: done / (w.End - w.Start) * m.PerSeconds})
	}
	_, each := entitlement(in.trial.Instances)
	for i := range out {
		out[i].Entitled = each[i]
	}
	return out
}

// entitlement is what instances are entitled to, and what that counts. Weights
// decide where they differ, since the CPUs are then given away by them.
func entitlement(of []record.Instance) (counts string, each []float64) {
	knobs := func(name string) (out []float64) {
		for _, i := range of {
			n := shapeNumber(i.Shape, name)
			if n <= 0 {
				return nil
			}
			out = append(out, n)
		}
		return out
	}
	shares := knobs("cpu_shares")
	if differ := len(shares) > 0 && slices.Max(shares) > slices.Min(shares); differ {
		return "CPU shares", shares
	}
	if cpus := knobs("cpus"); len(cpus) > 0 {
		return "CPUs", cpus
	}
	return "equal parts", slices.Repeat([]float64{1}, len(of))
}

// shapeNumber is the number that a shape gives for a knob; 0 where it does not
// say.
func shapeNumber(shape []record.Knob, name string) float64 {
	for _, k := range shape {
		if n, err := strconv.ParseFloat(k.Effective, 64); lastPart(k.Name) == name && err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// fairness joins the repeats of a cell; nil where its trials have one instance
// each, or not the same.
func fairness(trials []*Trial) *Fairness {
	if len(trials) == 0 || len(trials[0].Parts) < 2 {
		return nil
	}
	each := make([][]float64, len(trials[0].Parts))
	var jain, least, cv []float64
	for _, t := range trials {
		if len(t.Parts) != len(each) {
			return nil
		}
		var xs []float64
		lowest := nan()
		for i, p := range t.Parts {
			each[i] = append(each[i], p.Throughput)
			x := p.Throughput / p.Entitled
			xs = append(xs, x)
			if !(lowest <= x) {
				lowest = x
			}
		}
		if mean := stats.Mean(xs); mean > 0 {
			jain, least, cv = append(jain, stats.Jain(xs)), append(least, lowest/mean), append(cv, math.Sqrt(stats.Variance(xs))/mean)
		}
	}
	out := &Fairness{Jain: estimate(jain), MinOfMean: estimate(least), CV: estimate(cv), Groups: groupSums(trials), Entitlement: "equal parts"}
	if about := trials[0].about; about != nil {
		out.Entitlement, _ = entitlement(about.Instances)
	}
	for i, p := range trials[0].Parts {
		out.Instances = append(out.Instances, Share{p.Name, estimate(each[i]), p.Entitled})
	}
	return out
}

// groupSums adds up the parts of trials, which have the same instances, by
// group; none where there are no groups.
func groupSums(trials []*Trial) []GroupSum {
	var out []GroupSum
	for _, p := range trials[0].Parts {
		if p.Group != "" && !slices.ContainsFunc(out, func(g GroupSum) bool { return g.Name == p.Group }) {
			out = append(out, GroupSum{Name: p.Group})
		}
	}
	for i := range out {
		g := &out[i]
		var sums, each, share []float64
		for _, t := range trials {
			sum, all, n := 0.0, 0.0, 0
			g.Entitled = 0
			for _, p := range t.Parts {
				if all += p.Throughput; p.Group == g.Name {
					sum, n, g.Entitled = sum+p.Throughput, n+1, g.Entitled+p.Entitled
				}
			}
			g.Instances = n
			sums, each = append(sums, sum), append(each, sum/float64(n))
			if all > 0 {
				share = append(share, 100*sum/all)
			}
		}
		g.Throughput, g.Each, g.SharePct = estimate(sums), estimate(each), estimate(share)
	}
	return out
}

// String says f in words.
func (f *Fairness) String() string {
	return fmt.Sprintf("%s: Jain's index %s, the least has %s of the mean, coefficient of variation %s",
		count(len(f.Instances), "instance"), figure(f.Jain.Value), percent(100*f.MinOfMean.Value), percent(100*f.CV.Value))
}
