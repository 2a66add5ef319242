package brokerage

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// fixed is a small world for tests of distributions.
func fixed() *world { return newWorld(11, 2_000, 2, 500, 100, 500) }

// chances compares counts with chances, in percent, by a chi-square test at
// 0.01 %: the quantile is by Wilson and Hilferty (1931).
func chances(t *testing.T, what string, counts, percent []float64) {
	t.Helper()
	n, chi, free := 0.0, 0.0, -1.0
	for _, c := range counts {
		n += c
	}
	for i, p := range percent {
		want := n * p / 100
		if want == 0 {
			if counts[i] > 0 {
				t.Errorf("%s: case %d came %v times, and should not", what, i, counts[i])
			}
			continue
		}
		chi += (counts[i] - want) * (counts[i] - want) / want
		free++
	}
	h := 2 / (9 * free)
	if limit := free * math.Pow(1-h+3.719*math.Sqrt(h), 3); n == 0 || chi > limit {
		t.Errorf("%s: chi-square %.1f is over %.1f: %v of %v, stated %v %%", what, chi, limit, counts, n, percent)
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// plays draws n inputs of one type and calls f with each.
func plays(t *testing.T, kind, n int, f func(e *entry)) {
	t.Helper()
	u := newTrader(playing(), nil, rng.At(5, uint64(kind)))
	for n > 0 {
		if st := u.Next(); st.Transaction.Index == kind {
			f(st.Input.(*entry))
			n--
		}
		u.Done(workload.Outcome{})
	}
}

func TestOrdersHaveTheStatedInputs(t *testing.T) {
	w := fixed()
	kind, by, guest, quantity := make([]float64, kinds), make([]float64, 2), make([]float64, 2), make([]float64, 4)
	lifo, margin, cancel, tier := make([]float64, 2), make([]float64, 2), make([]float64, 2), make([]float64, 3)
	plays(t, tradeOrder, 20_000, func(e *entry) {
		kind[e.kind]++
		by[one(e.byName)]++
		guest[one(e.guest != 0)]++
		quantity[map[int64]int{100: 0, 200: 1, 400: 2, 800: 3}[e.quantity]]++
		lifo[one(e.lifo)]++
		if isSell(e.kind) && e.margin {
			t.Fatal("a sale on margin")
		} else if !isSell(e.kind) {
			margin[one(e.margin)]++
		}
		cancel[one(e.cancel)]++
		tier[w.customer(e.customer).tier-1]++
		if (e.bid == 0) != isMarket(e.kind) || e.bid != 0 && (e.bid < priceLow || e.bid > priceHigh) {
			t.Fatalf("a bid of %d for type %s", e.bid, kindName(e.kind))
		}
		a := w.account(e.account)
		if e.guest != 0 && e.guest != a.guest[0] && (a.guests < 2 || e.guest != a.guest[1]) || customerOf(e.account) != e.customer {
			t.Fatalf("%d trades for account %d of %d", e.guest, e.account, e.customer)
		}
		traded := false
		for n := range a.securities {
			traded = traded || w.security(&a, n) == e.security
		}
		if !traded {
			t.Fatalf("account %d does not trade security %d", a.id, e.security)
		}
	})
	chances(t, "type", kind, []float64{30, 30, 10, 10, 20})
	chances(t, "by symbol or name", by, []float64{60, 40})
	chances(t, "owner or guest", guest, []float64{90, 10})
	chances(t, "quantity", quantity, []float64{25, 25, 25, 25})
	chances(t, "oldest or newest lot", lifo, []float64{65, 35})
	chances(t, "cash or margin, of buyers", margin, []float64{84, 16})
	chances(t, "rollback", cancel, []float64{100 - 100.0/101, 100.0 / 101})
	// Guests come with accounts that have some, whoever owns them.
	chances(t, "tier", tier, []float64{10, 60, 30})
}

func TestReadersHaveTheStatedInputs(t *testing.T) {
	w := fixed()
	watch, tax, history, long, sector := make([]float64, 3), make([]float64, 2), make([]float64, 2), make([]float64, 2), make([]float64, sectors)
	plays(t, marketWatch, 10_000, func(e *entry) { watch[e.frame]++ })
	plays(t, customerPosition, 10_000, func(e *entry) { tax[one(e.byTax)]++; history[one(e.withHistory)]++ })
	days := make([]float64, 16)
	plays(t, securityDetail, 10_000, func(e *entry) {
		long[one(e.longNews)]++
		days[e.rows-5]++
		// As many days as asked for exist.
		if last := w.marketDay(w.marketDays - 1); e.from > last || e.from < w.marketDay(0) {
			t.Fatalf("day %d", e.from)
		}
	})
	plays(t, brokerVolume, 3_000, func(e *entry) {
		sector[e.sector]++
		seen := map[int64]bool{}
		for _, b := range e.brokers {
			seen[b] = true
		}
		if len(seen) != int(w.brokers()) {
			t.Fatalf("%d different brokers of %d", len(seen), w.brokers())
		}
	})
	chances(t, "watch", watch, []float64{60, 35, 5})
	chances(t, "by tax id", tax, []float64{50, 50})
	chances(t, "history", history, []float64{50, 50})
	chances(t, "news in full", long, []float64{99, 1})
	chances(t, "days", days, equal(16))
	chances(t, "sector", sector, equal(sectors))
}

// TestVolumesAskForTwentyToFortyBrokers where there are so many.
func TestVolumesAskForTwentyToFortyBrokers(t *testing.T) {
	o := playing()
	o.world = newWorld(11, 5_000, 1, 500, 20, 100)
	u := newTrader(o, nil, rng.At(21))
	asked := make([]float64, manyBrokers-19)
	for range 5_000 {
		u.volume()
		seen := map[int64]bool{}
		for _, b := range u.entry.brokers {
			if seen[b] = true; b < 1 || b > o.brokers() {
				t.Fatalf("broker %d of %d", b, o.brokers())
			}
		}
		asked[len(seen)-20]++
	}
	chances(t, "brokers", asked, equal(len(asked)))
}

// TestNonUniformDrawsAreTheStated compares draws with the chances that follow
// from the definition, case by case.
func TestNonUniformDrawsAreTheStated(t *testing.T) {
	const a, lo, hi, draws = 15, 3, 40, 200_000
	percent := make([]float64, hi-lo+1)
	for x := range int64(a + 1) {
		for y := int64(lo); y <= hi; y++ {
			percent[(x|y)%(hi-lo+1)] += 100.0 / ((a + 1) * (hi - lo + 1))
		}
	}
	s, counts := rng.At(9), make([]float64, hi-lo+1)
	for range draws {
		counts[nonUniform(&s, a, lo, hi)-lo]++
	}
	chances(t, "non-uniform draws", counts, percent)
}

func equal(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 100 / float64(n)
	}
	return out
}

func TestOldTradesAreChosenAsStated(t *testing.T) {
	w := fixed()
	for kind, want := range map[int][]float64{tradeLookup: {30, 30, 30, 10}, tradeUpdate: {33, 33, 34, 0}} {
		frames := make([]float64, 4)
		plays(t, kind, 10_000, func(e *entry) {
			frames[e.frame-1]++
			seen := map[int64]bool{}
			for _, n := range e.ids {
				if n < 1 || n > w.trades() {
					t.Fatalf("trade %d of %d", n, w.trades())
				}
				seen[n] = true
			}
			if len(seen) != manyTrades {
				t.Fatalf("%d different trades", len(seen))
			}
			if e.from < opened || e.from >= e.to {
				t.Fatalf("from %d to %d", e.from, e.to)
			}
		})
		chances(t, "frame", frames, want)
	}
}

// TestLoadedTradesHaveTheStatedShapes replays two days of two load units.
func TestLoadedTradesHaveTheStatedShapes(t *testing.T) {
	w := fixed()
	kind, lifo, quantity, tier := make([]float64, kinds), make([]float64, 2), make([]float64, 4), make([]float64, 3)
	margin, seen := make([]float64, 2), map[int64]bool{}
	for batch := range w.units * groups {
		last := int64(0)
		err := w.history(batch).each(func(d *deal) error {
			kind[d.kind]++
			lifo[one(d.lifo)]++
			quantity[map[int64]int{100: 0, 200: 1, 400: 2, 800: 3}[d.quantity]]++
			tier[w.customer(d.customer).tier-1]++
			if !isSell(d.kind) {
				margin[one(!d.cash)]++
			} else if !d.cash {
				t.Fatal("a sale on margin")
			}
			if seen[d.id] || d.id < 1 || d.id > w.trades() {
				t.Fatalf("trade %d of %d", d.id, w.trades())
			}
			seen[d.id] = true
			if d.closed <= last || d.submitted >= d.closed || d.pended >= d.submitted || d.closed >= w.begins() || d.closed < opened {
				t.Fatalf("trade %d: pending %d, submitted %d, complete %d, the one before %d", d.id, d.pended, d.submitted, d.closed, last)
			}
			last = d.closed
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if int64(len(seen)) != w.trades() || w.trades() != 2*28_800*2_000/500 {
		t.Errorf("%d trades, %d were announced", len(seen), w.trades())
	}
	chances(t, "type", kind, []float64{30, 30, 10, 10, 20})
	chances(t, "oldest or newest lot", lifo, []float64{65, 35})
	chances(t, "quantity", quantity, equal(4))
	chances(t, "cash or margin, of buyers", margin, []float64{84, 16})
	chances(t, "tier", tier, []float64{10, 60, 30})
}

func TestTradingDaysAreWeekdays(t *testing.T) {
	const length = daySeconds * second
	for worked, want := range map[int64]string{
		0: "2005-01-03 09:00:00", length - second: "2005-01-03 16:59:59", length: "2005-01-04 09:00:00",
		5*length - second: "2005-01-07 16:59:59", 5 * length: "2005-01-10 09:00:00", 300 * length: "2006-02-27 09:00:00",
	} {
		if got := time.UnixMicro(businessTime(worked)).UTC().Format(time.DateTime); got != want {
			t.Errorf("after %d s of trading it is %s, want %s", worked/second, got, want)
		}
	}
	w := newWorld(1, 1_000, 1, 500, 1_305, 100)
	for n, want := range map[int64]string{0: "2000-01-03", 5: "2000-01-10", 1_304: "2004-12-31"} {
		if got := time.Unix(w.marketDay(n)*86_400, 0).UTC().Format(time.DateOnly); got != want {
			t.Errorf("day %d of the market is %s, want %s", n, got, want)
		}
	}
	for q, want := range map[int64]string{0: "2000-01-01", 1: "2000-04-01", 3: "2000-10-01", 4: "2001-01-01", 5: "2001-04-01", 16: "2004-01-01", 17: "2004-04-01", 19: "2004-10-01"} {
		if got := time.Unix(quarterStart(q)*86_400, 0).UTC().Format(time.DateOnly); got != want {
			t.Errorf("quarter %d begins on %s, want %s", q, got, want)
		}
	}
}

func TestCustomersHaveTheStatedShapes(t *testing.T) {
	w := newWorld(3, 10_000, 1, 500, 20, 100)
	tier, guests, tax, positive := make([]float64, 3), make([]float64, 3), make([]float64, 3), make([]float64, 2)
	accounts, securities := 0.0, 0.0
	ids := map[string]bool{}
	for c := int64(1); c <= w.customers; c++ {
		x := w.customer(c)
		tier[x.tier-1]++
		ids[string(appendTaxID(nil, c))] = true
		bounds := [...][2]int64{{1, 4}, {2, 8}, {5, 10}}[x.tier-1]
		if x.accounts < bounds[0] || x.accounts > bounds[1] {
			t.Fatalf("a customer of tier %d has %d accounts", x.tier, x.accounts)
		}
		for n := range x.accounts {
			a := w.account(accountID(c, n))
			accounts++
			guests[a.guests]++
			tax[a.taxStatus]++
			positive[one(a.balance < 0)]++
			securities += float64(a.securities)
			if a.guest[0] == c || a.guest[1] == c || a.guest[0] == a.guest[1] || customerOf(a.id) != c {
				t.Fatalf("account %d of %d has guests %v", a.id, c, a.guest)
			}
			distinct := map[int64]bool{}
			for k := range a.securities {
				distinct[w.security(&a, k)] = true
			}
			if int64(len(distinct)) != a.securities || a.securities > mostSecurities {
				t.Fatalf("account %d trades %d securities, %d different", a.id, a.securities, len(distinct))
			}
		}
	}
	if tier[0] != 2_000 || tier[1] != 6_000 || tier[2] != 2_000 || len(ids) != 10_000 {
		t.Errorf("tiers %v, %d tax ids", tier, len(ids))
	}
	if mean := accounts / 10_000; math.Abs(mean-5) > 0.1 {
		t.Errorf("%.3f accounts a customer", mean)
	}
	if mean := securities / accounts; math.Abs(mean-10) > 0.1 {
		t.Errorf("%.3f securities an account", mean)
	}
	chances(t, "guests", guests, []float64{60, 38, 2})
	chances(t, "tax status", tax, []float64{20, 50, 30})
	chances(t, "balance", positive, []float64{80, 20})
}

// TestPositionsBalance: whatever is traded, what the lots hold is the sum of
// what was bought and sold, all lots are of one sign, and the changes of each
// lot follow from each other.
func TestPositionsBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p position
		var sum int64
		left := map[int64]int64{}
		for n := range rapid.IntRange(0, 40).Draw(t, "trades") {
			q := rapid.Int64Range(-8, 8).Filter(func(q int64) bool { return q != 0 }).Draw(t, "quantity") * 100
			price := rapid.Int64Range(priceLow, priceHigh).Draw(t, "price")
			before, lifo := p.quantity(), rapid.Bool().Draw(t, "lifo")
			first := int64(n)
			if before*q < 0 {
				if first = p[0].trade; lifo {
					first = p[len(p)-1].trade
				}
			}
			log, s := p.trade(lot{int64(n), int64(n), price, q}, lifo, nil)
			if log[0].lot != first {
				t.Fatalf("lot %d was taken first, want %d", log[0].lot, first)
			}
			sum += q
			closed := int64(0)
			for _, c := range log {
				if left[c.lot] != c.before {
					t.Fatalf("lot %d held %d, the change says %d", c.lot, left[c.lot], c.before)
				}
				left[c.lot] = c.after
				if c.lot != int64(n) {
					closed += max(c.before-c.after, c.after-c.before)
				}
			}
			want := int64(0)
			if before*q < 0 {
				want = min(max(before, -before), max(q, -q))
			}
			if closed != want || (closed == 0) != (s == settled{}) {
				t.Fatalf("%d pieces were closed, want %d: %+v", closed, want, s)
			}
			if q < 0 && s.sold != closed*price || q > 0 && s.bought != closed*price {
				t.Fatalf("%d pieces at %d: %+v", closed, price, s)
			}
		}
		if p.quantity() != sum {
			t.Fatalf("the lots hold %d of %d", p.quantity(), sum)
		}
		for _, l := range p {
			if l.quantity == 0 || (l.quantity < 0) != (sum < 0) || left[l.trade] != l.quantity {
				t.Fatalf("lot %+v in a position of %d", l, sum)
			}
		}
	})
}

// TestPricesReachEveryBid: the instant that reaches names is in the money, and
// the one before is not.
func TestPricesReachEveryBid(t *testing.T) {
	w := fixed()
	rapid.Check(t, func(t *rapid.T) {
		security := rapid.Int64Range(0, w.securities()-1).Draw(t, "security")
		kind := rapid.SampledFrom([]int{stopLoss, limitSell, limitBuy}).Draw(t, "kind")
		bid := rapid.Int64Range(priceLow, priceHigh).Draw(t, "bid")
		at := w.begins() + rapid.Int64Range(0, 3*pricePeriod).Draw(t, "at")
		when := w.reaches(kind, security, bid, at)
		if when < at || when > at+pricePeriod {
			t.Fatalf("reached after %d µs", when-at)
		}
		if !inMoney(kind, w.price(security, when), bid) {
			t.Fatalf("at %d the price is %d, the bid %d", when, w.price(security, when), bid)
		}
		if when > at && inMoney(kind, w.price(security, when-1), bid) {
			t.Fatalf("the price was the bid before %d", when)
		}
		if p := w.price(security, at); p < priceLow || p > priceHigh {
			t.Fatalf("price %d", p)
		}
	})
}

func TestMarketDelaysAreExponentialAndBounded(t *testing.T) {
	s := rng.At(8)
	sum, over := 0.0, 0
	const n = 100_000
	for range n {
		d := delay(&s)
		if d < leastDelay || d > 5_000_000 {
			t.Fatalf("a delay of %d µs", d)
		}
		sum += float64(d)
		if d > 3_000_000 {
			over++
		}
	}
	// The cut at five seconds takes e⁻⁵ of a second off the mean.
	if mean, want := sum/n/1e6, 1-math.Exp(-5); math.Abs(mean-want) > 0.02 {
		t.Errorf("a mean of %.4f s, want %.4f s", mean, want)
	}
	if got, want := float64(over)/n, math.Exp(-3); math.Abs(got-want) > 0.005 {
		t.Errorf("%.4f are over three seconds, want %.4f", got, want)
	}
}

// TestLimitOrdersGoOnTheTickerWhenTheirPriceIsReached: with their bid, beside
// a completed trade, and not earlier.
func TestLimitOrdersGoOnTheTickerWhenTheirPriceIsReached(t *testing.T) {
	w := fixed()
	x := newExchange(w, 1, 4)
	at := w.begins()
	bid := w.price(5, at+100*second)
	kind := limitSell
	if bid < w.price(5, at) {
		kind = limitBuy
	}
	due := w.reaches(kind, 5, bid, at)
	x.submit(kind, 77, 5, 800, bid, at)
	var feed [tickerSize]tick
	onTicker := func(now int64) bool {
		for range tickerSize / 2 {
			if _, _, ok, _ := x.next(0, now, &feed); ok {
				t.Fatal("a limit order was completed before it was found in the money")
			}
			x.completed(event{security: 9, quantity: 100}, priceLow, now)
		}
		if _, fed, _, _ := x.next(0, now, &feed); !fed {
			t.Fatal("ten trades make no feed")
		}
		for _, k := range feed {
			if k == (tick{5, bid, paddingQuantity}) {
				return true
			}
		}
		return false
	}
	if due <= at || onTicker(due-1) || !onTicker(due) || onTicker(due+1) {
		t.Fatal("the order is not on the ticker exactly once, from when its price is reached")
	}
	x.accept(77, 5, 800, due)
	e, _, ok, _ := x.next(0, due+10*second, &feed)
	if !ok || e.trade != 77 || e.quantity != 800 || e.due < due+leastDelay {
		t.Errorf("the order that was found is not completed: %+v", e)
	}
}

func TestFailedTradesAreSentAgainABoundedNumberOfTimes(t *testing.T) {
	w := fixed()
	x := newExchange(w, 1, 4)
	at, sent := w.begins(), 0
	x.submit(marketBuy, 1, 3, 100, 0, at)
	var feed [tickerSize]tick
	for now := at; now < at+20*second; now += leastDelay {
		if e, _, ok, _ := x.next(0, now, &feed); ok {
			sent++
			x.again(e, now)
		}
	}
	if sent != triesAtMost {
		t.Errorf("sent %d times, want %d", sent, triesAtMost)
	}
}

// TestMarketCompletesEachOrderOnce plays orders through an exchange of three
// shards in virtual time: each is completed once and not before its delay, and
// each trade makes two entries of the ticker.
func TestMarketCompletesEachOrderOnce(t *testing.T) {
	w := fixed()
	x := newExchange(w, 3, 4)
	const orders = 500
	at := w.begins()
	for n := range int64(orders) {
		x.submit(marketBuy, n+1, n*7%w.securities(), 100, 0, at+n*1_000)
	}
	done, feeds := map[int64]int{}, 0
	var feed [tickerSize]tick
	for now := at; now < at+10*second; now += leastDelay {
		for shard := range 3 {
			for {
				e, fed, ok, wake := x.next(shard, now, &feed)
				if fed {
					feeds++
					for _, k := range feed {
						if k.security%3 != int64(shard) || k.price < priceLow || k.price > priceHigh {
							t.Fatalf("shard %d feeds %+v", shard, k)
						}
					}
					continue
				}
				if !ok {
					if wake <= now || wake > now+leastDelay {
						t.Fatalf("asked to wake after %d µs", wake-now)
					}
					break
				}
				if done[e.trade]++; e.due < at+(e.trade-1)*1_000+leastDelay || e.due < now-leastDelay || e.due > now+leastDelay {
					t.Fatalf("trade %d is due at %d, it is %d", e.trade, e.due-at, now-at)
				}
				x.completed(e, w.price(e.security, now), now)
			}
		}
	}
	if len(done) != orders || feeds < 2*orders/tickerSize-3 || feeds > 2*orders/tickerSize {
		t.Errorf("%d of %d trades are complete, %d feeds", len(done), orders, feeds)
	}
	for trade, n := range done {
		if n != 1 {
			t.Errorf("trade %d was completed %d times", trade, n)
		}
	}
}
