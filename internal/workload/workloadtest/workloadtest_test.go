package workloadtest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

func TestFitsKnowsEveryType(t *testing.T) {
	typed := func(b workload.Base) workload.Column {
		return workload.Column{Type: workload.Type{Base: b, Length: 3, Precision: 4, Scale: 2}}
	}
	value := func(k workload.ValueKind, n int64) workload.Value { return workload.Value{Kind: k, Int: n} }
	text := func(s string) workload.Value { return workload.Str([]byte(s)) }
	for _, c := range []struct {
		column workload.Column
		value  workload.Value
		want   bool
	}{
		{typed(workload.Int16), workload.Int(32_767), true},
		{typed(workload.Int16), workload.Int(32_768), false},
		{typed(workload.Int16), workload.Int(-32_769), false},
		{typed(workload.Int16), workload.Money(1), false},
		{typed(workload.Int32), workload.Int(1<<31 - 1), true},
		{typed(workload.Int32), workload.Int(1 << 31), false},
		{typed(workload.Int64), workload.Int(math.MaxInt64), true},
		{typed(workload.Decimal), workload.Money(9_999), true},
		{typed(workload.Decimal), workload.Money(10_000), false},
		{typed(workload.Decimal), workload.Int(1), false},
		{typed(workload.Varchar), text("äöü"), true},
		{typed(workload.Varchar), text("four"), false},
		{typed(workload.Varchar), text("\xff"), false},
		{typed(workload.Varchar), text("a\x00"), false},
		{typed(workload.Varchar), workload.Int(1), false},
		{typed(workload.Char), text(""), true},
		{typed(workload.LongText), text("long enough"), true},
		{typed(workload.Date), value(workload.Day, 0), true},
		{typed(workload.Date), value(workload.Instant, 0), false},
		{typed(workload.Date), value(workload.Day, 2_932_897), false},
		{typed(workload.Timestamp), value(workload.Instant, 1), true},
		{typed(workload.Boolean), value(workload.Bit, 1), true},
		{typed(workload.Boolean), value(workload.Bit, 2), false},
		{typed(workload.Int16), workload.Value{}, true},
		{workload.Column{NotNull: true}, workload.Value{}, false},
	} {
		if err := fits(c.value, c.column); (err == nil) != c.want {
			t.Errorf("%+v in %+v: %v", c.value, c.column.Type, err)
		}
	}
}

func TestUsedFindsParametersButNoCasts(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1":                              "",
		":a":                                    "a",
		"x = :b AND y = :a_1 OR z = :b":         "a_1 b",
		"SELECT x::int, :n::date {limit :rows}": "n rows",
	} {
		if got := used(text); strings.Join(got, " ") != want || !slices.IsSorted(got) {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

// TestChiSquareMatchesTables: quantiles at 0.999 from the NIST/SEMATECH
// e-Handbook of Statistical Methods, 1.3.6.7.4.
func TestChiSquareMatchesTables(t *testing.T) {
	for k, want := range map[float64]float64{1: 10.828, 2: 13.816, 4: 18.467, 10: 29.588, 50: 86.661, 100: 149.449} {
		if got := chiSquare(k); math.Abs(got-want)/want > 0.04 {
			t.Errorf("%v degrees of freedom: %.3f, the table says %.3f", k, got, want)
		}
	}
}

func TestFingerprintTellsRowsApart(t *testing.T) {
	source := func(rows ...[]workload.Value) workload.Source {
		return workload.Source{Batches: 1, Fill: func(_ int64, emit func([]workload.Value) error) error {
			for _, r := range rows {
				if err := emit(r); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	text := func(s string) workload.Value { return workload.Str([]byte(s)) }
	seen := map[string]int{}
	for i, s := range []workload.Source{
		source(),
		source([]workload.Value{workload.Int(1)}),
		source([]workload.Value{workload.Money(1)}),
		source([]workload.Value{{}}),
		source([]workload.Value{text("ab"), text("c")}),
		source([]workload.Value{text("a"), text("bc")}),
		source([]workload.Value{text("a")}, []workload.Value{text("bc")}),
	} {
		f, err := fingerprint(s, 0)
		if err != nil {
			t.Fatal(err)
		}
		if j, twice := seen[f]; twice {
			t.Errorf("sources %d and %d have the same fingerprint %s", i, j, f)
		}
		seen[f] = i
	}
}
