package enginetest

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// loaded is a durable server with the synthetic workload in it.
type loaded struct {
	*suite
	machine engine.Machine
	db      engine.Database
	def     *workload.Definition
}

// open opens a session that is closed with the test.
func (l *loaded) open(t *testing.T) *engine.Session {
	t.Helper()
	s, err := l.db.Open(t.Context(), l.def)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a broken connection can't be closed in order
	return s
}

// try runs do as a transaction type, as a driver does.
func try(ctx context.Context, s *engine.Session, do func(ctx context.Context, c workload.Conn) error) (workload.Outcome, error) {
	return s.Do(ctx, &workload.Transaction{Name: "test", Exec: func(ctx context.Context, c workload.Conn, _ any) (workload.Status, error) {
		return workload.Committed, do(ctx, c)
	}}, nil)
}

// run runs one statement that must succeed.
func (l *loaded) run(t *testing.T, s *engine.Session, which int, args ...workload.Value) workload.Result {
	t.Helper()
	return l.runStatement(t, s, l.def.Statements[which], args...)
}

func (l *loaded) runStatement(t *testing.T, s *engine.Session, st *workload.Statement, args ...workload.Value) workload.Result {
	t.Helper()
	r, err := s.Conn().Run(t.Context(), st, args)
	if err != nil {
		t.Fatalf("%s: %v", st.Name, err)
	}
	return r
}

// number runs one statement that returns one number.
func (l *loaded) number(t *testing.T, s *engine.Session, which int, args ...workload.Value) int64 {
	t.Helper()
	r := l.run(t, s, which, args...)
	if len(r.Values) != 1 || r.Values[0].Kind != workload.Integer {
		t.Fatalf("%s: %d values, want one number", l.def.Statements[which].Name, len(r.Values))
	}
	return r.Values[0].Int
}

func (l *loaded) tx(t *testing.T, s *engine.Session, op workload.TxOp) {
	t.Helper()
	if err := s.Conn().Tx(t.Context(), op); err != nil {
		t.Fatalf("transaction control %d: %v", op, err)
	}
}

// contents reads loaded rows back and compares them with what made them.
func (l *loaded) contents(t *testing.T) {
	s := l.open(t)
	rows := l.def.Tables[0].Rows.Rows
	if n := l.number(t, s, countParents); n != rows {
		t.Errorf("%d parents, want %d", n, rows)
	}
	if n := l.number(t, s, countEmpty); n != 0 {
		t.Errorf("%d rows in the table that starts empty", n)
	}
	r := l.run(t, s, manyLines, workload.Int(2*rows))
	if r.Rows() != int(2*rows) {
		t.Fatalf("%d lines, want %d", r.Rows(), 2*rows)
	}
	for i := range r.Rows() {
		equal(t, r.Row(i), lineRow(int64(i)))
	}
	for i := range int64(60) {
		r := l.run(t, s, selectKinds, workload.Int(i+1))
		if r.Rows() != 1 {
			t.Fatalf("kinds %d: %d rows", i+1, r.Rows())
		}
		equal(t, r.Row(0), kindsRow(i))
	}
}

// equal compares two rows.
func equal(t *testing.T, got, want []workload.Value) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Kind != want[i].Kind || got[i].Int != want[i].Int || !bytes.Equal(got[i].Str, want[i].Str) {
			t.Errorf("column %d of row %d: got %+v, want %+v", i, want[0].Int, got[i], want[i])
		}
	}
}

// values writes and reads the ends of every range.
func (l *loaded) values(t *testing.T) {
	str := func(s string) workload.Value { return workload.Str([]byte(s)) }
	day := func(n int64) workload.Value { return workload.Value{Kind: workload.Day, Int: n} }
	at := func(us int64) workload.Value { return workload.Value{Kind: workload.Instant, Int: us} }
	bit := func(n int64) workload.Value { return workload.Value{Kind: workload.Bit, Int: n} }
	var null workload.Value
	for name, row := range map[string][]workload.Value{
		"null": {null, null, null, null, null, null, null, null, null},
		"least": {workload.Int(math.MinInt16), workload.Int(math.MinInt32), workload.Money(-999999999999),
			str("0000"), str(""), str(""), day(-719162), at(-62135596800000000), bit(0)}, // 0001-01-01
		"most": {workload.Int(math.MaxInt16), workload.Int(math.MaxInt32), workload.Money(999999999999),
			str("ffff"), str(strings.Repeat("w", 20)), str(strings.Repeat("long ", 200_000)), day(2932896), at(253402300799999999), bit(1)}, // 9999-12-31
		"unicode": {workload.Int(0), workload.Int(0), workload.Money(0),
			str("ÄÖÜß"), str("日本語 🙂 Ωmega"), str("a'b\"c\\d\n\t; -- {limit} :x $1"), day(0), at(0), bit(0)},
		"leap day": {workload.Int(-1), workload.Int(-1), workload.Money(-1),
			str("aaaa"), str("x"), str("y"), day(19782), at(1709251199999999), bit(1)}, // 2024-02-29
	} {
		t.Run(name, func(t *testing.T) {
			s := l.open(t)
			key := workload.Int(math.MaxInt64)
			whole := append([]workload.Value{key}, row...)
			if r := l.run(t, s, insertKinds, whole...); r.Affected != 1 || r.Rows() != 0 {
				t.Errorf("insert: %d affected, %d rows", r.Affected, r.Rows())
			}
			r := l.run(t, s, selectKinds, key)
			if r.Rows() != 1 {
				t.Fatalf("%d rows", r.Rows())
			}
			equal(t, r.Row(0), whole)
			if r := l.run(t, s, deleteKinds, key); r.Affected != 1 {
				t.Errorf("delete: %d affected", r.Affected)
			}
		})
	}
}

func (l *loaded) affected(t *testing.T) {
	s := l.open(t)
	if r := l.run(t, s, setAmount, workload.Money(1), workload.Int(1)); r.Affected != 1 {
		t.Errorf("update of one row: %d affected", r.Affected)
	}
	if r := l.run(t, s, setAmount, workload.Money(1), workload.Int(-1)); r.Affected != 0 {
		t.Errorf("update of no row: %d affected", r.Affected)
	}
	if r := l.run(t, s, selectKinds, workload.Int(-1)); r.Rows() != 0 || r.Columns != 10 {
		t.Errorf("select of no row: %d rows of %d columns", r.Rows(), r.Columns)
	}
	if n := l.number(t, s, countLines, workload.Int(2)); n != 2 {
		t.Fatalf("%d lines before the delete, want 2", n)
	}
	if r := l.run(t, s, deleteParent, workload.Int(2)); r.Affected != 1 {
		t.Errorf("delete of a parent: %d affected", r.Affected)
	}
	if n := l.number(t, s, countLines, workload.Int(2)); n != 0 {
		t.Errorf("%d lines are left after on delete cascade", n)
	}
}

// identity inserts without a number: the sequence continues after the loaded
// maximum.
func (l *loaded) identity(t *testing.T) {
	s := l.open(t)
	rows := l.def.Tables[0].Rows.Rows
	for i := range int64(2) {
		name := workload.Str([]byte(parentName(-i)))
		l.run(t, s, insertParent, name, workload.Money(7))
		r := l.run(t, s, parentByName, name)
		if r.Rows() != 1 || r.Values[0].Int != rows+1+i {
			t.Errorf("insert %d got number %+v, want %d", i, r.Values, rows+1+i)
		}
	}
}

// words looks articles up by their words: whole ones, in any case and order,
// and all of them.
func (l *loaded) words(t *testing.T) {
	s := l.open(t)
	rows := l.def.Tables[3].Rows.Rows
	for text, has := range map[string][]string{
		"gamma": {"gamma"}, "GAMMA": {"gamma"}, "Delta alpha": {"delta", "alpha"}, "  beta   beta ": {"beta"},
		"number7": {"number7"}, "epsilon number9": {"epsilon", "number9"}, "beta number9": {"beta", "number9"},
		"gam": {"gam"}, "amma": {"amma"}, "gamma zeta": {"gamma", "zeta"}, "": {""}, "   ": {""},
	} {
		var want []int64
		for i := range rows {
			row := articleRow(i)
			body := strings.Fields(string(row[1].Str))
			if !slices.ContainsFunc(has, func(word string) bool { return !slices.Contains(body, word) }) {
				want = append(want, row[0].Int)
			}
		}
		r := l.run(t, s, findWords, workload.Str([]byte(text)))
		var got []int64
		for _, v := range r.Values {
			got = append(got, v.Int)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q found %d articles %v, want %d %v", text, len(got), got[:min(len(got), 5)], len(want), want[:min(len(want), 5)])
		}
	}
}
