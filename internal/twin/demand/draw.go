package demand

import (
	"math"
	"slices"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

// z90 is the quantile of the normal distribution that leaves 5 % above it.
const z90 = 1.6448536269514722

// draw is a number from q: uniform within what is assumed, else normal, or
// log-normal where all of q is positive, each side with its own spread.
func (q Quantity) draw(s *rng.Stream) float64 {
	if q.Assumed {
		return q.Low + (q.High-q.Low)*s.Float64()
	}
	return q.at(normal(s))
}

// at is the number that lies z standard deviations from q's value.
func (q Quantity) at(z float64) float64 {
	side := q.High
	if z < 0 {
		side = q.Low
	}
	if q.Low > 0 {
		return q.Value * math.Exp(math.Abs(z)/z90*math.Log(side/q.Value))
	}
	return max(0, q.Value+math.Abs(z)/z90*(side-q.Value))
}

// Normal is a number of the standard normal distribution, the first of s.
func Normal(s rng.Stream) float64 { return normal(&s) }

// normal draws from the standard normal distribution (Box and Muller, 1958).
func normal(s *rng.Stream) float64 {
	return math.Sqrt(2*s.Exp(1)) * math.Cos(2*math.Pi*s.Float64())
}

// Draw returns f with every quantity at a number drawn from its interval, on
// streams of its own under s: a copy, whose intervals are empty. The classes of
// a workload move together as its mix does, since that is what is known best:
// each is drawn by itself, and then all are scaled so that the mix costs what
// was drawn for it.
func (f *File) Draw(s rng.Stream) *File {
	seed := s.Uint64()
	out := &File{Ranges: slices.Clone(f.Ranges), Workloads: slices.Clone(f.Workloads)}
	for i := range out.Ranges {
		r := &out.Ranges[i]
		stream := rng.At(seed, rng.Name("range"), rng.Name(r.Name))
		r.Quantity = Exactly(r.draw(&stream))
	}
	out.Host = withRanges(f.Host, out.Ranges)
	for i := range out.Workloads {
		stream := rng.At(seed, rng.Name("workload"), uint64(i))
		out.Workloads[i] = out.Workloads[i].draw(&stream)
	}
	return out
}

// withRanges is h with ranges at their values.
func withRanges(h *host.Host, ranges []Range) *host.Host {
	out := *h
	for _, r := range ranges {
		switch r.Name {
		case SMTGain:
			out.CPU.SMTGain = r.Value
		case Remote:
			out.CPU.Remote = r.Value
		case DiskTimes:
			out.Stores = ScaleTimes(out.Stores, r.Value, func(device string) bool { return device != LogDevice })
		case LogTimes:
			out.Stores = ScaleTimes(out.Stores, r.Value, func(device string) bool { return device == LogDevice })
		case WayTimes:
			out.NICs = slices.Clone(out.NICs)
			for i := range out.NICs {
				out.NICs[i].Latency = time.Duration(float64(out.NICs[i].Latency) * r.Value)
			}
		}
	}
	return &out
}

// ScaleTimes is stores with the times of the devices that are chosen by name
// multiplied by a factor: a copy.
func ScaleTimes(stores []host.Store, by float64, chosen func(device string) bool) []host.Store {
	out := slices.Clone(stores)
	for i := range out {
		out[i].Tiers = slices.Clone(out[i].Tiers)
		for t := range out[i].Tiers {
			if d := &out[i].Tiers[t].Device; chosen(d.Name) {
				d.Read = time.Duration(float64(d.Read) * by)
				d.Write = time.Duration(float64(d.Write) * by)
			}
		}
	}
	return out
}

// draw is w with every quantity at a drawn number.
func (w Workload) draw(s *rng.Stream) Workload {
	for _, q := range w.quantities() {
		*q = Exactly(q.draw(s))
	}
	w.Classes = slices.Clone(w.Classes)
	work := make([]float64, len(w.Classes))
	mix, logs := 0.0, normal(s) // one for all classes: they share one log
	for i, c := range w.Classes {
		work[i] = c.Work().draw(s)
		mix += c.Share * work[i]
	}
	own := w.own()
	for i := range w.Classes {
		c := &w.Classes[i]
		if mix > 0 {
			work[i] *= own / mix
		}
		c.Compute, c.Memory = Exactly(work[i]*(1-w.Stall.Value)), Exactly(work[i]*w.Stall.Value)
		c.LogBytes = Exactly(c.LogBytes.at(logs))
	}
	return w
}

// leastOwn is the least part of CPU that is not for I/O: a drawn cost of I/O
// may not eat up the transaction.
const leastOwn = 0.1

// own is the processor work of a mean transaction without that for its I/O.
func (w *Workload) own() float64 {
	return max(leastOwn*w.CPU.Value, w.CPU.Value-w.IOs.Value*w.Costs.IO.Value)
}

// quantities are all of w but those of its classes.
func (w *Workload) quantities() []*Quantity {
	return []*Quantity{&w.CPU, &w.Driver, &w.Stall, &w.Pages, &w.Reads, &w.Writes, &w.IOs, &w.Costs.IO, &w.Costs.Latch, &w.Costs.LatchByte}
}
