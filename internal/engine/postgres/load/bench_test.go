package load

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// benchDefinition has four equal tables of rows as an order system has them.
func benchDefinition(rows int64) (*workload.Definition, plain) {
	d := &workload.Definition{Name: "bench", Database: fmt.Sprintf("bench%d", database.Add(1))}
	var p plain
	const perBatch = 1000
	for n := range uint64(4) {
		name := fmt.Sprintf("orders%d", n)
		d.Tables = append(d.Tables, workload.Table{
			Name: name,
			Columns: []workload.Column{
				{Name: "id"}, {Name: "day"}, {Name: "customer"}, {Name: "total"}, {Name: "city"}, {Name: "note"},
			},
			Rows: workload.Source{Batches: rows / perBatch, Rows: rows, Fill: func(batch int64, emit func([]workload.Value) error) error {
				r := rng.At(1, n, uint64(batch))
				var row [6]workload.Value
				for i := range int64(perBatch) {
					row[0] = workload.Int(batch*perBatch + i + 1)
					row[1] = workload.Value{Kind: workload.Day, Int: 14304 + r.IntN(365)}
					row[2] = workload.Int(r.Between(1, 20000))
					row[3] = workload.Money(r.Between(1, 40000))
					row[4] = workload.Str(benchText[:3+r.IntN(9)])
					row[5] = workload.Str(benchText[:r.IntN(40)])
					if err := emit(row[:]); err != nil {
						return err
					}
				}
				return nil
			}},
		})
		p.before = append(p.before, "CREATE TABLE "+name+" (id integer, day date, customer integer, total numeric(12,2), city varchar(20), note text)")
	}
	return d, p
}

var benchText = []byte("the quick brown fox jumps over the lazy dog")

// BenchmarkRowsBesideRawCopy loads the same rows with Run's first stage and by
// sending bytes that were encoded beforehand, in turn, with one connection
// and with two, and reports both in rows a second: the ratio is what
// generating, encoding and fingerprinting cost beside the server's work.
func BenchmarkRowsBesideRawCopy(b *testing.B) {
	const rows = 100_000
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("connections=%d", workers), func(b *testing.B) {
			ctx := b.Context()
			d, p := benchDefinition(rows)
			l, err := newLoader(Server{Config: shared.Get(b).Config(), Workers: workers}, d, p, "postgres", engine.LoadOptions{})
			if err != nil {
				b.Fatal(err)
			}
			if err := l.makeDatabase(ctx); err != nil {
				b.Fatal(err)
			}
			c, err := l.hire(ctx)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Dismiss()
			if err := l.makeTables(ctx, c.First()); err != nil {
				b.Fatal(err)
			}
			ready := make([][][]byte, len(l.tables))
			for i, t := range l.tables {
				ready[i] = encoded(b, t)
			}
			var ours, raw []float64
			for b.Loop() {
				raw = append(raw, rate(b, 4*rows, func() error {
					return c.Each(ctx, len(l.tables), func(ctx context.Context, conn *wire.Conn, i int) error {
						return sendRaw(ctx, conn, l.tables[i], ready[i])
					})
				}))
				ours = append(ours, rate(b, 4*rows, func() error { return l.loadRows(ctx, c) }))
			}
			slices.Sort(ours)
			slices.Sort(raw)
			mine, bare := ours[len(ours)/2], raw[len(raw)/2]
			b.ReportMetric(mine, "rows/s")
			b.ReportMetric(bare, "raw-rows/s")
			b.ReportMetric(mine/bare, "ratio")
		})
	}
}

// rate runs work and returns how many of n rows it did a second.
func rate(b *testing.B, n float64, work func() error) float64 {
	b.Helper()
	began := clock.Real{}.Now()
	if err := work(); err != nil {
		b.Fatal(err)
	}
	return n / clock.Real{}.Now().Sub(began).Seconds()
}

// encoded returns the COPY messages of a table's rows.
func encoded(b *testing.B, t *table) [][]byte {
	b.Helper()
	var chunks [][]byte
	buf := make([]byte, wire.CopyRoom)
	for batch := range t.source.Rows.Batches {
		err := t.source.Rows.Fill(batch, func(row []workload.Value) (err error) {
			buf = append(buf, 0, byte(len(row)))
			for i := range row {
				if buf, err = t.columns[i].typ.Append(buf, &row[i]); err != nil {
					return err
				}
			}
			if len(buf) >= chunk {
				chunks = append(chunks, buf)
				buf = make([]byte, wire.CopyRoom)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return append(chunks, buf)
}

// sendRaw loads t with the statements that fill uses.
func sendRaw(ctx context.Context, conn *wire.Conn, t *table, chunks [][]byte) error {
	if err := conn.Exec(ctx, "BEGIN; TRUNCATE ONLY "+t.name); err != nil {
		return err
	}
	in, err := conn.CopyIn(ctx, "COPY "+t.name+" ("+t.columnList()+") FROM STDIN (FORMAT binary, FREEZE)")
	if err != nil {
		return err
	}
	for _, chunk := range chunks {
		if err := in.Write(chunk); err != nil {
			return err
		}
	}
	if _, err := in.Finish(); err != nil {
		return err
	}
	return conn.Exec(ctx, "COMMIT")
}
