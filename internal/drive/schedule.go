package drive

import (
	"math"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// Schedule says when the arrivals of an open loop come. It is pure: no clock,
// no state. With rate λ, reached linearly over ramp r, the arrivals expected
// by time t are
//
//	Λ(t) = λt²/2r       for t < r
//	Λ(t) = λ(t − r/2)   from r on
type Schedule struct {
	RatePerS float64
	Ramp     time.Duration
}

// At is when constant arrivals number i, from 0, comes since the epoch: Λ⁻¹(i).
func (s Schedule) At(i int64) time.Duration { return s.invert(float64(i)) }

// invert is Λ⁻¹(n).
func (s Schedule) invert(n float64) time.Duration {
	ramp := s.Ramp.Seconds()
	t := n/s.RatePerS + ramp/2
	if t < ramp {
		t = math.Sqrt(2 * ramp * n / s.RatePerS)
	}
	if t >= float64(math.MaxInt64)/1e9 {
		return math.MaxInt64
	}
	return time.Duration(math.Round(t * 1e9))
}

// Arrivals draws a Poisson process with the schedule's rate.
type Arrivals struct {
	schedule Schedule
	stream   rng.Stream
	n        float64
}

// Poisson returns the Poisson arrivals of a seed: points of a process of rate
// one, mapped by Λ⁻¹, which gives them the intensity of s (time-rescaling; see
// Çınlar, Introduction to Stochastic Processes, 1975, section 4.7).
func (s Schedule) Poisson(seed uint64) *Arrivals {
	return &Arrivals{schedule: s, stream: rng.At(seed, rng.Name("arrivals"))}
}

// Next is when the next arrival comes since the epoch; it never goes back.
func (a *Arrivals) Next() time.Duration {
	a.n += a.stream.Exp(1)
	return a.schedule.invert(a.n)
}

// times returns a function that gives one arrival after the other.
func (c Config) times() func() time.Duration {
	s := Schedule{c.RatePerS, c.Ramp}
	if c.Arrivals == Poisson {
		return s.Poisson(c.Seed).Next
	}
	i := int64(-1)
	return func() time.Duration { i++; return s.At(i) }
}
