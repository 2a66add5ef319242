// Package drive plays virtual users against a target: a closed loop of users
// with keying and think times, or an open loop of arrivals on a schedule. It
// retries, reconnects, and measures from the intended start of all work, so
// that a stalled target cannot hide what waited behind it.
//
// The steps: open all connections, set the epoch, ramp, warm up, measure,
// drain. Users keep their samples to themselves; a collector drains them and
// hands one record.Interval a second to a Sink. Nothing here knows of engines,
// providers or files.
package drive

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Sink takes what the driver saw, an interval after the other, from one
// goroutine. The Interval and all that it points to are valid only until the
// call returns. An error ends the run.
type Sink interface {
	Interval(i record.Interval) error
}

// The kinds of arrivals in open loop.
const (
	Constant = "constant"
	Poisson  = "poisson"
)

// Defaults of Config's bounds.
const (
	DefaultInterval    = time.Second
	DefaultMaxAttempts = 10
	DefaultMaxFatal    = 20
	DefaultMaxReopen   = 10
	DefaultDrain       = 30 * time.Second
	// DefaultOpenUsers serve the arrivals of an open loop that names neither
	// users nor connections.
	DefaultOpenUsers = 64
)

// Config says how to drive one target.
type Config struct {
	Workload *workload.Definition
	Target   Target
	Clock    clock.Clock
	Seed     uint64 // of every random choice: scripts, arrivals, back-off

	// Users is how many there are in closed loop; in open loop how many serve
	// the arrivals, 0 being one for each connection, or DefaultOpenUsers.
	Users int
	// RatePerS makes the loop open: so many arrivals a second after the ramp.
	RatePerS float64
	Arrivals string // Constant or Poisson in open loop, else ""
	// Connections is how many the users share, first come, first served; 0 is
	// one for each user.
	Connections int

	// Users start evenly, or the rate rises linearly, over Ramp; then come
	// Warmup and Measure, after which no unit starts.
	Ramp, Warmup, Measure time.Duration
	// Profile is the load over time: from the end of the ramp on its phases
	// follow each other, again and again, until measuring ends. The ramp leads
	// to the first phase's load. In closed loop users beyond a phase's share
	// pause between units. Empty is full load.
	Profile  []Phase
	Interval time.Duration // of the series; 0 is DefaultInterval
	// Drain is how long work under way may take after the end before it is
	// cut off and counted as aborted; 0 is DefaultDrain.
	Drain time.Duration

	MaxAttempts int // at one transaction, for the classes Retry and Deadlock; 0 is DefaultMaxAttempts
	MaxFatal    int // fatal errors of one user in a row, then the run ends; 0 is DefaultMaxFatal
	MaxReopen   int // attempts at opening a lost connection, then the run ends; 0 is DefaultMaxReopen

	// Begin, where it is not nil, sets the epoch once all connections are
	// open: drivers of several instances meet there. The epoch may be to come.
	// nil means now, or half a second from now where Started has to be called.
	Begin func(ctx context.Context) (epoch time.Time, err error)
	// Started is called with the epoch before any work starts. Work waits for
	// it; what it takes beyond the epoch is in the first response times. May
	// be nil.
	Started func(epoch time.Time)
	// Progress is called after each interval; may be nil.
	Progress func(Progress)
	// Extend is asked one interval before the end how much longer to measure;
	// elapsed is the time since the epoch. 0 stops; an answer later than the
	// end comes too late. May be nil.
	Extend func(elapsed time.Duration) time.Duration
}

// Progress tells how a run stands.
type Progress struct {
	Phase    string        // "ramp", "warm-up", "measure", "drain"
	Elapsed  time.Duration // since the epoch
	End      time.Duration // of measuring, as planned by now
	PerS     float64       // of the workload's metric, or of all units where it has none, in the last interval
	InFlight int64         // units under way
	Backlog  int64         // arrivals that wait for a user
	Errors   int64         // transactions that failed since the epoch
}

// Report is what a run came to, the warm-up and the drain included.
type Report struct {
	Epoch  time.Time
	Phases record.Phases
	Totals []record.Totals // by type in order, the unit's last
	Tally  workload.Tally
	Errors []record.ErrorSeen
	Opened time.Duration // to open all connections
	Driver record.Driver
	Ended  []UserEnd // users that stopped early
}

// UserEnd tells why a user stopped before the end.
type UserEnd struct {
	User int
	At   time.Duration // since the epoch
	Why  string
}

// open says whether arrivals start the work.
func (c Config) open() bool { return c.RatePerS > 0 }

// Sessions is how many connections Run will open.
func (c Config) Sessions() int { return c.complete().Connections + c.Extra() }

// Extra is how many users the workload adds to those that were asked for.
func (c Config) Extra() int {
	if c.Workload == nil || c.Workload.NewRun == nil {
		return 0
	}
	return c.Workload.NewRun(c.complete().Users, c.Seed).Extra()
}

// complete fills in the defaults.
func (c Config) complete() Config {
	if c.Users == 0 && c.open() {
		c.Users = DefaultOpenUsers
		if c.Connections > 0 {
			c.Users = c.Connections
		}
	}
	if c.Connections == 0 {
		c.Connections = c.Users
	}
	def := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	def(&c.MaxAttempts, DefaultMaxAttempts)
	def(&c.MaxFatal, DefaultMaxFatal)
	def(&c.MaxReopen, DefaultMaxReopen)
	if c.Interval == 0 {
		c.Interval = DefaultInterval
	}
	if c.Drain == 0 {
		c.Drain = DefaultDrain
	}
	return c
}

// Validate finds every fault of c at once.
func (c Config) Validate() error {
	var errs []error
	bad := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Workload == nil || c.Workload.NewUser == nil || len(c.Workload.Transactions) == 0, "no workload with users and transactions")
	bad(c.Target == nil, "no target")
	bad(c.Clock == nil, "no clock")
	bad(math.IsNaN(c.RatePerS) || math.IsInf(c.RatePerS, 0) || c.RatePerS < 0, "the rate %v is not a number of arrivals a second", c.RatePerS)
	bad(c.open() && c.Arrivals != Constant && c.Arrivals != Poisson, "arrivals %q are neither %q nor %q", c.Arrivals, Constant, Poisson)
	bad(!c.open() && c.Arrivals != "", "arrivals %q without a rate", c.Arrivals)
	bad(c.Users < 0 || c.Users == 0 && !c.open(), "%d users: at least 1", c.Users)
	bad(c.Connections < 0 || c.Users > 0 && c.Connections > c.Users, "%d connections for %d users: at least 0, at most one each", c.Connections, c.Users)
	bad(c.Ramp < 0, "ramp %v is negative", c.Ramp)
	bad(c.Warmup < 0, "warm-up %v is negative", c.Warmup)
	bad(c.Measure <= 0, "measure %v is not positive", c.Measure)
	errs = append(errs, validProfile(c.Profile, c.open())...)
	bad(c.Interval != 0 && c.Interval < time.Millisecond, "interval %v is less than 1ms", c.Interval)
	bad(c.Drain < 0, "drain %v is negative", c.Drain)
	bad(c.MaxAttempts < 0 || c.MaxAttempts > math.MaxUint16, "%d attempts: from 1 to %d", c.MaxAttempts, math.MaxUint16)
	bad(c.MaxFatal < 0, "%d fatal errors in a row: at least 1", c.MaxFatal)
	bad(c.MaxReopen < 0, "%d attempts to reopen: at least 1", c.MaxReopen)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("drive: %w", err)
	}
	return nil
}
