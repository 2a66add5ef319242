package analyse

import (
	"math"
	"strings"
	"testing"
)

// A database inside the driver's process: its CPU is in the driver's counters,
// so that neither the instance's nor the driver's own share is stated.
func TestInProcessNothingTellsDriverAndDatabaseApart(t *testing.T) {
	study, trials := usual().study(1, 8)
	r := trials[0]
	r.trial.Engine.InProcess = true
	full := 0.9 * hostCPUs(r, study.Machine, Window{Start: 15, End: 75})
	busier(r.driver, "cpu_user_s", full)
	busier(r.driver, "cpu_system_s", 0)
	list := usage(r, study.Machine, Window{Start: 15, End: 75})
	for _, name := range []string{instanceCPU, throttled, driverCPU, memoryUsed} {
		if u, known := resource(list, name); known {
			t.Errorf("%+v is stated, and nobody knows it", u)
		}
	}
	if u, _ := resource(list, togetherCPU); math.Abs(u.Value-90) > 1e-6 {
		t.Errorf("%+v, want 90 %%", u)
	}
	if u, known := databaseCPU(list); !known || u.Name != togetherCPU {
		t.Errorf("a limit of CPU would look at %+v", u)
	}
	g := judged{usage: list}.headroom()
	if !g.Passed || !strings.Contains(g.Want, "can't be judged") || !strings.Contains(g.Found, "90") {
		t.Errorf("%+v: neither proof nor fault, and the reason", g)
	}
	r.trial.Engine.InProcess = false
	if g := (judged{usage: usage(r, study.Machine, Window{Start: 15, End: 75})}).headroom(); g.Passed {
		t.Errorf("%+v with a server of its own", g)
	}
}

func TestInProcessTheProcessIsWhatLimits(t *testing.T) {
	b := bounds{usage: []Resource{{Name: togetherCPU, Value: 95, Unit: "%", Load: 0.95}, {Name: hostCPU, Value: 96, Unit: "%", Load: 0.96}}}
	for _, rule := range rules() {
		if rule.holds(b) {
			if got := rule.because(b); !strings.Contains(got, "driver and database") {
				t.Errorf("limited by %q", got)
			}
			return
		}
	}
	t.Error("nothing limits a process at 95 % of its CPU")
}
