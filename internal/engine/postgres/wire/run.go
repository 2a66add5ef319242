package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/workload"
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
	if c.begin != nil {
		if c.out, err = c.begin.request(c.out, nil); err != nil {
			return workload.Result{}, err
		}
	}
	if c.out, err = st.request(c.out, args); err != nil {
		return workload.Result{}, err
	}
	c.begin = nil
	c.out = append(c.out, syncMessage...)
	c.link.Send(c.out)
	a, err := c.answer(st)
	if err != nil {
		return workload.Result{}, fmt.Errorf("statement %q: %w", st.name, err)
	}
	return workload.Result{Affected: a.affected, Columns: len(st.columns), Values: c.values}, nil
}

// answered is what the server said to one request beside its rows.
type answered struct {
	affected   int64
	rolledBack bool // the last command's tag is ROLLBACK
}

// answer reads until the server is ready again, and the rows into c.values.
func (c *Conn) answer(st *statement) (answered, error) {
	var (
		a     answered
		first error
	)
	c.values = c.values[:0]
	for {
		kind, msg, err := c.in.next()
		if err != nil {
			return a, c.fail(err)
		}
		switch kind {
		case 'D':
			if first == nil {
				first = c.row(st, msg)
			}
		case 'C':
			a = parseTag(msg)
		case 'Z':
			if err := c.ready(msg); err != nil {
				return a, err
			}
			return a, first
		case 'E':
			err, over := c.refused(msg)
			if first == nil || over {
				first = err
			}
			if over {
				return a, first
			}
		case '2', 'I', 'N', 'S', 'A': // bound, empty statement, and what may come any time
		default:
			// Copying through Run would need data that Run does not have.
			return a, c.fail(&malformed{kind, "not expected in the answer to a statement"})
		}
	}
}

// row appends a DataRow's values.
func (c *Conn) row(st *statement, msg []byte) error {
	n := len(st.columns)
	if len(msg) < 2 || int(msg[0])<<8|int(msg[1]) != n {
		return c.fail(&malformed{'D', "its number of columns is not the statement's"})
	}
	msg = msg[2:]
	at := len(c.values)
	c.values = slices.Grow(c.values, n)[:at+n]
	for i := range n {
		if len(msg) < 4 {
			return c.fail(&malformed{'D', "it ends within a column"})
		}
		size := int(int32(uint32(msg[0])<<24 | uint32(msg[1])<<16 | uint32(msg[2])<<8 | uint32(msg[3])))
		msg = msg[4:]
		if size < 0 {
			c.values[at+i] = workload.Value{}
			continue
		}
		if size > len(msg) {
			return c.fail(&malformed{'D', "it ends within a column"})
		}
		if err := st.columns[i].Decode(msg[:size:size], &c.values[at+i]); err != nil {
			return fmt.Errorf("column %q: %w", st.labels[i], err)
		}
		msg = msg[size:]
	}
	return nil
}

// ready takes a ReadyForQuery.
func (c *Conn) ready(msg []byte) error {
	if len(msg) != 1 {
		return c.fail(&malformed{'Z', "it has no transaction status"})
	}
	c.txStatus = msg[0]
	return nil
}

// refused reads an ErrorResponse; over tells that the server hangs up, so
// that nothing more will come.
func (c *Conn) refused(msg []byte) (err error, over bool) {
	e, err := parseError(msg)
	if err != nil {
		return c.fail(err), true
	}
	if e.Severity == "FATAL" || e.Severity == "PANIC" {
		_ = c.fail(e) // for later calls; this one tells what the server said
		return e, true
	}
	return e, false
}

// parseTag reads a CommandComplete: "UPDATE 3", "INSERT 0 1", "SELECT 5",
// "COMMIT". Rows that were only read are not affected rows.
func parseTag(msg []byte) answered {
	if len(msg) == 0 {
		return answered{}
	}
	tag := msg[:len(msg)-1]
	switch {
	case len(tag) == 0 || tag[0] == 'S' || tag[0] == 'F': // SELECT, FETCH
		return answered{}
	case string(tag) == "ROLLBACK":
		return answered{rolledBack: true}
	}
	var n, unit int64 = 0, 1
	for i := len(tag) - 1; i >= 0 && tag[i] >= '0' && tag[i] <= '9' && unit < 1e18; i-- {
		n += int64(tag[i]-'0') * unit
		unit *= 10
	}
	return answered{affected: n}
}

// errCommitFailed is what Commit gives where a statement had failed.
var errCommitFailed = errors.New("the transaction was rolled back, because a statement in it had failed")

// Tx implements workload.Conn.
//
// Begin costs no round trip: it goes out with the transaction's first
// statement, as drivers do that pipeline. In a transaction that a statement's
// error ended, Begin first rolls that back; in one that still runs it is an
// error. Commit in a failed transaction rolls back, as the server does, and
// is an error. Commit and Rollback where no statement came since Begin, and
// Rollback outside a transaction, have nothing to do and do nothing.
func (c *Conn) Tx(ctx context.Context, op workload.TxOp) error {
	if int(op) >= len(c.control) {
		return fmt.Errorf("unknown transaction step %d", op)
	}
	if op != workload.Commit && op != workload.Rollback {
		if c.begin != nil || c.txStatus == 'T' {
			return fmt.Errorf("%s: a transaction is open already", c.control[op].name)
		}
		if c.txStatus == 'E' {
			if err := c.endTx(ctx, workload.Rollback); err != nil {
				return err
			}
		}
		if c.calls.Broken() != nil {
			return c.calls.Broken()
		}
		c.begin = c.control[op]
		return nil
	}
	if c.begin != nil {
		c.begin = nil
		return nil
	}
	if c.txStatus == 'I' && op == workload.Rollback {
		return nil
	}
	if c.txStatus == 'I' {
		return errors.New("commit: no transaction is open")
	}
	return c.endTx(ctx, op)
}

// endTx sends COMMIT or ROLLBACK.
func (c *Conn) endTx(ctx context.Context, op workload.TxOp) error {
	st := c.control[op]
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	var err error
	if c.out, err = st.request(c.out, nil); err != nil {
		return err
	}
	c.out = append(c.out, syncMessage...)
	c.link.Send(c.out)
	a, err := c.answer(st)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", st.name, err)
	case a.rolledBack && op == workload.Commit:
		return fmt.Errorf("%s: %w", st.name, errCommitFailed)
	}
	return nil
}
