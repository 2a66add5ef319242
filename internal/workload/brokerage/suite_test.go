package brokerage_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/brokerage"
	"github.com/loadstone-perf/loadstone/internal/workload/workloadtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestSuite(t *testing.T) {
	for _, mode := range []string{"procedures", "statements"} {
		other := map[string]string{"procedures": "statements", "statements": "procedures"}[mode]
		t.Run(mode, func(t *testing.T) {
			small := little(map[string]string{"mode": mode, "market_days": "20", "news_bytes": "100", "initial_trade_days": "1"})
			workloadtest.Run(t, brokerage.Kind(), workloadtest.Options{
				Small: small,
				Data: map[string]string{
					"customers": "2000", "initial_trade_days": "2", "scale_factor": "4000", "market_days": "21",
					"news_bytes": "200", "mode": other,
				},
				Behaviour: map[string]string{"limit_horizon": "10s"},
				Conn:      func(*workload.Definition) workload.Conn { return newDesk() },
				SameData:  mode == "statements",
				Golden:    "testdata/fingerprints.txt",
				Update:    *update,
				// Orders that the market has not completed at the end of a
				// script matter less in a long one.
				Units: 60_000,
			})
		})
	}
}

// desk answers as a database does that has one row of everything.
type desk struct {
	out   [64 * 32]workload.Value
	ops   []workload.TxOp
	trade int64
	// fail is a statement that fails, or "".
	fail string
	// none is a statement that finds or changes nothing, or "".
	none string
	// status is that of every trade.
	status []byte
	// held is what an account holds, in one lot, as it was asked last.
	held int64
	// orders are the limit orders that wait.
	orders  [4096]pendingOrder
	waiting int
}

// pendingOrder is a limit order; its bid is in cents.
type pendingOrder struct{ trade, bid int64 }

func newDesk() *desk {
	return &desk{ops: make([]workload.TxOp, 0, 8), status: []byte("SBMT")}
}

var errDesk = errors.New("closed for lunch")

// Tx implements workload.Conn and remembers the last eight steps.
func (d *desk) Tx(_ context.Context, op workload.TxOp) error {
	if len(d.ops) == cap(d.ops) {
		d.ops = d.ops[:0]
	}
	d.ops = append(d.ops, op)
	return nil
}

// Run implements workload.Conn.
func (d *desk) Run(_ context.Context, st *workload.Statement, args []workload.Value) (workload.Result, error) {
	if len(args) != len(st.Params) {
		return workload.Result{}, fmt.Errorf("%s: %d arguments for %d parameters", st.Name, len(args), len(st.Params))
	}
	rows := 1
	switch st.Name {
	case d.fail:
		return workload.Result{}, errDesk
	case d.none:
		return d.rows(0, 16), nil
	case "securitydetail":
		return d.parts(1, 3, 20, int(args[2].Int), 1, 2), nil
	case "tradestatus", "customerposition", "brokervolume":
		return d.parts(1, 1, 1), nil
	case "tradelookup", "tradeupdate":
		return d.parts(20, 20, 20, 20), nil
	case "competitors":
		rows = 3
	case "financial reports", "trades":
		rows = 20
	case "daily prices":
		rows = int(args[2].Int)
	case "news in short", "news in full":
		rows = 2
	case "tradeorder":
		d.trade++
		if kind := string(args[7].Str); kind != "TMB" && kind != "TMS" {
			d.wait(d.trade, args[9].Int)
		}
		r := d.rows(1, 16)
		r.Values[0] = workload.Int(d.trade)
		return r, nil
	case "number of trade":
		d.trade++
		r := d.rows(1, 1)
		r.Values[0] = workload.Int(d.trade)
		return r, nil
	case "position":
		return d.position(), nil
	case "lots, oldest first", "lots, newest first":
		r := d.rows(1, 3)
		r.Values[1] = workload.Int(d.held)
		return r, nil
	case "insert request":
		d.wait(args[0].Int, args[4].Int)
	case "type of trade":
		r := d.rows(1, 16)
		if kind := string(args[0].Str); kind != "TMB" && kind != "TMS" {
			r.Values[0] = workload.Int(0)
		}
		return r, nil
	case "traderesult", "trade to complete":
		r := d.rows(1, 16)
		for i := range r.Values {
			r.Values[i].Str = d.status
		}
		return r, nil
	case "requests in the money":
		r := d.rows(1, 2)
		if r.Values[0].Int = d.take(args[1].Int); r.Values[0].Int == 0 {
			return d.rows(0, 2), nil
		}
		return r, nil
	case "marketfeed":
		return d.feed(args[1].Str), nil
	}
	if st.Call != "" || strings.HasPrefix(st.Text, "SELECT") {
		return d.rows(rows, 16), nil
	}
	return workload.Result{Affected: 1}, nil
}

// position is no row, one piece, three, and two that are owed, in turn: trades
// are of one piece.
func (d *desk) position() workload.Result {
	switch d.held {
	case 0:
		d.held = 1
	case 1:
		d.held = 3
	case 3:
		d.held = -2
	default:
		d.held = 0
		return d.rows(0, 1)
	}
	r := d.rows(1, 1)
	r.Values[0] = workload.Int(d.held)
	return r
}

// rows are n rows of ones.
func (d *desk) rows(n, columns int) workload.Result {
	out := d.out[:n*columns]
	for i := range out {
		out[i] = workload.Int(1)
	}
	return workload.Result{Columns: columns, Values: out}
}

// parts are so many rows of each part.
func (d *desk) parts(counts ...int) workload.Result {
	out := d.out[:0]
	for part, n := range counts {
		for range n {
			out = append(out, workload.Int(int64(part)), workload.Value{}, workload.Money(1))
		}
	}
	return workload.Result{Columns: 3, Values: out}
}

// wait keeps a limit order.
func (d *desk) wait(trade, bid int64) {
	d.orders[d.waiting] = pendingOrder{trade, bid}
	d.waiting++
}

// take takes the first limit order with a bid, whatever its security; 0 where
// there is none. The market's entries for limit orders have their bids.
func (d *desk) take(price int64) int64 {
	for i, o := range d.orders[:d.waiting] {
		if o.bid == price {
			copy(d.orders[i:], d.orders[i+1:d.waiting])
			d.waiting--
			return o.trade
		}
	}
	return 0
}

// feed takes limit orders by a list of prices, such as {20.00,21.50}.
func (d *desk) feed(prices []byte) workload.Result {
	out := d.out[:0]
	place, price := int64(1), int64(0)
	for _, c := range prices[1:] {
		switch {
		case c >= '0' && c <= '9':
			price = price*10 + int64(c-'0')
		case c != '.':
			if trade := d.take(price); trade > 0 {
				out = append(out, workload.Int(place), workload.Int(trade), workload.Int(1))
			}
			place, price = place+1, 0
		}
	}
	return workload.Result{Columns: 3, Values: out}
}
