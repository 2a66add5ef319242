package sqltext

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// marks is a language of question marks with every quote there is.
func marks() *Language {
	return &Language{
		Engine:    "marks",
		Lexis:     Lexis{Backslash: true, Backticks: true, HashComments: true, BlankAfterDashes: true},
		Parameter: func(int) string { return "?" },
		Marks:     "?",
		Call:      func(p string, args []string) string { return "CALL " + p + "(" + strings.Join(args, ",") + ")" },
		Words:     map[string]string{"now": "NOW()", "lock update": ""},
		Limit:     func(n string) string { return "TOP(" + n + ")" },
		Match: func(table, column string, words func() string) string {
			return words() + " IN " + table + "/" + column + " OR " + words()
		},
	}
}

// numbers is a language of numbered placeholders with other quotes.
func numbers() *Language {
	return &Language{
		Engine:    "numbers",
		Lexis:     Lexis{EscapeString: true, DollarQuotes: true, Brackets: true, NestedComments: true},
		Parameter: func(i int) string { return fmt.Sprintf("$%d", i+1) },
		Marks:     "$",
	}
}

func TestPlaceholdersKeepTheOrderOfTheirParameters(t *testing.T) {
	for _, c := range []struct {
		language *Language
		in, want string
		order    []int
		locks    bool
	}{
		{marks(), "SELECT :b, :a, :b", "SELECT ?, ?, ?", []int{1, 0, 1}, false},
		{numbers(), "SELECT :b, :a, :b", "SELECT $2, $1, $2", []int{1, 0, 1}, false},
		{marks(), "SELECT :a {limit :b}", "SELECT ? TOP(?)", []int{0, 1}, false},
		{marks(), "SELECT {match t.c :b} AND :a", "SELECT ? IN t/c OR ? AND ?", []int{1, 1, 0}, false},
		{marks(), "SELECT :a, :b {lock update}", "SELECT ?, ? ", []int{0, 1}, true},
		{marks(), "SELECT :a, :b, {now}", "SELECT ?, ?, NOW()", []int{0, 1}, false},
	} {
		got, err := c.language.Render(&workload.Statement{Name: "s", Text: c.in, Params: []string{"a", "b"}})
		if err != nil || got.SQL != c.want || !slices.Equal(got.Order, c.order) || got.Locks != c.locks {
			t.Errorf("%s: %+v, %v, want %q %v locks %v", c.in, got, err, c.want, c.order, c.locks)
		}
	}
	got, err := marks().Render(&workload.Statement{Name: "s", Call: "p", Params: []string{"a", "b"}})
	if err != nil || got.SQL != "CALL p(?,?)" || !slices.Equal(got.Order, []int{0, 1}) {
		t.Errorf("call: %+v, %v", got, err)
	}
}

// What one language quotes is code in another.
func TestEachLanguageHasItsOwnQuotes(t *testing.T) {
	for _, c := range []struct{ in, marks, numbers string }{ // "" is an error
		{`'a\':a', :a`, `'a\':a', ?`, ""},
		{`'a\', :a --'`, "", `'a\', $1 --'`},
		{`E'a\':a', :a`, `E'a\':a', ?`, `E'a\':a', $1`},
		{"`:a`, :a", "`:a`, ?", "`$1`, $1"},
		{"[:a], :a", "[?], ?", "[:a], $1"},
		{"# :a\n:a", "# :a\n?", "# $1\n$1"},
		{"1--:a\n:a", "1--?\n?", "1--:a\n$1"},
		{"1-- :a\n:a", "1-- :a\n?", "1-- :a\n$1"},
		{"/* /* */ :a", "/* /* */ ?", ""},
		{"/* /* */ */ :a", "/* /* */ */ ?", "/* /* */ */ $1"},
		{"$x$ :a $x$ :a", "$x$ ? $x$ ?", "$x$ :a $x$ $1"},
		{"$1 :a", "$1 ?", ""},
		{"? :a", "", "? $1"},
		{"'it''s :a', :a", "'it''s :a', ?", "'it''s :a', $1"},
	} {
		for language, want := range map[*Language]string{marks(): c.marks, numbers(): c.numbers} {
			got, err := language.Render(&workload.Statement{Name: "s", Text: c.in, Params: []string{"a"}})
			if (err == nil) != (want != "") || got.SQL != want {
				t.Errorf("%s as %s: %q, %v, want %q", c.in, language.Engine, got.SQL, err, want)
			}
		}
	}
}

func TestWhatALanguageLacksIsAnError(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"SELECT {now}", "numbers has no form of the token {now}"},
		{"SELECT {lock update}", "no form"},
		{"SELECT {limit 3}", "no form"},
		{"SELECT {match t.c :a}", "no form"},
		{"SELECT {teleport}", "unknown token"},
	} {
		_, err := numbers().Render(&workload.Statement{Name: "s", Text: c.in})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.in, err, c.want)
		}
	}
	if _, err := numbers().Render(&workload.Statement{Name: "s", Call: "p"}); err == nil || !strings.Contains(err.Error(), "has no procedures") {
		t.Errorf("call: %v", err)
	}
	for in, want := range map[string]string{
		"{match c :a}": "not TABLE.COLUMN", "{match t.c words}": "not a parameter", "{match t.c :b}": "not declared",
		"{match t.c}": "unknown token", "{match a.b.c :a}": "not TABLE.COLUMN",
	} {
		_, err := marks().Render(&workload.Statement{Name: "s", Text: in, Params: []string{"a"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// Whatever a statement is, its placeholders are as many as its order says.
func TestOrderHasEveryPlaceholder(t *testing.T) {
	pieces := []string{":p", ":q", "{limit :p}", "{match t.c :q}", "'?'", "`?`", "-- ?\n", "/* ? */", "x", "1--1"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), " ") + " :p :q"
		got, err := marks().Render(&workload.Statement{Name: "s", Text: text, Params: []string{"p", "q"}})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		bare := got.SQL
		for _, quoted := range []string{"'?'", "`?`", "-- ?\n", "/* ? */"} {
			bare = strings.ReplaceAll(bare, quoted, "")
		}
		if strings.Count(bare, "?") != len(got.Order) {
			t.Fatalf("%s has not %d placeholders", got.SQL, len(got.Order))
		}
	})
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{":a", "{match t.c :a}", "'", "`", "$a$", "/*/", "E'\\", "a::b", "--", "#", "["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range []*Language{marks(), numbers()} {
			got, err := l.Render(&workload.Statement{Name: "s", Text: text, Params: []string{"a"}})
			if err == nil && len(got.Order) == 0 {
				t.Errorf("%q became %q as %s, in which the declared parameter is missing", text, got.SQL, l.Engine)
			}
		}
	})
}

func TestTablesThatCanNotBeAreRefused(t *testing.T) {
	whole := workload.Type{Base: workload.Int32}
	tables := func() []workload.Table {
		return []workload.Table{
			{Name: "a", PrimaryKey: []string{"id"}, Columns: []workload.Column{{Name: "id", Type: whole}, {Name: "n", Type: whole}}},
			{
				Name: "b", Columns: []workload.Column{{Name: "id", Type: whole}},
				Indexes: []workload.Index{{Name: "i", Columns: []string{"id"}}},
				Foreign: []workload.ForeignKey{{Name: "f", Columns: []string{"id"}, Table: "a", OnDelete: "cascade"}},
			},
		}
	}
	if err := CheckTables(tables()); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(l []workload.Table){
		"table A is there twice":   func(l []workload.Table) { l[1].Name = "A" },
		"has no name":              func(l []workload.Table) { l[1].Name = "" },
		"column 2 has no name":     func(l []workload.Table) { l[0].Columns[1].Name = "" },
		"column ID is there twice": func(l []workload.Table) { l[0].Columns[1].Name = "ID" },
		"fill factor 9":            func(l []workload.Table) { l[0].FillFactor = 9 },
		"unknown column x":         func(l []workload.Table) { l[0].PrimaryKey[0] = "x" },
		"index i has no columns":   func(l []workload.Table) { l[1].Indexes[0].Columns = nil },
		"without a name":           func(l []workload.Table) { l[1].Indexes[0].Name = "" },
		"can't be unique":          func(l []workload.Table) { l[1].Indexes[0].FullText, l[1].Indexes[0].Unique = true, true },
		"unknown table c":          func(l []workload.Table) { l[1].Foreign[0].Table = "c" },
		"primary key of b has 0":   func(l []workload.Table) { l[1].Foreign[0].Table = "b" },
		`on delete "maybe"`:        func(l []workload.Table) { l[1].Foreign[0].OnDelete = "maybe" },
	} {
		l := tables()
		spoil(l)
		if err := CheckTables(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	f := tables()[1].Foreign[0]
	if got := Constraint(tables(), f, strings.ToUpper); got != "FOREIGN KEY (ID) REFERENCES A (ID) ON DELETE CASCADE" {
		t.Errorf("%s", got)
	}
}
