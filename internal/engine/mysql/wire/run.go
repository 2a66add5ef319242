package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Bits of the server's status.
const (
	inTransaction = 0x0001
	moreResults   = 0x0008
)

// Run implements workload.Conn. In the steady state it allocates nothing: it
// is one write, one wait and usually one read. The Result aliases buffers
// that the next call on c overwrites.
//
// An *Error leaves the connection usable, but inside a transaction only for
// Rollback. After an error that Classify calls Connection only Close works.
func (c *Conn) Run(ctx context.Context, s *workload.Statement, args []workload.Value) (workload.Result, error) {
	st, err := c.statementOf(ctx, s)
	if err != nil {
		return workload.Result{}, err
	}
	if err := c.enter(ctx); err != nil {
		return workload.Result{}, err
	}
	defer c.leave()
	begin := c.control
	for _, packet := range begin {
		c.out = append(c.out, packet...)
	}
	if c.out, err = st.request(c.out, args); err != nil {
		return workload.Result{}, err
	}
	c.control = nil
	c.link.Send(c.out)
	if err := c.begun(begin); err != nil {
		return workload.Result{}, err
	}
	affected, err := c.answer(st)
	if err != nil {
		c.failed = c.open
		return workload.Result{}, fmt.Errorf("statement %q: %w", st.name, err)
	}
	return workload.Result{Affected: affected, Columns: len(st.columns), Values: c.values}, nil
}

// begun reads the answers to the packets that begin a transaction. The
// statement's own answer follows in any case.
func (c *Conn) begun(packets [][]byte) error {
	var first error
	for range packets {
		_, err := c.answer(nil)
		if c.calls.Broken() != nil {
			return err
		}
		if err != nil && first == nil {
			first = fmt.Errorf("begin a transaction: %w", err)
		}
	}
	if len(packets) == 0 {
		return nil
	}
	c.open, c.failed = true, first != nil
	if first == nil {
		return nil
	}
	_, err := c.answer(nil)
	if c.calls.Broken() != nil {
		return err
	}
	return first
}

// answer reads what the server says to one command, and the rows into c.values;
// st is nil for a command whose rows nobody wants. It returns how many rows
// were changed.
func (c *Conn) answer(st *statement) (affected int64, err error) {
	var first error // of a row that can't be read; the rest is read on
	for {
		msg, err := c.in.next()
		if err != nil {
			return 0, c.fail(err)
		}
		var status int
		switch msg[0] {
		case 0xff:
			return 0, c.refused(msg)
		case 0xfb:
			return 0, c.fail(&malformed{"it asks for a file"})
		case 0x00:
			affected, status, err = parseOK(msg)
		default:
			status, err = c.rows(st, msg)
		}
		if c.calls.Broken() != nil {
			return 0, c.calls.Broken()
		}
		if first == nil {
			first = err
		}
		if status&moreResults == 0 {
			return affected, first
		}
	}
}

// ok takes an OK packet.
func (c *Conn) ok(msg []byte) error {
	_, _, err := parseOK(msg)
	return err
}

// parseOK reads an OK packet: rows changed, and the server's status.
func parseOK(msg []byte) (affected int64, status int, err error) {
	b := body{b: msg[1:]}
	affected = int64(b.length())
	b.length() // the last number given to an identity column
	status = b.uint16()
	if b.bad {
		return 0, 0, &malformed{"an OK packet that ends too early"}
	}
	return affected, status, nil
}

// refused reads an error.
func (c *Conn) refused(msg []byte) error {
	err := parseError(msg)
	if over(err) {
		_ = c.fail(err) // for later calls; this one tells what the server said
	}
	return err
}

// errTwice says that a procedure returned more than it may.
var errTwice = errors.New("the call returns more than one set of rows")

// rows reads a set of rows whose number of columns is in msg, and returns the
// status behind it.
func (c *Conn) rows(st *statement, msg []byte) (status int, err error) {
	b := body{b: msg}
	n := b.length()
	described := true
	if c.cached && len(b.b) > 0 {
		described = b.byte() == 1
	}
	if b.bad || n < 1 || n > 4096 {
		return 0, c.fail(&malformed{"the number of columns"})
	}
	switch {
	case st == nil:
		for range n {
			if !described {
				break
			}
			if _, err := c.in.next(); err != nil {
				return 0, c.fail(err)
			}
		}
	case described:
		if err := c.describe(st, n); err != nil {
			return 0, err
		}
	case n != len(st.columns):
		return 0, c.fail(&malformed{"columns that were never described"})
	}
	var first error
	if c.results++; c.results > 1 && st != nil {
		first = errTwice
	}
	for {
		msg, err := c.in.next()
		switch {
		case err != nil:
			return 0, c.fail(err)
		case msg[0] == 0xfe && len(msg) < maxPacket:
			_, status, err := parseOK(msg)
			if err != nil {
				return 0, c.fail(err)
			}
			return status, first
		case msg[0] == 0xff:
			return 0, c.refused(msg)
		case st != nil && first == nil:
			first = c.row(st, msg)
		}
		if c.calls.Broken() != nil {
			return 0, c.calls.Broken()
		}
	}
}

// row appends a row's values (Binary Protocol Resultset Row).
func (c *Conn) row(st *statement, msg []byte) error {
	n := len(st.columns)
	b := body{b: msg}
	b.take(1)
	nulls := b.take((n + 9) / 8)
	if b.bad {
		return c.fail(&malformed{"a row that ends too early"})
	}
	at := len(c.values)
	c.values = slices.Grow(c.values, n)[:at+n]
	for i := range n {
		v := &c.values[at+i]
		*v = workload.Value{}
		if nulls[(i+2)/8]&(1<<((i+2)%8)) != 0 {
			continue
		}
		if err := st.columns[i].decode(&b, v); err != nil {
			return fmt.Errorf("column %q: %w", st.columns[i].label, err)
		}
	}
	if b.bad {
		return c.fail(&malformed{"a row that ends too early"})
	}
	return nil
}

// query makes the packet of a text command.
func query(sql string) []byte {
	packet, err := closePacket(append(append(openPacket(nil, 0), comQuery), sql...), 0)
	if err != nil {
		panic("wire: " + err.Error()) // our own short texts
	}
	return packet
}

// isolation finds the session's own isolation level and makes the packets that
// begin a transaction: only a level that differs needs a SET TRANSACTION, for
// the next transaction alone.
func (c *Conn) isolation(ctx context.Context) error {
	ask := workload.Statement{Index: -1, Name: "isolation"}
	name := "@@transaction_isolation"
	if c.mariaDB {
		name = "@@tx_isolation" // the only name before release 11.1, and good after
	}
	if err := c.Prepare(ctx, Prepared{Index: -1, Name: ask.Name, Text: sqltext.Text{SQL: "SELECT " + name}}); err != nil {
		return err
	}
	r, err := c.Run(ctx, &ask, nil)
	if err != nil {
		return err
	}
	levels := [...]struct {
		op         workload.TxOp
		name, text string
	}{
		{workload.BeginReadCommitted, "READ-COMMITTED", "READ COMMITTED"},
		{workload.BeginRepeatableRead, "REPEATABLE-READ", "REPEATABLE READ"},
		{workload.BeginSerializable, "SERIALIZABLE", "SERIALIZABLE"},
	}
	begin := query("BEGIN")
	c.controls[workload.Begin] = [][]byte{begin}
	for _, l := range levels {
		c.controls[l.op] = [][]byte{query("SET TRANSACTION ISOLATION LEVEL " + l.text), begin}
		if string(r.Values[0].Str) == l.name {
			c.controls[l.op] = c.controls[l.op][1:]
		}
	}
	return nil
}

// errCommitFailed is what Commit gives where a statement had failed.
var errCommitFailed = errors.New("the transaction was rolled back, because a statement in it had failed")

// Tx implements workload.Conn.
//
// Begin costs no round trip: it goes out with the transaction's first
// statement. Commit in a transaction in which a statement has failed rolls back
// and is an error: InnoDB itself has undone the whole transaction after a
// deadlock and the statement alone after most other errors, without telling
// which, and a part of a transaction must never count as one. Commit and
// Rollback where no statement came since Begin, and Rollback outside a
// transaction, have nothing to do and do nothing.
func (c *Conn) Tx(ctx context.Context, op workload.TxOp) error {
	switch {
	case op > workload.Rollback:
		return fmt.Errorf("unknown transaction step %d", op)
	case op <= workload.BeginSerializable:
		return c.beginTx(ctx, op)
	case c.control != nil:
		c.control = nil
		return nil
	case !c.open && op == workload.Rollback:
		return nil
	case !c.open:
		return errors.New("commit: no transaction is open")
	case op == workload.Commit && c.failed:
		if err := c.Exec(ctx, "ROLLBACK"); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		c.open, c.failed = false, false
		return fmt.Errorf("commit: %w", errCommitFailed)
	}
	text := "COMMIT"
	if op == workload.Rollback {
		text = "ROLLBACK"
	}
	if err := c.Exec(ctx, text); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	c.open, c.failed = false, false
	return nil
}

func (c *Conn) beginTx(ctx context.Context, op workload.TxOp) error {
	if c.control != nil || c.open && !c.failed {
		return errors.New("begin: a transaction is open already")
	}
	if c.open {
		if err := c.Tx(ctx, workload.Rollback); err != nil {
			return err
		}
	}
	if c.calls.Broken() != nil {
		return c.calls.Broken()
	}
	c.control = c.controls[op]
	return nil
}

// Exec runs one or several statements, as text, whose rows nobody wants.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	var err error
	if c.out, err = closePacket(append(append(openPacket(c.out, 0), comQuery), sql...), 0); err != nil {
		return err
	}
	c.link.Send(c.out)
	_, err = c.answer(nil)
	return err
}

// LongQueries tunes the session for a few long queries over whole tables, as
// checks are. MariaDB may work a grouped subquery out anew for each row of the
// outer table ("split materialized"), and reckons that wrongly where the
// subquery holds another: a check of Order-Entry that takes a second without
// takes hours with it.
func (c *Conn) LongQueries(ctx context.Context) error {
	if !c.mariaDB {
		return nil
	}
	return c.Exec(ctx, "SET SESSION optimizer_switch = 'split_materialized=off'")
}
