package report

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

func TestInstancesThatAreAlikeAreToldOnce(t *testing.T) {
	of := func(fsync ...string) (knobs []analyse.Knob) {
		for i, v := range fsync {
			knobs = append(knobs, analyse.Knob{Name: []string{"instance-1", "instance-2"}[i] + ": fsync", Effective: v, Default: "on", Why: "durability"})
		}
		return knobs
	}
	shape := []analyse.Knob{
		{Name: "instance-1: instance.cpus", Effective: "0.5"}, {Name: "instance-1: instance.memory", Effective: "512MiB"},
		{Name: "instance-2: instance.cpus", Effective: "0.5"}, {Name: "instance-2: instance.memory", Effective: "512MiB"},
	}
	s := &analyse.Study{Trials: []analyse.Trial{
		{Number: 1, Status: "finished", Confined: true, Shape: shape, Settings: of("on", "on")},
		{Number: 2, Status: "finished", Confined: true, Shape: shape, Settings: of("on", "off")},
	}}
	if got := instanceSize(s); got != "cpus 0.5, memory 512MiB" {
		t.Errorf("instances that are alike are %q", got)
	}
	got := durability(s)
	if len(got) != 2 || got[0] != "fsync = off (default: on) in trials 2" || got[1] != "fsync = on" {
		t.Errorf("durability is told as %q", got)
	}
}
