package postgres

import (
	"fmt"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Dialect renders statements and schemas as PostgreSQL's SQL. It is pure.
type Dialect struct{}

// Statement implements engine.Dialect. Parameters become $1, $2, … in the
// order of s.Params, and may be used more than once; strings, quoted
// identifiers, comments, dollar quotes and `::type` casts stay as they are.
//
// Intent tokens, and what they become:
//
//	{limit :n}, {limit 10}   LIMIT $1, LIMIT 10
//	{match t.c :words}       to_tsvector('simple', t.c) @@ plainto_tsquery('simple', $1)
//	{now}                    LOCALTIMESTAMP (sessions run in UTC)
//	{today}                  CURRENT_DATE
//	{last id}                lastval()
//	{lock update}            FOR UPDATE
//	{lock share}             FOR SHARE
//
// Any other token is an error, as is a parameter that is used but not
// declared, or declared but not used.
func (Dialect) Statement(s *workload.Statement) (string, error) {
	text, err := language().Render(s)
	return text.SQL, err
}

// language is PostgreSQL's SQL; the lexical structure is in its manual, section
// 4.1.
func language() *sqltext.Language {
	return &sqltext.Language{
		Engine:    Name,
		Lexis:     sqltext.Lexis{EscapeString: true, DollarQuotes: true, NestedComments: true},
		Parameter: func(i int) string { return fmt.Sprintf("$%d", i+1) },
		Marks:     "$",
		Call: func(procedure string, args []string) string {
			return "SELECT * FROM " + procedure + "(" + strings.Join(args, ",") + ")"
		},
		Words: map[string]string{
			"now": "LOCALTIMESTAMP", "today": "CURRENT_DATE", "last id": "lastval()",
			"lock update": "FOR UPDATE", "lock share": "FOR SHARE",
		},
		Limit: func(n string) string { return "LIMIT " + n },
		// 'simple' neither stems nor drops words, as in the full-text index.
		Match: func(table, column string, words func() string) string {
			return "to_tsvector('simple', " + identifier(table) + "." + identifier(column) +
				") @@ plainto_tsquery('simple', " + words() + ")"
		},
	}
}
