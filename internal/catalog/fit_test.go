package catalog_test

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/study"
)

// Each study asks for something that single values do not show to be wrong:
// its fault stands at the place of the value, with a remedy.
func TestWhatDoesNotGoTogetherIsSeenInThePlan(t *testing.T) {
	for _, c := range []struct{ name, text, at, want, allowed string }{
		{
			"CPUs of a database inside the process", "engine: {name: sqlite}\nworkload: {name: orderentry, mode: statements}\nprovider: {name: native}\ninstance: {cpus: 1}",
			"x.yaml:5:18", "instance.cpus does not confine engine sqlite", "confine loadstone itself",
		}, {
			"memory of one, varied", "engine: {name: sqlite}\nworkload: {name: orderentry, mode: statements}\nprovider: {name: native}\nvary: {instance.memory: [1GiB, 2GiB]}",
			"x.yaml:5:26", "instance.memory does not confine engine sqlite", "without instance.memory",
		}, {
			"Order-Entry's procedures", "engine: {name: sqlite}\nworkload: {name: orderentry}\nprovider: {name: native}",
			"x.yaml:2:16", "no procedures for this engine", "workload.mode: statements",
		}, {
			"DVD Store's procedures, asked for", "workload: {name: dvdstore, calls: procedures}\nengine: {name: sqlite}\nprovider: {name: native}",
			"x.yaml:2:35", "no procedures for this engine", "workload.calls: statements",
		}, {
			"one engine of several", "workload: {name: dvdstore}\nprovider: {name: native}\nvary: {engine.name: [postgres, sqlite]}",
			"x.yaml:4:32", "no procedures for this engine", "workload.calls: statements",
		},
	} {
		_, err := study.Parse("x.yaml", []byte("study: x\n"+c.text+"\n"), catalog.Known())
		if err == nil {
			t.Errorf("%s: no fault was found", c.name)
			continue
		}
		for _, part := range []string{c.at, c.want, c.allowed} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is not in\n%v", c.name, part, err)
			}
		}
	}
}

// The same on an engine that has what is asked for.
func TestWhatGoesTogetherPasses(t *testing.T) {
	for _, text := range []string{
		"engine: {name: sqlite}\nworkload: {name: orderentry, mode: statements}\nprovider: {name: native}",
		"engine: {name: sqlite}\nworkload: {name: dvdstore, calls: statements}\nprovider: {name: native}\ninstances: 2",
		"engine: {name: postgres}\nworkload: {name: dvdstore, calls: statements}\nprovider: {name: native}\ninstance: {cpus: 1, memory: 1GiB}",
	} {
		if _, err := study.Parse("x.yaml", []byte("study: x\n"+text+"\n"), catalog.Known()); err != nil {
			t.Errorf("%v", err)
		}
	}
}
