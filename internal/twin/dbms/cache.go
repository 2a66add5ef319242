package dbms

import (
	"math"
	"sort"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// Hits returns the probability that a page is found in a cache of so many
// pages that forgets the one used longest ago, for groups of pages (n of them,
// each accessed at the given rate). It is Che's approximation (Che, Tung and
// Wang, 2002): a page is there if it was used within the characteristic time T,
// and Σ nᵢ (1 - exp(-rateᵢ·T)) = capacity.
func Hits(capacity float64, n, rate []float64) []float64 {
	out := make([]float64, len(n))
	held := func(t float64) (sum float64) {
		for i := range n {
			out[i] = -math.Expm1(-rate[i] * t)
			sum += n[i] * out[i]
		}
		return sum
	}
	used, fastest := 0.0, 0.0
	for i := range n {
		if rate[i] > 0 {
			used += n[i]
			fastest = max(fastest, rate[i])
		}
	}
	if capacity >= used { // everything that is used fits
		for i := range n {
			out[i] = 0
			if rate[i] > 0 {
				out[i] = 1
			}
		}
		return out
	}
	if capacity <= 0 {
		return out
	}
	low, high := 0.0, 1/fastest
	for held(high) < capacity {
		low, high = high, 2*high
	}
	for range 100 {
		if mid := (low + high) / 2; held(mid) < capacity {
			low = mid
		} else {
			high = mid
		}
	}
	held(high)
	return out
}

// pool is a buffer cache: hits by Che's approximation, as in the steady state,
// and the dirty pages of each stratum.
type pool struct {
	strata   []stratum
	firstOf  []float64 // page number of each table's first page
	hit      []float64
	resident []float64 // pages of each stratum that are in the cache
	dirty    []int64
	classes  []classPages
	victims  pick // stratum of a page that makes room
	usage    PoolUsage
	total    int64 // dirty pages
}

// classPages is what one class does to the pool.
type classPages struct {
	misses float64 // a transaction, on average
	writes float64
	reads  poisson // misses of one transaction
	change poisson // its writes
	miss   pick    // stratum of a miss
	write  pick    // stratum of a changed page
}

// PoolUsage is what a buffer cache has done since time 0, in pages.
type PoolUsage struct {
	Dirtied      int64 // pages that became dirty
	Checkpointed int64 // written by checkpoints
	Evicted      int64 // written to make room
	Reads        int64
	Dirty        int64 // now
	HitPct       float64
}

// pick draws an index by weight.
type pick struct{ sum []float64 }

func newPick(weight []float64) pick {
	p := pick{make([]float64, len(weight))}
	total := 0.0
	for i, w := range weight {
		total += w
		p.sum[i] = total
	}
	return p
}

func (p pick) total() float64 {
	if len(p.sum) == 0 {
		return 0
	}
	return p.sum[len(p.sum)-1]
}

func (p pick) draw(r *rng.Stream) int {
	x := r.Float64() * p.total()
	return min(sort.Search(len(p.sum), func(i int) bool { return p.sum[i] > x }), len(p.sum)-1)
}

// newPool returns the pool of a database with room for so many pages.
func newPool(d *Database, pages float64) *pool {
	p := &pool{}
	offset := 0.0
	starts := make([]int, len(d.Tables))
	for i := range d.Tables {
		starts[i] = len(p.strata)
		p.strata = append(p.strata, d.Tables[i].strata(i)...)
		p.firstOf = append(p.firstOf, offset)
		offset += math.Ceil(d.Tables[i].Pages)
	}
	n, rate := make([]float64, len(p.strata)), make([]float64, len(p.strata))
	access := make([][]float64, len(d.Classes)) // by class and stratum
	change := make([][]float64, len(d.Classes))
	for c := range d.Classes {
		access[c], change[c] = make([]float64, len(n)), make([]float64, len(n))
		for _, t := range d.Classes[c].Touches {
			for i := starts[t.Table]; i < len(p.strata) && p.strata[i].table == t.Table; i++ {
				access[c][i] += t.Pages * p.strata[i].part
				change[c][i] += t.Writes * p.strata[i].part
			}
		}
		for i := range n {
			rate[i] += d.Classes[c].Weight * access[c][i] / p.strata[i].pages
		}
	}
	for i := range n {
		n[i] = p.strata[i].pages
	}
	p.hit = Hits(pages, n, rate)
	p.dirty = make([]int64, len(n))
	p.resident = make([]float64, len(n))
	all, missed := 0.0, 0.0
	total := make([]float64, len(n))
	for i := range n {
		p.resident[i] = n[i] * p.hit[i]
		all += rate[i] * n[i]
		total[i] = rate[i] * n[i] * (1 - p.hit[i])
		missed += total[i]
	}
	p.victims = newPick(total)
	p.usage.HitPct = 100
	if all > 0 {
		p.usage.HitPct = 100 * (1 - missed/all)
	}
	for c := range d.Classes {
		miss := make([]float64, len(n))
		for i := range n {
			miss[i] = access[c][i] * (1 - p.hit[i])
		}
		cp := classPages{miss: newPick(miss), write: newPick(change[c])}
		cp.misses, cp.writes = cp.miss.total(), cp.write.total()
		cp.reads, cp.change = newPoisson(cp.misses), newPoisson(cp.writes)
		p.classes = append(p.classes, cp)
	}
	return p
}

// Misses is how many pages a transaction of each class of d accesses, on
// average, that are not in a cache of so many pages.
func Misses(d *Database, pages float64) []float64 {
	p := newPool(d, pages)
	out := make([]float64, len(p.classes))
	for i := range out {
		out[i] = p.classes[i].misses
	}
	return out
}

// page draws a page of stratum i and returns its number in the database.
func (p *pool) page(d *Database, i int, r *rng.Stream) int64 {
	s := &p.strata[i]
	rank := int64(s.first) + r.IntN(max(1, int64(s.pages)))
	t := &d.Tables[s.table]
	if t.Scattered {
		rank = int64(uint64(rank) * 0x9e3779b97f4a7c15 % uint64(max(1, t.Pages)))
	}
	return int64(p.firstOf[s.table]) + rank
}

// change makes so many changes of pages by class c; those that were clean
// become dirty.
func (p *pool) change(c int, changes int, r *rng.Stream) {
	for range changes {
		i := p.classes[c].write.draw(r)
		room := max(1, p.resident[i])
		if r.Float64()*room >= float64(p.dirty[i]) {
			p.dirty[i]++
			p.total++
			p.usage.Dirtied++
		}
	}
}

// evict makes room for a page and says whether the victim, of the stratum
// returned, must be written first.
func (p *pool) evict(r *rng.Stream) (stratum int, write bool) {
	i := p.victims.draw(r)
	room := max(1, p.resident[i])
	if p.dirty[i] == 0 || r.Float64()*room >= float64(p.dirty[i]) {
		return i, false
	}
	p.dirty[i]--
	p.total--
	p.usage.Evicted++
	return i, true
}

// poisson draws Poisson numbers of one mean: by products of uniforms, and for
// large means as a sum of parts, because the time of the k-th arrival would be
// a gamma number and independent Poisson numbers add up as exactly.
type poisson struct {
	parts int
	part  float64 // probability of none, of each part
	none  float64 // and of the rest
}

// poissonPart is the mean of a part.
const poissonPart = 15

func newPoisson(mean float64) poisson {
	p := poisson{part: math.Exp(-poissonPart)}
	for ; mean > 2*poissonPart; mean -= poissonPart {
		p.parts++
	}
	p.none = math.Exp(-mean)
	return p
}

func (p poisson) draw(r *rng.Stream) (n int) {
	for range p.parts {
		n += arrivals(p.part, r)
	}
	return n + arrivals(p.none, r)
}

// arrivals counts uniforms until their product falls below limit.
func arrivals(limit float64, r *rng.Stream) (n int) {
	for x := r.Float64(); x > limit; x *= r.Float64() {
		n++
	}
	return n
}
