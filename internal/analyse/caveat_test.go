package analyse

import (
	"slices"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// TestCaveatsSayWhomTheyAreAbout: each once, with trials and instances only
// where it is not about all of them.
func TestCaveatsSayWhomTheyAreAbout(t *testing.T) {
	trial := func(number int, instances ...record.Instance) run {
		return run{manifest: record.Trial{Planned: record.Planned{Trial: number}, Instances: instances}}
	}
	guest := func(name string, warnings ...string) record.Instance {
		return record.Instance{Name: name, Warnings: warnings}
	}
	never := run{manifest: record.Trial{Planned: record.Planned{Trial: 9}}}
	for name, c := range map[string]struct {
		runs []run
		want []string
	}{
		"nobody warns":      {[]run{trial(1, guest("a"))}, nil},
		"all":               {[]run{trial(1, guest("a", "slow"), guest("b", "slow")), trial(2, guest("a", "slow")), never}, []string{"slow"}},
		"one trial":         {[]run{trial(1, guest("a", "slow")), trial(2, guest("a"))}, []string{"trial 1: slow"}},
		"two trials":        {[]run{trial(1, guest("a", "slow")), trial(2, guest("a")), trial(3, guest("a", "slow"))}, []string{"trials 1, 3: slow"}},
		"one instance":      {[]run{trial(1, guest("a", "slow"), guest("b"))}, []string{"a: slow"}},
		"each text by hand": {[]run{trial(1, guest("a", "slow", "cached")), trial(2, guest("a", "slow"))}, []string{"slow", "trial 1: cached"}},
	} {
		if got := caveats(c.runs); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
