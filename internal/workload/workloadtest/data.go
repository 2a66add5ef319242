package workloadtest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// encode adds row to h, in a form that tells any two rows apart.
func encode(h hash.Hash, row []workload.Value) {
	var b [17]byte
	for _, v := range row {
		b[0] = byte(v.Kind)
		binary.BigEndian.PutUint64(b[1:], uint64(v.Int))
		binary.BigEndian.PutUint64(b[9:], uint64(len(v.Str)))
		h.Write(b[:])
		h.Write(v.Str)
	}
}

// fingerprint is the number of rows in a batch and a hash of them.
func fingerprint(src workload.Source, batch int64) (string, error) {
	h := sha256.New()
	rows := 0
	err := src.Fill(batch, func(row []workload.Value) error {
		rows++
		encode(h, row)
		return nil
	})
	return fmt.Sprintf("%d rows %x", rows, h.Sum(nil)[:12]), err
}

// deterministic makes every batch in order, then all of them again from a
// fresh definition in random order by several goroutines.
func (s suite) deterministic(t *testing.T) {
	first, second := s.define(t), s.define(t)
	for i, table := range first.Tables {
		n := table.Rows.Batches
		want := make([]string, n)
		for b := range n {
			var err error
			if want[b], err = fingerprint(table.Rows, b); err != nil {
				t.Fatalf("%s batch %d: %v", table.Name, b, err)
			}
		}
		order := make([]int64, n)
		for b := range order {
			order[b] = int64(b)
		}
		r := rng.At(seed, rng.Name("order"))
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		const workers = 4
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for k := w; k < len(order); k += workers {
					got, err := fingerprint(second.Tables[i].Rows, order[k])
					if err != nil || got != want[order[k]] {
						t.Errorf("%s batch %d: %s (%v), at first %s", table.Name, order[k], got, err, want[order[k]])
					}
				}
			})
		}
		wg.Wait()
	}
	s.stops(t, first)
}

// stops sees that an error of emit ends a batch and comes back.
func (suite) stops(t *testing.T, d *workload.Definition) {
	enough := errors.New("enough")
	for _, table := range d.Tables {
		if table.Rows.Batches == 0 {
			continue
		}
		calls := 0
		err := table.Rows.Fill(0, func([]workload.Value) error { calls++; return enough })
		if !errors.Is(err, enough) || calls != 1 {
			t.Errorf("%s: an emit that fails was called %d times and gave %v", table.Name, calls, err)
		}
	}
}

// golden compares the first and last batch of every table, as loaded with the
// default parameters, with the file.
func (s suite) golden(t *testing.T) {
	d := s.exactly(t, nil, seed)
	lines := []string{fmt.Sprintf("version %d", d.Version)}
	for _, table := range d.Tables {
		last := table.Rows.Batches - 1
		for b := int64(0); b <= last; b += max(last, 1) {
			f, err := fingerprint(table.Rows, b)
			if err != nil {
				t.Fatalf("%s batch %d: %v", table.Name, b, err)
			}
			lines = append(lines, fmt.Sprintf("%s batch %d: %s", table.Name, b, f))
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	if s.Update {
		if err := os.MkdirAll(filepath.Dir(s.Golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.Golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(s.Golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("generated rows changed; raise the version, then update the file.\n--- %s\n%s--- now\n%s", s.Golden, want, got)
	}
}

// fit looks at every value of the small database.
func (s suite) fit(t *testing.T) {
	for _, table := range s.define(t).Tables {
		rows := int64(0)
		for b := range table.Rows.Batches {
			err := table.Rows.Fill(b, func(row []workload.Value) error {
				rows++
				if len(row) != len(table.Columns) {
					return fmt.Errorf("%d values for %d columns", len(row), len(table.Columns))
				}
				for i, c := range table.Columns {
					if err := fits(row[i], c); err != nil {
						return fmt.Errorf("row %d, column %s: %w", rows, c.Name, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s batch %d: %v", table.Name, b, err)
				break
			}
		}
		if low, high := float64(table.Rows.Rows)*0.9, float64(table.Rows.Rows)*1.1; float64(rows) < low || float64(rows) > high {
			t.Errorf("%s has %d rows, and says about %d", table.Name, rows, table.Rows.Rows)
		}
	}
}

// fits says why v can't stand in column c.
func fits(v workload.Value, c workload.Column) error {
	if v.Kind == workload.Null {
		if c.NotNull {
			return errors.New("null in a column that must not be")
		}
		return nil
	}
	within := func(kind workload.ValueKind, least, most int64) error {
		if v.Kind != kind || v.Int < least || v.Int > most {
			return fmt.Errorf("kind %d with %d, want kind %d from %d to %d", v.Kind, v.Int, kind, least, most)
		}
		return nil
	}
	switch t := c.Type; t.Base {
	case workload.Int16:
		return within(workload.Integer, math.MinInt16, math.MaxInt16)
	case workload.Int32:
		return within(workload.Integer, math.MinInt32, math.MaxInt32)
	case workload.Int64:
		return within(workload.Integer, math.MinInt64, math.MaxInt64)
	case workload.Decimal:
		most := int64(math.Pow10(min(t.Precision, 18))) - 1
		return within(workload.Fixed, -most, most)
	case workload.Date: // from 0001-01-01 to 9999-12-31
		return within(workload.Day, -719_162, 2_932_896)
	case workload.Timestamp:
		return within(workload.Instant, -719_162*86_400e6, 2_932_897*86_400e6-1)
	case workload.Boolean:
		return within(workload.Bit, 0, 1)
	default:
		n := utf8.RuneCount(v.Str)
		if v.Kind != workload.String || !utf8.Valid(v.Str) || strings.IndexByte(string(v.Str), 0) >= 0 {
			return fmt.Errorf("kind %d with %q, want a text", v.Kind, v.Str)
		}
		if t.Base != workload.LongText && n > t.Length {
			return fmt.Errorf("%q has %d characters, at most %d fit", v.Str, n, t.Length)
		}
		return nil
	}
}

// keys holds the small database's keys in memory: primary keys and unique
// indexes have no value twice, and foreign keys refer to rows that exist.
func (s suite) keys(t *testing.T) {
	d := s.define(t)
	primary := map[string]map[string]bool{}
	for _, table := range d.Tables {
		uniques := map[string][]string{}
		if len(table.PrimaryKey) > 0 {
			uniques["the primary key"] = table.PrimaryKey
		}
		for _, x := range table.Indexes {
			if x.Unique {
				uniques["index "+x.Name] = x.Columns
			}
		}
		for what, columns := range uniques {
			seen := map[string]bool{}
			each(t, table, columns, func(key string, _ bool) {
				if seen[key] {
					t.Errorf("%s: %s has %x twice", table.Name, what, key)
				}
				seen[key] = true
			})
			if what == "the primary key" {
				primary[table.Name] = seen
			}
		}
	}
	for _, table := range d.Tables {
		for _, f := range table.Foreign {
			dangling := 0
			each(t, table, f.Columns, func(key string, null bool) {
				if !null && !primary[f.Table][key] {
					dangling++
				}
			})
			if dangling > 0 {
				t.Errorf("%s: %d rows whose %s refers to no row of %s", table.Name, dangling, f.Name, f.Table)
			}
		}
	}
}

// each calls f with the encoded values of columns in every row of table, and
// whether one of them is null.
func each(t *testing.T, table workload.Table, columns []string, f func(key string, null bool)) {
	t.Helper()
	var key []byte
	for b := range table.Rows.Batches {
		err := table.Rows.Fill(b, func(row []workload.Value) error {
			key = key[:0]
			null := false
			for _, c := range columns {
				v := row[column(table, c)]
				null = null || v.Kind == workload.Null
				key = binary.BigEndian.AppendUint64(key, uint64(v.Int))
				key = binary.BigEndian.AppendUint64(key, uint64(len(v.Str)))
				key = append(key, v.Str...)
			}
			f(string(key), null)
			return nil
		})
		if err != nil {
			t.Fatalf("%s batch %d: %v", table.Name, b, err)
		}
	}
}
