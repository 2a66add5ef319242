package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Schema implements engine.Dialect: before makes the tables with the key by
// which InnoDB stores their rows; after adds the other indexes, then the foreign
// keys. A clustered key that came after the rows would move all of them;
// secondary indexes are built faster over loaded rows, by sorting, than row by
// row. Identity columns need nothing: their next number follows the largest.
func (x Dialect) Schema(d *workload.Definition) (before, after []string, err error) {
	if err := sqltext.CheckTables(d.Tables); err != nil {
		return nil, nil, err
	}
	for i := range d.Tables {
		text, err := x.table(&d.Tables[i])
		if err != nil {
			return nil, nil, fmt.Errorf("table %s: %w", d.Tables[i].Name, err)
		}
		before = append(before, text)
	}
	for i := range d.Tables {
		after = append(after, indexes(&d.Tables[i])...)
	}
	for _, t := range d.Tables {
		for _, f := range t.Foreign {
			text := "ALTER TABLE " + identifier(t.Name) + " ADD "
			if f.Name != "" {
				text += "CONSTRAINT " + identifier(f.Name) + " "
			}
			after = append(after, text+sqltext.Constraint(d.Tables, f, identifier))
		}
	}
	return before, after, nil
}

// table renders one table. The character set and the collation are the
// database's: see load.Database.
func (x Dialect) table(t *workload.Table) (string, error) {
	var lines []string
	for _, c := range t.Columns {
		typ, err := columnType(c)
		if err != nil {
			return "", err
		}
		if searched(t, c.Name) {
			typ += " COLLATE " + x.words()
		}
		if c.NotNull {
			typ += " NOT NULL"
		} else {
			typ += " NULL" // a TIMESTAMP without it would be NOT NULL
		}
		if c.Identity {
			if len(t.PrimaryKey) == 0 || t.PrimaryKey[0] != c.Name {
				return "", fmt.Errorf("identity column %s is not the first of the primary key, as InnoDB needs it", c.Name)
			}
			typ += " AUTO_INCREMENT"
		}
		lines = append(lines, "  "+identifier(c.Name)+" "+typ)
	}
	if len(t.PrimaryKey) > 0 {
		lines = append(lines, "  PRIMARY KEY ("+list(t.PrimaryKey)+")")
	} else if i := clustered(t); i >= 0 {
		lines = append(lines, "  UNIQUE KEY "+identifier(t.Indexes[i].Name)+" ("+list(t.Indexes[i].Columns)+")")
	}
	return "CREATE TABLE " + identifier(t.Name) + " (\n" + strings.Join(lines, ",\n") + "\n) ENGINE=InnoDB", nil
}

// clustered is the index by which InnoDB stores a table without a primary key:
// the first unique one whose columns are never null; -1 where there is none.
func clustered(t *workload.Table) int {
	if len(t.PrimaryKey) > 0 {
		return -1
	}
	return slices.IndexFunc(t.Indexes, func(x workload.Index) bool {
		return x.Unique && !slices.ContainsFunc(t.Columns, func(c workload.Column) bool {
			return !c.NotNull && slices.Contains(x.Columns, c.Name)
		})
	})
}

// searched says whether a column has a full-text index.
func searched(t *workload.Table, column string) bool {
	return slices.ContainsFunc(t.Indexes, func(x workload.Index) bool { return x.FullText && x.Columns[0] == column })
}

// words is the collation of columns with a full-text index: words are found
// whatever their case, but accents count. Comparisons of such a column with =
// ignore case as well, which no workload relies upon.
func (x Dialect) words() string {
	if x.product == oracle {
		return "utf8mb4_0900_as_ci"
	}
	return "utf8mb4_uca1400_nopad_as_ci"
}

// bytes is the collation of everything else: texts are compared byte by byte,
// and blanks at the end count, as in PostgreSQL's locale C, so that a statement
// means the same on both. The usual utf8mb4_bin would ignore such blanks.
func (x Dialect) bytes() string {
	if x.product == oracle {
		return "utf8mb4_0900_bin"
	}
	return "utf8mb4_nopad_bin"
}

// columnType renders the type of c, its own for this engine where it has one.
func columnType(c workload.Column) (string, error) {
	if own, ok := c.Own[Name]; ok {
		return own, nil
	}
	switch t := c.Type; t.Base {
	case workload.Int16:
		return "smallint", nil
	case workload.Int32:
		return "int", nil
	case workload.Int64:
		return "bigint", nil
	case workload.Decimal:
		if t.Precision < 1 || t.Precision > 65 || t.Scale < 0 || t.Scale > t.Precision || t.Scale > 30 {
			return "", fmt.Errorf("column %s: decimal(%d,%d) needs 1 <= precision <= 65 and 0 <= scale <= precision, at most 30", c.Name, t.Precision, t.Scale)
		}
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale), nil
	case workload.Varchar:
		// A row has 65,535 bytes, and a character up to four.
		if t.Length < 1 || t.Length > 16000 {
			return "", fmt.Errorf("column %s: a length of %d characters is outside 1 to 16000", c.Name, t.Length)
		}
		return fmt.Sprintf("varchar(%d)", t.Length), nil
	case workload.Char:
		if t.Length < 1 || t.Length > 255 {
			return "", fmt.Errorf("column %s: a length of %d characters is outside 1 to 255", c.Name, t.Length)
		}
		return fmt.Sprintf("char(%d)", t.Length), nil
	case workload.LongText:
		return "longtext", nil
	case workload.Date:
		return "date", nil
	case workload.Timestamp:
		return "datetime(6)", nil // TIMESTAMP ends in 2038, and depends on the time zone
	case workload.Boolean:
		return "boolean", nil
	default:
		return "", fmt.Errorf("column %s: unknown family of types %d", c.Name, t.Base)
	}
}

// indexes renders the indexes of t that are built over its rows. Full-text
// indexes stand alone: InnoDB adds one at a time.
func indexes(t *workload.Table) []string {
	var texts []string
	var parts []string
	first := clustered(t)
	alter := "ALTER TABLE " + identifier(t.Name) + " ADD "
	for i, x := range t.Indexes {
		columns := identifier(x.Name) + " (" + list(x.Columns) + ")"
		switch {
		case i == first:
		case x.FullText:
			texts = append(texts, alter+"FULLTEXT KEY "+columns)
		case x.Unique:
			parts = append(parts, "ADD UNIQUE KEY "+columns)
		default:
			parts = append(parts, "ADD KEY "+columns)
		}
	}
	if len(parts) > 0 {
		// One statement reads the rows once for all of them.
		texts = slices.Insert(texts, 0, "ALTER TABLE "+identifier(t.Name)+" "+strings.Join(parts, ", "))
	}
	return texts
}

func list(names []string) string { return sqltext.List(names, identifier) }

// identifier renders a name between backticks, which any name may have. Names
// of tables are in lower case, because they are names of files: on some
// systems their case counts.
func identifier(name string) string { return sqltext.Quoted(strings.ToLower(name), '`') }
