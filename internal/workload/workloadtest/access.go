package workloadtest

import (
	"context"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// meter is a connection that counts what a transaction does.
type meter struct {
	workload.Conn
	tables                   map[*workload.Statement]tablesOf // of what was run
	trips, statements, bytes float64
	reads, writes            map[string]float64 // statements by table
}

var (
	readTables  = regexp.MustCompile(`(?i)\b(?:from|join)\s+([a-z_]+)`)
	writeTables = regexp.MustCompile(`(?i)\b(?:insert\s+into|delete\s+from|update)\s+([a-z_]+)`)
)

// tablesOf are the tables that a statement names, each once.
type tablesOf struct{ read, written []string }

// named finds the tables of s.
func named(s *workload.Statement) (out tablesOf) {
	for _, t := range writeTables.FindAllStringSubmatch(s.Text, -1) {
		out.written = append(out.written, t[1])
	}
	for _, t := range readTables.FindAllStringSubmatch(s.Text, -1) {
		if !slices.Contains(out.written, t[1]) && !slices.Contains(out.read, t[1]) {
			out.read = append(out.read, t[1])
		}
	}
	return out
}

// Run implements workload.Conn.
func (m *meter) Run(ctx context.Context, s *workload.Statement, args []workload.Value) (workload.Result, error) {
	m.trips++
	m.statements++
	m.bytes += workload.MessageBytes
	for _, v := range args {
		m.bytes += v.Bytes()
	}
	tables, seen := m.tables[s]
	if !seen {
		tables = named(s)
		m.tables[s] = tables
	}
	for _, t := range tables.read {
		m.reads[t]++
	}
	for _, t := range tables.written {
		m.writes[t]++
	}
	return m.Conn.Run(ctx, s, args)
}

// Tx implements workload.Conn.
func (m *meter) Tx(ctx context.Context, op workload.TxOp) error {
	m.trips++
	m.bytes += workload.MessageBytes
	return m.Conn.Tx(ctx, op)
}

// near says whether a mean that was counted is that which is stated: within an
// eighth, and a little for what is rare.
func near(counted, stated float64) bool { return math.Abs(counted-stated) <= 0.05+stated/8 }

// access plays the real transactions and compares what they do with what the
// workload states for models: so the two can't drift apart. Where statements are
// sent one by one, their tables and the rows that they write are compared as
// well; procedures do the same behind one request.
func (s suite) access(t *testing.T) {
	d := s.define(t)
	if len(d.Access) != len(d.Transactions) {
		t.Fatalf("%d types of transactions, and %d stated", len(d.Transactions), len(d.Access))
	}
	called := slices.ContainsFunc(d.Statements, func(st *workload.Statement) bool { return st.Call != "" })
	counts := make([]float64, len(d.Transactions))
	meters := make([]*meter, len(d.Transactions))
	p := s.player(d, 5)
	for i := range meters {
		meters[i] = &meter{Conn: p.conn, tables: map[*workload.Statement]tablesOf{}, reads: map[string]float64{}, writes: map[string]float64{}}
	}
	const steps = 10_000
	for range steps {
		st := p.user.Next()
		i := st.Transaction.Index
		status, err := st.Transaction.Exec(t.Context(), meters[i], st.Input)
		if err != nil {
			t.Fatalf("%s: %v", st.Transaction.Name, err)
		}
		p.user.Done(workload.Outcome{Status: status})
		counts[i]++
	}
	total := 0.0
	for _, n := range counts {
		total += n
	}
	weights := 0.0
	for _, a := range d.Access {
		weights += a.Weight
	}
	for i, tx := range d.Transactions {
		a, m, n := d.Access[i], meters[i], counts[i]
		// Of what a small part of the work does nothing is said.
		if want := a.Weight / weights; math.Abs(n/total-want) > 0.01+want/8 {
			t.Errorf("%s is %.2f %% of the work, stated %.2f %%", tx.Name, 100*n/total, 100*want)
		}
		if n < 50 {
			continue
		}
		if !near(m.trips/n, a.RoundTrips) {
			t.Errorf("%s takes %.2f round trips, stated %.2f", tx.Name, m.trips/n, a.RoundTrips)
		}
		if got := m.bytes / n; math.Abs(got-a.RequestBytes) > 10+0.15*got {
			t.Errorf("%s sends %.0f bytes, stated %.0f", tx.Name, got, a.RequestBytes)
		}
		if !called {
			s.tablesTouched(t, d, tx, a, m, n)
		}
	}
	s.accessed(t, d)
}

// tablesTouched compares statements and the rows of each table.
func (s suite) tablesTouched(t *testing.T, d *workload.Definition, tx *workload.Transaction, a workload.Access, m *meter, n float64) {
	if !near(m.statements/n, a.Statements) {
		t.Errorf("%s executes %.2f statements, stated %.2f", tx.Name, m.statements/n, a.Statements)
	}
	const seldom = 0.15 // as often, neither side need tell
	for _, table := range d.Tables {
		finds, written := 0.0, 0.0
		for _, x := range a.Tables {
			if x.Table == table.Name {
				finds += x.Finds
				written += x.Inserts + x.Updates + x.Deletes
			}
		}
		touched := (m.reads[table.Name] + m.writes[table.Name]) / n
		if (finds+written > seldom) != (touched > 0) && max(finds+written, touched) > seldom {
			t.Errorf("%s touches %s %.2f times, stated %.2f finds and %.2f rows written", tx.Name, table.Name, touched, finds, written)
		}
		// A statement may write several rows, which only the database counts.
		if calls := m.writes[table.Name] / n; calls > written+0.1+written/8 || written > seldom && calls == 0 {
			t.Errorf("%s writes %s by %.2f statements, stated %.2f rows", tx.Name, table.Name, calls, written)
		}
	}
}

// accessed sees that what is stated fits the schema and itself.
func (s suite) accessed(t *testing.T, d *workload.Definition) {
	for i, a := range d.Access {
		name := d.Transactions[i].Name
		writes := 0.0
		for _, x := range a.Tables {
			table, ok := d.Table(x.Table)
			if !ok {
				t.Errorf("%s touches table %q, which there is not", name, x.Table)
				continue
			}
			if _, ok := table.Keys()[x.Index]; !ok && (x.Index != "" || x.Finds > 0) {
				t.Errorf("%s finds rows of %s by index %q, which there is not", name, x.Table, x.Index)
			}
			for _, v := range []float64{x.Finds, x.Rows, x.Inserts, x.Updates, x.Deletes, x.HotPages, x.HotAccesses} {
				if !(v >= 0 && v < 1e9) {
					t.Errorf("%s touches %s %g times", name, x.Table, v)
				}
			}
			writes += x.Inserts + x.Updates + x.Deletes
		}
		if d.Transactions[i].ReadOnly != (writes == 0) && a.Weight > 0 {
			t.Errorf("%s is read-only: %v, and writes %g rows", name, d.Transactions[i].ReadOnly, writes)
		}
		if log := d.LogBytes(a); (log > 0) != (writes > 0) {
			t.Errorf("%s writes %g rows and %g bytes of the log", name, writes, log)
		}
	}
}
