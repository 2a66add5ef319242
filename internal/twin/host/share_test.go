package host

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

func TestWaterFillByPencil(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name     string
		capacity float64
		claims   []Claim
		want     []float64
	}{
		{"nobody", 8, nil, nil},
		{"by shares", 8, []Claim{{1, 0, 0, inf}, {3, 0, 0, inf}}, []float64{2, 6}},
		{"what one does not want goes to the others", 8, []Claim{{1, 0, 0, 9}, {1, 0, 0, 9}, {2, 0, 0, 1}}, []float64{3.5, 3.5, 1}},
		{"a reservation is kept", 8, []Claim{{1, 5, 0, 9}, {3, 0, 0, 9}}, []float64{5, 3}},
		{"a reservation that is not wanted is lent", 8, []Claim{{1, 5, 0, 1}, {3, 0, 0, 9}}, []float64{1, 7}},
		{"a limit holds", 8, []Claim{{3, 0, 2, 9}, {1, 0, 0, 9}}, []float64{2, 6}},
		{"more than enough", 8, []Claim{{1, 0, 0, 2}, {1, 0, 3, 9}}, []float64{2, 3}},
		{"reservations beyond the capacity", 4, []Claim{{1, 6, 0, 9}, {1, 2, 0, 9}}, []float64{3, 1}},
		{"no shares, only a reservation", 4, []Claim{{0, 1, 0, 9}, {1, 0, 0, 9}}, []float64{1, 3}},
	} {
		got := WaterFill(c.capacity, c.claims)
		for i := range c.want {
			if len(got) != len(c.want) || math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
				break
			}
		}
	}
}

func TestWaterFillIsWithinBoundsAndWastesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Float64Range(0, 100)
		capacity := rapid.Float64Range(0.1, 100).Draw(t, "capacity")
		claims := make([]Claim, rapid.IntRange(1, 8).Draw(t, "n"))
		wanted, reserved := 0.0, 0.0
		for i := range claims {
			claims[i] = Claim{rapid.Float64Range(0.1, 100).Draw(t, "shares"), amount.Draw(t, "reservation"),
				amount.Draw(t, "limit"), amount.Draw(t, "demand")}
			most := claims[i].Demand
			if claims[i].Limit > 0 {
				most = min(most, claims[i].Limit)
			}
			wanted += most
			reserved += min(claims[i].Reservation, most)
		}
		sum := 0.0
		got := WaterFill(capacity, claims)
		for i, x := range got {
			c := claims[i]
			sum += x
			if x < 0 || x > c.Demand+1e-9 || c.Limit > 0 && x > c.Limit+1e-9 {
				t.Fatalf("claim %+v got %g", c, x)
			}
			// Whoever has more a share than another is held up by its
			// reservation, or the other has all that it may have.
			for j, y := range got {
				o := claims[j]
				full := y >= min(o.Demand, limitOr(o))-1e-9
				if reserved <= capacity && x/c.Shares > y/o.Shares+1e-9 && x > c.Reservation+1e-9 && !full {
					t.Fatalf("%+v got %g, %+v got %g", c, x, o, y)
				}
			}
		}
		if math.Abs(sum-min(capacity, wanted)) > 1e-9*(1+capacity) {
			t.Fatalf("%g given of %g, %g wanted", sum, capacity, wanted)
		}
	})
}

func limitOr(c Claim) float64 {
	if c.Limit > 0 {
		return c.Limit
	}
	return math.Inf(1)
}

// consumed is what each client did in threads at nominal speed, over a time
// that begins after a second.
func (b *bench) consumed(seconds int64) []float64 {
	b.run(des.Second)
	out := make([]float64, len(b.cpu.clients))
	for i := range out {
		out[i] = -float64(b.cpu.ClientUsage(i).Consumed)
	}
	b.run(seconds * des.Second)
	for i := range out {
		out[i] = (out[i] + float64(b.cpu.ClientUsage(i).Consumed)) / nominal / 1e9 / float64(seconds)
	}
	return out
}

func TestProcessorTimeGoesByEntitlement(t *testing.T) {
	for _, c := range []struct {
		name    string
		clients []Client
		want    []float64 // of 4 cores
	}{
		{"equal", []Client{{CPUs: 4}, {CPUs: 4}}, []float64{2, 2}},
		{"shares", []Client{{CPUs: 4, Shares: 1000}, {CPUs: 4, Shares: 3000}}, []float64{1, 3}},
		{"reservation", []Client{{CPUs: 4, Reservation: 3}, {CPUs: 4}, {CPUs: 4}}, []float64{3, 0.5, 0.5}},
		{"limit", []Client{{CPUs: 4, Limit: 0.5}, {CPUs: 4}}, []float64{0.5, 3.5}},
		{"too few virtual processors", []Client{{CPUs: 1, Shares: 9000}, {CPUs: 4, Shares: 1000}}, []float64{1, 3}},
	} {
		b := newBench(t, plain(1, 4, 1), Scheduler{})
		for _, spec := range c.clients {
			b.spin(b.client(spec), spec.CPUs)
		}
		for i, got := range b.consumed(10) {
			near(t, c.name+", client "+string(rune('0'+i)), got, c.want[i], 0.05*c.want[i]+0.01)
		}
	}
}

func TestFairTimeGoesByShares(t *testing.T) {
	b := newBench(t, plain(1, 4, 1), Scheduler{Kind: Fair})
	// The same sum of shares, spread over twice the tasks.
	b.spin(b.client(Client{Shares: 1024}), 8)
	b.spin(b.client(Client{Shares: 1024}), 16)
	b.spin(b.client(Client{Shares: 2048}), 8)
	for i, got := range b.consumed(10) {
		near(t, "threads of client "+string(rune('0'+i)), got, []float64{1, 1, 2}[i], 0.15)
	}
	b = newBench(t, plain(1, 4, 1), Scheduler{Kind: Fair})
	b.spin(b.client(Client{Limit: 1.5}), 8)
	b.spin(b.client(Client{Affinity: []int{0, 1}}), 8)
	got := b.consumed(10)
	near(t, "limited", got[0], 1.5, 0.03)
	near(t, "with affinity", got[1], 2, 0.55)
	if got[1] > 2.001 {
		t.Errorf("%g threads on an affinity of two", got[1])
	}
}

// TestALeaderIsStoppedAtTheSkew has two virtual processors of which one shares
// its thread with another client: the other leads by whatever the first waits,
// and must stop at the skew.
func TestALeaderIsStoppedAtTheSkew(t *testing.T) {
	for _, skew := range []int64{des.Millisecond, 3 * des.Millisecond, 5 * des.Millisecond} {
		b := newBench(t, plain(1, 2, 1), Scheduler{Skew: skew})
		wide := b.client(Client{CPUs: 2})
		narrow := b.client(Client{CPUs: 1, Affinity: []int{0}})
		b.spin(wide, 2)
		b.spin(narrow, 1)
		worst := int64(0)
		for range 3000 {
			b.run(des.Millisecond)
			p := b.cpu.sched.(*proportional)
			x, y := &b.cpu.entities[0], &b.cpu.entities[1]
			worst = max(worst, p.lag(x)-p.lag(y), p.lag(y)-p.lag(x))
		}
		// Skew is looked at every millisecond.
		if worst > skew+2*tickEvery {
			t.Errorf("skew %d: a lead of %d", skew, worst)
		}
		u := b.cpu.ClientUsage(wide)
		if u.CoStop == 0 {
			t.Errorf("skew %d: never stopped: %+v", skew, u)
		}
		if n := b.cpu.ClientUsage(narrow); n.CoStop != 0 {
			t.Errorf("a client of one processor was stopped for its siblings: %+v", n)
		}
	}
}

func TestIdlingCountsAsProgress(t *testing.T) {
	b := newBench(t, plain(1, 2, 1), Scheduler{Skew: des.Millisecond})
	wide := b.client(Client{CPUs: 2})
	b.spin(wide, 1) // the other virtual processor idles
	b.run(des.Second)
	if u := b.cpu.ClientUsage(wide); u.CoStop != 0 || u.Run != des.Second || u.Idle != des.Second {
		t.Errorf("usage %+v", u)
	}
}

func TestHomeNodes(t *testing.T) {
	hw := plain(4, 15, 2)
	b := newBench(t, hw, Scheduler{})
	for range 8 {
		b.client(Client{CPUs: 15})
	}
	at := map[int32]int{}
	for _, c := range b.cpu.clients {
		if len(c.nodes) != 1 {
			t.Fatalf("15 virtual processors on %d nodes", len(c.nodes))
		}
		at[c.nodes[0].home]++
	}
	for n := range int32(4) {
		if at[n] != 2 {
			t.Errorf("homes %v, want two on each socket", at)
		}
	}
	b = newBench(t, hw, Scheduler{})
	b.client(Client{CPUs: 16})
	if n := b.cpu.clients[0].nodes; len(n) != 2 || n[0].home == n[1].home || n[0].cpus != 8 {
		t.Errorf("16 virtual processors on nodes %+v", n)
	}
}

func TestNodeSplit(t *testing.T) {
	for _, c := range []struct{ cpus, cores, want int }{
		{1, 15, 1}, {15, 15, 15}, {16, 15, 8}, {30, 15, 15}, {32, 15, 8}, {60, 15, 15}, {64, 15, 8}, {64, 18, 16}, {17, 15, 9}, {8, 4, 4}, {31, 15, 11},
	} {
		if got := NodeSplit(c.cpus, c.cores); got != c.want {
			t.Errorf("NodeSplit(%d, %d) = %d, want %d", c.cpus, c.cores, got, c.want)
		}
	}
}

// TestRemoteMemoryCosts compares with D = c + m·ρ, ρ = 1 + f (r - 1).
func TestRemoteMemoryCosts(t *testing.T) {
	for _, c := range []struct {
		name   string
		client Client
		kind   Kind
		remote float64
	}{
		{"at home", Client{CPUs: 2}, Proportional, 0},
		{"interleaved", Client{CPUs: 2, Interleaved: true}, Proportional, 0.5},
		{"Linux", Client{}, Fair, 0.5},
		{"Linux, one socket", Client{Affinity: []int{0, 1}}, Fair, 0},
		{"two virtual nodes, own memory", Client{CPUs: 4}, Proportional, 0},
		{"two virtual nodes, all shared", Client{CPUs: 4, SharedMemory: 1}, Proportional, 0.5},
		{"two virtual nodes, half shared", Client{CPUs: 4, SharedMemory: 0.5}, Proportional, 0.25},
	} {
		hw := plain(2, 2, 1)
		b := newBench(t, hw, Scheduler{Kind: c.kind})
		b.task(b.client(c.client), 1e6, 2e6, 0)
		b.run(des.Second)
		per := float64(b.cpu.ClientUsage(0).Run) / float64(b.ends[0]) / 1e6
		near(t, c.name+", ms", per, 1+2*(1+c.remote*0.5), 0.01)
	}
}

func TestAnOverloadedHomeLosesAClientAndItsMemoryFollows(t *testing.T) {
	b := newBench(t, plain(2, 2, 1), Scheduler{OffHome: des.Second * 100})
	for range 4 {
		b.client(Client{CPUs: 1, Memory: 4e9})
	}
	for _, c := range b.cpu.clients { // as after the others were switched off
		c.nodes[0].home, c.nodes[0].local = 0, []float64{1, 0}
	}
	for i := range 3 {
		b.spin(i, 1)
	}
	b.run(1900 * des.Millisecond)
	if u := b.cpu.Usage(); u.ThreadNanos > 2*1900*des.Millisecond {
		t.Fatalf("%d ns on the two threads of one socket", u.ThreadNanos)
	}
	b.run(1100 * des.Millisecond)
	moved := 0
	for i, c := range b.cpu.clients {
		if c.nodes[0].home == 1 {
			moved++
			if l := b.cpu.ClientUsage(i).LocalPct; l <= 10 || l >= 90 {
				t.Errorf("%.0f %% of the memory has moved after one second of four", l)
			}
		}
	}
	if moved != 1 {
		t.Errorf("%d clients moved, want 1", moved)
	}
	b.run(10 * des.Second)
	before := b.cpu.Usage().ThreadNanos
	b.run(des.Second)
	if ran := b.cpu.Usage().ThreadNanos - before; ran != 3*des.Second {
		t.Errorf("three clients ran %d ns in a second on two sockets", ran)
	}
}

func TestExclusiveProcessorsOwnTheirCores(t *testing.T) {
	b := newBench(t, plain(1, 4, 2), Scheduler{})
	own := b.client(Client{CPUs: 2, Reservation: 2, Exclusive: true})
	other := b.client(Client{CPUs: 8})
	b.spin(own, 2)
	b.spin(other, 8)
	b.run(des.Second)
	if u := b.cpu.ClientUsage(own); u.Run != 2*des.Second || float64(u.Consumed) != 2*1e9*nominal {
		t.Errorf("exclusive: %+v, want two threads at full speed all the time", u)
	}
	if u := b.cpu.ClientUsage(other); u.Run != 4*des.Second {
		t.Errorf("the other ran %d ns, want four threads", u.Run)
	}
}

func TestWhatCannotBeAdmittedIsRefused(t *testing.T) {
	for _, c := range []struct {
		spec Client
		want string
	}{
		{Client{CPUs: 0}, "0 virtual processors"},
		{Client{CPUs: 9}, "9 virtual processors on 8 threads"},
		{Client{CPUs: 1, Affinity: []int{8}}, "thread 8"},
		{Client{CPUs: 4, Reservation: 5}, "reservation"},
		{Client{CPUs: 2, Exclusive: true}, "full reservation"},
		{Client{CPUs: 2, Reservation: 2, Limit: 1}, "below the reservation"},
		{Client{CPUs: 2, Reservation: 2, Exclusive: true, Affinity: []int{0, 1}}, "no whole core"},
	} {
		b := newBench(t, plain(1, 4, 2), Scheduler{})
		_, err := b.cpu.AddClient(c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

func TestTheCostOfHaltingIsPaidAtEachWake(t *testing.T) {
	b := newBench(t, plain(1, 1, 1), Scheduler{})
	c := b.client(Client{CPUs: 1, HaltCost: Nanos(50_000)})
	b.task(c, 100_000, 0, 100_000)
	b.run(des.Second)
	u := b.cpu.ClientUsage(c)
	near(t, "ns a burst", float64(u.Run)/float64(b.ends[0]), 150_000, 100)
}
