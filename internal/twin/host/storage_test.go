package host

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/des"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// flash is a disk whose operations all take a millisecond.
func flash() Device {
	return Device{Name: "flash", Read: time.Millisecond, Write: time.Millisecond, Channels: 1, Capacity: unit.GiB}
}

func oneStore(level RAID, groups, disks int) Store {
	return Store{Name: "s", Tiers: []Tier{{Device: flash(), Level: level, Groups: groups, Disks: disks}},
		QueueDepth: 1 << 16, Copies: 1, Extent: unit.MiB, Promote: time.Second}
}

// array is a Storage with one store whose requests' ends are kept.
type array struct {
	t    testing.TB
	sim  *des.Sim
	s    *Storage
	ends map[int64]int64
	next func(token int64)
}

func newArray(t testing.TB, st Store) *array {
	a := &array{t: t, sim: des.New(7), ends: map[int64]int64{}}
	a.s = NewStorage(a.sim, &Host{Stores: []Store{st}}, func(token int64) {
		if _, twice := a.ends[token]; twice && a.next == nil {
			t.Errorf("request %d answered twice", token)
		}
		a.ends[token] = a.sim.Now()
		if a.next != nil {
			a.next(token)
		}
	})
	return a
}

func (a *array) volume(size unit.Bytes) int32 {
	a.t.Helper()
	v, err := a.s.AddVolume("s", size)
	if err != nil {
		a.t.Fatal(err)
	}
	return v
}

func (a *array) run(ns int64) {
	a.t.Helper()
	if err := a.sim.Run(a.t.Context(), a.sim.Now()+ns); err != nil {
		a.t.Fatal(err)
	}
}

func TestAWriteCostsWhatItsLevelSays(t *testing.T) {
	for _, c := range []struct {
		level       RAID
		copies      int
		write, read int64 // operations of disks
		nanos       int64 // of a write alone
	}{
		{RAID0, 1, 1, 1, 1e6},
		{RAID10, 1, 2, 1, 1e6},
		{RAID5, 1, 4, 1, 2e6}, // both are read, then both are written
		{RAID0, 2, 2, 1, 1e6},
		{RAID10, 2, 4, 1, 1e6},
		{RAID5, 2, 8, 1, 2e6},
	} {
		st := oneStore(c.level, 2, 4)
		st.Copies = c.copies
		a := newArray(t, st)
		v := a.volume(unit.MiB)
		a.s.Submit(v, true, 0, 4096, 1)
		a.run(des.Second)
		if got := a.s.StoreUsage(0).DiskOperations; got != c.write {
			t.Errorf("%d, %d copies: %d operations for a write, want %d", c.level, c.copies, got, c.write)
		}
		if int64(c.level.WriteOperations()*c.copies) != c.write {
			t.Errorf("%d: WriteOperations is %d", c.level, c.level.WriteOperations())
		}
		if a.ends[1] != c.nanos {
			t.Errorf("%d, %d copies: a write took %d ns, want %d", c.level, c.copies, a.ends[1], c.nanos)
		}
		a.s.Submit(v, false, 0, 4096, 2)
		a.run(des.Second)
		if got := a.s.StoreUsage(0).DiskOperations - c.write; got != c.read {
			t.Errorf("%d: %d operations for a read", c.level, got)
		}
	}
}

func TestTheHopIsPaidAndTwiceForTwoCopies(t *testing.T) {
	for copies, want := range map[int]int64{1: 1.3e6, 2: 1.6e6} {
		st := oneStore(RAID0, 2, 1)
		st.Copies, st.Hop = copies, 300*time.Microsecond
		a := newArray(t, st)
		a.s.Submit(a.volume(unit.MiB), true, 0, 512, 1)
		a.run(des.Second)
		if a.ends[1] != want {
			t.Errorf("%d copies: %d ns, want %d", copies, a.ends[1], want)
		}
	}
}

// TestGroupsPartitionAndPoolsShare loads one of four volumes alone: of four
// groups it has one, of a pool all; with all volumes loaded the two are alike.
func TestGroupsPartitionAndPoolsShare(t *testing.T) {
	rate := func(pool bool, loaded int) float64 {
		st := oneStore(RAID0, 4, 2)
		st.Pool = pool
		a := newArray(t, st)
		draw := rng.At(1)
		a.next = func(token int64) {
			a.s.Submit(int32(token%4), false, draw.IntN(256)<<20|draw.IntN(16)<<16, 4096, token)
		}
		for range 4 {
			a.volume(256 * unit.MiB)
		}
		for i := range loaded * 256 { // outstanding a volume
			a.next(int64(i / 256))
		}
		a.run(2 * des.Second)
		return float64(a.s.StoreUsage(0).DiskOperations) / 2
	}
	near(t, "one volume on a group, IOPS", rate(false, 1), 2000, 40)
	near(t, "one volume on a pool, IOPS", rate(true, 1), 8000, 240)
	near(t, "all volumes on groups, IOPS", rate(false, 4), 8000, 240)
	near(t, "all volumes on a pool, IOPS", rate(true, 4), 8000, 240)
}

func TestWhatTheQueueDepthHoldsBackIsQueueLatency(t *testing.T) {
	st := oneStore(RAID0, 1, 8)
	st.QueueDepth = 2
	a := newArray(t, st)
	v := a.volume(unit.MiB)
	for i := range int64(6) { // on six disks, but two at a time
		a.s.Submit(v, false, i*stripeBytes, 4096, i)
	}
	a.run(des.Second)
	for i, want := range []int64{1e6, 1e6, 2e6, 2e6, 3e6, 3e6} {
		if a.ends[int64(i)] != want {
			t.Errorf("request %d ended at %d, want %d", i, a.ends[int64(i)], want)
		}
	}
	u := a.s.VolumeUsage(v)
	if u.DeviceNanos != 6e6 || u.QueueNanos != 0+0+1e6+1e6+2e6+2e6 || u.Reads != 6 || u.ReadBytes != 6*4096 {
		t.Errorf("usage %+v", u)
	}
}

// TestLatencyGrowsWithTheQueue compares one disk under Poisson arrivals with
// Pollaczek and Khinchine: R = S + ρS(1+cv²)/(2(1-ρ)), where a uniform time in
// S(1±s) has cv² = s²/3.
func TestLatencyGrowsWithTheQueue(t *testing.T) {
	for _, load := range []float64{0.3, 0.6, 0.8} {
		d := flash()
		d.Spread = 0.5
		st := oneStore(RAID0, 1, 1)
		st.Tiers[0].Device = d
		a := newArray(t, st)
		v := a.volume(unit.MiB)
		draw := rng.At(11)
		token := int64(0)
		var k des.Kind
		k = a.sim.Handle(func(int32, int64) {
			a.s.Submit(v, false, 0, 4096, token)
			token++
			a.sim.After(int64(draw.Exp(1e6/load)), k, 0, 0)
		})
		a.sim.At(0, k, 0, 0)
		a.run(400 * des.Second)
		u := a.s.VolumeUsage(v)
		want := 1 + load*(1+0.25/3)/(2*(1-load))
		near(t, fmt.Sprintf("ms at %.1f", load), float64(u.DeviceNanos)/float64(u.Reads)/1e6, want, 0.03*want)
	}
}

func TestAnElevatorShortensPositioning(t *testing.T) {
	d := flash()
	d.Reorder = 0.5
	st := oneStore(RAID0, 1, 1)
	st.Tiers[0].Device = d
	a := newArray(t, st)
	v := a.volume(unit.MiB)
	for i := range int64(4) {
		a.s.Submit(v, false, 0, 4096, i)
	}
	a.run(des.Second)
	// The first is alone; then 3, 2 and 1 are there besides nothing served.
	want := 1e6 * (1 + 1/math.Sqrt(3) + 1/math.Sqrt(2) + 1)
	near(t, "all four, ns", float64(a.ends[3]), want, 10)
}

func TestTheWriteCacheAnswersUntilItIsFull(t *testing.T) {
	st := oneStore(RAID0, 1, 1)
	st.WriteCache, st.CacheTime = 2*4096, 100*time.Microsecond
	a := newArray(t, st)
	v := a.volume(unit.MiB)
	for i := range int64(4) {
		a.s.Submit(v, true, 0, 4096, i)
	}
	a.run(des.Second)
	// Two fit; each destaged write makes room for one more.
	for i, want := range []int64{1e5, 1e5, 11e5, 21e5} {
		if a.ends[int64(i)] != want {
			t.Errorf("write %d ended at %d, want %d", i, a.ends[int64(i)], want)
		}
	}
	if u := a.s.StoreUsage(0); u.DirtyBytes != 0 || u.StalledWrites != 2 || u.DiskOperations != 4 {
		t.Errorf("usage %+v", u)
	}
}

func TestTheReadCacheKeepsTheLastExtents(t *testing.T) {
	st := oneStore(RAID0, 1, 1)
	st.ReadCache, st.CacheTime = 2*unit.MiB, 100*time.Microsecond
	a := newArray(t, st)
	v := a.volume(8 * unit.MiB)
	for i, e := range []int64{0, 1, 0, 2, 1, 0} { // 2 drives out 1, which drives out 0
		at := a.sim.Now()
		a.s.Submit(v, false, e<<20, 4096, int64(i))
		a.run(10 * des.Millisecond)
		if hit := a.ends[int64(i)]-at == 1e5; hit != (i == 2) {
			t.Errorf("read %d of extent %d took %d ns", i, e, a.ends[int64(i)]-at)
		}
	}
}

func TestWhatIsReadMostMovesToTheFastTier(t *testing.T) {
	slow := flash()
	slow.Read, slow.Write, slow.Rate = 10*time.Millisecond, 10*time.Millisecond, 1e9
	fast := flash()
	fast.Capacity = 4 * unit.MiB
	st := oneStore(RAID0, 1, 1)
	st.Tiers[0].Device = fast
	st.Tiers = append(st.Tiers, Tier{Device: slow, Groups: 1, Disks: 1})
	a := newArray(t, st)
	v := a.volume(64 * unit.MiB)
	draw := rng.At(5)
	a.next = func(token int64) { // four hot extents among those that began on the slow tier
		e := 40 + draw.IntN(4)
		if draw.Float64() < 0.05 {
			e = draw.IntN(64)
		}
		a.s.Submit(v, false, e<<20, 4096, token)
	}
	a.next(0)
	a.run(900 * des.Millisecond)
	before := a.s.StoreUsage(0)
	if before.FastHits > before.SlowHits/5 {
		t.Fatalf("before: %+v", before)
	}
	a.run(5 * des.Second)
	mark := a.s.StoreUsage(0)
	a.run(des.Second)
	after := a.s.StoreUsage(0)
	if f, s := after.FastHits-mark.FastHits, after.SlowHits-mark.SlowHits; f < 10*s || after.Promoted < 4 {
		t.Errorf("after: %d fast, %d slow, %d promoted", f, s, after.Promoted)
	}
	held := [2]int{}
	for _, tier := range a.s.volumes[v].tier {
		held[tier]++
	}
	if held != [2]int{4, 60} {
		t.Errorf("extents by tier %v, want 4 and 60", held)
	}
}

// TestEveryRequestIsAnsweredOnce drives random stores with random requests.
func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st := oneStore(RAID(rapid.IntRange(0, 2).Draw(rt, "level")), rapid.IntRange(2, 3).Draw(rt, "groups"), 4)
		st.Pool = rapid.Bool().Draw(rt, "pool")
		st.QueueDepth = rapid.IntRange(1, 4).Draw(rt, "depth")
		st.Copies = rapid.IntRange(1, 2).Draw(rt, "copies")
		st.WriteCache = unit.Bytes(rapid.SampledFrom([]int{0, 8192, 1 << 20}).Draw(rt, "write cache"))
		st.ReadCache = unit.Bytes(rapid.SampledFrom([]int{0, 1 << 20}).Draw(rt, "read cache"))
		st.Promote = 5 * time.Millisecond
		if rapid.Bool().Draw(rt, "tiers") {
			second := st.Tiers[0]
			st.Tiers[0].Device.Capacity, second.Level = 4*unit.MiB, RAID5
			st.Tiers = append(st.Tiers, second)
		}
		a := newArray(t, st)
		v := a.volume(16 * unit.MiB)
		n := rapid.Int64Range(1, 100).Draw(rt, "requests")
		writes := int64(0)
		for i := range n {
			write := rapid.Bool().Draw(rt, "write")
			if write {
				writes++
			}
			a.s.Submit(v, write, rapid.Int64Range(0, 1<<24-1).Draw(rt, "offset"), 4096, i)
			a.run(rapid.Int64Range(0, 2e6).Draw(rt, "step"))
		}
		a.run(10 * des.Second)
		u := a.s.VolumeUsage(v)
		if int64(len(a.ends)) != n || u.Reads != n-writes || u.Writes != writes || a.s.StoreUsage(0).DirtyBytes != 0 {
			rt.Fatalf("%d of %d answered, usage %+v, %+v", len(a.ends), n, u, a.s.StoreUsage(0))
		}
		if len(a.s.free) != len(a.s.ops) {
			rt.Fatalf("%d of %d operations are free again", len(a.s.free), len(a.s.ops))
		}
	})
}

func TestVolumesThatDoNotFitAreRefused(t *testing.T) {
	a := newArray(t, oneStore(RAID10, 1, 4)) // two of four GiB
	if _, err := a.s.AddVolume("s", 3*unit.GiB); err == nil || !strings.Contains(err.Error(), "2048 extents") {
		t.Errorf("3 GiB on 2: %v", err)
	}
	if _, err := a.s.AddVolume("none", 1); err == nil {
		t.Error("a volume on no store: no error")
	}
	a.volume(2 * unit.GiB)
	if _, err := a.s.AddVolume("s", 1); err == nil {
		t.Error("a byte on a full store: no error")
	}
}
