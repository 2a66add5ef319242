// Package rng gives reproducible random streams that are addressed, not
// shared: At(seed, path...) hashes the whole path, so that streams neither
// collide nor depend on how many workers draw from them.
//
// A Stream is xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64.
// It is not safe for concurrent use and not for secrets.
package rng

import (
	"math"
	"math/bits"
)

// Stream is one random stream. Make it with At.
type Stream struct{ s [4]uint64 }

// At returns the stream at path under seed. Equal arguments give equal
// streams; Name turns words into path elements.
func At(seed uint64, path ...uint64) Stream {
	// The seed is mixed once more than a path element is: alike, the two would
	// change places, and At(0, 2) would be At(2, 0).
	h := mix(mix(seed) + 0x9e3779b97f4a7c15)
	for i, p := range path {
		h = mix(h ^ mix(p+uint64(i+1)*0x9e3779b97f4a7c15))
	}
	var s Stream
	for i := range s.s {
		h += 0x9e3779b97f4a7c15
		s.s[i] = mix(h)
	}
	return s
}

// Name hashes a word to a path element (FNV-1a, 64 bits).
func Name(word string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	return h
}

// mix is the output function of SplitMix64.
func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// Uint64 returns 64 random bits.
func (r *Stream) Uint64() uint64 {
	s := &r.s
	out := bits.RotateLeft64(s[1]*5, 7) * 9
	t := s[1] << 17
	s[2] ^= s[0]
	s[3] ^= s[1]
	s[1] ^= s[2]
	s[0] ^= s[3]
	s[2] ^= t
	s[3] = bits.RotateLeft64(s[3], 45)
	return out
}

// IntN returns a uniform integer in [0, n). It panics where n < 1.
func (r *Stream) IntN(n int64) int64 {
	if n < 1 {
		panic("rng: IntN needs n >= 1")
	}
	// Lemire's multiply-shift with rejection: exact for every n.
	un := uint64(n)
	hi, lo := bits.Mul64(r.Uint64(), un)
	if lo < un {
		for limit := -un % un; lo < limit; {
			hi, lo = bits.Mul64(r.Uint64(), un)
		}
	}
	return int64(hi)
}

// Between returns a uniform integer in [lo, hi], both ends included.
func (r *Stream) Between(lo, hi int64) int64 { return lo + r.IntN(hi-lo+1) }

// Float64 returns a uniform number in [0, 1) with 53 random bits.
func (r *Stream) Float64() float64 { return float64(r.Uint64()>>11) * 0x1p-53 }

// Exp returns a negative-exponential number with the given mean.
func (r *Stream) Exp(mean float64) float64 { return -mean * math.Log1p(-r.Float64()) }

// Shuffle permutes n things uniformly (Fisher and Yates).
func (r *Stream) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, int(r.IntN(int64(i+1))))
	}
}
