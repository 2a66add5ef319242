package analyse

import (
	"math"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// contended makes the records of a study in which instances waited for CPUs:
// what one waits in a second decides its 99th percentile there, but for sign.
func contended(t *testing.T, sign float64) (record.Study, []raw) {
	t.Helper()
	study, trials := usual().study(3, 2, 8)
	for k := range trials {
		r := &trials[k]
		r.trial.Instances = append(r.trial.Instances, r.trial.Instances[0])
		r.trial.Instances[1].Name = "instance-2"
		r.intervals = append(r.intervals, append([]record.Interval(nil), r.intervals[0]...))
		intervals := r.intervals
		r.histograms = func(i int, from, to time.Duration) ([]record.Merged, error) {
			return histograms(between(intervals[i], from.Seconds(), to.Seconds()), names(r.trial.Workload)), nil
		}
		for i := range r.intervals {
			end := len(r.intervals[i])
			domain := counters(end, "vcpu_ready_s", 0, "vcpu_costop_s", 0)
			sum := 0.0
			for sec := range r.intervals[i] {
				wait := 0.3 + 0.2*math.Sin(float64(sec*sec+i)) + float64(i) + float64(r.trial.Load.Users)/8
				sum += wait
				domain.Values[0][sec+1] = domain.Values[0][0] + sum
				row := &r.intervals[i][sec]
				row.Types = append([]record.Series(nil), row.Types...)
				row.Types[3].P99 = int64(16000 + sign*4000*wait)
			}
			for n := range domain.At { // on the full second: a reading ends where an interval does
				domain.At[n] = float64(n)
			}
			r.domain = append(r.domain, domain)
			r.guest = append(r.guest, counters(end, "cpu_steal_s", 0.25))
			r.cgroup = append(r.cgroup[:i:i], counters(end, "cpu_user_s", 0.5, "cpu_system_s", 0.1, "run_delay_s", 3.0))
		}
	}
	return study, trials
}

func TestWaitingIsSetAgainstResponseTimes(t *testing.T) {
	for _, sign := range []float64{1, -1} {
		study, trials := contended(t, sign)
		s := must(t, study, trials)
		if len(s.Contention) != 3 {
			t.Fatalf("%d kinds, want ready, co-stop and steal: %+v", len(s.Contention), s.Contention)
		}
		ready := s.Contention[0]
		if ready.Kind != "ready" || ready.Source != "domain vcpu_ready_s" || len(ready.Cells) != 2 || ready.Points != 12 {
			t.Fatalf("%+v", ready)
		}
		// The mean over both instances: 0.3 + 0.5 and a quarter, or a whole.
		closeTo(t, "waiting with 2 users", ready.Cells[0].Mean.Value, 1.05, 0.05)
		closeTo(t, "waiting with 8 users", ready.Cells[1].Mean.Value, 1.8, 0.05)
		closeTo(t, "correlation over seconds", ready.Cells[0].Rank.Value, sign, 1e-3)
		if ready.Cells[0].Rank.N != 3 || ready.Between.OK() { // whole windows are all alike here
			t.Errorf("%+v, between %v", ready.Cells[0].Rank, ready.Between)
		}
		steal := s.Contention[2]
		closeTo(t, "steal", steal.Cells[0].Mean.Value, 0.25, 1e-6)
		if steal.Kind != "steal" || steal.Cells[0].Rank.N != 0 {
			t.Errorf("what never changes has a correlation: %+v", steal)
		}
		w := s.Trials[0].Waited[0]
		if len(w.Each) != len(w.EachP99) || len(w.Each) != len(w.Seconds) || len(w.Each) < 50 {
			t.Errorf("%d, %d and %d seconds", len(w.Each), len(w.EachP99), len(w.Seconds))
		}
	}
}

// One instance on the machine itself is in nobody's way; without a hypervisor
// the tasks' own delay tells of ready time.
func TestWaitingIsToldWhereInstancesShareCPUs(t *testing.T) {
	study, trials := contended(t, 1)
	for k := range trials {
		trials[k].domain, trials[k].guest = nil, nil
	}
	s := must(t, study, trials)
	if len(s.Contention) != 1 || s.Contention[0].Source != "cgroup run_delay_s" {
		t.Errorf("%+v", s.Contention)
	}
	study, trials = usual().study(2, 4)
	if s := must(t, study, trials); len(s.Contention) != 0 || len(s.Trials[0].Waited) != 1 {
		t.Errorf("one instance: %+v, waited %+v", s.Contention, s.Trials[0].Waited)
	}
}
