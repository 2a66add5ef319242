package analyse

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

// nights makes n results, the throughput of which is level(i).
func nights(n int, seed uint64, level func(i int) float64) []*Study {
	src := stats.Random(seed)
	p := product{loads: []string{"4", "8"}, buffers: []string{"16MiB"}, repeats: 2, between: 0.005}
	var out []*Study
	for i := range n {
		p.effect = map[string]float64{"16MiB": level(i)}
		s := p.study(fmt.Sprintf("night-%02d", i), &src)
		s.Created = s.Created.AddDate(0, 0, i)
		out = append(out, s)
	}
	return out
}

func TestHistoryFindsWhereTheLevelChanged(t *testing.T) {
	studies := nights(12, 1, func(i int) float64 {
		if i >= 7 {
			return 0.95
		}
		return 1
	})
	for i := 7; i < 12; i++ {
		studies[i].Trials[0].about.Engine.Version = "16.2"
	}
	studies[0], studies[9] = studies[9], studies[0] // any order
	h, err := NewHistory(studies)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Runs) != 12 || len(h.Lines) != 2 || h.Runs[7].Name != "night-07" {
		t.Fatalf("%+v", h.Runs)
	}
	for _, l := range h.Lines {
		if len(l.Changes) != 1 || l.Changes[0].Run != 7 || l.Changes[0].At != 7 {
			t.Fatalf("%s: %+v", l.Label, l.Changes)
		}
		c := l.Changes[0]
		if c.Low > 0.95 || c.High < 0.95 || c.High > 0.97 || !strings.HasPrefix(c.Text, "from the run of 2026-10-08 on: -") {
			t.Errorf("%+v", c)
		}
	}
	if got := fmt.Sprint(h.Runs[7].Differences); got != "[{Engine PostgreSQL 15.18 PostgreSQL 16.2}]" {
		t.Errorf("new in the run of the change: %s", got)
	}
	if len(h.Runs[8].Differences) != 0 || !strings.HasPrefix(h.Verdict, "Throughput changed: users = 4") {
		t.Errorf("%+v, %s", h.Runs[8], h.Verdict)
	}
	for text, want := range map[string]Outcome{"throughput < -3%": Fails, "throughput < -10%": Passes, "throughput < -5%": Undecided} {
		c, err := ParseCondition(text)
		if err == nil {
			err = h.Require([]Condition{c})
		}
		if err != nil || h.Conditions[0].Outcome != want {
			t.Errorf("%s: %+v, %v", text, h.Conditions, err)
		}
	}
	c, _ := ParseCondition("p95 > 1%")
	if err := h.Require([]Condition{c}); err == nil {
		t.Error("a history of throughput decides on p95")
	}
	if _, err := json.Marshal(h); err != nil {
		t.Error(err)
	}
}

func TestHistoryOfALevelHasNoChange(t *testing.T) {
	found := 0
	const n = 40
	for seed := range uint64(n) {
		h, err := NewHistory(nights(12, seed+10, func(int) float64 { return 1 }))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range h.Lines {
			found += len(l.Changes)
		}
	}
	if found > 6 { // 5 % of 40 histories are two; seven have a chance of 0.3 %
		t.Errorf("%d changes in %d histories without any", found, n)
	}
}

func TestHistoryLeavesOutWhatDoesNotBelong(t *testing.T) {
	studies := nights(5, 2, func(int) float64 { return 1 })
	studies[1].Valid, studies[1].Invalid = false, []string{"trial 1: steal"}
	studies[2].Trials[0].about.Workload.DataKey = "shop-99"
	h, err := NewHistory(studies)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Runs) != 3 || len(h.Left) != 2 || h.Left[0].Reason != "INVALID: trial 1: steal" || !strings.Contains(h.Left[1].Reason, "shop-99 in the first") {
		t.Errorf("%+v, left %+v", h.Runs, h.Left)
	}
	if len(h.Notes) != 1 || !strings.Contains(h.Notes[0], "3 runs: with fewer than 7") {
		t.Errorf("notes %q", h.Notes)
	}
	if h.Verdict != "No change of throughput in 3 runs." {
		t.Error(h.Verdict)
	}
	if _, err := NewHistory(studies[1:2]); err == nil || !strings.Contains(err.Error(), "none of 1 result is valid") {
		t.Error(err)
	}
	if _, err := NewHistory(studies[2:4]); err == nil || !strings.Contains(err.Error(), "only 1 result belongs") {
		t.Error(err)
	}
}

// Of seven runs the clearest order has a chance of 1 in 35, of six 1 in 10.
func TestSevenRunsAreTheFewestThatShowAChange(t *testing.T) {
	for n, want := range map[int]int{6: 0, 7: 1} {
		studies := nights(n, 3, func(i int) float64 {
			if i >= n/2 {
				return 0.5
			}
			return 1
		})
		for _, s := range studies {
			s.Cells = s.Cells[:1]
		}
		h, err := NewHistory(studies)
		if err != nil || len(h.Lines[0].Changes) != want {
			t.Errorf("%d runs: %+v, %v", n, h, err)
		}
	}
}
