package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Schema implements engine.Dialect: before makes the tables with their primary
// and foreign keys, which SQLite can't add later; after makes indexes and the
// full-text tables with the triggers that keep them current.
//
// What is stored: whole numbers, and all that can be one. A decimal is the
// number of its smallest units (19.99 is 1999), a date the days and a timestamp
// the microseconds since 1970, a Boolean 0 or 1. So sums and comparisons are
// exact, where SQLite's own decimals are binary floating-point numbers; the
// price is that a statement must not multiply two decimals or compare one with
// a constant that has a fraction. Texts are as long as they are: SQLite keeps
// declared lengths for information only.
func (Dialect) Schema(d *workload.Definition) (before, after []string, err error) {
	if err := sqltext.CheckTables(d.Tables); err != nil {
		return nil, nil, err
	}
	for _, t := range d.Tables {
		text, err := makeTable(d.Tables, t)
		if err != nil {
			return nil, nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		before = append(before, text)
	}
	for _, t := range d.Tables {
		after = append(after, makeIndexes(t)...)
	}
	return before, after, nil
}

func makeTable(tables []workload.Table, t workload.Table) (string, error) {
	number := numbered(t)
	var lines []string
	for _, c := range t.Columns {
		typ, err := columnType(c)
		if err != nil {
			return "", err
		}
		line := identifier(c.Name) + " " + typ
		key := slices.Contains(t.PrimaryKey, c.Name)
		switch {
		case c.Name == number:
			// Exactly this type makes the column the row's own number, which
			// the largest plus one is given to where an insert names none.
			line = identifier(c.Name) + " INTEGER PRIMARY KEY"
		case c.Identity:
			return "", fmt.Errorf("column %s: SQLite numbers a column only where it is the primary key by itself", c.Name)
		case c.NotNull || key:
			line += " NOT NULL" // a key would allow nulls without
		}
		lines = append(lines, line)
	}
	if number == "" && len(t.PrimaryKey) > 0 {
		lines = append(lines, "PRIMARY KEY ("+sqltext.List(t.PrimaryKey, identifier)+")")
	}
	for _, f := range t.Foreign {
		line := sqltext.Constraint(tables, f, identifier)
		if f.Name != "" {
			line = "CONSTRAINT " + identifier(f.Name) + " " + line
		}
		lines = append(lines, line)
	}
	text := "CREATE TABLE " + identifier(t.Name) + " (\n  " + strings.Join(lines, ",\n  ") + "\n)"
	if clustered(t) {
		text += " WITHOUT ROWID"
	}
	return text, nil
}

// numbered is the column that is the row's own number: a primary key of one
// whole number. It is "" where there is none.
func numbered(t workload.Table) string {
	if len(t.PrimaryKey) != 1 {
		return ""
	}
	i := slices.IndexFunc(t.Columns, func(c workload.Column) bool { return c.Name == t.PrimaryKey[0] })
	c := t.Columns[i]
	if _, own := c.Own[Name]; own || c.Type.Base > workload.Int64 {
		return ""
	}
	return c.Name
}

// clusteredMax is up to how many bytes a row may have to lie in its primary
// key's tree: a twentieth of a page, as SQLite's documentation advises
// (https://sqlite.org/withoutrowid.html, section 4).
const clusteredMax = pageSize / 20

// clustered says whether the rows of t lie in the tree of its primary key
// rather than in one by number beside it. Short rows with a key of several
// columns do: one tree less to write. A full-text table refers to rows by
// number.
func clustered(t workload.Table) bool {
	if len(t.PrimaryKey) == 0 || numbered(t) != "" || slices.ContainsFunc(t.Indexes, func(x workload.Index) bool { return x.FullText }) {
		return false
	}
	bytes := 0
	for _, c := range t.Columns {
		switch c.Type.Base {
		case workload.Varchar, workload.Char:
			bytes += c.Type.Length
		case workload.LongText:
			return false
		default:
			bytes += 4 // most numbers are stored in one to four bytes
		}
	}
	return bytes <= clusteredMax
}

// decimalDigits are the most that fit into the eight bytes of a whole number.
const decimalDigits = 18

// columnType renders the type of c, its own for this engine where it has one.
// The names also tell what a whole number in the column means: see kindOf.
func columnType(c workload.Column) (string, error) {
	if own, ok := c.Own[Name]; ok {
		return own, nil
	}
	switch t := c.Type; t.Base {
	case workload.Int16:
		return "SMALLINT", nil
	case workload.Int32:
		return "INTEGER", nil
	case workload.Int64:
		return "BIGINT", nil
	case workload.Decimal:
		if t.Precision < 1 || t.Precision > decimalDigits || t.Scale < 0 || t.Scale > t.Precision {
			return "", fmt.Errorf("column %s: decimal(%d,%d) needs 1 <= precision <= %d and 0 <= scale <= precision", c.Name, t.Precision, t.Scale, decimalDigits)
		}
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale), nil
	case workload.Varchar, workload.Char:
		if t.Length < 1 {
			return "", fmt.Errorf("column %s: a length of %d characters is below 1", c.Name, t.Length)
		}
		if t.Base == workload.Char {
			return fmt.Sprintf("CHAR(%d)", t.Length), nil
		}
		return fmt.Sprintf("VARCHAR(%d)", t.Length), nil
	case workload.LongText:
		return "TEXT", nil
	case workload.Date:
		return "DATE", nil
	case workload.Timestamp:
		return "TIMESTAMP", nil
	case workload.Boolean:
		return "BOOLEAN", nil
	default:
		return "", fmt.Errorf("column %s: unknown family of types %d", c.Name, t.Base)
	}
}

func makeIndexes(t workload.Table) []string {
	var texts []string
	for _, x := range t.Indexes {
		on := identifier(x.Name) + " ON " + identifier(t.Name) + " (" + sqltext.List(x.Columns, identifier) + ")"
		switch {
		case x.FullText:
			texts = append(texts, makeWords(t, x.Columns[0])...)
		case x.Unique:
			texts = append(texts, "CREATE UNIQUE INDEX "+on)
		default:
			texts = append(texts, "CREATE INDEX "+on)
		}
	}
	return texts
}

// wordsIndex is the name of the full-text table over a column. It follows from
// table and column alone, so that {match …} finds it.
func wordsIndex(table, column string) string { return strings.ToLower(table + "_" + column + "_words") }

// makeWords makes the full-text table of a column, which refers to the table's
// rows and holds no text of its own, fills it, and keeps it current by triggers
// (https://sqlite.org/fts5.html, section 4.4.3). Words are folded in case, and
// nothing else: they match what other engines' simplest configuration does.
func makeWords(t workload.Table, name string) []string {
	table, column, words := identifier(t.Name), identifier(name), wordsIndex(t.Name, name)
	rowid := numbered(t)
	if rowid == "" {
		rowid = "rowid"
	}
	index := identifier(words)
	add := "INSERT INTO " + index + " (rowid, " + column + ") VALUES (new.rowid, new." + column + ");"
	remove := "INSERT INTO " + index + " (" + index + ", rowid, " + column + ") VALUES ('delete', old.rowid, old." + column + ");"
	trigger := func(event, on, do string) string {
		return "CREATE TRIGGER " + identifier(words+"_"+event) + " AFTER " + on + " ON " + table + " BEGIN " + do + " END"
	}
	return []string{
		"CREATE VIRTUAL TABLE " + index + " USING fts5(" + column + ", content=" + sqltext.Literal(t.Name) +
			", content_rowid=" + sqltext.Literal(rowid) + ", tokenize='unicode61 remove_diacritics 0')",
		"INSERT INTO " + index + " (" + index + ") VALUES ('rebuild')",
		trigger("insert", "INSERT", add),
		trigger("delete", "DELETE", remove),
		trigger("update", "UPDATE OF "+column, remove+" "+add),
	}
}

// identifier renders a name, in quotes only where it needs them.
func identifier(name string) string {
	if sqltext.Plain(name) && !reserved(strings.ToUpper(name)) {
		return name
	}
	return sqltext.Quoted(name, '"')
}

// reserved says whether a word in capitals can't name a table or column without
// quotes: the key words (https://sqlite.org/lang_keywords.html) that the parser
// does not also take for a name.
func reserved(word string) bool {
	const words = " ADD ALL ALTER AND AS AUTOINCREMENT BETWEEN CASE CHECK COLLATE COMMIT CONSTRAINT CREATE CROSS DEFAULT" +
		" DEFERRABLE DELETE DISTINCT DROP ELSE ESCAPE EXCEPT EXISTS FOREIGN FROM FULL GROUP HAVING IN INDEX INNER INSERT" +
		" INTERSECT INTO IS ISNULL JOIN LEFT LIMIT NATURAL NOT NOTHING NOTNULL NULL ON OR ORDER OUTER PRIMARY REFERENCES" +
		" RETURNING RIGHT SELECT SET TABLE THEN TO TRANSACTION UNION UNIQUE UPDATE USING VALUES WHEN WHERE "
	return strings.Contains(words, " "+word+" ")
}
