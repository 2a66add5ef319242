package mysql

import (
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Dialect renders statements and schemas as SQL of MariaDB and, where product
// says so, of MySQL. It is pure. Statements are the same for both.
type Dialect struct {
	// product decides between names of collations; "" is MariaDB.
	product flavour
}

// Statement implements engine.Dialect. Every use of a parameter becomes a ? of
// its own: see render for what they stand for.
//
// Intent tokens, and what they become:
//
//	{limit :n}, {limit 10}   LIMIT ?, LIMIT 10
//	{now}                    LOCALTIMESTAMP(6) (sessions run in UTC)
//	{today}                  CURRENT_DATE
//	{last id}                LAST_INSERT_ID()
//	{lock update}            FOR UPDATE
//	{lock share}             LOCK IN SHARE MODE, which both products know
//	{match t.c :words}       MATCH (c) AGAINST (… IN BOOLEAN MODE), every word
//	                         with the + that makes it needed
func (Dialect) Statement(s *workload.Statement) (string, error) {
	t, err := render(s)
	return t.SQL, err
}

// render renders s, with the order in which arguments fill the placeholders.
func render(s *workload.Statement) (sqltext.Text, error) {
	return language().Render(s)
}

// language is the SQL of both products in their default SQL mode.
func language() *sqltext.Language {
	return &sqltext.Language{
		Engine:    Name,
		Lexis:     sqltext.Lexis{Backslash: true, Backticks: true, HashComments: true, BlankAfterDashes: true},
		Parameter: func(int) string { return "?" },
		Marks:     "?",
		Call: func(procedure string, args []string) string {
			return "CALL " + procedure + "(" + strings.Join(args, ",") + ")"
		},
		Words: map[string]string{
			"now":         "LOCALTIMESTAMP(6)",
			"today":       "CURRENT_DATE",
			"last id":     "LAST_INSERT_ID()",
			"lock update": "FOR UPDATE",
			"lock share":  "LOCK IN SHARE MODE",
		},
		Limit: func(n string) string { return "LIMIT " + n },
		Match: func(table, column string, words func() string) string {
			return "MATCH (" + identifier(table) + "." + identifier(column) + ") AGAINST (" + wanted(words()) + " IN BOOLEAN MODE)"
		},
	}
}

// wanted is an expression for the words of an expression, each with the + that
// makes it needed. What is neither letter, digit nor underscore would be an
// operator, and becomes a blank. Of no word at all comes an empty text, which
// matches nothing; a + alone would be an error.
func wanted(words string) string {
	return `REPLACE(RTRIM(CONCAT(' ', TRIM(REGEXP_REPLACE(` + words + `, '[^[:alnum:]_]+', ' ')))), ' ', ' +')`
}
