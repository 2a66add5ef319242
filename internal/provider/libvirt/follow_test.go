//go:build linux

package libvirt

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/observe"
)

// tally is an emulator's counters as a list of readings; one that is over fails.
type tally struct {
	columns []observe.Column
	rows    [][]float64
}

func (s *tally) Name() string              { return "tally" }
func (s *tally) Columns() []observe.Column { return s.columns }
func (s *tally) Read(_ context.Context, out []float64) error {
	if len(s.rows) == 0 {
		return errors.New("the emulator is gone")
	}
	copy(out, s.rows[0])
	s.rows = s.rows[1:]
	return nil
}

// TestTotalsGoOnWhereTheGuestDoes has two emulators whose columns are in another
// order, and of which the second lacks one.
func TestTotalsGoOnWhereTheGuestDoes(t *testing.T) {
	nan := math.NaN()
	total, state, only := observe.Column{Name: "cpu_s", Total: true}, observe.Column{Name: "rss"}, observe.Column{Name: "only", Total: true}
	emulators := []*tally{
		{[]observe.Column{total, state, only}, [][]float64{{5, 100, 1}, {nan, 110, 2}, {7, 120, 3}, {0.4, 130, 4}}},
		{[]observe.Column{state, total}, [][]float64{{50, 2}, {60, 3}}},
	}
	i := &Instance{}
	f, err := i.follow(func() (observe.Source, error) { return emulators[i.travel.moves.Load()], nil })
	if err != nil {
		t.Fatal(err)
	}
	read := func() []float64 {
		t.Helper()
		out := make([]float64, 3)
		if err := f.Read(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		for n, v := range out {
			if math.IsNaN(v) {
				out[n] = -1
			}
		}
		return out
	}
	for n, want := range [][]float64{{5, 100, 1}, {-1, 110, 2}, {7, 120, 3}, {-1, 130, 4}} {
		if got := read(); !slices.Equal(got, want) {
			t.Errorf("reading %d is %v, want %v", n+1, got, want)
		}
	}
	// While the guest migrates a reading may fail; else that is an error.
	i.travel.moving.Store(true)
	if got := read(); !slices.Equal(got, []float64{-1, -1, -1}) {
		t.Errorf("a reading that fails on the way is %v", got)
	}
	i.travel.moves.Add(1)
	i.travel.moving.Store(false)
	for n, want := range [][]float64{{9, 50, -1}, {10, 60, -1}} {
		if got := read(); !slices.Equal(got, want) {
			t.Errorf("reading %d there is %v, want %v", n+1, got, want)
		}
	}
	if err := f.Read(t.Context(), make([]float64, 3)); err == nil {
		t.Error("an emulator that is gone gives readings")
	}
}
