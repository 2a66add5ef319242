package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/loadstone-perf/loadstone/internal/engine/bulk"
	"github.com/loadstone-perf/loadstone/internal/engine/fingerprint"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// table is one table while it is loaded.
type table struct {
	source  *workload.Table
	name    string // as SQL, quoted where it must be
	columns []column
	content fingerprint.Content // of the rows loaded
}

// column is one column as the server has it.
type column struct {
	name   string // as SQL
	typ    wire.Type
	padded bool // the server fills values up with blanks
}

// duplicateObject is the SQLSTATE for a role that exists.
const duplicateObject = "42710"

// makeDatabase makes the roles and the database.
func (l *loader) makeDatabase(ctx context.Context) error {
	conn, err := wire.Connect(ctx, l.server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for _, r := range []workload.Role{l.d.Owner, l.d.Role} {
		if r.Name == "" {
			continue
		}
		about := quote(r.Name) + " LOGIN"
		if r.Password != "" {
			about += " PASSWORD " + literal(r.Password)
		}
		err := conn.Exec(ctx, "CREATE ROLE "+about)
		var e *wire.Error
		if errors.As(err, &e) && e.Code == duplicateObject {
			err = conn.Exec(ctx, "ALTER ROLE "+about)
		}
		if err != nil {
			return fmt.Errorf("make role %s: %w", r.Name, err)
		}
	}
	// Locale C: the order of strings is that of their bytes, the same on
	// every machine whatever its C library.
	sql := "CREATE DATABASE " + quote(l.d.Database) + " TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
	if l.d.Owner.Name != "" {
		sql += " OWNER " + quote(l.d.Owner.Name)
	}
	if err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("make database %s: %w", l.d.Database, err)
	}
	return nil
}

// makeTables makes the empty tables and finds out what types their columns
// have.
func (l *loader) makeTables(ctx context.Context, conn *wire.Conn) error {
	for _, sql := range l.before {
		if err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	// Names in SQL without quotes are folded to lower case, so that the
	// dialect's spelling is found either way; the exact one wins.
	find := workload.Statement{Name: "columns"}
	err := conn.Prepare(ctx, wire.Prepared{Index: -1, Name: find.Name, SQL: `
SELECT r.name, quote_ident(a.attname), a.attname::text, a.atttypid::bigint, a.atttypmod, a.atttypid = 'bpchar'::regtype
FROM (SELECT oid, quote_ident(relname) AS name FROM pg_class
      WHERE lower(relname) = lower($1) AND relkind = 'r' AND relnamespace = current_schema()::regnamespace
      ORDER BY relname = $1 DESC LIMIT 1) r
JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped`})
	if err != nil {
		return err
	}
	for _, t := range l.tables {
		r, err := conn.Run(ctx, &find, []workload.Value{workload.Str([]byte(t.source.Name))})
		if err != nil {
			return fmt.Errorf("find the columns of table %s: %w", t.source.Name, err)
		}
		if err := t.resolve(r); err != nil {
			return fmt.Errorf("table %s: %w", t.source.Name, err)
		}
	}
	return nil
}

// resolve takes the columns that the server has in t.
func (t *table) resolve(r workload.Result) error {
	if r.Rows() == 0 {
		return errors.New("the schema does not make it")
	}
	t.name = string(r.Row(0)[0].Str)
	for _, want := range t.source.Columns {
		var found []workload.Value
		for i := range r.Rows() {
			if row := r.Row(i); strings.EqualFold(string(row[2].Str), want.Name) && (found == nil || string(row[2].Str) == want.Name) {
				found = row
			}
		}
		if found == nil {
			return fmt.Errorf("the schema does not make its column %s", want.Name)
		}
		typ := wire.TypeOf(uint32(found[3].Int), int32(found[4].Int))
		if !typ.Binary() {
			return fmt.Errorf("column %s has a %s, which can't be loaded", want.Name, typ)
		}
		t.columns = append(t.columns, column{name: string(found[1].Str), typ: typ, padded: found[5].Int == 1})
	}
	return nil
}

// columnList names all columns, in the order of the generated rows.
func (t *table) columnList() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}

// makeKeys runs what the dialect wants run after the rows. Statements that
// only add an index or key to one table are independent of each other: those
// that follow one another run beside each other, those of the largest tables
// first so that the end is even. Everything else, foreign keys above all, runs
// alone and in order: a foreign key locks two tables, and several at a time
// could wait for each other in a circle.
func (l *loader) makeKeys(ctx context.Context, c crew) error {
	l.progress.Start(bulk.StageKeys, int64(len(l.after)))
	for rest := l.after; len(rest) > 0; {
		n := 0
		for n < len(rest) && addsIndex(rest[n]) {
			n++
		}
		n = max(n, 1)
		list := slices.Clone(rest[:n])
		slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(l.rowsBehind(b), l.rowsBehind(a)) })
		err := c.Each(ctx, n, func(ctx context.Context, conn *wire.Conn, i int) error {
			if err := conn.Exec(ctx, list[i]); err != nil {
				return fmt.Errorf("%s: %w", list[i], err)
			}
			l.progress.Add(1)
			return nil
		})
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// rowsBehind is how many rows the table has that sql adds an index or key to:
// the first table whose name stands in it as a word of its own.
func (l *loader) rowsBehind(sql string) int64 {
	words := strings.FieldsFunc(sql, func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == ')' || r == '"' })
	for _, word := range words {
		for _, t := range l.tables {
			if strings.EqualFold(word, t.source.Name) {
				return t.content.Rows
			}
		}
	}
	return 0
}

// addsIndex tells whether sql makes an index, or a primary or unique key.
func addsIndex(sql string) bool {
	words := strings.Fields(strings.ToUpper(sql))
	has := func(words []string, prefix ...string) bool {
		return len(words) >= len(prefix) && strings.Join(words[:len(prefix)], " ") == strings.Join(prefix, " ")
	}
	if has(words, "CREATE", "INDEX") || has(words, "CREATE", "UNIQUE", "INDEX") {
		return true
	}
	upper := strings.Join(words, " ")
	return has(words, "ALTER", "TABLE") && !strings.Contains(upper, "FOREIGN KEY") &&
		(strings.Contains(upper, " PRIMARY KEY") || strings.Contains(upper, " UNIQUE"))
}
