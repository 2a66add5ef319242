package sqltext

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// CheckTables says what is wrong with tables whatever the engine: names that
// are missing or taken, keys, indexes and references to what is not there.
// Names that differ in case alone are the same, as they are in most engines.
func CheckTables(tables []workload.Table) error {
	for i := range tables {
		t := &tables[i]
		if slices.ContainsFunc(tables[:i], func(u workload.Table) bool { return strings.EqualFold(u.Name, t.Name) }) {
			return fmt.Errorf("table %s is there twice", t.Name)
		}
		if err := checkTable(tables, t); err != nil {
			return fmt.Errorf("table %s%w", t.Name, err)
		}
	}
	return nil
}

func checkTable(tables []workload.Table, t *workload.Table) error {
	if t.Name == "" {
		return errors.New(" has no name")
	}
	if len(t.Columns) == 0 {
		return errors.New(" has no columns")
	}
	for i, c := range t.Columns {
		if c.Name == "" {
			return fmt.Errorf(": column %d has no name", i+1)
		}
		if slices.ContainsFunc(t.Columns[:i], func(d workload.Column) bool { return strings.EqualFold(d.Name, c.Name) }) {
			return fmt.Errorf(": column %s is there twice", c.Name)
		}
	}
	if t.FillFactor != 0 && (t.FillFactor < 10 || t.FillFactor > 100) {
		return fmt.Errorf(": fill factor %d is outside 10 to 100", t.FillFactor)
	}
	if len(t.PrimaryKey) > 0 {
		if err := hasColumns(t, t.PrimaryKey, "primary key"); err != nil {
			return err
		}
	}
	for _, x := range t.Indexes {
		if err := hasColumns(t, x.Columns, "index "+x.Name); err != nil {
			return err
		}
		switch {
		case x.Name == "":
			return errors.New(" has an index without a name")
		case x.FullText && (len(x.Columns) != 1 || x.Unique):
			return fmt.Errorf(": full-text index %s needs exactly one column and can't be unique", x.Name)
		}
	}
	for _, f := range t.Foreign {
		if err := checkForeign(tables, t, f); err != nil {
			return err
		}
	}
	return nil
}

func checkForeign(tables []workload.Table, t *workload.Table, f workload.ForeignKey) error {
	if err := hasColumns(t, f.Columns, "foreign key "+f.Name); err != nil {
		return err
	}
	i := slices.IndexFunc(tables, func(u workload.Table) bool { return u.Name == f.Table })
	if i < 0 {
		return fmt.Errorf(": foreign key %s refers to unknown table %s", f.Name, f.Table)
	}
	if key := tables[i].PrimaryKey; len(key) != len(f.Columns) {
		return fmt.Errorf(": foreign key %s has %d columns, the primary key of %s has %d", f.Name, len(f.Columns), f.Table, len(key))
	}
	switch f.OnDelete {
	case "", "cascade", "set null":
		return nil
	default:
		return fmt.Errorf(": foreign key %s: on delete %q is neither cascade nor set null", f.Name, f.OnDelete)
	}
}

// hasColumns says which of names is not a column of t.
func hasColumns(t *workload.Table, names []string, what string) error {
	if len(names) == 0 {
		return fmt.Errorf(": %s has no columns", what)
	}
	for _, n := range names {
		if !slices.ContainsFunc(t.Columns, func(c workload.Column) bool { return c.Name == n }) {
			return fmt.Errorf(": %s names unknown column %s", what, n)
		}
	}
	return nil
}

// Constraint renders f as a table constraint without its CONSTRAINT name, in
// tables that have passed CheckTables: FOREIGN KEY (…) REFERENCES … (…), and
// what happens on delete.
func Constraint(tables []workload.Table, f workload.ForeignKey, identifier func(string) string) string {
	var key []string
	for _, t := range tables {
		if t.Name == f.Table {
			key = t.PrimaryKey
		}
	}
	text := "FOREIGN KEY (" + List(f.Columns, identifier) + ") REFERENCES " + identifier(f.Table) + " (" + List(key, identifier) + ")"
	if f.OnDelete != "" {
		text += " ON DELETE " + strings.ToUpper(f.OnDelete)
	}
	return text
}
