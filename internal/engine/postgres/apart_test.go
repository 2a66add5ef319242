package postgres

import (
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

func TestLargePagesAreTheInstancesOrTheStudysButNotBoth(t *testing.T) {
	for _, pages := range []string{"on", "off"} {
		chosen, err := choose(engine.Config{LargePages: pages}, 1, unit.GiB)
		want := choice{"huge_pages", pages, "instance.large_pages"}
		if err != nil || !slices.Contains(chosen, want) {
			t.Errorf("%v is not among %v (%v)", want, chosen, err)
		}
	}
	chosen, err := choose(engine.Config{Settings: map[string]string{"huge_pages": "try"}}, 1, unit.GiB)
	if err != nil || !slices.Contains(chosen, choice{"huge_pages", "try", "study"}) {
		t.Errorf("the study's own: %v, %v", chosen, err)
	}
	if _, err := choose(engine.Config{Settings: map[string]string{"huge_pages": "on"}, LargePages: "off"}, 1, unit.GiB); err == nil || !strings.Contains(err.Error(), "instance.large_pages") {
		t.Errorf("both: %v; want an error that names the knob", err)
	}
}
