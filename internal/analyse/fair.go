package analyse

import (
	"fmt"
	"math"
	"strconv"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// Part is what one of several instances of a trial did.
type Part struct {
	Name       string  `json:"name"`
	Throughput float64 `json:"throughput"` // in the metric's unit over the window
	// Entitled is what the instance may use, in CPUs, where that is given for
	// every instance of the trial; else 1: all are entitled to the same.
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
		out = append(out, Part{in.trial.Instances[i].Name, done / (w.End - w.Start) * m.PerSeconds, entitled(in.trial.Instances[i].Shape)})
	}
	for _, p := range out {
		if p.Entitled <= 0 {
			for i := range out {
				out[i].Entitled = 1
			}
			break
		}
	}
	return out
}

// entitled is how many CPUs a shape gives; 0 where it does not say.
func entitled(shape []record.Knob) float64 {
	for _, k := range shape {
		if n, err := strconv.ParseFloat(k.Effective, 64); lastPart(k.Name) == "cpus" && err == nil && n > 0 {
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
	out := &Fairness{Jain: estimate(jain), MinOfMean: estimate(least), CV: estimate(cv)}
	for i, p := range trials[0].Parts {
		out.Instances = append(out.Instances, Share{p.Name, estimate(each[i]), p.Entitled})
	}
	return out
}

// String says f in words.
func (f *Fairness) String() string {
	return fmt.Sprintf("%s: Jain's index %s, the least has %s of the mean, coefficient of variation %s",
		count(len(f.Instances), "instance"), figure(f.Jain.Value), percent(100*f.MinOfMean.Value), percent(100*f.CV.Value))
}
