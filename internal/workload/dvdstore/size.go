package dvdstore

import (
	"fmt"
	"math"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// months is how many months of orders are loaded: the year 2009.
const months = 12

// popularEach marks the hot sellers: every 10,000th product is ten times as
// likely to be bought, and has ten times the stock.
const popularEach = 10_000

// cardinality is how many rows the tables that others refer to start with.
type cardinality struct {
	customers      int64
	ordersPerMonth int64
	products       int64
}

// orders is the number of orders loaded.
func (c cardinality) orders() int64 { return months * c.ordersPerMonth }

// cardinalityOf reads a size: a name or a number of bytes.
//
// Customers and orders grow in proportion to the size s, products with its
// square root:
//
//	customers = 20,000 · s / 10 MB
//	orders a month = 1,000 · s / 10 MB
//	products = 10,000 · √(s / 10 MB)
//
// which gives the kit's numbers at 10 MB, 1 GB and 100 GB. The kit's own
// custom sizes jump between these three bases.
func cardinalityOf(size string) (cardinality, error) {
	var bytes unit.Bytes
	var err error
	switch size {
	case "small":
		bytes = 10e6
	case "medium":
		bytes = 1e9
	case "large":
		bytes = 100e9
	default:
		bytes, err = unit.ParseBytes(size)
	}
	if err != nil {
		return cardinality{}, fmt.Errorf("size: %w", err)
	}
	ratio := float64(bytes) / 10e6
	c := cardinality{
		customers:      int64(math.Round(20_000 * ratio)),
		ordersPerMonth: int64(math.Round(1_000 * ratio)),
		products:       int64(math.Round(10_000 * math.Sqrt(ratio))),
	}
	if c.customers < 2 || c.ordersPerMonth < 1 || c.products < 1 || c.customers > math.MaxInt32 {
		return cardinality{}, fmt.Errorf("size %s is out of range: %d customers", size, c.customers)
	}
	return c, nil
}

// dataSize estimates the loaded database with its indexes, from what
// PostgreSQL 15 took for the small and the medium size.
func (c cardinality) dataSize() unit.Bytes {
	const empty, perCustomer, perOrder, perProduct = 8_000_000, 300, 780, 245
	return unit.Bytes(empty + c.customers*perCustomer + c.orders()*perOrder + c.products*perProduct)
}
