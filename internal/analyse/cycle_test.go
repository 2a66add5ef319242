package analyse

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// sampled is a database with a checkpoint that ends before each of the given
// seconds, sampled once a second for a minute.
func sampled(ends ...int) record.Counters {
	c := record.Counters{Names: []string{"checkpoints_timed", "checkpoints_requested"}, Totals: []bool{true, true}, Values: make([][]float64, 2)}
	n := 3.0
	for s := range 61 {
		for _, e := range ends {
			if e == s {
				n++
			}
		}
		c.At = append(c.At, float64(s)+0.01)
		c.Values[0], c.Values[1] = append(c.Values[0], n), append(c.Values[1], 7)
	}
	return c
}

func TestWindowsHoldWholeCheckpointCycles(t *testing.T) {
	for name, x := range map[string]struct {
		asked      int
		databases  []record.Counters
		start, end float64
		steady     bool
	}{
		"not asked for":        {0, []record.Counters{sampled(20, 40)}, 10, 60, true},
		"two cycles":           {2, []record.Counters{sampled(5, 20, 35, 50)}, 20, 50, true},
		"one instead of two":   {2, []record.Counters{sampled(20, 40)}, 10, 60, false},
		"none":                 {1, []record.Counters{sampled()}, 10, 60, false},
		"not recorded":         {1, nil, 10, 60, false},
		"two instances":        {1, []record.Counters{sampled(15, 30, 45), sampled(18, 33, 48)}, 18, 45, true},
		"one instance too few": {1, []record.Counters{sampled(15, 45), sampled(30)}, 10, 60, false},
	} {
		r := raw{database: x.databases}
		r.trial.Load.Checkpoints = x.asked
		w := wholeCycles(Window{Start: 10, End: 60, Steady: true, Why: "10 to 60 s"}, r, nil)
		if w.Start != x.start || w.End != x.end || w.Steady != x.steady {
			t.Errorf("%s: %v to %v, steady %v (%s); want %v to %v, steady %v", name, w.Start, w.End, w.Steady, w.Why, x.start, x.end, x.steady)
		}
		if x.asked > 0 && !strings.Contains(w.Why, "checkpoint") {
			t.Errorf("%s: %q does not speak of checkpoints", name, w.Why)
		}
	}
}
