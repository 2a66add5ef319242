package drive

import (
	"fmt"
	"math"
	"time"
)

// Phase is one part of a profile of the load over time.
type Phase struct {
	For time.Duration // above 0
	// LoadPct is the part of the users that are at work, from 0 to 100 and of
	// more than 0 at least one user; in open loop the factor on the rate, from
	// 0 to 1000.
	LoadPct float64
}

// The most that a phase may ask for, in percent.
const (
	mostUsersPct = 100
	mostRatePct  = 1000
)

// never is later than any run; a keying time can be added to it.
const never = time.Duration(math.MaxInt64 / 2)

// validProfile finds every fault of a profile.
func validProfile(phases []Phase, open bool) (errs []error) {
	most, any := float64(mostUsersPct), len(phases) == 0
	if open {
		most = mostRatePct
	}
	for i, p := range phases {
		if p.For <= 0 {
			errs = append(errs, fmt.Errorf("phase %d of the profile lasts %v: it must be more than 0", i+1, p.For))
		}
		if !(p.LoadPct >= 0 && p.LoadPct <= most) {
			errs = append(errs, fmt.Errorf("phase %d of the profile has a load of %v %%: from 0 to %v", i+1, p.LoadPct, most))
		}
		any = any || p.LoadPct > 0
	}
	if !any {
		errs = append(errs, fmt.Errorf("the profile has no phase with any load"))
	}
	return errs
}

// cycle is how long one pass of phases takes.
func cycle(phases []Phase) (sum time.Duration) {
	for _, p := range phases {
		sum += p.For
	}
	return sum
}

// shifts says when each user of a closed loop is at work: in every phase the
// first so many of them. Before the ramp ends, the first phase's are. It is
// pure. The zero value lets everyone work at all times.
type shifts struct {
	phases []Phase
	ramp   time.Duration
	cycle  time.Duration
	atWork []int // users, by phase
}

func newShifts(phases []Phase, ramp time.Duration, users int) shifts {
	s := shifts{phases: phases, ramp: ramp, cycle: cycle(phases)}
	for _, p := range phases {
		n := int(math.Round(float64(users) * p.LoadPct / 100))
		if p.LoadPct > 0 {
			n = max(1, n)
		}
		s.atWork = append(s.atWork, n)
	}
	return s
}

// start is when user, from 0, of so many begins: the first phase's evenly over
// the ramp, the others after it.
func (s shifts) start(user, users int) time.Duration {
	if len(s.atWork) > 0 {
		users = s.atWork[0]
	}
	if user >= users {
		return s.ramp
	}
	return time.Duration(float64(s.ramp) * float64(user) / float64(users))
}

// resume is when user, who is free at `at`, may begin a unit: then, or at the
// beginning of the next phase in which it is at work, or never.
func (s shifts) resume(user int, at time.Duration) time.Duration {
	if len(s.phases) == 0 {
		return at
	}
	if at < s.ramp && user < s.atWork[0] {
		return at
	}
	begin := s.ramp + max(0, at-s.ramp)/s.cycle*s.cycle // of the phase looked at
	for range 2 {
		for i, p := range s.phases {
			end := begin + p.For
			if end > at && user < s.atWork[i] {
				return max(at, begin)
			}
			begin = end
		}
	}
	return never
}
