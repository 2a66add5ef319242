package wire

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// statement is a prepared statement with its request made up in advance:
// everything but the arguments.
type statement struct {
	name    string              // for people
	sql     string              // as prepared
	server  string              // its name on the server
	source  *workload.Statement // what byIndex knows it by; nil until its first use
	params  []Type
	columns []Type
	labels  []string // names of the columns, for errors
	head    []byte   // Bind up to the arguments
	tail    []byte   // the rest of Bind, and Execute
}

// maxParams is how many parameters the protocol can name.
const maxParams = 1<<16 - 1

// Prepare prepares p, or replaces the statement of its index and name.
func (c *Conn) Prepare(ctx context.Context, p Prepared) error {
	return c.prepareAll(ctx, []Prepared{p})
}

// prepareAll prepares ps in one round trip.
func (c *Conn) prepareAll(ctx context.Context, ps []Prepared) error {
	made := make([]*statement, len(ps))
	for i, p := range ps {
		made[i] = &statement{name: p.Name, sql: p.SQL, server: "s" + strconv.Itoa(c.adhoc)}
		c.adhoc++
	}
	if err := c.describe(ctx, made); err != nil {
		return err
	}
	for i, p := range ps {
		if p.Index >= 0 {
			for len(c.byIndex) <= p.Index {
				c.byIndex = append(c.byIndex, nil)
			}
			c.byIndex[p.Index] = made[i]
		}
		c.named[p.Name] = made[i]
	}
	return nil
}

// prepareControl prepares what Tx sends.
func (c *Conn) prepareControl(ctx context.Context) error {
	texts := [...]string{
		workload.Begin:               "BEGIN",
		workload.BeginReadCommitted:  "BEGIN ISOLATION LEVEL READ COMMITTED",
		workload.BeginRepeatableRead: "BEGIN ISOLATION LEVEL REPEATABLE READ",
		workload.BeginSerializable:   "BEGIN ISOLATION LEVEL SERIALIZABLE",
		workload.Commit:              "COMMIT",
		workload.Rollback:            "ROLLBACK",
	}
	for op, sql := range texts {
		c.control[op] = &statement{name: sql, sql: sql, server: "t" + strconv.Itoa(op)}
	}
	return c.describe(ctx, c.control[:])
}

// statementOf finds what s was prepared as, and prepares it where it was not.
func (c *Conn) statementOf(ctx context.Context, s *workload.Statement) (*statement, error) {
	if i := uint(s.Index); i < uint(len(c.byIndex)) {
		if st := c.byIndex[i]; st != nil && st.source == s {
			return st, nil
		}
	}
	if st := c.known[s]; st != nil {
		return st, nil
	}
	// Checks number their statements apart, so that an index says something
	// only together with the name.
	if i := uint(s.Index); i < uint(len(c.byIndex)) {
		if st := c.byIndex[i]; st != nil && st.name == s.Name {
			st.source = s
			return st, nil
		}
	}
	if st := c.named[s.Name]; st != nil && s.Name != "" {
		c.known[s] = st
		return st, nil
	}
	if c.render == nil {
		return nil, fmt.Errorf("statement %q was not prepared", s.Name)
	}
	sql, err := c.render(s)
	if err != nil {
		return nil, fmt.Errorf("statement %q: %w", s.Name, err)
	}
	st := &statement{name: s.Name, sql: sql, server: "s" + strconv.Itoa(c.adhoc)}
	c.adhoc++
	if err := c.describe(ctx, []*statement{st}); err != nil {
		return nil, err
	}
	c.known[s] = st
	return st, nil
}

// describe parses and describes ss on the server and fills them in.
func (c *Conn) describe(ctx context.Context, ss []*statement) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	for _, s := range ss {
		at := len(c.out)
		c.out = append(c.out, 'P', 0, 0, 0, 0)
		c.out = appendText(appendText(c.out, s.server), s.sql)
		c.out = closeMessage(append(c.out, 0, 0), at) // the types are the server's to find
		at = len(c.out)
		c.out = append(c.out, 'D', 0, 0, 0, 0, 'S')
		c.out = closeMessage(appendText(c.out, s.server), at)
	}
	c.out = append(c.out, syncMessage...)
	c.link.Send(c.out)
	return c.described(ss)
}

// described reads the answer to describe's request.
func (c *Conn) described(ss []*statement) error {
	var first error
	for i := 0; ; {
		kind, msg, err := c.in.next()
		if err != nil {
			return c.fail(err)
		}
		switch kind {
		case 'Z':
			if err := c.ready(msg); err != nil {
				return err
			}
			if first == nil && i < len(ss) {
				return c.fail(&malformed{kind, "not every statement was described"})
			}
			return first
		case 'E':
			err, over := c.refused(msg)
			if i < len(ss) {
				err = fmt.Errorf("prepare statement %q: %w", ss[i].name, err)
			}
			if first = err; over {
				return first
			}
		case 't', 'T', 'n':
			if i == len(ss) {
				return c.fail(&malformed{kind, "more descriptions than statements"})
			}
			if kind == 't' {
				err = ss[i].setParams(msg)
			} else {
				err = ss[i].setColumns(kind, msg)
				i++
			}
			if err != nil {
				return c.fail(err)
			}
		case '1', 'N', 'S', 'A':
		default:
			return c.fail(&malformed{kind, "not expected while preparing"})
		}
	}
}

// setParams takes the types from a ParameterDescription.
func (s *statement) setParams(msg []byte) error {
	b := body{b: msg}
	n := b.int16() & maxParams
	if 4*n != len(b.b) {
		return &malformed{'t', "its length does not fit the number of parameters"}
	}
	s.params = make([]Type, n)
	for i := range s.params {
		s.params[i] = TypeOf(b.uint32(), -1)
	}
	return nil
}

// setColumns takes the types from a RowDescription, or none from NoData, and
// makes the request up.
func (s *statement) setColumns(kind byte, msg []byte) error {
	if kind == 'T' {
		b := body{b: msg}
		n := b.int16() & maxParams
		for range n {
			label := b.text()
			b.take(6) // table and column number
			oid := b.uint32()
			b.take(2) // size
			modifier := int32(b.uint32())
			b.take(2) // format
			if b.bad {
				return &malformed{kind, "it ends within a column"}
			}
			s.labels = append(s.labels, label)
			s.columns = append(s.columns, TypeOf(oid, modifier))
		}
	}
	s.head = appendText([]byte{'B', 0, 0, 0, 0, 0}, s.server)
	s.head = appendFormats(s.head, s.params)
	s.head = binary.BigEndian.AppendUint16(s.head, uint16(len(s.params)))
	s.tail = appendFormats(nil, s.columns)
	return nil
}

// appendFormats appends the format codes of ts: 1 is binary, 0 is text.
func appendFormats(dst []byte, ts []Type) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(ts)))
	for _, t := range ts {
		if t.Binary() {
			dst = append(dst, 0, 1)
		} else {
			dst = append(dst, 0, 0)
		}
	}
	return dst
}

// request appends Bind and Execute with args.
func (s *statement) request(dst []byte, args []workload.Value) ([]byte, error) {
	if len(args) != len(s.params) {
		return dst, fmt.Errorf("statement %q takes %d arguments, not %d", s.name, len(s.params), len(args))
	}
	at := len(dst)
	dst = append(dst, s.head...)
	for i := range args {
		var err error
		if dst, err = s.params[i].Append(dst, &args[i]); err != nil {
			return dst[:at], fmt.Errorf("statement %q, parameter %d: %w", s.name, i+1, err)
		}
	}
	dst = closeMessage(append(dst, s.tail...), at)
	return append(dst, executeMessage...), nil
}

const (
	executeMessage = "E\x00\x00\x00\x09\x00\x00\x00\x00\x00" // the unnamed portal, all rows
	syncMessage    = "S\x00\x00\x00\x04"
)

func appendText(dst []byte, s string) []byte { return append(append(dst, s...), 0) }

// closeMessage writes the length of the message that began at offset at.
func closeMessage(dst []byte, at int) []byte {
	binary.BigEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-1))
	return dst
}
