package des_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// station is what the oracles need of Queue, Shared and Delay.
type station interface {
	Arrive(job, service int64)
	Usage() des.Usage
}

// open is a station with Poisson arrivals.
type open struct {
	sim      *des.Sim
	arrive   des.Kind
	arrivals rng.Stream
	gap      float64 // mean nanoseconds between arrivals
	services rng.Stream
	service  func(*rng.Stream) float64 // nanoseconds
	at       station
	jobs     int64
}

func (o *open) next(int32, int64) {
	o.at.Arrive(o.jobs, int64(math.Round(o.service(&o.services))))
	o.jobs++
	o.sim.After(int64(math.Round(o.arrivals.Exp(o.gap))), o.arrive, 0, 0)
}

// meanJobs is the mean number present after a warm-up, in one replication.
func meanJobs(ctx context.Context, seed uint64, load float64, service func(*rng.Stream) float64,
	make func(*des.Sim) station) (float64, error) {
	const mean = 1e6 // of the service, ns
	s := des.New(seed)
	o := &open{sim: s, arrivals: s.Stream(1), services: s.Stream(2), gap: mean / load, service: service, at: make(s)}
	o.arrive = s.Handle(o.next)
	s.At(0, o.arrive, 0, 0)
	const warm, end = 2 * des.Second, 42 * des.Second
	if err := s.Run(ctx, warm); err != nil {
		return 0, err
	}
	before := o.at.Usage()
	if err := s.Run(ctx, end); err != nil {
		return 0, err
	}
	after := o.at.Usage()
	if after.Departures > after.Arrivals {
		return 0, fmt.Errorf("%d departures of %d arrivals", after.Departures, after.Arrivals)
	}
	return float64(after.JobNanos-before.JobNanos) / float64(end-warm), nil
}

// within says that the mean of the replications lies within its 99.9 %
// interval (Student's t) around want, and that the interval is narrow enough
// to mean something.
func within(t *testing.T, name string, got []float64, want, widest float64) {
	t.Helper()
	var sum, squares float64
	for _, x := range got {
		sum += x
	}
	n := float64(len(got))
	mean := sum / n
	for _, x := range got {
		squares += (x - mean) * (x - mean)
	}
	const t999 = 3.883 // 19 degrees of freedom, two-sided
	half := t999 * math.Sqrt(squares/(n-1)/n)
	if len(got) != 20 {
		t.Fatalf("%s: %d replications, the constant is for 20", name, len(got))
	}
	if math.Abs(mean-want) > half || half > widest*want {
		t.Errorf("%s: %.4f ± %.4f (99.9 %%), want %.4f within ± %.0f %%", name, mean, half, want, 100*widest)
	}
}

func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	last := term * float64(c) / (float64(c) - a)
	return last / (sum + last)
}

// TestOpenStationsAgreeWithQueueingTheory compares the mean number present with
// Pollaczek and Khinchine (M/G/1), Erlang C (M/M/c), and the insensitivity of
// processor sharing (M/G/1-PS: ρ/(1-ρ) for every distribution of service).
func TestOpenStationsAgreeWithQueueingTheory(t *testing.T) {
	const mean = 1e6
	exponential := func(r *rng.Stream) float64 { return r.Exp(mean) }
	constant := func(*rng.Stream) float64 { return mean }
	hyper := func(r *rng.Stream) float64 { // squared coefficient of variation 3.24
		if r.Float64() < 0.9 {
			return r.Exp(mean * 0.5 / 0.9)
		}
		return r.Exp(mean * 0.5 / 0.1)
	}
	queue := func(c int) func(*des.Sim) station {
		return func(s *des.Sim) station { return des.NewQueue(s, c, func(int64) {}) }
	}
	shared := func(s *des.Sim) station { return des.NewShared(s, 1, func(int64) {}) }
	delay := func(s *des.Sim) station { return des.NewDelay(s, func(int64) {}) }
	for _, c := range []struct {
		name    string
		load    float64 // arrival rate times mean service
		service func(*rng.Stream) float64
		make    func(*des.Sim) station
		want    float64
		widest  float64
	}{
		{"M/M/1 at 0.5", 0.5, exponential, queue(1), 1, 0.03},
		{"M/M/1 at 0.8", 0.8, exponential, queue(1), 4, 0.09},
		{"M/M/4 at 0.8", 3.2, exponential, queue(4), 3.2 + erlangC(4, 3.2)*0.8/0.2, 0.05},
		{"M/M/30 at 0.9", 27, exponential, queue(30), 27 + erlangC(30, 27)*0.9/0.1, 0.04},
		{"M/D/1 at 0.8", 0.8, constant, queue(1), 0.8 + 0.64/(2*0.2), 0.05},
		{"M/G/1 at 0.6", 0.6, hyper, queue(1), 0.6 + 0.36*(1+hyperCV2())/(2*0.4), 0.08},
		{"M/D/1-PS at 0.7", 0.7, constant, shared, 0.7 / 0.3, 0.03},
		{"M/G/1-PS at 0.7", 0.7, hyper, shared, 0.7 / 0.3, 0.06},
		{"M/G/∞ at 5", 5, hyper, delay, 5, 0.02},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := des.Replicate(t.Context(), 20, 2, func(ctx context.Context, i int) (float64, error) {
				return meanJobs(ctx, uint64(i), c.load, c.service, c.make)
			})
			if err != nil {
				t.Fatal(err)
			}
			within(t, c.name, got, c.want, c.widest)
		})
	}
}

// hyperCV2 is the squared coefficient of variation of the hyperexponential
// service: E[X²] = 2 Σ pᵢ mᵢ², with the mean 1.
func hyperCV2() float64 {
	return 2*(0.9*(0.5/0.9)*(0.5/0.9)+0.1*(0.5/0.1)*(0.5/0.1)) - 1
}

// closed is users who think, then visit a processor-sharing station, then a
// disk.
type closed struct {
	sim   *des.Sim
	think *des.Delay
	cpu   *des.Shared
	disk  *des.Queue
	draw  rng.Stream
	mean  [3]float64
	done  int64
}

func newClosed(seed uint64, users int, mean [3]float64) *closed {
	s := des.New(seed)
	c := &closed{sim: s, draw: s.Stream(1), mean: mean}
	c.think = des.NewDelay(s, func(u int64) { c.cpu.Arrive(u, c.demand(1)) })
	c.cpu = des.NewShared(s, 1, func(u int64) { c.disk.Arrive(u, c.demand(2)) })
	c.disk = des.NewQueue(s, 1, func(u int64) { c.done++; c.think.Arrive(u, c.demand(0)) })
	for u := range users {
		c.think.Arrive(int64(u), c.demand(0))
	}
	return c
}

func (c *closed) demand(i int) int64 { return int64(math.Round(c.draw.Exp(c.mean[i]))) }

// mva is the throughput per nanosecond by exact mean value analysis (Reiser
// and Lavenberg, 1980).
func mva(users int, mean [3]float64) float64 {
	var number [3]float64
	x := 0.0
	for n := 1; n <= users; n++ {
		r := [3]float64{mean[0], mean[1] * (1 + number[1]), mean[2] * (1 + number[2])}
		x = float64(n) / (r[0] + r[1] + r[2])
		for i := range r {
			number[i] = x * r[i]
		}
	}
	return x
}

func TestClosedNetworkAgreesWithMeanValueAnalysis(t *testing.T) {
	mean := [3]float64{50e6, 4e6, 3e6}
	for _, users := range []int{1, 10, 40} {
		got, err := des.Replicate(t.Context(), 20, 2, func(ctx context.Context, i int) (float64, error) {
			c := newClosed(uint64(i), users, mean)
			if err := c.sim.Run(ctx, 10*des.Second); err != nil {
				return 0, err
			}
			before := c.done
			err := c.sim.Run(ctx, 50*des.Second)
			return float64(c.done-before) / 40e9, err
		})
		if err != nil {
			t.Fatal(err)
		}
		within(t, fmt.Sprintf("%d users", users), got, mva(users, mean), 0.03)
	}
}

// TestUsersAreConserved looks at a closed network again and again: nobody is
// lost and nobody is in two places.
func TestUsersAreConserved(t *testing.T) {
	const users = 25
	c := newClosed(3, users, [3]float64{5e6, 4e6, 3e6})
	for at := int64(1); at < 200; at++ {
		if err := c.sim.Run(t.Context(), at*des.Millisecond*7); err != nil {
			t.Fatal(err)
		}
		if n := c.think.Len() + c.cpu.Len() + c.disk.Len(); n != users {
			t.Fatalf("%d users after %d looks, want %d", n, at, users)
		}
		for _, s := range []station{c.think, c.cpu, c.disk} {
			if u := s.Usage(); u.Arrivals-u.Departures < 0 || u.WaitNanos+u.BusyNanos != u.JobNanos {
				t.Fatalf("usage %+v does not add up", u)
			}
		}
	}
}
