package drive

import (
	"math"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// Schedule says when the arrivals of an open loop come. It is pure: no clock,
// no state. With rate λ, phases that multiply it by f₁, f₂, … for d₁, d₂, …
// each (f₁ = 1 for ever without a profile), and a ramp r over which the rate
// rises linearly to f₁λ, the arrivals expected by time t are
//
//	Λ(t) = f₁λt²/2r                  for t < r
//	Λ(t) = f₁λr/2 + λ ∫ f(u) du      from r on, u from 0 to t − r
//
// where f(u) is the factor of the phase at u, in cycles of d₁ + d₂ + ….
type Schedule struct {
	RatePerS float64
	Ramp     time.Duration
	Profile  []Phase
}

// At is when constant arrivals number i, from 0, comes since the epoch: Λ⁻¹(i).
func (s Schedule) At(i int64) time.Duration { return s.invert(float64(i)) }

// invert is Λ⁻¹(n): the first time by which n arrivals are expected and the
// rate is more than 0.
func (s Schedule) invert(n float64) time.Duration {
	first := 1.0
	if len(s.Profile) > 0 {
		first = s.Profile[0].LoadPct / 100
	}
	ramp := s.Ramp.Seconds()
	after := n/s.RatePerS - first*ramp/2 // ∫ f du
	t := ramp + after
	switch {
	case after < 0:
		t = math.Sqrt(2 * ramp * n / (first * s.RatePerS))
	case len(s.Profile) > 0:
		t = ramp + s.work(after)
	}
	if t >= float64(math.MaxInt64)/1e9 {
		return math.MaxInt64
	}
	return time.Duration(math.Round(t * 1e9))
}

// work is the time from the end of the ramp, in seconds, at which the integral
// of the factors comes to x and grows; infinite where no phase has any load.
func (s Schedule) work(x float64) float64 {
	pass := 0.0
	for _, p := range s.Profile {
		pass += p.LoadPct / 100 * p.For.Seconds()
	}
	if pass <= 0 || math.IsInf(x/pass, 0) {
		return math.Inf(1)
	}
	cycles := math.Floor(x / pass)
	t, rest := cycles*cycle(s.Profile).Seconds(), max(0, x-cycles*pass)
	// What rounding leaves beyond one pass lies at the beginning of the next.
	for range 2 {
		for _, p := range s.Profile {
			f, d := p.LoadPct/100, p.For.Seconds()
			if rest < f*d {
				return t + rest/f
			}
			rest = max(0, rest-f*d)
			t += d
		}
	}
	return t
}

// Arrivals draws a Poisson process with the schedule's rate.
type Arrivals struct {
	schedule Schedule
	stream   rng.Stream
	n        float64
	last     time.Duration
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
	a.last = max(a.last, a.schedule.invert(a.n)) // whatever rounding does
	return a.last
}

// times returns a function that gives one arrival after the other.
func (c Config) times() func() time.Duration {
	s := Schedule{c.RatePerS, c.Ramp, c.Profile}
	if c.Arrivals == Poisson {
		return s.Poisson(c.Seed).Next
	}
	i := int64(-1)
	return func() time.Duration { i++; return s.At(i) }
}
