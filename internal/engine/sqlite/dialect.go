package sqlite

import (
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Dialect renders statements and schemas as SQLite's SQL. It is pure.
type Dialect struct{}

// Statement implements engine.Dialect. Parameters become ?1, ?2, … in the order
// of s.Params, and may be used more than once.
//
// Intent tokens, and what they become:
//
//	{limit :n}, {limit 10}   LIMIT ?1, LIMIT 10
//	{match t.c :words}       t.rowid IN (SELECT rowid FROM t_c_words WHERE … MATCH …)
//	{now}                    microseconds since 1970 in UTC, to the millisecond
//	{today}                  days since 1970 in UTC
//	{last id}                last_insert_rowid()
//	{lock update}            a comment: the session takes the writer's lock
//	{lock share}             the same
//
// There are no locks of rows. A statement with a lock token makes its session
// take the one writer's lock, which a writing transaction has from its begin.
// A call is an error, because SQLite has no procedures.
func (Dialect) Statement(s *workload.Statement) (string, error) {
	text, err := language().Render(s)
	return text.SQL, err
}

// language is SQLite's SQL (https://sqlite.org/lang.html).
func language() *sqltext.Language {
	const locked = "/* the session has the writer's lock */"
	return &sqltext.Language{
		Engine:    Name,
		Lexis:     sqltext.Lexis{Backticks: true, Brackets: true},
		Parameter: func(i int) string { return fmt.Sprintf("?%d", i+1) },
		Marks:     "?@$",
		// Decimals are whole numbers: see Schema.
		WholeNumbers: true,
		Words: map[string]string{
			"now":         "CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000",
			"today":       "(unixepoch() / 86400)",
			"last id":     "last_insert_rowid()",
			"lock update": locked, "lock share": locked,
		},
		Limit: func(n string) string { return "LIMIT " + n },
		// Each word becomes a phrase of its own, so that nothing in it is taken
		// for FTS5's query language, and phrases side by side must all occur.
		Match: func(table, column string, words func() string) string {
			index := identifier(wordsIndex(table, column))
			return identifier(table) + ".rowid IN (SELECT rowid FROM " + index + " WHERE " + index +
				` MATCH '"' || replace(replace(trim(` + words() + `), '"', ' '), ' ', '" "') || '"')`
		},
	}
}
