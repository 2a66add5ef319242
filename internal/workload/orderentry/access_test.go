package orderentry_test

import (
	"math"
	"slices"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
)

// TestHotPagesGetTheStatedAccesses: of the pages of STOCK, each with the rows
// that fit it, the most popular ones get what is stated.
func TestHotPagesGetTheStatedAccesses(t *testing.T) {
	d := define(t, nil)
	stock, _ := d.Table("stock")
	perPage := int64(8192 * 0.9 / stock.RowBytes())
	counts := make([]float64, 100_000/perPage+1)
	const draws = 2_000_000
	for _, item := range orderentry.ItemDraws(draws) {
		counts[(item-1)/perPage]++
	}
	slices.Sort(counts)
	slices.Reverse(counts)
	pages, accesses := orderentry.HotItems()
	got := 0.0
	for _, n := range counts[:int(pages*float64(len(counts)))] {
		got += n / draws
	}
	if math.Abs(got-accesses) > 0.03 {
		t.Errorf("%g of %d pages of %d rows get %.3f of the accesses, stated %.3f", pages, len(counts), perPage, got, accesses)
	}
}
