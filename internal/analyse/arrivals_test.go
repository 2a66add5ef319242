package analyse

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/record"
)

func TestArrivalsAddUpOverInstances(t *testing.T) {
	for _, c := range []struct {
		name  string
		trial record.Trial
		want  float64
	}{
		{"closed loop", record.Trial{Load: record.Load{Users: 4}}, 0},
		{"before groups", record.Trial{Load: record.Load{RatePerS: 50}}, 150},
		{"groups with rates of their own", record.Trial{
			Load:      record.Load{RatePerS: 50},
			Instances: []record.Instance{{Drive: record.Drive{RatePerS: 50}}, {Drive: record.Drive{RatePerS: 50}}, {Drive: record.Drive{RatePerS: 200}}},
		}, 300},
	} {
		if got := arrivals(c.trial, 3); got != c.want {
			t.Errorf("%s: %g arrivals a second, want %g", c.name, got, c.want)
		}
	}
}
