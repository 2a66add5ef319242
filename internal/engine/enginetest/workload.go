package enginetest

import (
	"fmt"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// batchRows is how many rows one batch of a synthetic table has.
const batchRows = 100

// The statements of the synthetic workload, by their places.
const (
	insertKinds = iota
	selectKinds
	deleteKinds
	setAmount
	lockParent
	insertParent
	parentByName
	manyLines
	deleteParent
	countLines
	countParents
	countEmpty
	findWords
	setTimeout
	sleep
	busy
	session
	kill
	missing
)

// synthetic returns a workload of about 4 × rows rows in five tables: parents
// with lines that refer to them, a table with a column of every family, one
// with full text, and one that starts empty. rows is a multiple of batchRows.
func synthetic(rows int64) *workload.Definition {
	text := func(base workload.Base, length int) workload.Type { return workload.Type{Base: base, Length: length} }
	money := workload.Type{Base: workload.Decimal, Precision: 12, Scale: 2}
	d := &workload.Definition{
		Name: "enginetest", Version: 1, DataKey: fmt.Sprintf("enginetest-%d", rows),
		Database: "enginetest",
		Role:     workload.Role{Name: "visitor", Password: "visitor's pass word"},
		Owner:    workload.Role{Name: "keeper", Password: "keeper's pass word"},
		Tables: []workload.Table{
			{
				Name: "parent", PrimaryKey: []string{"id"}, FillFactor: 85,
				Columns: []workload.Column{
					{Name: "id", Type: workload.Type{Base: workload.Int32}, NotNull: true, Identity: true},
					{Name: "name", Type: text(workload.Varchar, 40), NotNull: true},
					{Name: "amount", Type: money, NotNull: true},
				},
				Indexes: []workload.Index{{Name: "parent_name", Columns: []string{"name"}, Unique: true}},
				Rows:    source(rows, parentRow),
			}, {
				Name: "line", PrimaryKey: []string{"parent_id", "line_no"},
				Columns: []workload.Column{
					{Name: "parent_id", Type: workload.Type{Base: workload.Int32}, NotNull: true},
					{Name: "line_no", Type: workload.Type{Base: workload.Int16}, NotNull: true},
					{Name: "quantity", Type: workload.Type{Base: workload.Int64}},
				},
				Indexes: []workload.Index{{Name: "line_quantity", Columns: []string{"quantity", "line_no"}}},
				Foreign: []workload.ForeignKey{{Name: "line_parent", Columns: []string{"parent_id"}, Table: "parent", OnDelete: "cascade"}},
				Rows:    source(2*rows, lineRow),
			}, {
				Name: "kinds", PrimaryKey: []string{"id"},
				Columns: []workload.Column{
					{Name: "id", Type: workload.Type{Base: workload.Int64}, NotNull: true},
					{Name: "small", Type: workload.Type{Base: workload.Int16}},
					{Name: "whole", Type: workload.Type{Base: workload.Int32}},
					{Name: "price", Type: money},
					{Name: "code", Type: text(workload.Char, 4)},
					{Name: "name", Type: text(workload.Varchar, 20)},
					{Name: "note", Type: workload.Type{Base: workload.LongText}},
					{Name: "born", Type: workload.Type{Base: workload.Date}},
					{Name: "seen", Type: workload.Type{Base: workload.Timestamp}},
					{Name: "ok", Type: workload.Type{Base: workload.Boolean}},
				},
				Rows: source(rows/2, kindsRow),
			}, {
				Name: "article", PrimaryKey: []string{"id"},
				Columns: []workload.Column{
					{Name: "id", Type: workload.Type{Base: workload.Int32}, NotNull: true},
					{Name: "body", Type: text(workload.Varchar, 200), NotNull: true},
				},
				Indexes: []workload.Index{{Name: "article_words", Columns: []string{"body"}, FullText: true}},
				Rows:    source(rows/2, articleRow),
			}, {
				Name: "empty", PrimaryKey: []string{"id"},
				Columns: []workload.Column{
					{Name: "id", Type: workload.Type{Base: workload.Int64}, NotNull: true, Identity: true},
					{Name: "label", Type: text(workload.Varchar, 10)},
				},
			},
		},
	}
	d.Statements = statements()
	return d
}

// statements returns the common statements; those that traits fill in have an
// empty text.
func statements() []*workload.Statement {
	const columns = "small, whole, price, code, name, note, born, seen, ok"
	list := []*workload.Statement{
		insertKinds: {Name: "insert kinds", Params: strings.Split("id, "+columns, ", "),
			Text: "INSERT INTO kinds (id, " + columns + ") VALUES (:id, :" + strings.ReplaceAll(columns, ", ", ", :") + ")"},
		selectKinds:  {Name: "select kinds", Params: []string{"id"}, Text: "SELECT id, " + columns + " FROM kinds WHERE id = :id"},
		deleteKinds:  {Name: "delete kinds", Params: []string{"id"}, Text: "DELETE FROM kinds WHERE id >= :id"},
		setAmount:    {Name: "set amount", Params: []string{"amount", "id"}, Text: "UPDATE parent SET amount = :amount WHERE id = :id"},
		lockParent:   {Name: "lock parent", Params: []string{"id"}, Text: "SELECT amount FROM parent WHERE id = :id {lock update}"},
		insertParent: {Name: "insert parent", Params: []string{"name", "amount"}, Text: "INSERT INTO parent (name, amount) VALUES (:name, :amount)"},
		parentByName: {Name: "parent by name", Params: []string{"name"}, Text: "SELECT id, amount FROM parent WHERE name = :name"},
		manyLines: {Name: "many lines", Params: []string{"n"},
			Text: "SELECT parent_id, line_no, quantity FROM line ORDER BY parent_id, line_no {limit :n}"},
		deleteParent: {Name: "delete parent", Params: []string{"id"}, Text: "DELETE FROM parent WHERE id = :id"},
		countLines:   {Name: "count lines", Params: []string{"id"}, Text: "SELECT count(*) FROM line WHERE parent_id = :id"},
		countParents: {Name: "count parents", Text: "SELECT count(*) FROM parent"},
		countEmpty:   {Name: "count empty", Text: "SELECT count(*) FROM empty"},
		findWords:    {Name: "find words", Params: []string{"words"}, Text: "SELECT id FROM article WHERE {match article.body :words} ORDER BY id"},
	}
	for i, s := range list {
		s.Index = i
	}
	return list
}

// statement returns one that traits give the text of. It is not among those
// that are prepared when a session opens, as a check's query is not.
func (tr Traits) statement(which int) *workload.Statement {
	s := &workload.Statement{Index: -1}
	switch which {
	case setTimeout:
		s.Name, s.Text = "set timeout", tr.SetTimeout
	case sleep:
		s.Name, s.Text = "sleep", tr.Sleep
	case busy:
		s.Name, s.Text = "busy", tr.Busy
	case session:
		s.Name, s.Text = "session", tr.Session
	case kill:
		s.Name, s.Text, s.Params = "kill", tr.Kill, []string{"id"}
	case missing:
		s.Name, s.Text = "missing", "SELECT 1 FROM no_such_table"
	}
	return s
}

// source returns rows 0 … rows-1 of row, in batches.
func source(rows int64, row func(i int64) []workload.Value) workload.Source {
	return workload.Source{
		Batches: rows / batchRows, Rows: rows,
		Fill: func(batch int64, emit func([]workload.Value) error) error {
			for i := batch * batchRows; i < (batch+1)*batchRows; i++ {
				if err := emit(row(i)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func parentRow(i int64) []workload.Value {
	return []workload.Value{workload.Int(i + 1), workload.Str([]byte(parentName(i + 1))), workload.Money(i * 101)}
}

// parentName is the name of the parent with number id.
func parentName(id int64) string { return fmt.Sprintf("parent %06d", id) }

func lineRow(i int64) []workload.Value {
	quantity := workload.Int(i * i)
	if i%7 == 0 {
		quantity = workload.Value{}
	}
	return []workload.Value{workload.Int(i/2 + 1), workload.Int(i%2 + 1), quantity}
}

// kindsRow has every value, with a null in another column of each row.
func kindsRow(i int64) []workload.Value {
	row := append([]workload.Value{workload.Int(i + 1)}, everyKind(i)...)
	if null := int(i % 12); null >= 1 && null < len(row) {
		row[null] = workload.Value{}
	}
	return row
}

// everyKind has a value for each column of kinds but its key.
func everyKind(i int64) []workload.Value {
	return []workload.Value{
		workload.Int(i%65536 - 32768),
		workload.Int(i*1000003%4294967296 - 2147483648),
		workload.Money(i*i - 5000),
		workload.Str(fmt.Appendf(nil, "%04x", i%65536)),
		workload.Str(fmt.Appendf(nil, "näme %d", i)),
		workload.Str([]byte(strings.Repeat("long text, ", int(i%20)))),
		{Kind: workload.Day, Int: i*13 - 3000},
		{Kind: workload.Instant, Int: i*86399999993 - 1e15},
		{Kind: workload.Bit, Int: i % 2},
	}
}

func articleRow(i int64) []workload.Value {
	words := []string{"alpha", "beta", "gamma", "delta", "epsilon"}
	body := fmt.Appendf(nil, "%s %s number%d", words[i%5], words[i/5%5], i)
	return []workload.Value{workload.Int(i + 1), workload.Str(body)}
}
