package mysql

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

var update = flag.Bool("update", false, "rewrite testdata")

func TestStatementsAreRenderedWithTheirOrder(t *testing.T) {
	for _, c := range []struct {
		params, in, want string
		order            []int
	}{
		{"", "SELECT 1", "SELECT 1", nil},
		{"a b", "SELECT :b, :a, :b", "SELECT ?, ?, ?", []int{1, 0, 1}},
		{"a", `SELECT ':a', "it\":a", 'x\'?:a', ` + "`:a`, :a", `SELECT ':a', "it\":a", 'x\'?:a', ` + "`:a`, ?", []int{0}},
		{"a", "SELECT 1 -- :a\n, 2 # :a\n, 3--1 /* :a */, :a", "SELECT 1 -- :a\n, 2 # :a\n, 3--1 /* :a */, ?", []int{0}},
		{"n", "SELECT 1 {limit :n}", "SELECT 1 LIMIT ?", []int{0}},
		{"", "SELECT {now}, {today} FROM t {lock update}", "SELECT LOCALTIMESTAMP(6), CURRENT_DATE FROM t FOR UPDATE", nil},
		{"", "SELECT 1 FROM t {lock share} {limit 3}", "SELECT 1 FROM t LOCK IN SHARE MODE LIMIT 3", nil},
		{"w n", "SELECT 1 FROM t WHERE {match t.c :w} {limit :n}", "SELECT 1 FROM t WHERE MATCH (`t`.`c`) AGAINST (" +
			`REPLACE(RTRIM(CONCAT(' ', TRIM(REGEXP_REPLACE(?, '[^[:alnum:]_]+', ' ')))), ' ', ' +') IN BOOLEAN MODE) LIMIT ?`, []int{0, 1}},
	} {
		got, err := render(&workload.Statement{Name: "s", Text: c.in, Params: strings.Fields(c.params)})
		if err != nil || got.SQL != c.want || !slices.Equal(got.Order, c.order) {
			t.Errorf("%s\n  got  %s %v, %v\n  want %s %v", c.in, got.SQL, got.Order, err, c.want, c.order)
		}
	}
	call, err := Dialect{}.Statement(&workload.Statement{Name: "s", Call: "buy", Params: []string{"a", "b"}})
	if err != nil || call != "CALL buy(?,?)" {
		t.Errorf("a call is %q, %v", call, err)
	}
	for in, want := range map[string]string{
		"SELECT ?": "write parameters by name", "SELECT :a": "not declared", "SELECT {sum}": "unknown token", "SELECT 'x": "never closed", "": "no text",
	} {
		if got, err := (Dialect{}).Statement(&workload.Statement{Name: "s", Text: in}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q became %q, %v; want an error with %q", in, got, err, want)
		}
	}
}

// shop has every family of types, and every kind of key and index.
func shop() *workload.Definition {
	of := func(b workload.Base) workload.Type { return workload.Type{Base: b} }
	money := workload.Type{Base: workload.Decimal, Precision: 12, Scale: 2}
	return &workload.Definition{Name: "shop", Database: "shop", Tables: []workload.Table{
		{
			Name: "Customers", PrimaryKey: []string{"customerid"},
			Columns: []workload.Column{
				{Name: "customerid", Type: of(workload.Int32), NotNull: true, Identity: true},
				{Name: "name", Type: workload.Type{Base: workload.Varchar, Length: 50}, NotNull: true},
				{Name: "order", Type: workload.Type{Base: workload.Char, Length: 3}},
				{Name: "note", Type: of(workload.LongText)}, {Name: "balance", Type: money, NotNull: true},
				{Name: "born", Type: of(workload.Date)}, {Name: "seen", Type: of(workload.Timestamp)}, {Name: "ok", Type: of(workload.Boolean)},
				{Name: "region", Type: of(workload.Int16), Own: map[string]string{Name: "tinyint"}},
			},
			Indexes: []workload.Index{
				{Name: "by_name", Columns: []string{"name"}, Unique: true},
				{Name: "by_order", Columns: []string{"order", "balance"}},
				{Name: "words", Columns: []string{"note"}, FullText: true},
			},
		}, {
			Name: "lines",
			Columns: []workload.Column{
				{Name: "customerid", Type: of(workload.Int32), NotNull: true}, {Name: "line", Type: of(workload.Int64), NotNull: true},
				{Name: "code", Type: of(workload.Int16)},
			},
			Indexes: []workload.Index{
				{Name: "by_code", Columns: []string{"code"}, Unique: true},
				{Name: "by_line", Columns: []string{"customerid", "line"}, Unique: true},
			},
			Foreign: []workload.ForeignKey{{Name: "of_customer", Columns: []string{"customerid"}, Table: "Customers", OnDelete: "cascade"}},
		},
	}}
}

func TestTheSchemaIsTheReviewedOne(t *testing.T) {
	var out strings.Builder
	for _, x := range []Dialect{{}, {product: oracle}} {
		before, after, err := x.Schema(shop())
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("-- " + x.product.title() + "\n" + strings.Join(slices.Concat(before, []string{"-- rows"}, after), ";\n") + ";\n")
	}
	const file = "testdata/schema.golden.sql"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || out.String() != string(want) {
		t.Errorf("%s is not what is rendered now (-update rewrites it): %v\n%s", file, err, out.String())
	}
}

func TestSchemasThatInnoDBCanNotHoldAreRefused(t *testing.T) {
	for want, change := range map[string]func(d *workload.Definition){
		"not the first of the primary key": func(d *workload.Definition) { d.Tables[1].Columns[1].Identity = true },
		"outside 1 to 16000":               func(d *workload.Definition) { d.Tables[0].Columns[1].Type.Length = 16001 },
		"outside 1 to 255":                 func(d *workload.Definition) { d.Tables[0].Columns[2].Type.Length = 256 },
		"1 <= precision":                   func(d *workload.Definition) { d.Tables[0].Columns[4].Type.Precision = 66 },
		"unknown family":                   func(d *workload.Definition) { d.Tables[0].Columns[4].Type.Base = 99 },
		"unknown table":                    func(d *workload.Definition) { d.Tables[1].Foreign[0].Table = "x" },
	} {
		d := shop()
		change(d)
		if _, _, err := (Dialect{}).Schema(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
