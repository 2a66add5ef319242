package dvdstore

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"pgregory.net/rapid"
)

func TestNamedSizesAreTheKits(t *testing.T) {
	for _, c := range []struct {
		size string
		want cardinality
	}{
		{"small", cardinality{20_000, 1_000, 10_000}},
		{"medium", cardinality{2_000_000, 100_000, 100_000}},
		{"large", cardinality{200_000_000, 10_000_000, 1_000_000}},
		{"10MB", cardinality{20_000, 1_000, 10_000}},
		{"1GB", cardinality{2_000_000, 100_000, 100_000}},
		{"100GB", cardinality{200_000_000, 10_000_000, 1_000_000}},
		{"100kB", cardinality{200, 10, 1_000}},
		{"40MB", cardinality{80_000, 4_000, 20_000}},
		{"1TB", cardinality{2_000_000_000, 100_000_000, 3_162_278}},
	} {
		if got, err := cardinalityOf(c.size); err != nil || got != c.want {
			t.Errorf("%s: %+v (%v), want %+v", c.size, got, err, c.want)
		}
	}
}

func TestImpossibleSizesAreRefused(t *testing.T) {
	for _, size := range []string{"", "tiny", "10", "0B", "1B", "900B", "2TB", "-1MB", "1000000TB"} {
		if c, err := cardinalityOf(size); err == nil {
			t.Errorf("%q gives %+v", size, c)
		}
	}
}

// TestSizesGrowSmoothly: twice the size has twice the customers, orders
// within rounding, and never fewer products.
func TestSizesGrowSmoothly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kB := rapid.Int64Range(100, 400_000_000).Draw(t, "kB")
		a, err := cardinalityOf(fmt.Sprintf("%dkB", kB))
		if err != nil {
			t.Fatal(err)
		}
		b, err := cardinalityOf(fmt.Sprintf("%dkB", 2*kB))
		if err != nil {
			t.Fatal(err)
		}
		if b.customers != 2*a.customers || b.ordersPerMonth < 2*a.ordersPerMonth-1 || b.ordersPerMonth > 2*a.ordersPerMonth+1 {
			t.Errorf("%d kB: %+v, twice that: %+v", kB, a, b)
		}
		if ratio := float64(b.products) / float64(a.products); ratio < 1.41 || ratio > 1.42 {
			t.Errorf("%d kB: products grow by %g, want √2", kB, ratio)
		}
		if b.dataSize() <= a.dataSize() {
			t.Errorf("%d kB: the estimate shrinks from %v to %v", kB, a.dataSize(), b.dataSize())
		}
	})
}

func TestListsHaveTheKitsLengthsAndNoWordTwice(t *testing.T) {
	for name, l := range map[string]struct {
		words []string
		n     int
	}{
		"title words": {strings.Fields(titleWords), 1_000},
		"first names": {strings.Fields(firstNames), 200},
		"last names":  {strings.Fields(lastNames), 200},
		"states":      {strings.Fields(states), 51},
		"countries":   {strings.Split(countries, "\n"), 10},
		"categories":  {strings.Fields(categories), 16},
	} {
		slices.Sort(l.words)
		if n := len(slices.Compact(slices.Clone(l.words))); n != l.n || len(l.words) != l.n {
			t.Errorf("%s: %d words, %d different, want %d", name, len(l.words), n, l.n)
		}
	}
}

// TestSoldQuantityFitsAnInteger: SALES is an integer, and the generator counts
// in 32 bits.
func TestSoldQuantityFitsAnInteger(t *testing.T) {
	c, err := cardinalityOf("1TB")
	if err != nil {
		t.Fatal(err)
	}
	// Ten times the mean is far above what any product reaches.
	if mean := c.orders() * 5 * 2 / c.products; mean*10 > 1<<31-1 {
		t.Errorf("a product sells %d on average", mean)
	}
}

// TestHotSellersAreTenTimesAsLikely, within five standard errors.
func TestHotSellersAreTenTimesAsLikely(t *testing.T) {
	g := newGenerator(cardinality{2, 1, 25_000}, 1)
	s := rng.At(1, 2)
	const draws = 4_000_000
	hot := map[int64]float64{}
	for range draws {
		if p := g.randomProduct(&s); p%popularEach == 0 {
			hot[p]++
		} else if p < 1 || p > 25_000 {
			t.Fatalf("product %d", p)
		}
	}
	want := draws * 10.0 / (25_000 + 2*9)
	for _, p := range []int64{10_000, 20_000} {
		if math.Abs(hot[p]-want) > 5*math.Sqrt(want) {
			t.Errorf("product %d: %v of %v draws, want %.0f", p, hot[p], draws, want)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	c, err := cardinalityOf("medium")
	if err != nil {
		b.Fatal(err)
	}
	g := newGenerator(c, 1)
	g.sold() // once a load, not a batch
	for _, table := range g.tables() {
		if table.Rows.Batches < 2 {
			continue
		}
		b.Run(table.Name, func(b *testing.B) {
			b.ReportAllocs()
			rows := 0
			for b.Loop() {
				if err := table.Rows.Fill(1, func([]workload.Value) error { rows++; return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
		})
	}
}
