package workloadtest

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

func (s suite) parameters(t *testing.T) {
	if s.kind.Name == "" || s.kind.About == "" {
		t.Errorf("kind %q about %q: both are needed", s.kind.Name, s.kind.About)
	}
	seen := map[string]bool{}
	for _, p := range s.kind.Params {
		if seen[p.Name] {
			t.Errorf("parameter %s is there twice", p.Name)
		}
		seen[p.Name] = true
		if err := p.Check(p.Default); err != nil {
			t.Errorf("default of %s: %v", p.Name, err)
		}
		if p.About == "" {
			t.Errorf("parameter %s does not say what it is about", p.Name)
		}
		_, data := s.Data[p.Name]
		if _, behaviour := s.Behaviour[p.Name]; data == behaviour {
			t.Errorf("parameter %s must be in exactly one of Data and Behaviour", p.Name)
		}
	}
}

func (s suite) definition(t *testing.T) {
	for name, d := range s.variants(t) {
		if d.Name != s.kind.Name || d.Version < 1 || d.DataKey == "" || d.DataSize <= 0 || d.Database == "" {
			t.Errorf("%s: name %q, version %d, data key %q, data size %v, database %q", name, d.Name, d.Version, d.DataKey, d.DataSize, d.Database)
		}
		series := map[string]bool{}
		share := 0.0
		for i, tx := range d.Transactions {
			if tx.Index != i || tx.Name == "" || tx.About == "" || tx.Exec == nil || series[tx.Name] {
				t.Errorf("%s: transaction %d is %+v", name, i, *tx)
			}
			series[tx.Name] = true
			share += tx.Share
		}
		if share != 0 && math.Abs(share-100) > 1e-6 {
			t.Errorf("%s: the stated shares add up to %g %%", name, share)
		}
		if d.Unit != "" {
			if series[d.Unit] {
				t.Errorf("%s: unit %s is called as a transaction", name, d.Unit)
			}
			series[d.Unit] = true
		}
		m := d.Metric
		if m.Name == "" || m.Short == "" || m.Per <= 0 || !series[m.Series] {
			t.Errorf("%s: metric %+v", name, m)
		}
	}
}

// placeholder finds parameters; a second colon before it is a cast.
var placeholder = regexp.MustCompile(`(^|[^:]):([a-z_][a-z0-9_]*)`)

// used lists the parameters in text, each once.
func used(text string) []string {
	var out []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(out, m[2]) {
			out = append(out, m[2])
		}
	}
	slices.Sort(out)
	return out
}

func (s suite) statements(t *testing.T) {
	for name, d := range s.variants(t) {
		seen := map[string]bool{}
		for i, st := range d.Statements {
			if st.Index != i || st.Name == "" || seen[st.Name] {
				t.Errorf("%s: statement %d has index %d and name %q", name, i, st.Index, st.Name)
			}
			seen[st.Name] = true
			if (st.Text == "") == (st.Call == "") {
				t.Errorf("%s: statement %s needs a text or a call", name, st.Name)
			}
			want := slices.Sorted(slices.Values(st.Params))
			if len(slices.Compact(slices.Clone(want))) != len(want) {
				t.Errorf("%s: statement %s declares a parameter twice: %v", name, st.Name, want)
			}
			texts := map[string]string{"every engine": st.Text}
			for engine, own := range st.Own {
				texts[engine] = own
			}
			for engine, text := range texts {
				if text != "" && !slices.Equal(used(text), want) {
					t.Errorf("%s: statement %s for %s uses %v, declares %v", name, st.Name, engine, used(text), want)
				}
			}
		}
	}
}

func (s suite) scripts(t *testing.T) {
	for name, d := range s.variants(t) {
		for engine, text := range d.Scripts {
			first, _, _ := strings.Cut(text, "\n")
			if !regexp.MustCompile(`^-- .*\bneeds? (its|their) own text`).MatchString(first) {
				t.Errorf("%s: the script for %s begins with %q, not with why it is there", name, engine, first)
			}
			for _, st := range d.Statements {
				if st.Call == "" {
					continue
				}
				define := regexp.MustCompile(`(?im)^\s*create\s+(or\s+replace\s+)?(function|procedure)\s+` + regexp.QuoteMeta(st.Call) + `\s*\(`)
				if n := len(define.FindAllString(text, -1)); n != 1 {
					t.Errorf("%s: the script for %s defines %s %d times", name, engine, st.Call, n)
				}
			}
		}
	}
}

func (s suite) checks(t *testing.T) {
	for name, d := range s.variants(t) {
		seen := map[string]bool{}
		for i, c := range d.Checks {
			if c.Name == "" || seen[c.Name] || c.About == "" || c.Clause == "" || c.Query == nil {
				t.Errorf("%s: check %d (%q) lacks something or is there twice", name, i, c.Name)
				continue
			}
			seen[c.Name] = true
			if len(c.Query.Params) > 0 || len(used(c.Query.Text)) > 0 {
				t.Errorf("%s: check %s has parameters", name, c.Name)
			}
			if strings.Contains(c.Query.Text, "%!") {
				t.Errorf("%s: check %s: %s", name, c.Name, c.Query.Text)
			}
			if c.Want == nil {
				continue
			}
			if least, most := c.Want(workload.Tally{}); least > most {
				t.Errorf("%s: check %s wants %d to %d", name, c.Name, least, most)
			}
		}
	}
}

func (s suite) tables(t *testing.T) {
	for name, d := range s.variants(t) {
		byName := map[string]workload.Table{}
		for _, table := range d.Tables {
			if _, twice := byName[table.Name]; twice || table.Name == "" || len(table.Columns) == 0 {
				t.Errorf("%s: table %q is there twice or empty", name, table.Name)
			}
			byName[table.Name] = table
		}
		indexes := map[string]bool{}
		for _, table := range d.Tables {
			has := func(what string, columns []string) {
				for _, c := range columns {
					if column(table, c) < 0 {
						t.Errorf("%s: %s of %s names column %s, which it lacks", name, what, table.Name, c)
					}
				}
			}
			has("the primary key", table.PrimaryKey)
			for _, x := range table.Indexes {
				has("index "+x.Name, x.Columns)
				if x.Name == "" || indexes[x.Name] || len(x.Columns) == 0 || x.FullText && len(x.Columns) != 1 {
					t.Errorf("%s: index %+v of %s", name, x, table.Name)
				}
				indexes[x.Name] = true
			}
			for _, f := range table.Foreign {
				has("foreign key "+f.Name, f.Columns)
				if to, ok := byName[f.Table]; !ok || len(to.PrimaryKey) != len(f.Columns) {
					t.Errorf("%s: foreign key %s of %s refers to %s", name, f.Name, table.Name, f.Table)
				}
			}
		}
	}
}

// column is the place of a column in table, -1 where it has none.
func column(table workload.Table, name string) int {
	return slices.IndexFunc(table.Columns, func(c workload.Column) bool { return c.Name == name })
}

func (s suite) dataKey(t *testing.T) {
	base := s.define(t)
	again := s.define(t)
	if base.DataKey != again.DataKey {
		t.Errorf("the same parameters give data keys %q and %q", base.DataKey, again.DataKey)
	}
	if other := s.exactly(t, s.Small, seed+1); other.DataKey == base.DataKey {
		t.Errorf("another seed has the same data key %q", base.DataKey)
	}
	for name, text := range s.Data {
		if d := s.define(t, map[string]string{name: text}, s.With[name]); d.DataKey == base.DataKey {
			t.Errorf("%s = %s changes the data but not the data key %q", name, text, base.DataKey)
		}
	}
	for name, text := range s.Behaviour {
		if d := s.define(t, map[string]string{name: text}); d.DataKey != base.DataKey {
			t.Errorf("%s = %s does not change the data but the data key: %q, was %q", name, text, d.DataKey, base.DataKey)
		}
	}
}
