package providertest

import (
	"context"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// resizable is the shape that Resized begins with.
func resizable() provider.Shape {
	return provider.Shape{CPUs: 0.5, Memory: 512 * unit.MiB, CPUShares: 512}
}

// Resized demands that limits of a running instance go down and up again while a
// process is in it, each time read back as asked for, and that what it began
// without is refused. provision makes an instance of a shape, which Resized
// closes.
func Resized(t *testing.T, p provider.Live, provision func(t *testing.T, s provider.Shape) provider.Instance) {
	inst := provision(t, resizable())
	if _, ok := p.Prototype().(provider.Resizer); !ok {
		t.Fatal("the prototype can't be resized")
	}
	running, stop := context.WithCancel(t.Context())
	defer stop()
	busy := inst.(provider.Machine).Command(running, "sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	from := resizable()
	for _, to := range []provider.Shape{
		{CPUs: 0.25, Memory: 128 * unit.MiB, CPUShares: 256},
		{CPUs: 0.75, Memory: 768 * unit.MiB, CPUShares: 2048},
		{CPUs: 0.75, Memory: 256 * unit.MiB, CPUShares: 2048},
	} {
		if found := p.CheckResize(from, to); len(found) > 0 {
			t.Fatal(found)
		}
		if err := inst.(provider.Resizer).Resize(t.Context(), to); err != nil {
			t.Fatalf("from %+v to %+v: %v", from, to, err)
		}
		from = to
		inForce(t, inst, to)
	}
	if cpus, memory := inst.(provider.Machine).Capacity(); cpus != from.CPUs || memory != from.Memory {
		t.Errorf("the capacity is %v CPUs and %v, want %v and %v", cpus, memory, from.CPUs, from.Memory)
	}
	for _, to := range []provider.Shape{
		{CPUs: 0.75, Memory: 256 * unit.MiB}, {CPUs: 0.75, CPUShares: 2048},
		{CPUs: 0.75, Memory: 256 * unit.MiB, CPUShares: 2048, WriteOpsPS: 100},
	} {
		if found := p.CheckResize(from, to); len(found) != 1 {
			t.Errorf("from %+v to %+v: %v, want one problem", from, to, found)
		}
	}
	stop()
	_ = busy.Wait()
	if err := inst.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := inst.(provider.Resizer).Resize(t.Context(), resizable()); err == nil {
		t.Error("a closed instance was resized")
	}
}

// inForce demands that the limits of s read back.
func inForce(t *testing.T, inst provider.Instance, s provider.Shape) {
	t.Helper()
	knobs, err := inst.(provider.Shaped).Effective(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, k := range knobs {
		if !k.Matches {
			t.Errorf("%+v: %+v", s, k)
		}
		if k.Intended != "" && (k.Name == "instance.cpus" || k.Name == "instance.memory" || k.Name == "instance.cpu_shares") {
			asked++
		}
	}
	if asked != 3 {
		t.Errorf("%d of three limits are read back: %+v", asked, knobs)
	}
}
