package enginetest

import (
	"context"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
)

// load loads twice, with one worker and with four, and compares.
func (s *suite) load(t *testing.T) {
	d := synthetic(1000)
	one := s.loadInto(t, s.create(t), d, 1)
	four := s.loadInto(t, s.create(t), d, 4)
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
	if other := s.loadInto(t, s.create(t), synthetic(1100), 2); other.Fingerprint == one.Fingerprint {
		t.Errorf("other contents have the same fingerprint %q", other.Fingerprint)
	}
}

// cancelledLoad cancels once rows have begun to come.
func (s *suite) cancelledLoad(t *testing.T) {
	m := s.create(t)
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
