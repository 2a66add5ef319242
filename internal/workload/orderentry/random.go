package orderentry

import (
	"math"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// nurand is the non-uniform random function of clause 2.1.6,
//
//	NURand(A, x, y) = (((rnd(0, A) | rnd(x, y)) + C) mod (y − x + 1)) + x
//
// with both ends of rnd included.
type nurand struct{ a, x, y, c int64 }

// draw returns a number from n.x to n.y.
func (n nurand) draw(s *rng.Stream) int64 {
	return ((s.IntN(n.a+1)|s.Between(n.x, n.y))+n.c)%(n.y-n.x+1) + n.x
}

// The constants A of clause 2.1.6 go with the sizes of the ranges.
const (
	nameA, names         = 255, 1_000 // last names are numbered 0 to 999
	customerA, customers = 1_023, 3_000
	itemA, items         = 8_191, 100_000
)

// loadedNames is how last names are spread over loaded customers.
func loadedNames(seed uint64) nurand {
	s := rng.At(seed, rng.Name("C for load"))
	return nurand{a: nameA, x: 0, y: names - 1, c: s.Between(0, nameA)}
}

// inputs are the distributions of what terminals enter.
type inputs struct{ name, customer, item nurand }

// newInputs chooses the constants C of a run (clause 2.1.6.1): that of the
// last names differs from the one of the load by 65 to 119, but not by 96 or
// 112. They follow from the seed alone, so that all users share them, in
// whatever process they run.
func newInputs(seed uint64) inputs {
	s := rng.At(seed, rng.Name("C for run"))
	loaded := loadedNames(seed).c
	var allowed []int64
	for c := range int64(nameA + 1) {
		if validDelta(c - loaded) {
			allowed = append(allowed, c)
		}
	}
	return inputs{
		name:     nurand{a: nameA, x: 0, y: names - 1, c: allowed[s.IntN(int64(len(allowed)))]},
		customer: nurand{a: customerA, x: 1, y: customers, c: s.Between(0, customerA)},
		item:     nurand{a: itemA, x: 1, y: items, c: s.Between(0, itemA)},
	}
}

// validDelta is the rule of clause 2.1.6.1.
func validDelta(delta int64) bool {
	delta = max(delta, -delta)
	return delta >= 65 && delta <= 119 && delta != 96 && delta != 112
}

// appendLastName appends last name number n, 0 to 999: a syllable for each of
// its three digits (clause 4.3.2.3).
func appendLastName(b []byte, n int64) []byte {
	syllables := [...]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}
	b = append(b, syllables[n/100]...)
	b = append(b, syllables[n/10%10]...)
	return append(b, syllables[n%10]...)
}

// think draws a think time: negative exponential with the given mean, cut at
// ten times the mean (clause 5.2.5.4).
func think(s *rng.Stream, mean time.Duration) time.Duration {
	return time.Duration(math.Min(s.Exp(float64(mean)), float64(10*mean)))
}

// alphabet is what random texts are made of (clause 4.3.2.2).
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// pairs holds every two characters of alphabet, so that a random text needs
// one look-up for two of them.
type pairs [len(alphabet) * len(alphabet)][2]byte

func newPairs() *pairs {
	p := new(pairs)
	for i := range p {
		p[i] = [2]byte{alphabet[i/len(alphabet)], alphabet[i%len(alphabet)]}
	}
	return p
}

// appendText appends n random characters. Each 16 random bits are scaled to a
// pair: a character's chance is off by less than a part in a thousand.
func (p *pairs) appendText(b []byte, s *rng.Stream, n int64) []byte {
	end := len(b) + int(n)
	for len(b) < end {
		x := s.Uint64()
		q := &p[(x&0xffff)*uint64(len(p))>>16]
		r := &p[(x>>16&0xffff)*uint64(len(p))>>16]
		t := &p[(x>>32&0xffff)*uint64(len(p))>>16]
		u := &p[(x>>48)*uint64(len(p))>>16]
		b = append(b, q[0], q[1], r[0], r[1], t[0], t[1], u[0], u[1])
	}
	return b[:end]
}

// appendDigits appends n random digits, at most 18.
func appendDigits(b []byte, s *rng.Stream, n int) []byte {
	x := s.IntN(int64(math.Pow10(n)))
	for unit := int64(math.Pow10(n - 1)); unit > 0; unit /= 10 {
		b = append(b, '0'+byte(x/unit%10))
	}
	return b
}
