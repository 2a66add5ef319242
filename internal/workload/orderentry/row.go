package orderentry

import (
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Cardinalities (clauses 1.2.1 and 4.3.3.1).
const (
	districts   = 10    // in a warehouse
	undelivered = 900   // of a district's orders, the last ones
	delivered   = 2_100 // the others
)

// Rows in one batch: of customers and orders, those of one district; of the
// other tables, so many.
const (
	itemsPerBatch      = 10_000
	warehousesPerBatch = 100
)

// generator makes the initial rows. Every row comes from a stream of its own,
// addressed by seed, table and key; only the permutation of customers over a
// district's orders is drawn for the district at once.
type generator struct {
	warehouses int64
	seed       uint64
	lastName   nurand
	pairs      *pairs
	loaded     int64 // the time of loading that rows carry, µs since 1970
}

func newGenerator(warehouses int64, seed uint64) *generator {
	return &generator{
		warehouses: warehouses,
		seed:       seed,
		lastName:   loadedNames(seed),
		pairs:      newPairs(),
		loaded:     time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	}
}

func (g *generator) districts() int64 { return districts * g.warehouses }

// maker builds one row after the other in buffers of its own.
type maker struct {
	*generator
	s    rng.Stream
	row  []workload.Value
	buf  []byte
	emit func([]workload.Value) error
	perm [customers]int16 // of customers over orders
}

// rowText is more than the texts of any row need: with this capacity the
// buffer never moves while values point to it.
const rowText = 1_024

// source makes a Source whose batches fill makes.
func (g *generator) source(batches, rows int64, fill func(m *maker, batch int64) error) workload.Source {
	return workload.Source{
		Batches: batches,
		Rows:    rows,
		Fill: func(batch int64, emit func([]workload.Value) error) error {
			return fill(&maker{
				generator: g, emit: emit,
				row: make([]workload.Value, 0, 32), buf: make([]byte, 0, rowText),
			}, batch)
		},
	}
}

// begin starts the row that draws from the stream of table and key.
func (m *maker) begin(table, k1, k2, k3 uint64) {
	m.s = rng.At(m.seed, table, k1, k2, k3)
	m.row, m.buf = m.row[:0], m.buf[:0]
}

// end emits the row.
func (m *maker) end() error { return m.emit(m.row) }

func (m *maker) add(v workload.Value) { m.row = append(m.row, v) }
func (m *maker) int(n int64)          { m.add(workload.Int(n)) }
func (m *maker) fixed(n int64)        { m.add(workload.Value{Kind: workload.Fixed, Int: n}) }
func (m *maker) stamp()               { m.add(instant(m.loaded)) }

// instant is a time in µs since 1970 as a value.
func instant(us int64) workload.Value { return workload.Value{Kind: workload.Instant, Int: us} }

// field adds what was appended to the buffer, which is grown, as a text.
func (m *maker) field(grown []byte) {
	m.add(workload.Str(grown[len(m.buf):len(grown):len(grown)]))
	m.buf = grown
}

// text adds a random text of least to most characters.
func (m *maker) text(least, most int64) {
	m.field(m.pairs.appendText(m.buf, &m.s, m.s.Between(least, most)))
}

// word adds a fixed text.
func (m *maker) word(w string) { m.field(append(m.buf, w...)) }

// data adds 26 to 50 random characters, with ORIGINAL somewhere among them in
// 10 % of cases (clause 4.3.3.1).
func (m *maker) data() {
	const mark = "ORIGINAL"
	n := m.s.Between(26, 50)
	grown := m.pairs.appendText(m.buf, &m.s, n)
	if m.s.IntN(10) == 0 {
		copy(grown[len(m.buf)+int(m.s.IntN(n-int64(len(mark))+1)):], mark)
	}
	m.field(grown)
}

// address adds street, street, city, state and zip (clause 4.3.2.7).
func (m *maker) address() {
	m.text(10, 20)
	m.text(10, 20)
	m.text(10, 20)
	m.text(2, 2)
	m.field(append(appendDigits(m.buf, &m.s, 4), "11111"...))
}

// each calls f for the warehouses of a batch.
func (m *maker) each(batch int64, f func(w int64) error) error {
	for w := batch*warehousesPerBatch + 1; w <= min((batch+1)*warehousesPerBatch, m.warehouses); w++ {
		if err := f(w); err != nil {
			return err
		}
	}
	return nil
}

func warehouseRows(m *maker, batch int64) error {
	table := rng.Name("warehouse")
	return m.each(batch, func(w int64) error {
		m.begin(table, uint64(w), 0, 0)
		m.int(w)
		m.text(6, 10)
		m.address()
		m.fixed(m.s.Between(0, 2_000))
		m.fixed(300_000_00)
		return m.end()
	})
}

func districtRows(m *maker, batch int64) error {
	table := rng.Name("district")
	return m.each(batch, func(w int64) error {
		for d := int64(1); d <= districts; d++ {
			m.begin(table, uint64(w), uint64(d), 0)
			m.int(d)
			m.int(w)
			m.text(6, 10)
			m.address()
			m.fixed(m.s.Between(0, 2_000))
			m.fixed(30_000_00)
			m.int(customers + 1)
			if err := m.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

func itemRows(m *maker, batch int64) error {
	table := rng.Name("item")
	for i := batch*itemsPerBatch + 1; i <= (batch+1)*itemsPerBatch; i++ {
		m.begin(table, uint64(i), 0, 0)
		m.int(i)
		m.int(m.s.Between(1, 10_000))
		m.text(14, 24)
		m.fixed(m.s.Between(1_00, 100_00))
		m.data()
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

func stockRows(m *maker, batch int64) error {
	table := rng.Name("stock")
	const perWarehouse = items / itemsPerBatch
	w := batch/perWarehouse + 1
	first := batch%perWarehouse*itemsPerBatch + 1
	for i := first; i < first+itemsPerBatch; i++ {
		m.begin(table, uint64(w), uint64(i), 0)
		m.int(i)
		m.int(w)
		m.int(m.s.Between(10, 100))
		for range districts {
			m.field(m.pairs.appendText(m.buf, &m.s, 24))
		}
		m.int(0)
		m.int(0)
		m.int(0)
		m.data()
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

// place is the district of a batch, whose rows are numbered 1 to 3,000.
func place(batch int64) (w, d int64) { return batch/districts + 1, batch%districts + 1 }

func customerRows(m *maker, batch int64) error {
	table := rng.Name("customer")
	w, d := place(batch)
	for c := int64(1); c <= customers; c++ {
		m.begin(table, uint64(w), uint64(d), uint64(c))
		m.int(c)
		m.int(d)
		m.int(w)
		m.text(8, 16)
		m.word("OE")
		last := c - 1 // the first thousand have all names
		if c > names {
			last = m.lastName.draw(&m.s)
		}
		m.field(appendLastName(m.buf, last))
		m.address()
		m.field(appendDigits(m.buf, &m.s, 16))
		m.stamp()
		if m.s.IntN(10) == 0 {
			m.word("BC")
		} else {
			m.word("GC")
		}
		m.fixed(50_000_00)
		m.fixed(m.s.Between(0, 5_000))
		m.fixed(-10_00)
		m.fixed(10_00)
		m.int(1)
		m.int(0)
		m.text(300, 500)
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

func historyRows(m *maker, batch int64) error {
	table := rng.Name("history")
	w, d := place(batch)
	for c := int64(1); c <= customers; c++ {
		m.begin(table, uint64(w), uint64(d), uint64(c))
		m.int(c)
		m.int(d)
		m.int(w)
		m.int(d)
		m.int(w)
		m.stamp()
		m.fixed(10_00)
		m.text(12, 24)
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

// order starts the row of an order and draws what it shares with its lines:
// their number, and then, from the same stream, the lines.
func (m *maker) order(table uint64, w, d, o int64) (lines int64) {
	m.begin(table, uint64(w), uint64(d), uint64(o))
	return m.s.Between(5, 15)
}

func orderRows(m *maker, batch int64) error {
	table := rng.Name("orders")
	w, d := place(batch)
	m.permute(w, d)
	for o := int64(1); o <= customers; o++ {
		lines := m.order(table, w, d, o)
		m.int(o)
		m.int(d)
		m.int(w)
		m.int(int64(m.perm[o-1]))
		m.stamp()
		if o <= delivered {
			// Apart from the lines, which go on in the stream.
			s := rng.At(m.seed, rng.Name("carrier"), uint64(w), uint64(d), uint64(o))
			m.int(s.Between(1, 10))
		} else {
			m.add(workload.Value{})
		}
		m.int(lines)
		m.int(1)
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

// permute puts the customers of a district in random order.
func (m *maker) permute(w, d int64) {
	for i := range m.perm {
		m.perm[i] = int16(i + 1)
	}
	s := rng.At(m.seed, rng.Name("permutation"), uint64(w), uint64(d))
	s.Shuffle(len(m.perm), func(i, j int) { m.perm[i], m.perm[j] = m.perm[j], m.perm[i] })
}

func newOrderRows(m *maker, batch int64) error {
	w, d := place(batch)
	for o := int64(delivered + 1); o <= customers; o++ {
		m.row = m.row[:0]
		m.int(o)
		m.int(d)
		m.int(w)
		if err := m.end(); err != nil {
			return err
		}
	}
	return nil
}

func orderLineRows(m *maker, batch int64) error {
	table := rng.Name("orders")
	w, d := place(batch)
	for o := int64(1); o <= customers; o++ {
		for n := range m.order(table, w, d, o) {
			m.row, m.buf = m.row[:0], m.buf[:0]
			m.int(o)
			m.int(d)
			m.int(w)
			m.int(n + 1)
			m.int(m.s.Between(1, items))
			m.int(w)
			if o <= delivered {
				m.stamp()
			} else {
				m.add(workload.Value{})
			}
			m.int(5)
			if o <= delivered {
				m.fixed(0)
			} else {
				m.fixed(m.s.Between(1, 9_999_99))
			}
			m.field(m.pairs.appendText(m.buf, &m.s, 24))
			if err := m.end(); err != nil {
				return err
			}
		}
	}
	return nil
}
