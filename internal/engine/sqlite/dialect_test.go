package sqlite

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

func TestStatementRendersParametersAndTokens(t *testing.T) {
	for _, c := range []struct{ params, in, want string }{
		{"a b", "SELECT :b, :a, :b", "SELECT ?2, ?1, ?2"},
		{"a", "SELECT ':a', \":a\", `:a`, [:a], :a", "SELECT ':a', \":a\", `:a`, [:a], ?1"},
		{"a", `SELECT '\', :a`, `SELECT '\', ?1`},
		{"a", "SELECT 1 -- :a\n, :a /* /* :a */", "SELECT 1 -- :a\n, ?1 /* /* :a */"},
		{"n", "SELECT 1 {limit :n}", "SELECT 1 LIMIT ?1"},
		{"", "SELECT {today}", "SELECT (unixepoch() / 86400)"},
		{"", "SELECT 1 FROM t {lock update}", "SELECT 1 FROM t /* the session has the writer's lock */"},
		{"", "SELECT {last id}", "SELECT last_insert_rowid()"},
		{"", "SELECT t1.c2, 10, '0.01', decimal(12, 2)", "SELECT t1.c2, 10, '0.01', decimal(12, 2)"},
	} {
		s := &workload.Statement{Name: "s", Text: c.in, Params: strings.Fields(c.params)}
		if got, err := (Dialect{}).Statement(s); err != nil || got != c.want {
			t.Errorf("%s\n  got  %s, %v\n  want %s", c.in, got, err, c.want)
		}
	}
	for in, want := range map[string]string{"SELECT ?": "numbered parameter", "SELECT @x": "numbered parameter", "SELECT $1": "numbered parameter",
		"SELECT price + 0.01": "constant with a fraction", "SELECT .5": "constant with a fraction", "WHERE a<12.50": "constant with a fraction"} {
		if got, err := (Dialect{}).Statement(&workload.Statement{Name: "s", Text: in}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s became %q, %v", in, got, err)
		}
	}
	if _, err := (Dialect{}).Statement(&workload.Statement{Name: "s", Call: "purchase"}); err == nil || !strings.Contains(err.Error(), "has no procedures") {
		t.Errorf("a call: %v", err)
	}
}

// small is one table with a key of one whole number and one with a longer key.
func small() *workload.Definition {
	whole := workload.Type{Base: workload.Int32}
	return &workload.Definition{
		Name: "small", Database: "small",
		Tables: []workload.Table{
			{Name: "item", PrimaryKey: []string{"id"}, Columns: []workload.Column{
				{Name: "id", Type: whole, NotNull: true, Identity: true},
				{Name: "price", Type: workload.Type{Base: workload.Decimal, Precision: 12, Scale: 2}},
			}, Rows: rowsOf(2_500, func(i int64) []workload.Value { return []workload.Value{workload.Int(i + 1), workload.Money(i)} })},
			{Name: "order", PrimaryKey: []string{"no", "item"}, Columns: []workload.Column{
				{Name: "no", Type: whole, NotNull: true}, {Name: "item", Type: whole, NotNull: true},
				{Name: "select", Type: workload.Type{Base: workload.Char, Length: 3}},
			},
				Foreign: []workload.ForeignKey{{Name: "order_item", Columns: []string{"item"}, Table: "item"}},
				Rows: rowsOf(30_000, func(i int64) []workload.Value {
					return []workload.Value{workload.Int(i), workload.Int(i%2_500 + 1), workload.Str([]byte("abc"))}
				})},
		},
	}
}

// rowsOf is a source of n rows in batches of 500.
func rowsOf(n int64, row func(i int64) []workload.Value) workload.Source {
	const batch = 500
	return workload.Source{Batches: n / batch, Rows: n, Fill: func(b int64, emit func([]workload.Value) error) error {
		for i := b * batch; i < (b+1)*batch; i++ {
			if err := emit(row(i)); err != nil {
				return err
			}
		}
		return nil
	}}
}

func TestSchemaPutsShortRowsIntoTheirKey(t *testing.T) {
	before, after, err := Dialect{}.Schema(small())
	if err != nil || len(after) != 0 {
		t.Fatal(after, err)
	}
	for i, want := range []string{
		"CREATE TABLE item (\n  id INTEGER PRIMARY KEY,\n  price DECIMAL(12,2)\n)",
		"CREATE TABLE \"order\" (\n  no INTEGER NOT NULL,\n  item INTEGER NOT NULL,\n  \"select\" CHAR(3),\n  PRIMARY KEY (no, item),\n" +
			"  CONSTRAINT order_item FOREIGN KEY (item) REFERENCES item (id)\n) WITHOUT ROWID",
	} {
		if before[i] != want {
			t.Errorf("%s\nwant %s", before[i], want)
		}
	}
	for _, spoil := range []func(t *workload.Table){
		func(t *workload.Table) { t.Columns[2].Type.Length = 250 },
		func(t *workload.Table) { t.Columns[2].Type = workload.Type{Base: workload.LongText} },
		func(t *workload.Table) {
			t.Indexes = []workload.Index{{Name: "words", Columns: []string{"select"}, FullText: true}}
		},
		func(t *workload.Table) { t.PrimaryKey = nil },
	} {
		d := small()
		spoil(&d.Tables[1])
		if before, _, err := (Dialect{}).Schema(d); err != nil || strings.Contains(before[1], "WITHOUT ROWID") {
			t.Errorf("%s, %v: these rows need a number", before, err)
		}
	}
}

func TestSchemaRefusesWhatSQLiteHasNot(t *testing.T) {
	for want, spoil := range map[string]func(d *workload.Definition){
		"decimal(19,2)":              func(d *workload.Definition) { d.Tables[0].Columns[1].Type.Precision = 19 },
		"length of 0":                func(d *workload.Definition) { d.Tables[1].Columns[2].Type.Length = 0 },
		"numbers a column only":      func(d *workload.Definition) { d.Tables[1].Columns[0].Identity = true },
		"unknown family of types 99": func(d *workload.Definition) { d.Tables[1].Columns[2].Type.Base = 99 },
		"unknown column x":           func(d *workload.Definition) { d.Tables[0].PrimaryKey = []string{"x"} },
	} {
		d := small()
		spoil(d)
		if _, _, err := (Dialect{}).Schema(d); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "table ") {
			t.Errorf("error %v, want one with %q and the table", err, want)
		}
	}
}

func TestVersionsAreCompared(t *testing.T) {
	for _, c := range []struct {
		constraint, version string
		want                bool
	}{
		{"", "3.54.1", true},
		{"3", "3.54.1", true}, {"3.54", "3.54.1", true}, {"3.54.1", "3.54.1", true}, {"=3.54.2", "3.54.1", false},
		{">=3.54", "3.54.0", true}, {">3.54", "3.54.9", false}, {">3.54", "3.55.0", true}, {"<=3.54", "3.54.9", true},
		{"<3.54", "3.54.0", false}, {"<3.9", "3.54.1", false}, {">=3.50,<4", "3.54.1", true}, {">=3.50,<3.54", "3.54.1", false},
	} {
		got, err := parseConstraint(c.constraint)
		v, errV := parseVersion(c.version)
		if err != nil || errV != nil || got.Allows(v) != c.want {
			t.Errorf("%s allows %s: %v, %v, %v", c.constraint, c.version, !c.want, err, errV)
		}
	}
	for _, bad := range []string{"x", "3.", "3.54.1.2", "03", "3.-1", "=>3", "3,"} {
		if c, err := parseConstraint(bad); err == nil {
			t.Errorf("%q became %v", bad, c)
		}
	}
}
