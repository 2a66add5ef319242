package load

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/fingerprint"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// chunk is how many bytes of rows are sent at a time: enough to make a system
// call cheap, and little enough to stay in the processor's cache.
const chunk = 128 << 10

// table is one table while it is loaded.
type table struct {
	source  *workload.Table
	name    string // as SQL
	columns string // as SQL, in the order of the generated rows
	content fingerprint.Content
}

func newTable(source *workload.Table) *table {
	names := make([]string, len(source.Columns))
	for i, c := range source.Columns {
		names[i] = quote(strings.ToLower(c.Name))
	}
	return &table{source: source, name: quote(strings.ToLower(source.Name)), columns: strings.Join(names, ", ")}
}

// loadRows fills the tables.
func (l *loader) loadRows(ctx context.Context, c crew) error {
	order, all := bulk.Order(l.d.Tables)
	l.progress.Start(bulk.StageRows, all)
	return c.Each(ctx, len(order), func(ctx context.Context, conn *wire.Conn, i int) error {
		t := l.tables[order[i]]
		if t.source.Rows.Batches == 0 {
			return nil
		}
		fill := l.fill
		if l.server.From != "" {
			fill = l.copy
		}
		if err := fill(ctx, conn, t); err != nil {
			return fmt.Errorf("rows of table %s: %w", t.source.Name, err)
		}
		return nil
	})
}

// fill loads t in one statement. Every field is as the server's own defaults
// for such files have it: tabs between, a line a row, backslashes before what
// would mean something.
func (l *loader) fill(ctx context.Context, conn *wire.Conn, t *table) error {
	in, err := conn.LoadData(ctx, "LOAD DATA LOCAL INFILE 'rows' INTO TABLE "+t.name+" CHARACTER SET utf8mb4 ("+t.columns+")")
	if err != nil {
		return err
	}
	s := &stream{in: in, table: t, sent: l.progress.Add, buf: make([]byte, wire.FileRoom, chunk+chunk/4)}
	if err := s.batches(ctx); err != nil {
		in.Abort(err)
		return err
	}
	taken, err := in.Finish()
	if err != nil {
		return err
	}
	// A value that does not fit, or a key that is taken, is a warning here,
	// because the server can't stop a client's file half-way.
	if err := warned(ctx, conn); err != nil {
		return err
	}
	if taken != s.content.Rows {
		return fmt.Errorf("the server took %d rows of %d", taken, s.content.Rows)
	}
	t.content = s.content
	return nil
}

// copy fills t with the rows that another database has in its place, in the
// order of their key. What they are is for verify to say; here they are counted.
func (l *loader) copy(ctx context.Context, conn *wire.Conn, t *table) error {
	r, err := query(ctx, conn, "INSERT INTO "+t.name+" ("+t.columns+") SELECT "+t.columns+" FROM "+quote(l.server.From)+"."+t.name)
	if err != nil {
		return err
	}
	if err := warned(ctx, conn); err != nil {
		return err
	}
	t.content.Rows = r.Affected
	l.progress.Add(r.Affected)
	return nil
}

// warned turns the first warning of the last statement into an error.
func warned(ctx context.Context, conn *wire.Conn) error {
	n, err := query(ctx, conn, "SELECT @@warning_count")
	if err != nil || n.Values[0].Int == 0 {
		return err
	}
	r, err := query(ctx, conn, "SHOW WARNINGS LIMIT 1")
	if err != nil || r.Rows() == 0 {
		return err
	}
	return fmt.Errorf("%s (error %d)", r.Values[2].Str, r.Values[1].Int)
}

// stream turns a table's batches into lines.
type stream struct {
	in      *wire.InFile
	table   *table
	sent    func(rows int64)
	buf     []byte // a packet in the making
	flushed int64  // rows sent
	content fingerprint.Content
}

// batches sends every batch.
func (s *stream) batches(ctx context.Context) error {
	source := &s.table.source.Rows
	for batch := range source.Batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := source.Fill(batch, s.emit); err != nil {
			return fmt.Errorf("batch %d: %w", batch, err)
		}
	}
	return s.flush()
}

// emit appends one row.
func (s *stream) emit(row []workload.Value) error {
	columns := s.table.source.Columns
	if len(row) != len(columns) {
		return fmt.Errorf("a row has %d values, the table %d columns", len(row), len(columns))
	}
	for i := range row {
		var err error
		if s.buf, err = appendField(s.buf, &columns[i].Type, &row[i]); err != nil {
			return fmt.Errorf("row %d, column %s: %w", s.content.Rows+1, columns[i].Name, err)
		}
		s.buf = append(s.buf, '\t')
	}
	s.buf[len(s.buf)-1] = '\n'
	s.content.Add(row)
	if len(s.buf) < chunk {
		return nil
	}
	return s.flush()
}

// flush sends the rows in the buffer.
func (s *stream) flush() error {
	if len(s.buf) == wire.FileRoom {
		return nil
	}
	if err := s.in.Write(s.buf); err != nil {
		return err
	}
	s.buf = s.buf[:wire.FileRoom]
	s.sent(s.content.Rows - s.flushed)
	s.flushed = s.content.Rows
	return nil
}

// appendField appends v as a field of a column of type t.
func appendField(dst []byte, t *workload.Type, v *workload.Value) ([]byte, error) {
	switch v.Kind {
	case workload.Null:
		return append(dst, '\\', 'N'), nil
	case workload.Integer, workload.Bit:
		return strconv.AppendInt(dst, v.Int, 10), nil
	case workload.Fixed:
		if t.Base != workload.Decimal || t.Scale > 18 {
			return dst, fmt.Errorf("a fixed-point number does not go into a column that is no decimal of at most 18 places")
		}
		return wire.AppendFixed(dst, v.Int, t.Scale), nil
	case workload.String:
		return appendEscaped(dst, v.Str), nil
	case workload.Day:
		return wire.AppendDay(dst, v.Int)
	case workload.Instant:
		return wire.AppendInstant(dst, v.Int)
	}
	return dst, fmt.Errorf("a value of unknown kind %d", v.Kind)
}

// appendEscaped appends b with a backslash before what would end a field or a
// line, and before backslashes.
func appendEscaped(dst, b []byte) []byte {
	for _, c := range b {
		switch c {
		case '\t', '\n', '\\':
			dst = append(dst, '\\', c)
		case 0:
			dst = append(dst, '\\', '0')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
