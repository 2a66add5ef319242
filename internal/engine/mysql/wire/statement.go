package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Commands (Protocol: Command Phase).
const (
	comQuit        = 0x01
	comQuery       = 0x03
	comStmtPrepare = 0x16
	comStmtExecute = 0x17
)

// statement is one that the server has prepared.
type statement struct {
	name    string // for people
	source  *workload.Statement
	id      uint32
	params  int    // how many arguments Run takes
	order   []int  // which argument each placeholder stands for
	types   []byte // of the placeholders, as the server knows them; two bytes each
	columns []column
	defs    [][]byte // what the server said of the columns, to notice changes
}

// Prepare prepares p, or replaces the statement of its index and name.
func (c *Conn) Prepare(ctx context.Context, p Prepared) error {
	return c.prepareAll(ctx, []Prepared{p})
}

// prepareAll prepares ps in one round trip.
func (c *Conn) prepareAll(ctx context.Context, ps []Prepared) error {
	made := make([]*statement, len(ps))
	for i, p := range ps {
		made[i] = newStatement(p.Name, p.Text)
	}
	if err := c.prepare(ctx, made, ps); err != nil {
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

func newStatement(name string, t sqltext.Text) *statement {
	st := &statement{name: name, order: t.Order, types: make([]byte, 2*len(t.Order))}
	for _, i := range t.Order {
		st.params = max(st.params, i+1)
	}
	return st
}

// prepare has the server prepare ps and fills made in.
func (c *Conn) prepare(ctx context.Context, made []*statement, ps []Prepared) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	for i, p := range ps {
		at := len(c.out)
		c.out = append(append(openPacket(c.out, 0), comStmtPrepare), p.SQL...)
		var err error
		if c.out, err = closePacket(c.out, at); err != nil {
			return fmt.Errorf("prepare statement %q: %w", made[i].name, err)
		}
	}
	c.link.Send(c.out)
	var first error
	for _, st := range made {
		err := c.prepared(st)
		if c.calls.Broken() != nil {
			return c.calls.Broken()
		}
		if err != nil && first == nil {
			first = fmt.Errorf("prepare statement %q: %w", st.name, err)
		}
	}
	return first
}

// prepared reads the answer to one COM_STMT_PREPARE.
func (c *Conn) prepared(st *statement) error {
	msg, err := c.in.next()
	if err != nil {
		return c.fail(err)
	}
	if msg[0] == 0xff {
		return c.refused(msg)
	}
	b := body{b: msg}
	b.take(1)
	st.id = b.uint32()
	columns, params := b.uint16(), b.uint16()
	if b.bad || msg[0] != 0 {
		return c.fail(&malformed{"what it says of a prepared statement"})
	}
	for range params {
		if _, err := c.in.next(); err != nil {
			return c.fail(err)
		}
	}
	if err := c.describe(st, columns); err != nil {
		return err
	}
	if params != len(st.order) {
		return fmt.Errorf("the server finds %d placeholders, the dialect %d", params, len(st.order))
	}
	return nil
}

// describe reads the descriptions of n columns.
func (c *Conn) describe(st *statement, n int) error {
	if n != len(st.columns) {
		st.columns, st.defs = make([]column, n), make([][]byte, n)
	}
	for i := range n {
		msg, err := c.in.next()
		if err != nil {
			return c.fail(err)
		}
		if bytes.Equal(msg, st.defs[i]) {
			continue
		}
		if st.columns[i], err = parseColumn(msg); err != nil {
			return c.fail(err)
		}
		st.defs[i] = bytes.Clone(msg)
	}
	return nil
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
	if c.cfg.Render == nil {
		return nil, fmt.Errorf("statement %q was not prepared", s.Name)
	}
	text, err := c.cfg.Render(s)
	if err != nil {
		return nil, fmt.Errorf("statement %q: %w", s.Name, err)
	}
	st := newStatement(s.Name, text)
	if err := c.prepare(ctx, []*statement{st}, []Prepared{{Text: text}}); err != nil {
		return nil, err
	}
	c.known[s] = st
	return st, nil
}

// request appends COM_STMT_EXECUTE with args.
func (st *statement) request(dst []byte, args []workload.Value) ([]byte, error) {
	if len(args) != st.params {
		return dst, fmt.Errorf("statement %q takes %d arguments, not %d", st.name, st.params, len(args))
	}
	at := len(dst)
	dst = append(openPacket(dst, 0), comStmtExecute)
	dst = binary.LittleEndian.AppendUint32(dst, st.id)
	dst = append(dst, 0, 1, 0, 0, 0) // no cursor, one execution
	if n := len(st.order); n > 0 {
		nulls := len(dst)
		dst = slices.Grow(dst, (n+7)/8)[:nulls+(n+7)/8]
		clear(dst[nulls:])
		if st.retype(args) {
			dst = append(append(dst, 1), st.types...)
		} else {
			dst = append(dst, 0)
		}
		for i, which := range st.order {
			v := &args[which]
			if v.Kind == workload.Null {
				dst[nulls+i/8] |= 1 << (i % 8)
				continue
			}
			var err error
			if dst, err = appendArgument(dst, v); err != nil {
				// The server has not seen the types.
				clear(st.types)
				return dst[:at], fmt.Errorf("statement %q, argument %d: %w", st.name, which+1, err)
			}
		}
	}
	return closePacket(dst, at)
}

// retype makes st.types those of args and says whether the server must be told.
// A null has no type of its own: it leaves the one that was.
func (st *statement) retype(args []workload.Value) bool {
	changed := false
	for i, which := range st.order {
		v := &args[which]
		t := typeOf(v.Kind)
		if v.Kind == workload.Null {
			if t = st.types[2*i]; t == 0 {
				t = typeNull
			}
		}
		if st.types[2*i] != t {
			st.types[2*i], changed = t, true
		}
	}
	return changed
}
