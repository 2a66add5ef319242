package enginetest

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// History is what came of one user's steps.
type History struct {
	Shown  []string       // by step: the transaction, its status, and what the user saw
	Counts map[string]int // committed transactions by name, and "rolled back"
}

// Play plays steps of u, a user of s's definition, alone on s. shown renders
// what a user sees of a committed step.
func (s Subject) Play(t *testing.T, u workload.User, steps int, shown func(in any) string) History {
	t.Helper()
	session := s.Open(t)
	h := History{Counts: map[string]int{}}
	for range steps {
		st := u.Next()
		o, err := session.Do(t.Context(), st.Transaction, st.Input)
		if err != nil {
			t.Fatalf("%s: %s: %v", s.Name, st.Transaction.Name, err)
		}
		u.Done(o)
		if o.Status == workload.RolledBack {
			h.Counts["rolled back"]++
			h.Shown = append(h.Shown, st.Transaction.Name+" rolled back")
			continue
		}
		h.Counts[st.Transaction.Name]++
		h.Shown = append(h.Shown, st.Transaction.Name+" "+shown(st.Input))
	}
	return h
}

// Contents are the rows of all tables as hashes, so that the contents of many
// subjects fit into memory: in the order of the primary key, or of the hashes
// where a table has none.
type Contents map[string][]uint64

// Contents reads every row of every table of s, for as long as nothing
// changes them.
func (s Subject) Contents(t *testing.T) Contents {
	t.Helper()
	c := s.Open(t).Conn()
	out := Contents{}
	for i := range s.Definition.Tables {
		table := &s.Definition.Tables[i]
		var hashes []uint64
		s.scan(t, c, table, func(row []workload.Value) { hashes = append(hashes, hashOf(table, row)) })
		if len(table.PrimaryKey) == 0 {
			slices.Sort(hashes)
		}
		out[table.Name] = hashes
	}
	return out
}

// readRows is how many rows of a table are read at a time.
const readRows = 20_000

// scan reads a table in the order of its primary key, or at once where it has
// none. A row is valid until each returns.
func (s Subject) scan(t *testing.T, c workload.Conn, table *workload.Table, each func(row []workload.Value)) {
	t.Helper()
	columns := make([]string, len(table.Columns))
	for i, column := range table.Columns {
		columns[i] = column.Name
	}
	all := "SELECT " + strings.Join(columns, ", ") + " FROM " + table.Name
	if len(table.PrimaryKey) == 0 {
		for r := s.rows(t, c, &workload.Statement{Text: all}, nil); r.Rows() > 0; r.Values = r.Values[r.Columns:] {
			each(r.Row(0))
		}
		return
	}
	key := strings.Join(table.PrimaryKey, ", ")
	order := fmt.Sprintf(" ORDER BY %s {limit %d}", key, readRows)
	first := &workload.Statement{Text: all + order}
	next := &workload.Statement{
		Params: table.PrimaryKey,
		Text:   all + " WHERE (" + key + ") > (:" + strings.Join(table.PrimaryKey, ", :") + ")" + order,
	}
	var after []workload.Value
	for st := first; ; st = next {
		r := s.rows(t, c, st, after)
		for i := range r.Rows() {
			each(r.Row(i))
		}
		if r.Rows() < readRows {
			return
		}
		after = after[:0]
		last := r.Row(r.Rows() - 1)
		for _, name := range table.PrimaryKey {
			v := last[slices.Index(columns, name)]
			v.Str = slices.Clone(v.Str)
			after = append(after, v)
		}
	}
}

func (s Subject) rows(t *testing.T, c workload.Conn, st *workload.Statement, args []workload.Value) workload.Result {
	t.Helper()
	st.Index, st.Name = -1, st.Text
	r, err := c.Run(t.Context(), st, args)
	if err != nil {
		t.Fatalf("%s: %s: %v", s.Name, st.Text, err)
	}
	return r
}

// hashOf hashes what a row says, and not how an engine says it: blanks at the
// end of a Char mean nothing, and a number is a number.
func hashOf(table *workload.Table, row []workload.Value) uint64 {
	var space [1_024]byte
	b := space[:0]
	for i, v := range row {
		switch v.Kind {
		case workload.Null:
			b = append(b, 0)
		case workload.String:
			text := v.Str
			if table.Columns[i].Type.Base == workload.Char {
				text = bytes.TrimRight(text, " ")
			}
			b = append(strconv.AppendInt(append(b, 's'), int64(len(text)), 10), ':')
			b = append(b, text...)
		default:
			b = append(strconv.AppendInt(append(b, 'n'), v.Int, 10), ';')
		}
	}
	h := fnv.New64a()
	_, _ = h.Write(b) // a hash never fails
	return h.Sum64()
}

// Same compares what b did and holds with what a did and holds: every step,
// every table, row by row. The first difference of each table is told with the
// row as b holds it now.
func Same(t *testing.T, a, b Subject, did, does History, held, holds Contents) {
	t.Helper()
	for i := range min(len(did.Shown), len(does.Shown)) {
		if did.Shown[i] != does.Shown[i] {
			t.Errorf("step %d: %s showed\n%s\n%s shows\n%s", i, a.Name, did.Shown[i], b.Name, does.Shown[i])
			break
		}
	}
	if len(did.Shown) != len(does.Shown) {
		t.Errorf("%s did %d steps, %s %d", a.Name, len(did.Shown), b.Name, len(does.Shown))
	}
	for i := range b.Definition.Tables {
		table := &b.Definition.Tables[i]
		want, got := held[table.Name], holds[table.Name]
		if len(want) == 0 && len(got) == 0 && table.Rows.Rows > 0 {
			t.Errorf("%s is empty everywhere", table.Name)
		}
		at := 0
		for at < min(len(want), len(got)) && want[at] == got[at] {
			at++
		}
		if at < max(len(want), len(got)) {
			t.Errorf("%s: %s has %d rows, %s %d; row %d is the first to differ, %s",
				table.Name, a.Name, len(want), b.Name, len(got), at, b.row(t, table, at, holds))
		}
	}
}

// row renders row number at of a table, for people.
func (s Subject) row(t *testing.T, table *workload.Table, at int, holds Contents) string {
	t.Helper()
	if at >= len(holds[table.Name]) {
		return "which is missing"
	}
	text := "which is gone since"
	s.scan(t, s.Open(t).Conn(), table, func(row []workload.Value) {
		if hashOf(table, row) == holds[table.Name][at] {
			var b strings.Builder
			for i, v := range row {
				fmt.Fprintf(&b, " %s=%d%s", table.Columns[i].Name, v.Int, v.Str)
			}
			text = "which holds" + b.String()
		}
	})
	return text
}
