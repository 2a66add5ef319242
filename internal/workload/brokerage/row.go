package brokerage

import (
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// maker builds one row after the other in buffers of its own.
type maker struct {
	*world
	s    rng.Stream
	row  []workload.Value
	buf  []byte
	emit func([]workload.Value) error
}

// rowText is more than the texts of any row but one of the news need: with
// this capacity the buffer is never made anew.
const rowText = 2_048

// source makes a Source whose batches fill makes.
func (w *world) source(batches, rows int64, fill func(m *maker, batch int64) error) workload.Source {
	return workload.Source{
		Batches: batches,
		Rows:    rows,
		Fill: func(batch int64, emit func([]workload.Value) error) error {
			return fill(&maker{
				world: w, emit: emit, row: make([]workload.Value, 0, 32), buf: make([]byte, 0, rowText),
			}, batch)
		},
	}
}

// once makes a Source of one batch.
func (w *world) once(rows int64, fill func(m *maker) error) workload.Source {
	return w.source(1, rows, func(m *maker, _ int64) error { return fill(m) })
}

// begin starts a row.
func (m *maker) begin() { m.row, m.buf = m.row[:0], m.buf[:0] }

// draws starts a row that draws from the stream of table and number.
func (m *maker) draws(table string, number int64) {
	m.s = rng.At(m.seed, rng.Name(table), uint64(number))
	m.begin()
}

// end emits the row.
func (m *maker) end() error { return m.emit(m.row) }

func (m *maker) add(v workload.Value) { m.row = append(m.row, v) }
func (m *maker) int(n int64)          { m.add(workload.Int(n)) }
func (m *maker) fixed(n int64)        { m.add(workload.Value{Kind: workload.Fixed, Int: n}) }
func (m *maker) at(us int64)          { m.add(instant(us)) }
func (m *maker) day(n int64)          { m.add(workload.Value{Kind: workload.Day, Int: n}) }
func (m *maker) null()                { m.add(workload.Value{}) }
func (m *maker) bit(b bool)           { m.add(bit(b)) }

// instant is a time in µs since 1970 as a value.
func instant(us int64) workload.Value { return workload.Value{Kind: workload.Instant, Int: us} }

func bit(b bool) workload.Value {
	v := workload.Value{Kind: workload.Bit}
	if b {
		v.Int = 1
	}
	return v
}

// dayOf is the day of an instant.
func dayOf(us int64) int64 { return us / fullDay }

// field adds what was appended to the buffer, which is grown, as a text.
func (m *maker) field(grown []byte) {
	m.add(workload.Str(grown[len(m.buf):len(grown):len(grown)]))
	m.buf = grown
}

// word adds fixed texts, joined.
func (m *maker) word(parts ...string) {
	b := m.buf
	for _, p := range parts {
		b = append(b, p...)
	}
	m.field(b)
}

func (m *maker) symbol(security int64) { m.field(appendSymbol(m.buf, security)) }

// prose adds a text of n bytes.
func (m *maker) prose(n int64) { m.field(m.words.appendProse(m.buf, &m.s, int(n))) }

// unitOf calls f with the numbers of a load unit's things, from 0, of which
// each unit has so many.
func unitOf(batch, each int64, f func(n int64) error) error {
	for n := batch * each; n < (batch+1)*each; n++ {
		if err := f(n); err != nil {
			return err
		}
	}
	return nil
}
