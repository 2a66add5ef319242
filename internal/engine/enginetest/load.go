package enginetest

import (
	"context"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// load loads d into m with four workers, then the same with one and other
// contents into databases of second, and compares.
func (s *suite) load(t *testing.T, m, second engine.Machine, d *workload.Definition) {
	four := s.loadInto(t, m, d, 4)
	same := *d
	same.Database = "same"
	one := s.loadInto(t, second, &same, 1)
	var rows int64
	for _, table := range d.Tables {
		rows += table.Rows.Rows
	}
	if one.Rows != rows || four.Rows != rows {
		t.Errorf("%d rows by one worker and %d by four, want %d", one.Rows, four.Rows, rows)
	}
	if one.Fingerprint == "" || one.Fingerprint != four.Fingerprint {
		t.Errorf("fingerprint %q by one worker, %q by four: want the same", one.Fingerprint, four.Fingerprint)
	}
	if one.Bytes <= 0 || len(one.StageSeconds) == 0 {
		t.Errorf("%d bytes, stages %v: want both", one.Bytes, one.StageSeconds)
	}
	// The same number of rows, and one value of one row is another.
	other := synthetic(d.Tables[0].Rows.Rows)
	other.Database = "other"
	fill := other.Tables[0].Rows.Fill
	other.Tables[0].Rows.Fill = func(batch int64, emit func([]workload.Value) error) error {
		return fill(batch, func(row []workload.Value) error {
			if row[0].Int == 17 {
				row[2].Int++
			}
			return emit(row)
		})
	}
	if r := s.loadInto(t, second, other, 2); r.Fingerprint == one.Fingerprint || r.Rows != rows {
		t.Errorf("other contents of %d rows have fingerprint %q, as %d rows before", r.Rows, r.Fingerprint, rows)
	}
}

// cancelledLoad cancels once rows have begun to come.
func (s *suite) cancelledLoad(t *testing.T, m engine.Machine) {
	db := s.startAs(t, m, engine.Config{Connections: 10})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := db.Load(ctx, synthetic(40000), engine.LoadOptions{
		Workers:  2,
		Progress: func(string, int64, int64) { cancel() },
	})
	if err == nil {
		t.Error("a load that was cancelled reported success")
	}
	if err := db.Stop(t.Context()); err != nil {
		t.Errorf("stop after a cancelled load: %v", err)
	}
	noneLeft(t, m)
}
