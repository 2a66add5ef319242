package postgres

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

func TestStatementRendersParametersAndTokens(t *testing.T) {
	for _, c := range []struct{ params, in, want string }{
		{"", "SELECT 1", "SELECT 1"},
		{"a b", "SELECT :b, :a", "SELECT $2, $1"},
		{"a", "SELECT :a + :a", "SELECT $1 + $1"},
		{"id", "WHERE x=:id AND y>=:id;", "WHERE x=$1 AND y>=$1;"},
		{"a", "SELECT :a::int, x::text::varchar(3)", "SELECT $1::int, x::text::varchar(3)"},
		{"a", "SELECT ':a', 'it''s :a', \":a\", :a", "SELECT ':a', 'it''s :a', \":a\", $1"},
		{"a", `SELECT E'\':a', e'\\', :a`, `SELECT E'\':a', e'\\', $1`},
		{"a", `SELECT '\', :a`, `SELECT '\', $1`},
		{"a", "SELECT 1 -- :a {now}\n, :a", "SELECT 1 -- :a {now}\n, $1"},
		{"a", "SELECT /* :a /* {x} */ :a */ :a", "SELECT /* :a /* {x} */ :a */ $1"},
		{"a", "SELECT $$:a {x}$$, $q$ $$ :a $q$, :a", "SELECT $$:a {x}$$, $q$ $$ :a $q$, $1"},
		{"a", "SELECT v[1:2], f(x := :a)", "SELECT v[1:2], f(x := $1)"},
		{"x1 x", "SELECT :x, :x1", "SELECT $2, $1"},
		{"n", "SELECT 1 {limit :n}", "SELECT 1 LIMIT $1"},
		{"", "SELECT 1 {limit 10}", "SELECT 1 LIMIT 10"},
		{"", "SELECT {now}, { today }", "SELECT LOCALTIMESTAMP, CURRENT_DATE"},
		{"", "SELECT 1 FROM t {lock update}", "SELECT 1 FROM t FOR UPDATE"},
		{"", "SELECT 1 FROM t {lock  share}", "SELECT 1 FROM t FOR SHARE"},
		{"größe", "SELECT :größe, 'ü'", "SELECT $1, 'ü'"},
	} {
		s := &workload.Statement{Name: "s", Text: c.in, Params: strings.Fields(c.params)}
		if got, err := (Dialect{}).Statement(s); err != nil || got != c.want {
			t.Errorf("%s\n  got  %s, %v\n  want %s", c.in, got, err, c.want)
		}
	}
}

func TestStatementRefusesWhatItCanNotRender(t *testing.T) {
	for _, c := range []struct{ params, in, want string }{
		{"", "", "no text"},
		{"", "  \n", "no text"},
		{"a", "SELECT :b, :a", "parameter :b is not declared"},
		{"a b", "SELECT :a", "parameter b is declared but not used"},
		{"a", "SELECT ':a'", "parameter a is declared but not used"},
		{"", "SELECT 1 {frobnicate}", "unknown token {frobnicate}"},
		{"", "SELECT 1 {}", "unknown token {}"},
		{"", "SELECT 1 {limit}", "unknown token {limit}"},
		{"", "SELECT 1 {limit ten}", `"ten" is neither`},
		{"", "SELECT 1 {limit :n}", "parameter :n is not declared"},
		{"", "SELECT 1 {lock update nowait}", "unknown token"},
		{"", "SELECT 1 {LOCK UPDATE}", "unknown token"},
		{"", "SELECT 1 {now", "{ at byte 9 is never closed"},
		{"", "SELECT 1 now}", "} at byte 12 closes no token"},
		{"", "SELECT $1", "numbered parameter"},
		{"", "SELECT 'abc", "never closed"},
		{"", "SELECT /* /* */", "never closed"},
		{"", "SELECT $x$ $y$", "never closed"},
		{"", `SELECT "x`, "never closed"},
		{"", `SELECT E'x\'`, "never closed"},
	} {
		s := &workload.Statement{Name: "the statement", Text: c.in, Params: strings.Fields(c.params)}
		got, err := Dialect{}.Statement(s)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "the statement") {
			t.Errorf("%s: %q, %v, want an error with %q and the statement's name", c.in, got, err, c.want)
		}
	}
}

func TestCallSelectsFromTheProcedure(t *testing.T) {
	got, err := Dialect{}.Statement(&workload.Statement{Name: "p", Call: "purchase", Params: []string{"a", "b", "c"}})
	if err != nil || got != "SELECT * FROM purchase($1,$2,$3)" {
		t.Errorf("%q, %v", got, err)
	}
	got, err = Dialect{}.Statement(&workload.Statement{Name: "p", Call: "shop.list"})
	if err != nil || got != "SELECT * FROM shop.list()" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []*workload.Statement{
		{Name: "both", Call: "f", Text: "SELECT 1"},
		{Name: "injection", Call: "f(); DROP TABLE x; --"},
	} {
		if got, err := (Dialect{}).Statement(bad); err == nil {
			t.Errorf("%s became %q", bad.Name, got)
		}
	}
}

func TestOwnTextComesBeforeTheCommonOne(t *testing.T) {
	s := &workload.Statement{Name: "s", Text: "SELECT {teleport}", Params: []string{"a"},
		Own: map[string]string{Name: "SELECT :a", "mysql": "SELECT ?"}}
	if got, err := (Dialect{}).Statement(s); err != nil || got != "SELECT $1" {
		t.Errorf("%q, %v", got, err)
	}
}

// Rendering never changes what stands outside of parameters and tokens: SQL
// put together of pieces renders to the rendered pieces.
func TestRenderingWorksPieceByPiece(t *testing.T) {
	pieces := map[string]string{
		":p": "$1", ":q1": "$2", "{now}": "LOCALTIMESTAMP", "{limit :p}": "LIMIT $1",
		"'a '' :x {y}'": "'a '' :x {y}'", `"B"":z"`: `"B"":z"`, "::int": "::int", "-- :x '\n": "-- :x '\n",
		"/* ' /* */ :x */": "/* ' /* */ :x */", "$t$ :x '$t$": "$t$ :x '$t$", "word_1": "word_1", "[1:2]": "[1:2]", ">=": ">=", "E'\\''": "E'\\''",
	}
	keys := make([]string, 0, len(pieces))
	for k := range pieces {
		keys = append(keys, k)
	}
	rapid.Check(t, func(t *rapid.T) {
		in, want := "SELECT :p :q1 ", "SELECT $1 $2 "
		for _, k := range rapid.SliceOf(rapid.SampledFrom(keys)).Draw(t, "pieces") {
			in, want = in+k+" ", want+pieces[k]+" "
		}
		got, err := Dialect{}.Statement(&workload.Statement{Name: "s", Text: in, Params: []string{"p", "q1"}})
		if err != nil || got != want {
			t.Fatalf("%s\n  got  %s, %v\n  want %s", in, got, err, want)
		}
	})
}

func FuzzStatement(f *testing.F) {
	for _, s := range []string{"SELECT :a", "{limit :a}", "'", "$a$", "/*/", "E'\\", "a::b", ":", "{", "--"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Dialect{}.Statement(&workload.Statement{Name: "s", Text: text, Params: []string{"a"}})
		if err == nil && !strings.Contains(got, "$1") {
			t.Errorf("%q became %q, in which the declared parameter is missing", text, got)
		}
	})
}

// shop is a small schema with one of everything.
func shop() *workload.Definition {
	typ := func(b workload.Base, numbers ...int) workload.Type {
		t := workload.Type{Base: b}
		switch {
		case len(numbers) == 1:
			t.Length = numbers[0]
		case len(numbers) == 2:
			t.Precision, t.Scale = numbers[0], numbers[1]
		}
		return t
	}
	return &workload.Definition{Name: "shop", Tables: []workload.Table{
		{
			Name: "CUSTOMERS", PrimaryKey: []string{"CUSTOMERID"}, FillFactor: 85,
			Columns: []workload.Column{
				{Name: "CUSTOMERID", Type: typ(workload.Int32), NotNull: true, Identity: true},
				{Name: "NAME", Type: typ(workload.Varchar, 50), NotNull: true},
				{Name: "REGION", Type: typ(workload.Int16)},
				{Name: "BALANCE", Type: typ(workload.Decimal, 12, 2), NotNull: true},
				{Name: "BORN", Type: typ(workload.Date)},
				{Name: "STATE", Type: typ(workload.Char, 2)},
				{Name: "ACTIVE", Type: typ(workload.Boolean)},
			},
			Indexes: []workload.Index{
				{Name: "IX_NAME", Columns: []string{"NAME"}, Unique: true},
				{Name: "IX_REGION", Columns: []string{"REGION", "STATE"}},
			},
		}, {
			Name: "order", PrimaryKey: []string{"id"},
			Columns: []workload.Column{
				{Name: "id", Type: typ(workload.Int64), NotNull: true, Identity: true},
				{Name: "customer", Type: typ(workload.Int32)},
				{Name: "user", Type: typ(workload.LongText)},
				{Name: "at", Type: typ(workload.Timestamp), NotNull: true},
				{Name: "extra data", Type: typ(workload.LongText), Own: map[string]string{Name: "jsonb", "mysql": "json"}},
			},
			Indexes: []workload.Index{{Name: "order_words", Columns: []string{"user"}, FullText: true}},
			Foreign: []workload.ForeignKey{{Name: "order_customer", Columns: []string{"customer"}, Table: "CUSTOMERS", OnDelete: "set null"}},
		}, {
			Name: "line", PrimaryKey: []string{"order", "no"},
			Columns: []workload.Column{{Name: "order", Type: typ(workload.Int64), NotNull: true}, {Name: "no", Type: typ(workload.Int16), NotNull: true}},
			Foreign: []workload.ForeignKey{{Columns: []string{"order"}, Table: "order", OnDelete: "cascade"}},
		}, {
			Name: "log", Columns: []workload.Column{{Name: "text", Type: typ(workload.LongText)}},
		},
	}}
}

var update = flag.Bool("update", false, "rewrite golden files")

func TestSchemaIsTheGoldenOne(t *testing.T) {
	before, after, err := Dialect{}.Schema(shop())
	if err != nil {
		t.Fatal(err)
	}
	got := "-- before the rows\n" + strings.Join(before, ";\n") + ";\n\n-- after the rows\n" + strings.Join(after, ";\n") + ";\n"
	golden(t, "schema.sql", got)
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what it was; where that is right, run the test with -update. Got:\n%s", path, got)
	}
}

func TestSchemaRefusesWhatCanNotBe(t *testing.T) {
	for want, spoil := range map[string]func(d *workload.Definition){
		"no columns":                func(d *workload.Definition) { d.Tables[3].Columns = nil },
		"fill factor 5":             func(d *workload.Definition) { d.Tables[0].FillFactor = 5 },
		"fill factor 101":           func(d *workload.Definition) { d.Tables[0].FillFactor = 101 },
		"unknown column nil":        func(d *workload.Definition) { d.Tables[0].PrimaryKey = []string{"nil"} },
		"index without a name":      func(d *workload.Definition) { d.Tables[0].Indexes[0].Name = "" },
		"exactly one column":        func(d *workload.Definition) { d.Tables[0].Indexes[1].FullText = true },
		"can't be unique":           func(d *workload.Definition) { d.Tables[1].Indexes[0].Unique = true },
		"unknown table nowhere":     func(d *workload.Definition) { d.Tables[1].Foreign[0].Table = "nowhere" },
		`"restrict" is neither`:     func(d *workload.Definition) { d.Tables[1].Foreign[0].OnDelete = "restrict" },
		"primary key of line has 2": func(d *workload.Definition) { d.Tables[1].Foreign[0].Table = "line" },
		"length of 0 characters":    func(d *workload.Definition) { d.Tables[0].Columns[1].Type.Length = 0 },
		"decimal(0,2)":              func(d *workload.Definition) { d.Tables[0].Columns[3].Type.Precision = 0 },
		"decimal(2,3)": func(d *workload.Definition) {
			d.Tables[0].Columns[3].Type = workload.Type{Base: workload.Decimal, Precision: 2, Scale: 3}
		},
		"unknown family of types 200": func(d *workload.Definition) { d.Tables[0].Columns[1].Type.Base = 200 },
		"index IX_NAME has no column": func(d *workload.Definition) { d.Tables[0].Indexes[0].Columns = nil },
	} {
		d := shop()
		spoil(d)
		if _, _, err := (Dialect{}).Schema(d); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "table ") {
			t.Errorf("error %v, want one with %q and the table", err, want)
		}
	}
}
