// Package twin runs a scenario on a model of a host: databases in virtual
// machines, containers or processes, with their users, in discrete events.
//
// A run is a function of its Scenario: the same seed gives the same bytes. What
// it gives is calculated, not measured; whoever keeps or shows it must say so.
package twin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/twin/des"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

// Scenario is one run.
type Scenario struct {
	Host      *host.Host
	Scheduler host.Scheduler
	Guests    []Guest
	Instances []dbms.Config
	// Ramp is over how long each instance's load grows; it overrides theirs.
	Ramp    time.Duration
	Seconds int // the whole run, ramp included
	Seed    uint64
}

// Guest is a client of a node's processors.
type Guest struct {
	Node int
	host.Client
}

// Transaction is one that has ended, with times from the run's beginning.
type Transaction struct {
	Instance, Class      int // places in Scenario.Instances and its Database.Classes
	User                 int // of its instance, from 0
	Intended, Start, End time.Duration
	RolledBack           bool
	// Of users with a script: keying before and think time after it as planned;
	// whether it ends a unit of work; whether its time is not part of the unit's.
	Planned       time.Duration
	Last, Untimed bool
}

// maxSeconds bounds a run.
const maxSeconds = 24 * 3600

// Run runs sc. emit gets every transaction when it ends, so in the order of
// End; sample gets, after each second, the values of Columns(sc), valid until
// it returns. Both are called from the calling goroutine and may be nil.
func Run(ctx context.Context, sc Scenario, emit func(Transaction), sample func(second int, values []float64)) error {
	if err := sc.validate(); err != nil {
		return err
	}
	sim := des.New(sc.Seed)
	sys := dbms.New(sim, sc.Host, sc.Scheduler, func(d dbms.Done) {
		if emit != nil {
			emit(Transaction{Instance: d.Instance, Class: d.Class, User: d.User, RolledBack: d.RolledBack,
				Intended: time.Duration(d.Intended), Start: time.Duration(d.Start), End: time.Duration(d.End),
				Planned: time.Duration(d.Planned), Last: d.Last, Untimed: d.Untimed})
		}
	})
	for _, g := range sc.Guests {
		if _, err := sys.AddGuest(g.Node, g.Client); err != nil {
			return fmt.Errorf("host %s: %w", sc.Host.Name, err)
		}
	}
	for _, c := range sc.Instances {
		c.Load.Ramp = sc.Ramp
		if _, err := sys.AddInstance(c); err != nil {
			return fmt.Errorf("host %s: %w", sc.Host.Name, err)
		}
	}
	m := newMeter(sc, sys)
	for second := range sc.Seconds {
		if err := sim.Run(ctx, int64(second+1)*des.Second); err != nil {
			return fmt.Errorf("simulating second %d: %w", second, err)
		}
		if sample != nil {
			sample(second, m.read())
		}
	}
	return nil
}

func (sc *Scenario) validate() error {
	var errs []error
	if sc.Host == nil {
		return errors.New("a scenario without a host")
	}
	if sc.Seconds < 1 || sc.Seconds > maxSeconds || sc.Ramp < 0 || sc.Ramp > time.Duration(sc.Seconds)*time.Second {
		errs = append(errs, fmt.Errorf("a run of %d s with a ramp of %s: 1 to %d s, the ramp within", sc.Seconds, sc.Ramp, maxSeconds))
	}
	if len(sc.Guests) == 0 || len(sc.Instances) == 0 {
		errs = append(errs, fmt.Errorf("%d guests and %d instances", len(sc.Guests), len(sc.Instances)))
	}
	return errors.Join(errs...)
}

// Summary is what one run gave after its ramp.
type Summary struct {
	PerSecond []float64       // transactions by instance
	Mean      []time.Duration // response time by instance
	Counters  []float64       // means of Columns
}

// Repeat runs sc n times, on streams of their own under its seed, at most
// workers at once, and returns the summaries in order: the same on any number
// of workers.
func Repeat(ctx context.Context, sc Scenario, n, workers int) ([]Summary, error) {
	return des.Replicate(ctx, n, workers, func(ctx context.Context, i int) (Summary, error) {
		one := sc
		stream := rng.At(sc.Seed, rng.Name("replication"), uint64(i))
		one.Seed = stream.Uint64()
		return summarize(ctx, one)
	})
}

// summarize runs sc once.
func summarize(ctx context.Context, sc Scenario) (Summary, error) {
	count, total := make([]int64, len(sc.Instances)), make([]time.Duration, len(sc.Instances))
	var counters []float64
	seconds := 0.0
	first := int((sc.Ramp + time.Second - 1) / time.Second)
	err := Run(ctx, sc, func(t Transaction) {
		if t.End >= time.Duration(first)*time.Second {
			count[t.Instance]++
			total[t.Instance] += t.End - t.Intended
		}
	}, func(second int, values []float64) {
		if second < first {
			return
		}
		seconds++
		if counters == nil {
			counters = make([]float64, len(values))
		}
		for i, v := range values {
			counters[i] += v
		}
	})
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Counters: counters}
	for i := range counters {
		counters[i] /= seconds
	}
	for i := range count {
		s.PerSecond = append(s.PerSecond, float64(count[i])/max(1, seconds))
		s.Mean = append(s.Mean, total[i]/time.Duration(max(1, count[i])))
	}
	return s, nil
}
