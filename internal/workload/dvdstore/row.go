package dvdstore

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Rows in one batch of each table; for the tables of order lines, orders in
// one batch, which have five lines each on average.
const (
	customersPerBatch = 2_000
	ordersPerBatch    = 2_000
	productsPerBatch  = 2_000
)

// generator makes the initial rows. Every row comes from a stream of its own,
// addressed by seed, table and row number, so that any row can be made alone.
type generator struct {
	cardinality
	seed                                        uint64
	customerPath, orderPath, productPath, stock uint64
	words                                       wordLists
	// monthStart is the first day of each month of the orders, in days since
	// 1970-01-01, with the first day after them last.
	monthStart [months + 1]int64
	// sold gives the quantity that the initial orders sold of each product,
	// by product number less 1: a pass over all of them, made once.
	sold func() []int32
}

// wordLists are the lists of words.go, split.
type wordLists struct {
	title, first, last, state, country, category [][]byte
}

func newGenerator(c cardinality, seed uint64) *generator {
	split := func(words []string) [][]byte {
		out := make([][]byte, len(words))
		for i, w := range words {
			out[i] = []byte(w)
		}
		return out
	}
	g := &generator{
		cardinality:  c,
		seed:         seed,
		customerPath: rng.Name("customers"),
		orderPath:    rng.Name("orders"),
		productPath:  rng.Name("products"),
		stock:        rng.Name("inventory"),
		words: wordLists{
			title:    split(strings.Fields(titleWords)),
			first:    split(strings.Fields(firstNames)),
			last:     split(strings.Fields(lastNames)),
			state:    split(strings.Fields(states)),
			country:  split(strings.Split(countries, "\n")),
			category: split(strings.Fields(categories)),
		},
	}
	for i := range g.monthStart {
		g.monthStart[i] = time.Date(2009, time.Month(1+i), 1, 0, 0, 0, 0, time.UTC).Unix() / 86_400
	}
	g.sold = sync.OnceValue(g.countSold)
	return g
}

// source cuts rows 1..n into batches of `per` and fills each with one, which
// emits the rows that belong to number id. Width is the values in a row and
// text the bytes that the texts of one row may need.
func source(n, per, rows int64, width, text int,
	one func(id int64, row []workload.Value, text []byte, emit func([]workload.Value) error) error,
) workload.Source {
	return workload.Source{
		Batches: (n + per - 1) / per,
		Rows:    rows,
		Fill: func(batch int64, emit func([]workload.Value) error) error {
			row, buf := make([]workload.Value, width), make([]byte, 0, text)
			for id := batch*per + 1; id <= min((batch+1)*per, n); id++ {
				if err := one(id, row, buf, emit); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// person draws the 19 columns of CUSTOMERS after CUSTOMERID into row, in the
// order of the table, which is also the order of NEW_CUSTOMER's parameters.
// userName appends the user's name to a buffer. The values alias buf's array.
func (w *wordLists) person(row []workload.Value, buf []byte, s *rng.Stream, us bool, userName func([]byte) []byte) {
	// field adds what was appended to buf since it was called last.
	start := 0
	field := func(b []byte) workload.Value {
		v := workload.Str(b[start:len(b):len(b)])
		buf, start = b, len(b)
		return v
	}
	row[0] = field(appendLetters(buf, s, 6))
	row[1] = field(appendLetters(buf, s, 10))
	row[4] = field(appendLetters(buf, s, 7))
	row[3] = workload.Value{} // a second address line that nobody has
	if us {
		row[5] = workload.Str(w.state[s.IntN(int64(len(w.state)))])
		row[6] = field(strconv.AppendInt(buf, s.Between(10_000, 99_999), 10))
		row[7], row[8] = field(append(buf, "US"...)), workload.Int(1)
	} else {
		row[5] = workload.Value{}
		row[6] = field(append(buf, "00000"...))
		row[7], row[8] = workload.Str(w.country[s.IntN(int64(len(w.country)))]), workload.Int(2)
	}
	row[10] = field(strconv.AppendInt(buf, s.Between(1_000_000_000, 9_999_999_999), 10))
	row[2] = field(append(append(buf, row[10].Str...), " Disc Way"...))
	row[9] = field(append(append(buf, row[1].Str...), "@example.com"...))
	row[11] = workload.Int(s.Between(1, 5))
	row[12] = field(strconv.AppendInt(buf, s.Between(1e15, 1e16-1), 10))
	row[13] = field(appendExpiry(buf, 2007+s.Between(1, 5), s.Between(1, 12)))
	row[14] = field(userName(buf))
	row[15] = field(append(buf, "password"...))
	row[16] = workload.Int(s.Between(18, 90))
	row[17] = workload.Int(20_000 * s.Between(1, 5))
	row[18] = field(append(buf, "MF"[s.IntN(2)]))
}

// personText is enough for the texts of one person.
const personText = 256

// customer emits customer id; the first half live in the US (region 1), the
// others in the rest of the world (region 2).
func (g *generator) customer(id int64, row []workload.Value, buf []byte, emit func([]workload.Value) error) error {
	s := rng.At(g.seed, g.customerPath, uint64(id))
	row[0] = workload.Int(id)
	g.words.person(row[1:], buf, &s, id <= g.customers/2, func(b []byte) []byte {
		return strconv.AppendInt(append(b, "user"...), id, 10)
	})
	return emit(row)
}

// order is the head of an initial order; lines continue from its stream.
type order struct {
	day      int64 // since 1970-01-01
	customer int64
	net, tax int64 // in cents
	lines    int64
	s        rng.Stream
}

// order draws the head of order id. Its net amount has nothing to do with the
// prices of its lines, as in the kit.
func (g *generator) order(id int64) order {
	o := order{s: rng.At(g.seed, g.orderPath, uint64(id))}
	month := (id - 1) / g.ordersPerMonth
	o.day = o.s.Between(g.monthStart[month], g.monthStart[month+1]-1)
	o.customer = o.s.Between(1, g.customers)
	o.net = o.s.Between(1, 40_000)
	o.tax = taxOf(o.net)
	o.lines = o.s.Between(1, 9)
	return o
}

// line draws the next line of o.
func (g *generator) line(o *order) (product, quantity int64) {
	return o.s.Between(1, g.products), o.s.Between(1, 3)
}

// taxOf is 8.25 % of an amount in cents, rounded half up.
func taxOf(net int64) int64 { return (net*825 + 5_000) / 10_000 }

func (g *generator) orderRow(id int64, row []workload.Value, _ []byte, emit func([]workload.Value) error) error {
	o := g.order(id)
	row[0], row[1], row[2] = workload.Int(id), workload.Value{Kind: workload.Day, Int: o.day}, workload.Int(o.customer)
	row[3], row[4], row[5] = workload.Money(o.net), workload.Money(o.tax), workload.Money(o.net+o.tax)
	return emit(row)
}

func (g *generator) lineRows(id int64, row []workload.Value, _ []byte, emit func([]workload.Value) error) error {
	o := g.order(id)
	row[1], row[4] = workload.Int(id), workload.Value{Kind: workload.Day, Int: o.day}
	for n := range o.lines {
		product, quantity := g.line(&o)
		row[0], row[2], row[3] = workload.Int(n+1), workload.Int(product), workload.Int(quantity)
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}

// historyRows emits one row of CUST_HIST for each line of order id.
func (g *generator) historyRows(id int64, row []workload.Value, _ []byte, emit func([]workload.Value) error) error {
	o := g.order(id)
	row[0], row[1] = workload.Int(o.customer), workload.Int(id)
	for range o.lines {
		product, _ := g.line(&o)
		row[2] = workload.Int(product)
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}

func (g *generator) product(id int64, row []workload.Value, buf []byte, emit func([]workload.Value) error) error {
	s := rng.At(g.seed, g.productPath, uint64(id))
	w := &g.words
	n := int64(len(w.title))
	row[0], row[1] = workload.Int(id), workload.Int(s.Between(1, int64(len(w.category))))
	title := appendPair(buf, w.title[(id-1)/n%n], w.title[(id-1)%n])
	last := w.last[s.IntN(int64(len(w.last)))]
	actor := appendPair(title[len(title):], w.first[s.IntN(int64(len(w.first)))], last)
	row[2], row[3] = workload.Str(title), workload.Str(actor)
	row[4] = workload.Money(99 + 100*s.Between(9, 29))
	row[5] = workload.Int(0)
	if s.IntN(g.specialEach()) == 0 {
		row[5] = workload.Int(1)
	}
	row[6] = workload.Int(s.Between(1, g.products))
	return emit(row)
}

// specialEach says that one product in so many is a special offer.
func (g *generator) specialEach() int64 {
	if g.products > 100_000 {
		return 10_000
	}
	return 100
}

func (g *generator) inventory(id int64, row []workload.Value, _ []byte, emit func([]workload.Value) error) error {
	row[0], row[1] = workload.Int(id), workload.Int(g.initialStock(id))
	row[2] = workload.Int(int64(g.sold()[id-1]))
	return emit(row)
}

func (g *generator) initialStock(id int64) int64 {
	s := rng.At(g.seed, g.stock, uint64(id))
	n := s.Between(0, 500)
	if id%popularEach == 0 {
		n *= 10
	}
	return n
}

// countSold adds up the lines of all initial orders by product.
func (g *generator) countSold() []int32 {
	sold := make([]int32, g.products)
	for id := int64(1); id <= g.orders(); id++ {
		o := g.order(id)
		for range o.lines {
			product, quantity := g.line(&o)
			sold[product-1] += int32(quantity)
		}
	}
	return sold
}

func (g *generator) categoryRow(id int64, row []workload.Value, _ []byte, emit func([]workload.Value) error) error {
	row[0], row[1] = workload.Int(id), workload.Str(g.words.category[id-1])
	return emit(row)
}

// appendLetters appends n random letters A–Z, eight from each random number:
// the error of 26⁸ / 2⁶⁴ is far below what any test could see.
func appendLetters(b []byte, s *rng.Stream, n int) []byte {
	var x uint64
	for i := range n {
		if i%8 == 0 {
			x = s.Uint64()
		}
		b = append(b, 'A'+byte(x%26))
		x /= 26
	}
	return b
}

// appendExpiry appends a card's expiry as YYYY/MM.
func appendExpiry(b []byte, year, month int64) []byte {
	b = append(strconv.AppendInt(b, year, 10), '/')
	return append(b, '0'+byte(month/10), '0'+byte(month%10))
}

// appendPair appends two words with a space between them.
func appendPair(b, first, second []byte) []byte {
	return append(append(append(b, first...), ' '), second...)
}
