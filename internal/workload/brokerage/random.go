package brokerage

import (
	"math"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// nonUniform draws from lo to hi so that some values come far more often than
// others:
//
//	(rnd(0, a) | rnd(lo, hi)) mod (hi − lo + 1) + lo
//
// with both ends included. It is the construction that TPC specifications call
// NURand, without its constant.
func nonUniform(s *rng.Stream, a, lo, hi int64) int64 {
	return (s.IntN(a+1)|s.Between(lo, hi))%(hi-lo+1) + lo
}

// tierOf is a customer's tier by rank within its load unit: 200 of tier 1,
// 600 of tier 2, 200 of tier 3.
func tierOf(rank int64) int64 {
	switch {
	case rank < 200:
		return 1
	case rank < 800:
		return 2
	default:
		return 3
	}
}

// rankOf is the rank of customer number i of a load unit, both from 0: the
// same permutation in every unit.
func rankOf(i int64) int64 { return (i*617 + 389) % unitSize }

// drawRank draws the rank of a customer who trades: customers of tier 2 trade
// twice, those of tier 3 three times as often as those of tier 1.
func drawRank(s *rng.Stream) int64 {
	const first, second = 200, 200 + 2*600 // weights up to tier 1 and tier 2
	switch x := s.IntN(second + 3*200); {
	case x < first:
		return x
	case x < second:
		return 200 + (x-first)/2
	default:
		return 800 + (x-second)/3
	}
}

// The price of every security goes from $20 up to $30 and down again.
const (
	priceLow  = 20_00 // cents
	priceHigh = 30_00
	// pricePeriod is the length of the wave in µs.
	pricePeriod = int64(900 * time.Second / time.Microsecond)
)

// phase is where in its wave a security is at instant 0, in µs.
func (w *world) phase(security int64) int64 {
	return (security*257_353_661 + int64(w.seed%1_000_003)*1_000) % pricePeriod
}

// price is the price of a security, in cents, at an instant:
//
//	p(t) = low + (high − low) · tri((t + phase) mod period)
//
// where tri rises from 0 to 1 in the first half of the period and falls back
// in the second.
func (w *world) price(security, at int64) int64 {
	x := (at + w.phase(security)) % pricePeriod
	return priceLow + rise(min(x, pricePeriod-x))
}

// rise is how far the price has risen, in cents, when it has risen for x µs.
func rise(x int64) int64 { return (priceHigh - priceLow) * x / (pricePeriod / 2) }

// reaches returns the first instant at or after `at` at which an order of a
// type with a bid, in cents, is in the money: limit sells where the price is
// at least the bid, limit buys and stop-losses where it is at most the bid.
// Bids beyond the range of prices are taken as its ends.
func (w *world) reaches(kind int, security, bid, at int64) int64 {
	bid = min(max(bid, priceLow), priceHigh)
	if inMoney(kind, w.price(security, at), bid) {
		return at
	}
	x := (at + w.phase(security)) % pricePeriod
	// up is when, after the trough, the price first is the bid.
	const half = pricePeriod / 2
	up := ((bid-priceLow)*half + priceHigh - priceLow - 1) / (priceHigh - priceLow)
	target := up // the rising side
	if kind != limitSell {
		// On the falling side the price, rounded down, is the bid a little
		// before the same height.
		target = pricePeriod - min(((bid+1-priceLow)*half-1)/(priceHigh-priceLow), half)
	}
	return at + (target-x+pricePeriod)%pricePeriod
}

// inMoney says whether an order can be completed at price.
func inMoney(kind int, price, bid int64) bool {
	if kind == limitSell {
		return price >= bid
	}
	return price <= bid
}

// delay draws how long the market takes to complete an order: negative
// exponential with a mean of a second, at least ten milliseconds, at most five
// seconds; in µs.
func delay(s *rng.Stream) int64 {
	return int64(math.Min(math.Max(s.Exp(1e6), leastDelay), 5e6))
}

// leastDelay is the least delay of the market in µs: longer than its sessions
// sleep when they have nothing to do, so that they are never late for it.
const leastDelay = 10_000
