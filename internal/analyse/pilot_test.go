package analyse

import (
	"math"
	"testing"
)

func TestAPilotTellsWhatRepeatsWillBuy(t *testing.T) {
	s := &Study{Name: "pilot"}
	if _, err := s.Spread(); err == nil {
		t.Error("a study without repeats has a spread")
	}
	for i, x := range []float64{98, 100, 102, 196, 200, 204, 50} {
		s.Trials = append(s.Trials, Trial{Throughput: x})
		if i%3 == 0 {
			s.Cells = append(s.Cells, Cell{})
		}
		c := &s.Cells[len(s.Cells)-1]
		c.Trials = append(c.Trials, i)
	}
	spread, err := s.Spread()
	if err != nil || math.Abs(spread-2) > 1e-9 {
		t.Errorf("spread %v %%, %v; want 2 %%", spread, err)
	}
	// t(0.975; 2) = 4.3027, t(0.975; 5) = 2.5706 (tables).
	for n, want := range map[int]float64{3: 4.3027 * 2 / math.Sqrt(3), 6: 2.5706 * 2 / math.Sqrt(6)} {
		if got := float64(Bought(spread, n)); math.Abs(got-want) > 1e-3 {
			t.Errorf("%d repeats buy ±%v %%, want ±%v %%", n, got, want)
		}
	}
	if Bought(spread, 1).OK() {
		t.Error("one repeat buys an interval")
	}
}
