package brokerage

import "fmt"

// Shown is what the user whose input is in sees after a transaction.
func Shown(in any) string {
	e := in.(*entry)
	return fmt.Sprint(e.counts, e.trade, e.amount, e.commission, e.taxed, e.changed, e.triggered)
}

// Cancel sets whether the order in in, if it is one, is rolled back.
func Cancel(in any, yes bool) { in.(*entry).cancel = yes }

// Trade is the trade that the transaction whose input is in was about.
func Trade(in any) int64 { return in.(*entry).trade }

// TradeResult is the name of the transaction that completes a trade.
const TradeResult = tradeResultName
