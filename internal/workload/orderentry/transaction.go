package orderentry

import (
	"context"
	"fmt"
	"time"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// maxLines is the most lines of an order (clause 2.4.1.3).
const maxLines = 15

// The transactions that metric and checks count.
const (
	newOrderName = "neworder"
	paymentName  = "payment"
	deliveryName = "delivery"
)

// The types of transactions, in the order of the specification.
const (
	newOrder = iota
	payment
	orderStatus
	delivery
	stockLevel
	kinds
)

// transactions are the types of work.
type transactions [kinds]*workload.Transaction

// executors run the types of work, in the order of the types.
type executors [kinds]func(context.Context, workload.Conn, *entry) (workload.Status, error)

// weights are the shares of the types in percent, drawn (clause 5.2.3), and
// cards their numbers in a deck, dealt (clause 5.2.4.2).
func weights() [kinds]int64 { return [kinds]int64{45, 43, 4, 4, 4} }
func cards() [kinds]int     { return [kinds]int{10, 10, 1, 1, 1} }

// deckSize is the number of cards in a deck.
const deckSize = 23

// newTransactions states the shares and the limits of clause 5.2.5.7.
func newTransactions(dealt bool, run executors) transactions {
	t := transactions{
		{Name: newOrderName, About: "enter an order of 5 to 15 lines; 1 % name an unknown item and are rolled back"},
		{Name: paymentName, About: "take a customer's payment: balances of customer, district and warehouse"},
		{Name: "orderstatus", About: "show a customer's last order"},
		{Name: deliveryName, About: "deliver the oldest new order of each of a warehouse's ten districts"},
		{Name: "stocklevel", About: "count the items of a district's last 20 orders that are low in stock"},
	}
	for i, tx := range t {
		tx.Index, tx.Percentile, tx.Limit = i, 90, 5*time.Second
		exec := run[i]
		tx.Exec = func(ctx context.Context, c workload.Conn, in any) (workload.Status, error) {
			return exec(ctx, c, in.(*entry))
		}
		if dealt {
			// A user strays by part of a deck, whatever the length of a run.
			tx.Share, tx.ShareTolerance = 100*float64(cards()[i])/deckSize, 1
		} else {
			tx.Share, tx.ShareTolerance = float64(weights()[i]), 2
		}
	}
	t[stockLevel].Limit = 20 * time.Second
	t[orderStatus].ReadOnly, t[stockLevel].ReadOnly = true, true
	return t
}

// line is one line of an order: what is entered, and what comes back.
type line struct {
	item, supply, quantity int64
	// Results, as the terminal shows them (clause 2.4.3.3).
	stock  int64 // s_quantity after the order
	price  int64 // in cents
	amount int64 // in cents
	brand  byte  // B where item and stock are original, else G
}

// entry is what a terminal enters and sees: the input of every transaction
// and where they leave what they found. One is made for each user and reused.
type entry struct {
	at                  int64 // the date that the transaction writes, µs since 1970
	warehouse, district int64

	// A customer is chosen by number, or by last name where byName is set. The
	// number found is left in customer, so that a second attempt asks for
	// byName and not for the number.
	byName                              bool
	customer                            int64
	customerWarehouse, customerDistrict int64
	last                                []byte // aliases lastText
	lastText                            [16]byte

	lines []line // of lineBuf
	// unknown says that the last line names an item that does not exist.
	unknown bool

	amount    int64 // of a payment, in cents
	carrier   int64
	threshold int64

	order     int64 // number of the order entered or shown, 0 where there is none
	discount  int64 // of the customer, in ten-thousandths, as the taxes
	tax       int64 // of warehouse and district together
	total     int64 // of the order, in cents
	balance   int64 // of the customer, in cents
	delivered int64 // orders delivered
	low       int64 // items low in stock

	lineBuf [maxLines]line
	args    [64]workload.Value
	text    [1_024]byte
}

// allLocal is 1 where every line is supplied by the terminal's own warehouse.
func (e *entry) allLocal() int64 {
	for i := range e.lines {
		if e.lines[i].supply != e.warehouse {
			return 0
		}
	}
	return 1
}

// addUp works out what the order costs (clause 2.4.2.2), rounded to the cent:
//
//	Σ amount · (1 − discount) · (1 + warehouse tax + district tax)
func (e *entry) addUp() {
	var sum int64
	for i := range e.lines {
		sum += e.lines[i].amount
	}
	const one = 10_000
	e.total = (sum*(one-e.discount)*(one+e.tax) + one*one/2) / (one * one)
}

// wantRow says so where a statement did not return exactly one row.
func wantRow(r workload.Result, err error, st *workload.Statement) error {
	if err == nil && r.Rows() != 1 {
		return fmt.Errorf("%s: %d rows, want one", st.Name, r.Rows())
	}
	return err
}

// number fills in the places of statements in their list.
func number(list []*workload.Statement) []*workload.Statement {
	for i, st := range list {
		st.Index = i
	}
	return list
}
