package brokerage

import (
	"context"
	"fmt"
	"time"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// The types of transactions, in the order of their shares.
const (
	tradeStatus = iota
	marketWatch
	securityDetail
	customerPosition
	tradeOrder
	tradeResult
	tradeLookup
	brokerVolume
	tradeUpdate
	marketFeed
	dataMaintenance
	tradeCleanup
	types
)

// The transactions that metric and checks count.
const (
	tradeOrderName  = "tradeorder"
	tradeResultName = "traderesult"
	marketFeedName  = "marketfeed"
)

// transactions are the types of work.
type transactions [types]*workload.Transaction

// executor runs one type of work.
type executor func(context.Context, workload.Conn, *entry) (workload.Status, error)

// cards is a customer's deck: 890 cards, dealt without replacement. What the
// market sends follows from the orders: 100 Trade-Results and 10 Market-Feeds
// for each deck.
func cards() [types]int {
	return [types]int{
		tradeStatus: 190, marketWatch: 180, securityDetail: 140, customerPosition: 130, tradeOrder: 101,
		tradeLookup: 80, brokerVolume: 49, tradeUpdate: 20,
	}
}

const deckSize = 890

// newTransactions states shares, limits and isolation.
func newTransactions(run [types]executor) transactions {
	const s = time.Second
	t := transactions{
		{Name: "tradestatus", About: "show the last 50 trades of an account", Share: 19, Limit: 1 * s},
		{Name: "marketwatch", About: "how much a list of securities changed in value", Share: 18, Limit: 3 * s},
		{Name: "securitydetail", About: "show a security, its company, its history and its news", Share: 14, Limit: 3 * s},
		{Name: "customerposition", About: "what a customer's accounts are worth, and their last trades", Share: 13, Limit: 3 * s},
		{Name: tradeOrderName, About: "price and enter an order; 1 in 101 is rolled back", Share: 10.1, Limit: 2 * s},
		{Name: tradeResultName, About: "the market completes a trade: holdings, tax, commission, settlement", Share: 10, Limit: 2 * s},
		{Name: "tradelookup", About: "show 20 old trades with all that belongs to them", Share: 8, Limit: 3 * s},
		{Name: "brokervolume", About: "what brokers have open in a sector", Share: 4.9, Limit: 3 * s},
		{Name: "tradeupdate", About: "change 20 old trades", Share: 2, Limit: 3 * s},
		{Name: marketFeedName, About: "the market's ticker: 20 prices, and the limit orders that they trigger", Share: 1, Limit: 2 * s},
		{Name: "datamaintenance", About: "change one of twelve tables that are read otherwise, once a minute"},
		{Name: "tradecleanup", About: "cancel what is open since before the run, at its beginning"},
	}
	for i, tx := range t {
		tx.Index = i
		tx.ReadOnly, tx.Extra = readsOnly(i), isExtra(i)
		if tx.Limit > 0 {
			tx.Percentile, tx.Binding = 90, true
			// What the market owes at the end of a run, and limit orders that
			// still wait for their price, shift all shares a little.
			tx.ShareTolerance = 1
		}
		exec := run[i]
		tx.Exec = func(ctx context.Context, c workload.Conn, in any) (workload.Status, error) {
			return exec(ctx, c, in.(*entry))
		}
	}
	return t
}

// readsOnly says whether a type changes nothing.
func readsOnly(kind int) bool {
	switch kind {
	case tradeStatus, marketWatch, securityDetail, customerPosition, tradeLookup, brokerVolume:
		return true
	default:
		return false
	}
}

// isExtra says whether a type is the market's or the clerk's.
func isExtra(kind int) bool {
	return kind == tradeResult || kind == marketFeed || kind == dataMaintenance || kind == tradeCleanup
}

// isolation is the level of each type.
func isolation(kind int) workload.TxOp {
	switch kind {
	case tradeOrder, tradeUpdate:
		return workload.BeginRepeatableRead
	case tradeResult:
		return workload.BeginSerializable
	default:
		return workload.BeginReadCommitted
	}
}

// within makes an executor that runs f in a transaction of the type's
// isolation: committed where f says so, else rolled back.
func within(kind int, f executor) executor {
	op := isolation(kind)
	return func(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
		e.clear()
		if err := c.Tx(ctx, op); err != nil {
			return workload.Failed, err
		}
		status, err := f(ctx, c, e)
		if err == nil && status == workload.Committed {
			return status, c.Tx(ctx, workload.Commit)
		}
		// What f failed with tells more than what rolling back does.
		if undone := c.Tx(ctx, workload.Rollback); err == nil {
			err = undone
		}
		return status, err
	}
}

// The parts of an answer, whose rows are counted.
const (
	partMain = iota
	partSecond
	partThird
	partFourth
	partFifth
	partSixth
	parts
)

// manyTrades is how many trades Trade-Lookup and Trade-Update take on, and
// manyBrokers how many Broker-Volume asks about at most.
const (
	manyTrades  = 20
	manyBrokers = 40
)

// entry is what a user enters and sees: the input of every transaction and
// where they leave what they found. One is made for each user and reused.
type entry struct {
	at    int64 // the time that the transaction writes, µs since 1970
	frame int   // which variant of the transaction

	customer, account, security int64
	company, industry, sector   int64
	first, last                 int64 // companies
	byTax, byName, withHistory  bool
	longNews                    bool
	from, to                    int64 // days or instants
	rows                        int64
	ids                         [manyTrades]int64 // trades
	brokers                     [manyBrokers]int64

	// An order.
	kind                 int
	quantity, bid        int64 // bid in cents
	guest                int64 // who trades for the account, 0 is its owner
	margin, lifo, cancel bool

	// What the market sends.
	event event
	price int64
	feed  [tickerSize]tick

	// Data-Maintenance.
	table int
	tax   int64

	// Answers.
	counts [parts]int64 // rows of each part
	trade  int64        // entered
	amount int64        // in cents: an estimate, a value, a balance
	commission,
	taxed int64
	changed   int64 // rows
	triggered []hit // by a Market-Feed
	list      []workload.Value
	buf       []byte
	found     [manyTrades]int64
	kept      []byte // texts of an answer that later statements need
	lots      []holding
	log       []change
}

// hit is a limit order that a Market-Feed found in the money.
type hit struct{ trade, security, quantity int64 }

func newEntry() *entry {
	return &entry{
		list: make([]workload.Value, 0, 64), buf: make([]byte, 0, 4_096), kept: make([]byte, 0, 256),
		triggered: make([]hit, 0, 64), lots: make([]holding, 0, 64), log: make([]change, 0, 64),
	}
}

// clear forgets the answers of an attempt before.
func (e *entry) clear() {
	e.counts = [parts]int64{}
	e.trade, e.amount, e.commission, e.taxed, e.changed = 0, 0, 0, 0, 0
	e.triggered = e.triggered[:0]
}

// begin starts a list of arguments.
func (e *entry) begin() *entry {
	e.list, e.buf = e.list[:0], e.buf[:0]
	return e
}

func (e *entry) add(v workload.Value) *entry {
	e.list = append(e.list, v)
	return e
}

func (e *entry) int(n int64) *entry     { return e.add(workload.Int(n)) }
func (e *entry) money(n int64) *entry   { return e.add(workload.Money(n)) }
func (e *entry) instant(n int64) *entry { return e.add(instant(n)) }
func (e *entry) day(n int64) *entry     { return e.add(workload.Value{Kind: workload.Day, Int: n}) }
func (e *entry) bit(b bool) *entry      { return e.add(bit(b)) }

// field adds what was appended to the buffer, which is grown, as a text.
func (e *entry) field(grown []byte) *entry {
	at := len(e.buf)
	e.buf = grown
	return e.add(workload.Str(grown[at:len(grown):len(grown)]))
}

func (e *entry) word(w string) *entry         { return e.field(append(e.buf, w...)) }
func (e *entry) text(b []byte) *entry         { return e.field(append(e.buf, b...)) }
func (e *entry) symbol(security int64) *entry { return e.field(appendSymbol(e.buf, security)) }

// trades adds the numbers of trades.
func (e *entry) trades(ids *[manyTrades]int64) *entry {
	for _, n := range ids {
		e.int(n)
	}
	return e
}

// keep copies a text of an answer, which lives until the next statement only.
func (e *entry) keep(v workload.Value) []byte {
	at := len(e.kept)
	e.kept = append(e.kept, v.Str...)
	return e.kept[at:len(e.kept):len(e.kept)]
}

// run runs st with the list of arguments.
func (e *entry) run(ctx context.Context, c workload.Conn, st *workload.Statement) (workload.Result, error) {
	return c.Run(ctx, st, e.list)
}

// one runs st, which must return one row.
func (e *entry) one(ctx context.Context, c workload.Conn, st *workload.Statement) ([]workload.Value, error) {
	r, err := e.run(ctx, c, st)
	if err == nil && r.Rows() != 1 {
		err = fmt.Errorf("%s: %d rows, want one", st.Name, r.Rows())
	}
	return r.Values, err
}

// change runs st, which must change one row.
func (e *entry) change(ctx context.Context, c workload.Conn, st *workload.Statement) error {
	r, err := e.run(ctx, c, st)
	if err == nil && r.Affected != 1 {
		err = fmt.Errorf("%s: %d rows changed, want one", st.Name, r.Affected)
	}
	return err
}

// count runs st and counts its rows as a part of the answer; least is how many
// there must be.
func (e *entry) count(ctx context.Context, c workload.Conn, st *workload.Statement, part int, least int64) (workload.Result, error) {
	r, err := e.run(ctx, c, st)
	if err != nil {
		return r, err
	}
	e.counts[part] = int64(r.Rows())
	if e.counts[part] < least {
		return r, fmt.Errorf("%s: %d rows, want at least %d", st.Name, r.Rows(), least)
	}
	return r, nil
}
