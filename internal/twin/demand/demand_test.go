package demand

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// anyText is any text that a file may hold.
func anyText() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ019 _-:#{}[],&*!|>'\"%@`~\\\n\täß€<")), 0, 12, -1)
}

func anyQuantity(least, most float64) *rapid.Generator[Quantity] {
	return rapid.Custom(func(t *rapid.T) Quantity {
		low := rapid.Float64Range(least, most).Draw(t, "low")
		value := rapid.Float64Range(low, most).Draw(t, "value")
		return Quantity{value, low, rapid.Float64Range(value, most).Draw(t, "high"), rapid.Bool().Draw(t, "assumed")}
	})
}

func anyHost() *rapid.Generator[*host.Host] {
	return rapid.Custom(func(t *rapid.T) *host.Host {
		wait := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(1, 1e10).Draw(t, name))
		}
		device := host.Device{Name: rapid.SampledFrom([]string{"disk", "on", "a b"}).Draw(t, "device"), Read: wait("read"), Write: wait("write"),
			Spread: rapid.Float64Range(0, 1).Draw(t, "spread"), Channels: rapid.IntRange(1, 9).Draw(t, "channels"),
			Rate: 1e6 * float64(rapid.IntRange(1, 9999).Draw(t, "rate")), Capacity: unit.Bytes(rapid.Int64Range(1, 1e15).Draw(t, "capacity"))}
		h := &host.Host{Name: rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "name"), About: anyText().Draw(t, "about"), Source: anyText().Draw(t, "source"),
			Nodes:  rapid.IntRange(1, 4).Draw(t, "nodes"),
			Memory: unit.Bytes(rapid.Int64Range(1, 1<<50).Draw(t, "memory")),
			CPU: host.Processor{Model: anyText().Draw(t, "model"), Sockets: rapid.IntRange(1, 4).Draw(t, "sockets"), Cores: rapid.IntRange(2, 32).Draw(t, "cores"),
				Threads: rapid.IntRange(1, 2).Draw(t, "threads"), GHz: rapid.Float64Range(0.1, 10).Draw(t, "clock"),
				SMTGain: rapid.Float64Range(1, 2).Draw(t, "gain"), Remote: rapid.Float64Range(1, 10).Draw(t, "remote")}}
		if rapid.Bool().Draw(t, "turbo") {
			h.CPU.Turbo = []float64{3.5, 3.25}
		}
		h.Stores = []host.Store{{Name: "data", Tiers: []host.Tier{{Device: device, Level: host.RAID(rapid.IntRange(0, 1).Draw(t, "raid")), Groups: 2, Disks: 4}},
			Pool: rapid.Bool().Draw(t, "pool"), QueueDepth: 32, Hop: wait("hop"), Copies: 2, WriteCache: unit.GiB, CacheTime: wait("cache"),
			Extent: 64 * unit.MiB, Promote: time.Minute}}
		h.NICs = []host.NIC{{Name: "lan", BitsPerSecond: 1e9 * float64(rapid.IntRange(1, 100).Draw(t, "bits")), Latency: wait("latency"), Queues: 2, MTU: 1500,
			InterruptsPerSecond: 8000}}
		return h
	})
}

func anyWorkload() *rapid.Generator[Workload] {
	return rapid.Custom(func(t *rapid.T) Workload {
		q := func(name string, least, most float64) Quantity { return anyQuantity(least, most).Draw(t, name) }
		return Workload{
			Name: "w" + anyText().Draw(t, "workload"), Engine: "e", Version: anyText().Draw(t, "version"), Mode: anyText().Draw(t, "mode"),
			Params: map[string]string{"size": anyText().Draw(t, "size"), "yes": "1"}, Trials: rapid.SliceOfN(anyText(), 1, 3).Draw(t, "trials"),
			Invalid: rapid.Bool().Draw(t, "invalid"), GHz: 2.5, CPUs: rapid.Float64Range(0.01, 99).Draw(t, "cpus"),
			CPU: q("cpu", 1, 1e9), Driver: q("driver", 0, 1e9), Stall: q("stall", 0, 1), Pages: q("pages", 0, 1e6),
			Reads: q("reads", 0, 1e6), Writes: q("writes", 0, 1e6), IOs: q("ios", 0, 1e6),
			Costs:  Costs{q("io", 0, 1e6), q("latch", 0, 1e6), q("byte", 0, 1e3)},
			Misfit: rapid.Float64Range(0, 10).Draw(t, "misfit"),
			Split:  rapid.SampledFrom([]Split{ByRegression, ByResponse, ByAccess}).Draw(t, "split"),
			Classes: []Class{
				{Name: "new-order", Share: 0.25, Compute: q("compute", 1, 1e9), Memory: q("stalled", 0, 1e9), LogBytes: q("log", 0, 1e6)},
				{Name: "null", Share: 0.75, Compute: q("compute 2", 1, 1e9), Memory: q("stalled 2", 0, 1e9), LogBytes: q("log 2", 0, 1e6)},
			},
			Notes: rapid.SliceOfN(anyText(), 1, 3).Draw(t, "notes"),
		}
	})
}

func TestParseGivesAgainWhatFormatWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &File{Host: anyHost().Draw(t, "host"),
			Ranges:    []Range{{SMTGain, anyQuantity(1, 2).Draw(t, "range"), anyText().Draw(t, "about range")}, {LogTimes, anyQuantity(0.01, 100).Draw(t, "range 2"), ""}},
			Workloads: rapid.SliceOfN(anyWorkload(), 1, 2).Draw(t, "workloads")}
		text, err := Format(f)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("x.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(f, again) {
			t.Fatalf("%s\nbecame\n%+v, not\n%+v", text, again, f)
		}
	})
}

func TestFormatRefusesTwoDevicesOfOneName(t *testing.T) {
	f := known4(t)
	f.Host.Stores[0].Tiers[0].Device.Name = LogDevice
	if _, err := Format(f); err == nil || !strings.Contains(err.Error(), "two devices") {
		t.Errorf("error %v", err)
	}
}

// known4 is a file of a machine with four cores.
func known4(t *testing.T) *File {
	t.Helper()
	w := Workload{Name: "shop", Engine: "postgres", Mode: "procedures", Params: map[string]string{"size": "small"}, Trials: []string{"r/1"}, GHz: 2, CPUs: 1,
		CPU: Quantity{1e6, 9e5, 1.2e6, false}, Stall: assumedStall(), IOs: Quantity{1, 0.9, 1.1, false}, Costs: Costs{IO: Quantity{2e4, 1e4, 4e4, false}}, Split: ByRegression,
		Classes: []Class{{Name: "buy", Share: 0.25, Compute: Quantity{1e6, 9e5, 1.1e6, false}, LogBytes: Quantity{400, 300, 500, false}},
			{Name: "look", Share: 0.75, Compute: Quantity{973333, 8e5, 1.1e6, false}}}}
	f, err := Machine{Name: "m", Sockets: 1, Cores: 4, Threads: 4, GHz: 2, Memory: unit.GiB}.Calibrated([]*Fitted{{Workload: w,
		DiskRead: Quantity{1e5, 9e4, 2e5, false}, DiskWrite: assumedDisk(), LogWrite: Quantity{5e5, 4e5, 6e5, false}, Latency: assumedWay()}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFaultsCarryTheirPlaces(t *testing.T) {
	text, err := Format(known4(t))
	if err != nil {
		t.Fatal(err)
	}
	sound := string(text)
	if _, err := Parse("m.yaml", text); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`workload: "shop"`, `work: "shop"`, "workloads lacks workload"},
		{`workload: "shop"`, `work: "shop"`, `has no entry "work"`},
		{`split: "regression"`, `split: "luck"`, `split: "luck" is none of regression, response, access`},
		{"cpu-ns: {value: 1e+06", "cpu-ns: {value: 1e+05", "cpu-ns: the value 100000 does not lie from low 900000 to high"},
		{"cpu-ns: {", "cpu-ns: {more: 1, ", `cpu-ns has no entry "more"`},
		{"cpus: 1", "cpus: none", `cpus: "none" is not a number`},
		{"share: 0.25", "share: 0.5", "the shares of all classes add up to 1.25"},
		{"clock: 2GHz\n    cpus", "clock: 2\n    cpus", "clock: "},
		{"smt-gain: {value", "turbo: {value", `"turbo" is none of the ranges`},
		{"invalid", "invalid", ""},
		{"memory: 1GiB", "memory: 1", "memory: "},
	} {
		if c.want == "" {
			continue
		}
		bad := strings.Replace(sound, c.old, c.new, 1)
		if bad == sound {
			t.Fatalf("%q stands not in\n%s", c.old, sound)
		}
		_, err := Parse("m.yaml", []byte(bad))
		var at host.Error
		if err == nil || !errors.As(err, &at) || at.Line < 1 || at.Column < 1 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s → %s: error %v, want %q", c.old, c.new, err, c.want)
		}
	}
	bad := strings.Replace(strings.Replace(sound, "share: 0.25", "share: 7", 1), "cpus: 1", "cpus: none", 1)
	if _, err := Parse("m.yaml", []byte(bad)); err == nil || strings.Count(err.Error(), "m.yaml:") < 2 {
		t.Errorf("two faults: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("host: x\nmemory: 1GiB\ncpu: {sockets: 1, cores: 1, threads: 1, clock: 2GHz}\nworkloads:\n  - workload: a\n    classes: {}\n")
	f.Add("ranges: {smt-gain: 1}\nworkloads: [1, {}]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("f.yaml", []byte(text))
		if err != nil {
			return
		}
		out, err := Format(file)
		if err != nil {
			return // two devices of one name
		}
		if _, err := Parse("again.yaml", out); err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
	})
}

func TestAPlainHostFileIsAFileWithoutWorkloads(t *testing.T) {
	f, err := Parse("h.yaml", []byte("host: x\nmemory: 1GiB\ncpu: {sockets: 1, cores: 2, threads: 2, clock: 2GHz}\n"))
	if err != nil || f.Host.Name != "x" || len(f.Workloads) != 0 || len(f.Ranges) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestFindTakesTheNearestParameters(t *testing.T) {
	f := &File{Workloads: []Workload{
		{Name: "a", Engine: "e", Mode: "m", Params: map[string]string{"size": "1", "deep": "x"}},
		{Name: "a", Engine: "e", Mode: "m", Params: map[string]string{"size": "2", "deep": "x"}},
	}}
	w, differs := f.Find("a", "e", "m", map[string]string{"size": "2", "deep": "y"})
	if w != &f.Workloads[1] || !reflect.DeepEqual(differs, []string{"deep"}) {
		t.Errorf("%+v, %q", w, differs)
	}
	if w, _ := f.Find("a", "other", "m", nil); w != nil {
		t.Errorf("%+v of another engine", w)
	}
}

// TestDrawsFillTheirIntervals draws many files: nine tenths of what was
// measured lies within, everything that was assumed does, and the mix costs
// what was drawn for it.
func TestDrawsFillTheirIntervals(t *testing.T) {
	f := known4(t)
	const draws = 2000
	inside, stalls := 0, [2]float64{1, 0}
	for i := range draws {
		d := f.Draw(rng.At(7, uint64(i)))
		w := d.Workloads[0]
		if f.Workloads[0].CPU.Low <= w.CPU.Value && w.CPU.Value <= f.Workloads[0].CPU.High {
			inside++
		}
		stalls[0], stalls[1] = min(stalls[0], w.Stall.Value), max(stalls[1], w.Stall.Value)
		mix := w.IOs.Value * w.Costs.IO.Value
		for _, c := range w.Classes {
			mix += c.Share * c.CPU()
		}
		if math.Abs(mix/w.CPU.Value-1) > 1e-9 {
			t.Fatalf("draw %d: the mix costs %g, %g was drawn", i, mix, w.CPU.Value)
		}
		if g := d.Host.CPU.SMTGain; g < 1.15 || g > 1.45 || d.Host == f.Host {
			t.Fatalf("draw %d has an smt-gain of %g", i, g)
		}
	}
	if part := float64(inside) / draws; part < 0.88 || part > 0.92 {
		t.Errorf("%.3f of the draws lie within the 90 %% interval", part)
	}
	if stalls[0] < 0.2 || stalls[0] > 0.21 || stalls[1] > 0.6 || stalls[1] < 0.59 {
		t.Errorf("stalls from %.3f to %.3f", stalls[0], stalls[1])
	}
	one, other := f.Draw(rng.At(1)), f.Draw(rng.At(1))
	if !reflect.DeepEqual(one, other) {
		t.Error("the same stream draws two files")
	}
	if f.Host.Stores[0].Tiers[0].Device.Read != 100*time.Microsecond {
		t.Error("drawing changed the file")
	}
}

func TestAMachineMustHaveEqualSockets(t *testing.T) {
	fits := []*Fitted{{}}
	for _, m := range []Machine{{Sockets: 2, Cores: 3, Threads: 3, GHz: 2}, {Sockets: 1, Cores: 2, Threads: 3, GHz: 2}, {Sockets: 1, Cores: 1, Threads: 4, GHz: 2}} {
		if _, err := m.Calibrated(fits); err == nil {
			t.Errorf("%+v: no error", m)
		}
	}
	if _, err := (Machine{Sockets: 1, Cores: 1, Threads: 1, GHz: 2}).Calibrated(nil); err == nil {
		t.Error("without fits: no error")
	}
}
