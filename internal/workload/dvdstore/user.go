package dvdstore

import (
	"strconv"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// phase is where a user is in an order.
type phase uint8

const (
	entering    phase = iota // about to log in or register
	registering              // the user name was taken: another one
	browsing
	pricing
	buying
)

// user plays orders: log in or register, browse, look the prices up, buy,
// think. It allocates nothing after newUser.
type user struct {
	*store
	s     rng.Stream
	phase phase
	left  int64 // searches still to come
	cart  cart

	number     int
	tag        uint64 // from the stream: tells runs on one database apart
	registered int64  // user names used so far
}

func newUser(s *store, number int, r rng.Stream) *user {
	u := &user{store: s, s: r, number: number}
	u.tag = u.s.Uint64()
	u.cart.password = workload.Str([]byte("password"))
	return u
}

// Next implements workload.User.
func (u *user) Next() workload.Step {
	switch u.phase {
	case entering:
		u.left = u.s.Between(1, u.searches)
		if u.s.Float64() < u.newCustomers {
			u.phase = registering
			return u.register()
		}
		return u.enter()
	case registering:
		return u.register()
	case browsing:
		u.left--
		return u.browse()
	case pricing:
		u.fill()
		// The kit leaves the look-up out of its response times.
		return workload.Step{Transaction: u.transactions.price, Input: &u.cart, Untimed: u.compat}
	default:
		return workload.Step{Transaction: u.transactions.buy, Input: &u.cart, Think: u.thinkTime(), Last: true}
	}
}

// Done implements workload.User. A step that failed ends the order, and the
// next one begins.
func (u *user) Done(o workload.Outcome) {
	switch {
	case o.Status == workload.Failed || u.phase == buying:
		u.phase = entering
	case u.phase == registering && o.Status == workload.RolledBack:
		// Once more, with the next name.
	case u.left > 0:
		u.phase = browsing
	case u.phase == pricing:
		u.phase = buying
	default:
		u.phase = pricing
	}
}

// enter logs a loaded customer in.
func (u *user) enter() workload.Step {
	c := &u.cart
	name := strconv.AppendInt(append(c.text[:0], "user"...), u.s.Between(1, u.customers), 10)
	c.userName = workload.Str(name)
	return workload.Step{Transaction: u.transactions.enter, Input: c}
}

// register signs up a customer, from the US or the rest of the world with
// equal chance.
func (u *user) register() workload.Step {
	us := u.s.IntN(2) == 0
	u.words.person(u.cart.person[:], u.cart.text[:0], &u.s, us, u.userName)
	return workload.Step{Transaction: u.transactions.register, Input: &u.cart}
}

// userName appends a name that no customer has: loaded ones are called
// user<id>, and the number of the user and of the registration tell all names
// of a run apart. The kit draws newuser1..max, so that on a small database all
// names are taken after some 100,000 orders.
func (u *user) userName(b []byte) []byte {
	b = strconv.AppendInt(append(b, "new"...), int64(u.number), 10)
	b = strconv.AppendInt(append(b, 'x'), u.registered, 10)
	u.registered++
	return strconv.AppendUint(append(b, 'x'), u.tag, 36)
}

// browse searches by category, actor or title with equal chance.
func (u *user) browse() workload.Step {
	c, w := &u.cart, &u.words
	c.terms[0] = workload.Int(u.s.Between(1, u.batch))
	pick := func(list [][]byte) []byte { return list[u.s.IntN(int64(len(list)))] }
	switch u.s.IntN(3) {
	case 0:
		c.search = u.byCategory
		c.terms[1] = workload.Int(u.s.Between(1, int64(len(w.category))))
	case 1:
		c.search = u.byActor
		c.terms[1] = workload.Str(appendPair(c.term[:0], pick(w.first), pick(w.last)))
	default:
		c.search = u.byTitle
		c.terms[1] = workload.Str(appendPair(c.term[:0], pick(w.title), pick(w.title)))
	}
	return workload.Step{Transaction: u.transactions.browse, Input: c}
}

// fill puts 1 to u.lines products into the cart, at most maxLines.
func (u *user) fill() {
	c := &u.cart
	c.lines = int(min(u.s.Between(1, u.lines), maxLines))
	for i := range c.lines {
		c.product[i], c.quantity[i] = u.randomProduct(&u.s), u.s.Between(1, 3)
	}
}

// randomProduct draws a product, each popular one with ten times the chance
// of another: one ticket for every product, and nine more for the popular.
func (g *generator) randomProduct(s *rng.Stream) int64 {
	n := s.IntN(g.products + g.products/popularEach*9)
	if n < g.products {
		return n + 1
	}
	return ((n-g.products)/9 + 1) * popularEach
}

// thinkTime is uniform from 0 to twice the mean.
func (u *user) thinkTime() time.Duration {
	if u.think == 0 {
		return 0
	}
	return time.Duration(u.s.IntN(2*int64(u.think) + 1))
}
