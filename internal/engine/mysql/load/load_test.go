package load_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// words is a workload of one table of texts, filled by fill.
func words(database string, batches int64, fill func(batch int64, emit func([]workload.Value) error) error) *workload.Definition {
	return &workload.Definition{
		Name: "words", Database: database,
		Tables: []workload.Table{{
			Name: "Words", PrimaryKey: []string{"id"},
			Columns: []workload.Column{
				{Name: "id", Type: workload.Type{Base: workload.Int32}, NotNull: true, Identity: true},
				{Name: "word", Type: workload.Type{Base: workload.Varchar, Length: 20}},
				{Name: "price", Type: workload.Type{Base: workload.Decimal, Precision: 10, Scale: 4}},
			},
			Rows: workload.Source{Batches: batches, Rows: batches, Fill: fill},
		}},
	}
}

func row(id int64, word string) []workload.Value {
	return []workload.Value{workload.Int(id), workload.Str([]byte(word)), {Kind: workload.Fixed, Int: id*10_000 + 5}}
}

func TestLoad(t *testing.T) {
	db := enginetest.Serve(t, mysql.New(), engine.Config{Connections: 10})
	for _, c := range []struct {
		name string
		test func(*testing.T, engine.Database)
	}{
		{"EveryByteOfATextSurvives", everyByte},
		{"AnErrorTellsWhichRow", failures},
		{"AnErrorOfTheSourceEndsTheLoad", source},
		{"ManyRowsGoInInBulk", bulk},
		{"TheFingerprintIsThatOfOtherEngines", sameFingerprint},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, db) })
	}
}

// everyByte loads texts with every character up to U+00FF in them; verify reads
// them back.
func everyByte(t *testing.T, db engine.Database) {
	d := words("bytes", 256, func(batch int64, emit func([]workload.Value) error) error {
		return emit(row(batch, fmt.Sprintf("a%cb\\%c", rune(batch), rune(batch))))
	})
	r, err := db.Load(t.Context(), d, engine.LoadOptions{Workers: 1})
	if err != nil || r.Rows != 256 {
		t.Fatalf("%d rows, %v", r.Rows, err)
	}
	s, err := db.Open(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	got, err := s.Conn().Run(t.Context(), &workload.Statement{Index: -1, Name: "0", Text: "SELECT word, price FROM words WHERE id = 0"}, nil)
	if err != nil || string(got.Values[0].Str) != "a\x00b\\\x00" || got.Values[1].Int != 5 {
		t.Errorf("row 0 is %+v, %v: the number 0 must not become the next one", got.Values, err)
	}
}

func failures(t *testing.T, db engine.Database) {
	for name, c := range map[string]struct {
		row  []workload.Value
		want string
	}{
		"long":      {row(7, strings.Repeat("x", 21)), "Data truncated for column 'word' at row 8"},
		"taken":     {row(3, "three again"), "Duplicate entry '3' for key 'PRIMARY'"},
		"range":     {row(1<<40, "far"), "Out of range value for column 'id' at row 8"},
		"null":      {[]workload.Value{{}, {}, {}}, "its rows are not those generated"},
		"few":       {row(7, "x")[:2], "a row has 2 values, the table 3 columns"},
		"wrong_day": {[]workload.Value{{Kind: workload.Day, Int: 1 << 40}, {}, {}}, "outside the years 0 to 9999"},
	} {
		d := words(name, 8, func(batch int64, emit func([]workload.Value) error) error {
			if batch == 7 {
				return emit(c.row)
			}
			return emit(row(batch, "x"))
		})
		_, err := db.Load(t.Context(), d, engine.LoadOptions{Workers: 1})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Words") {
			t.Errorf("%s: %v, want the table and %q", name, err, c.want)
		}
	}
}

func source(t *testing.T, db engine.Database) {
	broken := errors.New("the source is broken")
	d := words("broken", 1000, func(batch int64, emit func([]workload.Value) error) error {
		if batch == 900 {
			return broken
		}
		return emit(row(batch, "x"))
	})
	if _, err := db.Load(t.Context(), d, engine.LoadOptions{}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "batch 900") {
		t.Errorf("%v, want the source's error and its batch", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Load(ctx, words("cancelled", 0, nil), engine.LoadOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
}

// bulk sees that the server logs the emptiness of the table instead of each row.
func bulk(t *testing.T, db engine.Database) {
	const rows = 200_000
	d := words("many", rows/1000, func(batch int64, emit func([]workload.Value) error) error {
		for i := range int64(1000) {
			if err := emit(row(batch*1000+i, "a word of some length")); err != nil {
				return err
			}
		}
		return nil
	})
	d.Tables[0].Columns[1].Type.Length = 40
	if _, err := db.Load(t.Context(), d, engine.LoadOptions{Workers: 1}); err != nil {
		t.Fatal(err)
	}
	s, err := db.Open(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r, err := s.Conn().Run(t.Context(), &workload.Statement{Index: -1, Name: "bulk", Text: "SHOW GLOBAL STATUS LIKE 'Innodb_bulk_operations'"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Values[1].Str) == "0" {
		t.Error("no table was filled in bulk")
	}
}

// sameFingerprint loads the same rows into PostgreSQL.
func sameFingerprint(t *testing.T, db engine.Database) {
	d := words("same", 500, func(batch int64, emit func([]workload.Value) error) error {
		r := row(batch, strings.Repeat("é", int(batch%19)))
		if batch%7 == 0 {
			r[1] = workload.Value{}
		}
		return emit(r)
	})
	ours, err := db.Load(t.Context(), d, engine.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := enginetest.Serve(t, postgres.New(), engine.Config{Connections: 10}).Load(t.Context(), d, engine.LoadOptions{})
	if err != nil || ours.Fingerprint != theirs.Fingerprint {
		t.Errorf("fingerprint %s, PostgreSQL's is %s (%v)", ours.Fingerprint, theirs.Fingerprint, err)
	}
}
