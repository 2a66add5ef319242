package demand

import (
	"math"

	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

// Parse reads a host file with or without calibrated workloads. name is for
// errors, all of which come at once as host.Error, with line and column.
// Beside the entries that host.Parse describes there may be
//
//	ranges:
//	  smt-gain: {value: 1.3, low: 1.2, high: 1.4, assumed: true, about: where it comes from}
//	workloads:
//	  - workload: orderentry
//	    engine: postgres
//	    version: "15.18"
//	    mode: procedures
//	    params: {warehouses: "10"}
//	    trials: [results/a/001-b1-users-1]
//	    invalid: false
//	    clock: 2GHz
//	    cpus: 1
//	    cpu-ns: {value: 900000, low: 870000, high: 930000}
//	    driver-ns, stall, pages, reads, writes, ios: likewise
//	    costs: {io-ns: {…}, latch-ns: {…}, latch-byte-ns: {…}}
//	    misfit: 0.03
//	    split: regression, response or access
//	    classes:
//	      new-order: {share: 0.44, compute-ns: {…}, memory-ns: {…}, log-b: {…}}
//	    notes: [what a careful reader should know]
func Parse(name string, src []byte) (*File, error) {
	f := &File{}
	h, err := host.ParseWith(name, src, func(h *host.Host, s host.Section) {
		f.readRanges(s)
		s.List("workloads", func(s host.Section) { f.Workloads = append(f.Workloads, readWorkload(s)) })
	})
	if err != nil {
		return nil, err
	}
	f.Host = h
	return f, nil
}

// bounds are what a range may be.
func bounds(name string) (least, most float64, known bool) {
	switch name {
	case SMTGain:
		return 1, 2, true
	case Remote:
		return 1, 10, true
	case DiskTimes, LogTimes, WayTimes:
		return 0.001, 1000, true
	}
	return 0, 0, false
}

func (f *File) readRanges(s host.Section) {
	s.Named("ranges", false, func(name string, s host.Section) {
		r := Range{Name: name, About: s.Text("about", false)}
		least, most, known := bounds(name)
		if !known {
			s.Fault("", "%q is none of the ranges %s, %s, %s, %s, %s", name, SMTGain, Remote, DiskTimes, LogTimes, WayTimes)
			least, most = 0, math.MaxFloat64
		}
		r.Quantity = readBounds(s, name, least, most)
		f.Ranges = append(f.Ranges, r)
	})
}

// readBounds takes value, low and high from s.
func readBounds(s host.Section, name string, least, most float64) Quantity {
	q := Quantity{Value: s.Number("value", least, most), Low: s.Number("low", least, most), High: s.Number("high", least, most),
		Assumed: s.Flag("assumed")}
	if !q.sound(least, most) {
		s.Fault("value", "%s: the value %g does not lie from low %g to high %g", name, q.Value, q.Low, q.High)
	}
	return q
}

// quantity takes the section key of s.
func quantity(s host.Section, key string, least, most float64) Quantity {
	sub, ok := s.Sub(key, true)
	if !ok {
		return Exactly(least)
	}
	q := readBounds(sub, key, least, most)
	sub.Done()
	return q
}

// maxNanos bounds what a transaction may cost, as dbms.Database does.
const maxNanos = 1e12

func readWorkload(s host.Section) Workload {
	w := Workload{
		Name: s.Text("workload", true), Engine: s.Text("engine", true), Version: s.Text("version", false), Mode: s.Text("mode", false),
		Trials: s.Texts("trials"), Invalid: s.Flag("invalid"), GHz: s.GHz("clock"), CPUs: s.Number("cpus", 0.001, 1e5),
		CPU:    quantity(s, "cpu-ns", 1, maxNanos),
		Driver: quantity(s, "driver-ns", 0, maxNanos),
		Stall:  quantity(s, "stall", 0, 1),
		Pages:  quantity(s, "pages", 0, 1e9), Reads: quantity(s, "reads", 0, 1e9), Writes: quantity(s, "writes", 0, 1e9),
		IOs:   quantity(s, "ios", 0, 1e9),
		Split: Split(s.Text("split", true)), Notes: s.Texts("notes"),
	}
	w.Misfit = s.Optional("misfit", 0, 0, 10)
	if w.Split != ByRegression && w.Split != ByResponse && w.Split != ByAccess {
		s.Fault("split", "split: %q is none of %s, %s, %s", w.Split, ByRegression, ByResponse, ByAccess)
	}
	if keys, values := s.Pairs("params"); len(keys) > 0 {
		w.Params = make(map[string]string, len(keys))
		for i, k := range keys {
			w.Params[k] = values[i]
		}
	}
	if costs, ok := s.Sub("costs", true); ok {
		w.Costs = Costs{IO: quantity(costs, "io-ns", 0, maxNanos), Latch: quantity(costs, "latch-ns", 0, maxNanos),
			LatchByte: quantity(costs, "latch-byte-ns", 0, maxNanos)}
		costs.Done()
	}
	total := 0.0
	s.Named("classes", true, func(name string, s host.Section) {
		c := Class{Name: name, Share: s.Number("share", 0, 1), Compute: quantity(s, "compute-ns", 0, maxNanos),
			Memory: quantity(s, "memory-ns", 0, maxNanos), LogBytes: quantity(s, "log-b", 0, 1e12)}
		if c.CPU() < 1 {
			s.Fault("compute-ns", "%s: work of %g ns in all", name, c.CPU())
		}
		total += c.Share
		w.Classes = append(w.Classes, c)
	})
	if len(w.Classes) > 0 && math.Abs(total-1) > 0.01 {
		s.Fault("classes", "the shares of all classes add up to %g, not to 1", total)
	}
	return w
}
