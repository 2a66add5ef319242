package wire

import (
	"context"
	"errors"
	"fmt"
)

// Exec runs sql, which may be several statements, and drops what rows it
// gives. Several statements without transaction control of their own are one
// transaction.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	if err := c.query(ctx, sql); err != nil {
		return err
	}
	defer c.leave()
	for first := error(nil); ; {
		kind, msg, err := c.in.next()
		if err != nil {
			return c.fail(err)
		}
		switch kind {
		case 'Z':
			if err := c.ready(msg); err != nil {
				return err
			}
			return first
		case 'E':
			err, over := c.refused(msg)
			if first == nil || over {
				first = err
			}
			if over {
				return first
			}
		case 'T', 'D', 'C', 'I', 'N', 'S', 'A':
			c.in.reset() // nothing is kept, so any number of rows fits
		default:
			return c.fail(&malformed{kind, "not expected in the answer to Exec"})
		}
	}
}

// LongQueries tunes the session for a few long queries over whole tables: each
// runs in one process, because several sessions ask at a time and a plan for
// parallel processes does some of the work in each of them; and is not
// compiled, because that takes longer here than it saves. Memory for hashing
// and sorting is a sixteenth of the buffers, 4 to 64 MiB: to spill the groups
// of a few million rows to files takes as long as reading the rows, and the
// buffers are sized to what the server may use.
func (c *Conn) LongQueries(ctx context.Context) error {
	const memory = "least(64 << 20, greatest(4 << 20, pg_size_bytes(current_setting('shared_buffers')) / 16))"
	if err := c.Exec(ctx, "SET max_parallel_workers_per_gather = 0; SET jit = off; "+
		"SELECT set_config('work_mem', "+memory+" / 1024 || 'kB', false)"); err != nil {
		return fmt.Errorf("tune a session for long queries: %w", err)
	}
	return nil
}

// query enters a call and sends sql by the simple protocol. Without an error
// the caller leaves.
func (c *Conn) query(ctx context.Context, sql string) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	if c.begin != nil {
		c.leave()
		return errors.New("a transaction that has just begun needs a prepared statement first")
	}
	c.out = closeMessage(appendText(append(c.out, 'Q', 0, 0, 0, 0), sql), 0)
	c.link.Send(c.out)
	return nil
}

// CopyIn sends the data of a COPY … FROM STDIN in the binary format: the
// header, Write with whole rows any number of times, and Finish or Abort.
// Nothing else may be done on the connection meanwhile.
type CopyIn struct{ c *Conn }

// copyHeader is the start of binary COPY data: signature, flags, and the
// length of the header's extension (documentation of COPY, Binary Format).
const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// CopyRoom is how many bytes a chunk given to CopyIn.Write must have before
// its rows: the message's own head.
const CopyRoom = 5

// CopyIn starts sql, a COPY … FROM STDIN (FORMAT binary).
func (c *Conn) CopyIn(ctx context.Context, sql string) (CopyIn, error) {
	if err := c.query(ctx, sql); err != nil {
		return CopyIn{}, err
	}
	for first := error(nil); ; {
		kind, msg, err := c.in.next()
		if err != nil {
			c.leave()
			return CopyIn{}, c.fail(err)
		}
		switch kind {
		case 'G':
			in := CopyIn{c}
			if err := in.Write(append(make([]byte, CopyRoom), copyHeader...)); err != nil {
				_ = in.Abort("the header could not be sent")
				return CopyIn{}, err
			}
			return in, nil
		case 'E':
			var over bool
			if first, over = c.refused(msg); over {
				c.leave()
				return CopyIn{}, first
			}
		case 'Z':
			c.leave()
			if err := c.ready(msg); err != nil {
				return CopyIn{}, err
			}
			if first == nil {
				first = errors.New("the statement copies nothing in")
			}
			return CopyIn{}, first
		case 'N', 'S', 'A', 'T', 'D', 'C', 'I':
		default:
			c.leave()
			return CopyIn{}, c.fail(&malformed{kind, "not expected where a copy starts"})
		}
	}
}

// Write sends a chunk, whose first CopyRoom bytes it overwrites. What the
// server finds wrong with the rows, Finish tells.
func (in CopyIn) Write(chunk []byte) error {
	chunk[0] = 'd'
	closeMessage(chunk, 0)
	if _, err := in.c.net.Write(chunk); err != nil {
		return in.c.farewell(err)
	}
	return nil
}

// farewell returns what the server said before it hung up, so that writing
// failed with err; err where it said nothing.
func (c *Conn) farewell(err error) error {
	for {
		kind, msg, end := c.in.next()
		if end != nil {
			return c.fail(err)
		}
		if kind == 'E' {
			said, _ := c.refused(msg)
			_ = c.fail(err)
			return said
		}
		c.in.reset()
	}
}

// Refused tells, without waiting, whether the server has found an error
// already; it drops what is sent then, and Finish returns the error.
func (in CopyIn) Refused() bool {
	if buf := &in.c.in; buf.r == buf.w && buf.w < len(buf.buf) {
		n, err := in.c.link.Spoke(buf.buf[buf.w:])
		if err != nil {
			return false // the next Write fails
		}
		buf.w += n
	}
	return in.c.in.r < in.c.in.w && in.c.in.buf[in.c.in.r] == 'E'
}

// Finish ends the data and returns how many rows the server took.
func (in CopyIn) Finish() (int64, error) {
	defer in.c.leave()
	if in.c.calls.Broken() != nil {
		return 0, in.c.calls.Broken()
	}
	// The trailer is a row of -1 fields.
	if err := in.Write(append(make([]byte, CopyRoom), 0xff, 0xff)); err != nil {
		return 0, err
	}
	a, err := in.end([]byte{'c', 0, 0, 0, 4})
	return a.affected, err
}

// end sends the copy's last message and reads the answer. It writes the
// ordinary way: a server that refused the rows answered long ago and will not
// answer this message, so that there is nothing to wait for after it.
func (in CopyIn) end(last []byte) (answered, error) {
	if _, err := in.c.net.Write(last); err != nil {
		return answered{}, in.c.farewell(err)
	}
	return in.c.answer(&statement{})
}

// Abort gives the copy up; the server drops its rows. why is for the server's
// log.
func (in CopyIn) Abort(why string) error {
	defer in.c.leave()
	if in.c.calls.Broken() != nil {
		return in.c.calls.Broken()
	}
	_, err := in.end(closeMessage(appendText([]byte{'f', 0, 0, 0, 0}, why), 0))
	var e *Error
	if errors.As(err, &e) && e.Code == codeQueryCanceled {
		return nil // what CopyFail asks for
	}
	if err != nil {
		return fmt.Errorf("give up a copy: %w", err)
	}
	return nil
}

// codeQueryCanceled is the SQLSTATE of a cancelled statement and of CopyFail.
const codeQueryCanceled = "57014"
