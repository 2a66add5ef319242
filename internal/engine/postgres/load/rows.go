package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/fingerprint"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// chunk is how many bytes of rows are sent at a time: enough to make a system
// call cheap, and little enough to stay in the processor's cache.
const chunk = 128 << 10

// loadRows fills the tables.
func (l *loader) loadRows(ctx context.Context, c crew) error {
	order, all := bulk.Order(l.d.Tables)
	l.progress.Start(bulk.StageRows, all)
	return c.Each(ctx, len(order), func(ctx context.Context, conn *wire.Conn, i int) error {
		t := l.tables[order[i]]
		if t.source.Rows.Batches == 0 {
			return nil
		}
		if err := l.fill(ctx, conn, t); err != nil {
			return fmt.Errorf("rows of table %s: %w", t.source.Name, err)
		}
		return nil
	})
}

// fill loads t in one transaction: see the package comment for why.
func (l *loader) fill(ctx context.Context, conn *wire.Conn, t *table) error {
	if err := conn.Exec(ctx, "BEGIN; TRUNCATE ONLY "+t.name); err != nil {
		return err
	}
	in, err := conn.CopyIn(ctx, "COPY "+t.name+" ("+t.columnList()+") FROM STDIN (FORMAT binary, FREEZE)")
	if err != nil {
		return err
	}
	s := &stream{in: in, table: t, sent: l.progress.Add, buf: make([]byte, wire.CopyRoom, chunk+chunk/4)}
	if err := s.batches(ctx); err != nil && !errors.Is(err, errRefused) {
		// What comes of this is of no interest: nothing is committed.
		_ = in.Abort("the client failed")
		return err
	}
	taken, err := in.Finish()
	if err != nil {
		return s.blame(err)
	}
	if taken != s.content.Rows {
		return fmt.Errorf("the server took %d rows of %d", taken, s.content.Rows)
	}
	if err := conn.Exec(ctx, "COMMIT"); err != nil {
		return err
	}
	t.content = s.content
	return nil
}

// stream turns a table's batches into COPY data.
type stream struct {
	in      wire.CopyIn
	table   *table
	sent    func(rows int64)
	buf     []byte // a message in the making
	flushed int64  // rows sent
	content fingerprint.Content
	starts  []int64 // the first row of each batch, from 0
}

// errRefused says that the server has an error to tell.
var errRefused = errors.New("refused")

// batches sends every batch.
func (s *stream) batches(ctx context.Context) error {
	source := &s.table.source.Rows
	for batch := range source.Batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.starts = append(s.starts, s.content.Rows)
		err := source.Fill(batch, s.emit)
		if errors.Is(err, errRefused) {
			return err
		}
		if err != nil {
			return fmt.Errorf("batch %d: %w", batch, err)
		}
	}
	return s.flush()
}

// emit appends one row (documentation of COPY, Binary Format, Tuples).
func (s *stream) emit(row []workload.Value) error {
	columns := s.table.columns
	if len(row) != len(columns) {
		return fmt.Errorf("a row has %d values, the table %d columns", len(row), len(columns))
	}
	buf := binary.BigEndian.AppendUint16(s.buf, uint16(len(columns)))
	for i := range row {
		var err error
		if buf, err = columns[i].typ.Append(buf, &row[i]); err != nil {
			return fmt.Errorf("row %d, column %s: %w", s.content.Rows+1, s.table.source.Columns[i].Name, err)
		}
	}
	s.buf = buf
	s.content.Add(row)
	if len(buf) < chunk {
		return nil
	}
	return s.flush()
}

// flush sends the rows in the buffer.
func (s *stream) flush() error {
	if len(s.buf) == wire.CopyRoom {
		return nil
	}
	if err := s.in.Write(s.buf); err != nil {
		return err
	}
	s.buf = s.buf[:wire.CopyRoom]
	s.sent(s.content.Rows - s.flushed)
	s.flushed = s.content.Rows
	if s.in.Refused() {
		return errRefused
	}
	return nil
}

// blame adds to an error of the server which batch it is about.
func (s *stream) blame(err error) error {
	var e *wire.Error
	if !errors.As(err, &e) {
		return err
	}
	line, ok := lineIn(e.Where)
	if !ok {
		return err
	}
	batch, found := slices.BinarySearch(s.starts, line-1)
	if !found {
		batch--
	}
	// Empty batches start where the next one does.
	for batch+1 < len(s.starts) && s.starts[batch+1] == line-1 {
		batch++
	}
	return fmt.Errorf("batch %d, row %d of it: %w", batch, line-s.starts[batch], err)
}

// lineIn finds the line in the context that the server gives with an error of
// COPY: "COPY orders, line 7, column total".
func lineIn(where string) (int64, bool) {
	_, rest, ok := strings.Cut(where, ", line ")
	if !ok || !strings.HasPrefix(where, "COPY ") {
		return 0, false
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	n, err := strconv.ParseInt(rest[:digits], 10, 64)
	return n, err == nil && n > 0
}
