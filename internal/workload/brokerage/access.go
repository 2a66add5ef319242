package brokerage

import "github.com/loadstone-perf/loadstone/internal/workload"

// What rows go with what, on average, in the loaded database.
const (
	meanAccounts = 5 // of a customer
	meanWatched  = (leastWatched + mostWatched) / 2
	meanHeld     = 8 // securities that an account holds
	meanLots     = 2 // lots of one of them
	meanSteps    = 2.4
	meanCash     = 0.92 // of trades have a cash transaction
	meanDays     = 12.5 // of prices, in a Security-Detail
	meanBrokers  = 30
)

// access is what the transactions do to the database.
func (w *world) access(called bool) []workload.Access {
	var out [types]workload.Access
	out[tradeStatus] = w.statusAccess()
	out[marketWatch] = w.watchAccess()
	out[securityDetail] = detailAccess()
	out[customerPosition] = positionAccess()
	out[tradeOrder] = w.orderAccess()
	out[tradeResult] = w.resultAccess()
	out[tradeLookup] = lookupAccess()
	out[brokerVolume] = w.volumeAccess()
	out[tradeUpdate] = updateAccess()
	out[marketFeed] = w.feedAccess()
	// Once a minute and once a run: what they do is too little to tell.
	small := workload.TableAccess{Table: "customer", Finds: 1, Rows: 1, Updates: 1}
	out[dataMaintenance] = workload.Access{Tables: []workload.TableAccess{small}, Statements: 1, RoundTrips: 3, RequestBytes: 150, ResponseBytes: 120}
	out[tradeCleanup] = workload.Access{Tables: []workload.TableAccess{{Table: "trade", Index: "trade_status", Finds: 5}}, Statements: 5, RoundTrips: 7, RequestBytes: 330, ResponseBytes: 280}
	if called {
		out[tradeCleanup].Statements, out[tradeCleanup].RoundTrips = 5, 3
	}
	weights := [types]float64{
		tradeStatus: 19, marketWatch: 18, securityDetail: 14, customerPosition: 13, tradeOrder: 10.1, tradeResult: 10,
		tradeLookup: 8, brokerVolume: 4.9, tradeUpdate: 2, marketFeed: 1,
	}
	// Bytes of requests and answers by call, and statement by statement.
	bytes := w.messageBytes()
	for i := range out {
		a := &out[i]
		if a.Weight = weights[i]; a.Weight == 0 {
			continue
		}
		way := 1
		if a.RoundTrips = a.Statements + 2; called { // begin, the call, commit
			way, a.RoundTrips = 0, 3
		}
		a.RequestBytes, a.ResponseBytes = bytes[i][way][0], bytes[i][way][1]
	}
	return out[:]
}

// messageBytes are the bytes of requests and answers of each type, by call and
// statement by statement. One Security-Detail in a hundred has two news in full.
func (w *world) messageBytes() [types][2][2]float64 {
	news := 0.01 * 2 * float64(w.newsBytes)
	return [types][2][2]float64{
		tradeStatus:      {{130, 1_900}, {180, 6_500}},
		marketWatch:      {{190, 130}, {140, 150}},
		securityDetail:   {{160, 1_300 + news}, {400, 5_000 + news}},
		customerPosition: {{150, 700}, {215, 1_300}},
		tradeOrder:       {{175, 180}, {700, 1_300}},
		tradeResult:      {{145, 180}, {980, 1_100}},
		tradeLookup:      {{255, 3_500}, {730, 6_000}},
		brokerVolume:     {{840, 400}, {720, 500}},
		tradeUpdate:      {{255, 3_000}, {990, 4_500}},
		marketFeed:       {{440, 150}, {3_000, 2_200}},
	}
}

// tradesOf is how many trades an account has, at most so many.
func (w *world) tradesOf(most float64) float64 {
	return min(most, float64(w.trades())/float64(meanAccounts*w.customers))
}

func (w *world) statusAccess() workload.Access {
	n := w.tradesOf(50)
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "trade", Index: "trade_account", Finds: 1, Rows: n},
			{Table: "status_type", Finds: n, Rows: n},
			{Table: "trade_type", Finds: n, Rows: n},
			{Table: "security", Finds: n, Rows: n},
			{Table: "exchange", Finds: n, Rows: n},
			{Table: "customer_account", Finds: 1, Rows: 1},
			{Table: "customer", Finds: 1, Rows: 1},
			{Table: "broker", Finds: 1, Rows: 1},
		},
		Statements: 2,
	}
}

// watchAccess: 60 % of a watch list, 35 % of an account, 5 % of the companies of
// an industry, 5,000 of them at most.
func (w *world) watchAccess() workload.Access {
	const list, held, branch = 0.6, 0.35, 0.05
	companies := float64(min(w.companies(), 5_000)) / industries
	n := list*meanWatched + held*meanHeld + branch*companies*securitiesUnit/companiesUnit
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "watch_list", Index: "watch_list_customer", Finds: list, Rows: list},
			{Table: "watch_item", Finds: list, Rows: list * meanWatched, Together: true},
			{Table: "holding_summary", Finds: held, Rows: held * meanHeld, Together: true},
			{Table: "industry", Finds: branch, Rows: branch},
			{Table: "company", Index: "company_industry", Finds: branch, Rows: branch * companies},
			{Table: "security", Finds: n, Rows: n},
			{Table: "last_trade", Finds: n, Rows: n},
			{Table: "daily_market", Finds: n, Rows: n},
		},
		Statements: 1,
	}
}

func detailAccess() workload.Access {
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "security", Finds: 1, Rows: 1},
			{Table: "company", Finds: 1 + competitors, Rows: 1 + competitors},
			{Table: "address", Finds: 2, Rows: 2},
			{Table: "zip_code", Finds: 2, Rows: 2},
			{Table: "exchange", Finds: 1, Rows: 1},
			{Table: "company_competitor", Finds: 1, Rows: competitors, Together: true},
			{Table: "industry", Finds: competitors, Rows: competitors},
			{Table: "financial", Finds: 1, Rows: quarters, Together: true},
			{Table: "news_xref", Index: "news_xref_company", Finds: 1, Rows: 2, Together: true},
			{Table: "news_item", Finds: 2, Rows: 2},
			{Table: "daily_market", Index: "daily_market_symbol", Finds: 1, Rows: meanDays},
			{Table: "last_trade", Finds: 1, Rows: 1},
		},
		Statements: 6,
	}
}

// positionAccess: half of the customers by tax number, half with what they
// traded last.
func positionAccess() workload.Access {
	const byTax, traded, last = 0.5, 0.5, 10
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "customer", Index: "customer_tax", Finds: byTax, Rows: byTax},
			{Table: "customer", Finds: 1, Rows: 1},
			{Table: "customer_account", Index: "customer_account_customer", Finds: 1, Rows: meanAccounts, Together: true},
			{Table: "holding_summary", Finds: meanAccounts, Rows: meanAccounts * meanHeld, Together: true},
			{Table: "last_trade", Finds: meanAccounts * meanHeld, Rows: meanAccounts * meanHeld},
			{Table: "trade", Index: "trade_account", Finds: traded, Rows: traded * last},
			{Table: "trade_history", Finds: traded * last, Rows: traded * last * meanSteps, Together: true},
			{Table: "status_type", Finds: traded * last * meanSteps, Rows: traded * last * meanSteps},
		},
		Statements: 2 + byTax + traded,
	}
}

// orderAccess: 10 % by somebody else than the owner, 40 % of securities by their
// company's name, 40 % limit orders, 8 % on margin; half of the orders would
// close lots, and half of those at a profit that is taxed.
//
// Limit orders wait for a Market-Feed that finds their rows, which a model has
// not: to the market there, every order is one at its price. As many are
// completed, a little sooner.
func (w *world) orderAccess() workload.Access {
	const guest, name, limit, margin, closes, taxed, undone = 0.1, 0.4, 0.4, 0.08, 0.5, 0.2, 1. / 101
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "customer_account", Finds: 1, Rows: 1},
			{Table: "customer", Finds: 1, Rows: 1},
			{Table: "broker", Finds: 1, Rows: 1},
			{Table: "account_permission", Finds: guest, Rows: guest},
			{Table: "company", Index: "company_name", Finds: name, Rows: name},
			{Table: "company", Finds: 1 - name, Rows: 1 - name},
			{Table: "security", Finds: 1, Rows: 1},
			{Table: "last_trade", Finds: 1 + margin*meanHeld, Rows: 1 + margin*meanHeld},
			{Table: "trade_type", Finds: 1, Rows: 1},
			{Table: "holding_summary", Finds: 1 + margin, Rows: 1 + margin*meanHeld, Together: true},
			{Table: "holding", Index: "holding_account", Finds: closes, Rows: closes * meanLots},
			{Table: "customer_taxrate", Finds: taxed, Rows: 2 * taxed, Together: true},
			{Table: "taxrate", Finds: 2 * taxed, Rows: 2 * taxed},
			{Table: "commission_rate", Finds: 1, Rows: 1},
			{Table: "charge", Finds: 1, Rows: 1},
			{Table: "trade", Inserts: 1},
			{Table: "trade_request", Inserts: limit},
			{Table: "trade_history", Inserts: 1},
		},
		Statements: 9 + guest + closes + taxed + margin + limit, RolledBack: undone,
		Answer: func(in any) { in.(*entry).kind = marketBuy },
	}
}

// resultAccess: half of the trades close lots, one or two each, the others open
// one. A trade that is complete already is hardly ever met.
func (w *world) resultAccess() workload.Access {
	const closes, changed, taxed, cash, moved, opened, closed = 0.5, 0.7, 0.2, 0.92, 0.8, 0.1, 0.1
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "trade", Finds: 1, Rows: 1, Updates: 1, Recent: true},
			{Table: "trade_type", Finds: 1, Rows: 1},
			{Table: "customer_account", Finds: 1, Rows: 1, Updates: cash},
			{Table: "customer", Finds: 1, Rows: 1},
			{Table: "security", Finds: 1, Rows: 1},
			{Table: "holding_summary", Finds: 1, Rows: 1, Updates: moved, Inserts: opened, Deletes: closed},
			{Table: "holding", Index: "holding_account", Finds: closes, Rows: closes * meanLots, Updates: changed / 2, Inserts: 1 - closes, Deletes: changed / 2},
			{Table: "holding_history", Inserts: 1 - closes + changed},
			{Table: "customer_taxrate", Finds: taxed, Rows: 2 * taxed, Together: true},
			{Table: "taxrate", Finds: 2 * taxed, Rows: 2 * taxed},
			{Table: "commission_rate", Finds: 1, Rows: 1},
			{Table: "charge", Finds: 1, Rows: 1},
			{Table: "trade_history", Inserts: 1},
			{Table: "settlement", Inserts: 1},
			{Table: "broker", Finds: 1, Rows: 1, Updates: 1},
			{Table: "cash_transaction", Inserts: cash},
		},
		Locks:      []workload.RowLock{{Name: "broker", Of: w.brokers(), Rows: 1}},
		Statements: 9 + closes + taxed + 2*changed + 2*(1-closes) + 2*cash,
	}
}

// lookupAccess: of the frames, 30 % have the trades' numbers, 30 % each look
// for 20 trades of an account or of a security, and 10 % for what became of a
// holding.
func lookupAccess() workload.Access {
	const numbers, account, symbol, holding = 0.3, 0.3, 0.3, 0.1
	return workload.Access{
		Tables: append(oldTrades(numbers, account, symbol),
			workload.TableAccess{Table: "trade", Index: "trade_account", Finds: holding, Rows: holding},
			workload.TableAccess{Table: "holding_history", Index: "holding_history_trade", Finds: holding, Rows: holding * meanLots}),
		Statements: 4*(1-holding) + 2*holding,
	}
}

// updateAccess: of the frames, 33 % change trades, 33 % settlements, and 34 %
// cash transactions, 20 each.
func updateAccess() workload.Access {
	const numbers, account, symbol = 0.33, 0.33, 0.34
	tables := oldTrades(numbers, account, symbol)
	for i := range tables {
		switch t := &tables[i]; t.Table {
		case "trade":
			if t.Index == "" {
				t.Updates = numbers * manyTrades
			}
		case "settlement":
			t.Updates = account * manyTrades
		case "cash_transaction":
			t.Updates = symbol * manyTrades * meanCash
		}
	}
	return workload.Access{Tables: tables, Statements: 5}
}

// oldTrades is how 20 trades are found, by so large parts of the frames, and
// what belongs to them.
func oldTrades(numbers, account, symbol float64) []workload.TableAccess {
	n := (numbers + account + symbol) * manyTrades
	return []workload.TableAccess{
		{Table: "trade", Finds: numbers * manyTrades, Rows: numbers * manyTrades},
		{Table: "trade", Index: "trade_account", Finds: account, Rows: account * manyTrades},
		{Table: "trade", Index: "trade_symbol", Finds: symbol, Rows: symbol * manyTrades},
		{Table: "trade_type", Finds: numbers * manyTrades, Rows: numbers * manyTrades},
		{Table: "settlement", Finds: n, Rows: n},
		{Table: "cash_transaction", Finds: n, Rows: n * meanCash},
		{Table: "trade_history", Finds: n, Rows: n * meanSteps, Together: true},
	}
}

// volumeAccess reads a sector's companies with their securities, and the few
// requests that are open for them.
func (w *world) volumeAccess() workload.Access {
	companies := float64(w.companies()) / sectors
	securities := float64(w.securities()) / sectors
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "sector", Finds: 1, Rows: 1},
			{Table: "industry", Finds: 1, Rows: industries / sectors},
			{Table: "company", Index: "company_industry", Finds: industries / sectors, Rows: companies},
			{Table: "security", Index: "security_company", Finds: companies, Rows: securities},
			{Table: "trade_request", Index: "trade_request_symbol", Finds: securities, Recent: true},
			{Table: "broker", Index: "broker_name", Finds: meanBrokers, Rows: meanBrokers},
		},
		Statements: 1,
	}
}

// feedAccess: of the 20 entries of a ticker, ten are of trades that were just
// completed; four in ten of those were limit orders that a feed submitted.
func (w *world) feedAccess() workload.Access {
	const triggered = 4
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "last_trade", Finds: tickerSize, Rows: tickerSize, Updates: tickerSize},
			{Table: "trade_request", Index: "trade_request_symbol", Finds: tickerSize, Rows: triggered, Deletes: triggered, Recent: true},
			{Table: "trade", Finds: triggered, Rows: triggered, Updates: triggered, Recent: true},
			{Table: "trade_history", Inserts: triggered},
		},
		Statements: 2*tickerSize + 3*triggered,
	}
}
