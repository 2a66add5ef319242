package brokerage

import (
	"sync"
	"sync/atomic"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// tickerSize is how many entries a Market-Feed carries.
const tickerSize = 20

// tick is an entry of the ticker.
type tick struct{ security, price, quantity int64 }

// paddingQuantity is the quantity of entries that stand for no trade of ours.
const paddingQuantity = 100

// largestQuantity is the most pieces of a trade.
const largestQuantity = 800

// triesAtMost bounds how often the market sends what failed.
const triesAtMost = 5

// event is something that the market will do.
type event struct {
	due      int64 // µs
	trade    int64
	security int64
	quantity int64
	price    int64 // of a trigger: the bid
	trigger  bool  // a limit order's price is reached; else a trade is complete
	tries    int
}

// before orders events by time, then by trade, so that a history repeats.
func (e *event) before(f *event) bool {
	return e.due < f.due || e.due == f.due && e.trade < f.trade
}

// exchange is the market of one run: it knows the price of each security at
// any time, completes orders, and writes the ticker.
//
// It consists of shards, each of which has its own securities, its own lock,
// random stream, events and ticker, and is served by one session. An order
// takes the lock of its security's shard once; there is no lock over all.
type exchange struct {
	*world
	shards []shard
	fed    atomic.Int64 // quantities that committed Market-Feeds carried
}

func newExchange(w *world, shards int, seed uint64) *exchange {
	x := &exchange{world: w, shards: make([]shard, shards)}
	for i := range x.shards {
		x.shards[i].s = rng.At(seed, rng.Name("market"), uint64(i))
	}
	return x
}

// shard is a part of the exchange.
type shard struct {
	mu     sync.Mutex
	s      rng.Stream
	events []event // a heap, the next first
	ready  []tick  // limit orders whose price was reached, for the ticker
	tape   []tick  // the ticker
	_      [64]byte
}

// push adds an event.
func (s *shard) push(e event) {
	s.events = append(s.events, e)
	i := len(s.events) - 1
	for i > 0 && s.events[i].before(&s.events[(i-1)/2]) {
		s.events[i], s.events[(i-1)/2] = s.events[(i-1)/2], s.events[i]
		i = (i - 1) / 2
	}
}

// pop takes the next event.
func (s *shard) pop() event {
	e, last := s.events[0], len(s.events)-1
	s.events[0] = s.events[last]
	s.events = s.events[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if s.events[c].before(&s.events[least]) {
				least = c
			}
		}
		if least == i {
			return e
		}
		s.events[i], s.events[least] = s.events[least], s.events[i]
		i = least
	}
}

// ring makes the limit orders whose price is reached ready for the ticker, up
// to the next trade to complete. A session that is busy doesn't come to do it,
// and whoever looks for that trade finds it first then.
func (s *shard) ring(now int64) {
	for len(s.events) > 0 && s.events[0].trigger && s.events[0].due <= now {
		e := s.pop()
		s.ready = append(s.ready, tick{e.security, e.price, paddingQuantity})
	}
}

// of is the shard of a security.
func (x *exchange) of(security int64) *shard { return &x.shards[security%int64(len(x.shards))] }

// submit takes an order that is in the database since `at`: a market order
// completes after a delay, a limit order waits for its price.
func (x *exchange) submit(kind int, trade, security, quantity, bid, at int64) {
	s := x.of(security)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := event{trade: trade, security: security, quantity: quantity}
	if isMarket(kind) {
		e.due = at + delay(&s.s)
	} else {
		e.due, e.price, e.trigger = x.reaches(kind, security, bid, at), bid, true
	}
	s.push(e)
}

// behind is how long the market is late with completing trades in a security,
// in µs: that of the next trade that its session has not taken on yet.
func (x *exchange) behind(security, at int64) int64 {
	s := x.of(security)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring(at)
	if len(s.events) == 0 || s.events[0].trigger {
		return 0
	}
	return max(0, at-s.events[0].due)
}

// accept takes a limit order that a Market-Feed found in the money.
func (x *exchange) accept(trade, security, quantity, at int64) {
	s := x.of(security)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(event{due: at + delay(&s.s), trade: trade, security: security, quantity: quantity})
}

// completed puts a completed trade on the ticker, and beside it a limit order
// whose price was reached, or else any security of the shard.
func (x *exchange) completed(e event, price, at int64) {
	number := e.security % int64(len(x.shards))
	s := &x.shards[number]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tape = append(s.tape, tick{e.security, price, e.quantity})
	if len(s.ready) > 0 {
		s.tape = append(s.tape, s.ready[0])
		s.ready = append(s.ready[:0], s.ready[1:]...)
		return
	}
	n := int64(len(x.shards))
	other := number + n*s.s.IntN((x.securities()-number+n-1)/n)
	s.tape = append(s.tape, tick{other, x.price(other, at), paddingQuantity})
}

// again sends a trade once more, a second later, unless it was sent too often.
func (x *exchange) again(e event, at int64) {
	if e.tries++; e.tries >= triesAtMost {
		return
	}
	e.due = at + second
	s := x.of(e.security)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(e)
}

// next says what session number n does at an instant. With fed it is a
// Market-Feed, whose entries are in feed; with ok it is the Trade-Result e,
// which may be due within leastDelay; else there is nothing to do before
// `wake`.
func (x *exchange) next(n int, now int64, feed *[tickerSize]tick) (e event, fed, ok bool, wake int64) {
	s := &x.shards[n]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tape) >= tickerSize {
		copy(feed[:], s.tape)
		s.tape = append(s.tape[:0], s.tape[tickerSize:]...)
		return e, true, false, 0
	}
	s.ring(now)
	if len(s.events) == 0 {
		return e, false, false, now + leastDelay
	}
	if top := &s.events[0]; top.trigger || top.due > now+leastDelay {
		return e, false, false, min(top.due, now+leastDelay)
	}
	return s.pop(), false, true, 0
}

// refeed puts the entries of a Market-Feed that failed back on the ticker.
func (x *exchange) refeed(n int, feed *[tickerSize]tick) {
	s := &x.shards[n]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tape = append(s.tape, feed[:]...)
}
