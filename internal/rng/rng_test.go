package rng

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// TestUint64IsXoshiro256StarStar compares with the outputs that the published
// reference implementation gives for the state 1, 2, 3, 4 (Blackman and Vigna,
// "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021),
// and with a second transcription of the algorithm from the paper for
// arbitrary states.
func TestUint64IsXoshiro256StarStar(t *testing.T) {
	published := []uint64{
		11520, 0, 1509978240, 1215971899390074240, 1216172134540287360,
		607988272756665600, 16172922978634559625, 8476171486693032832,
		10595114339597558777, 2904607092377533576,
	}
	r := Stream{s: [4]uint64{1, 2, 3, 4}}
	for i, want := range published {
		if got := r.Uint64(); got != want {
			t.Fatalf("output %d is %d, published is %d", i, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var s [4]uint64
		for i := range s {
			s[i] = rapid.Uint64().Draw(t, "state")
		}
		r, ref := Stream{s: s}, paper{s[0], s[1], s[2], s[3]}
		for range 50 {
			if got, want := r.Uint64(), ref.next(); got != want {
				t.Fatalf("%d, the paper has %d", got, want)
			}
		}
	})
}

// paper is the generator by its linear recurrence: the new state as functions
// of the old one, not step by step.
type paper struct{ a, b, c, d uint64 }

func (p *paper) next() uint64 {
	rotl := func(x uint64, k int) uint64 { return x<<k | x>>(64-k) }
	out := rotl(p.b*5, 7) * 9
	*p = paper{
		a: p.a ^ p.b ^ p.d,
		b: p.a ^ p.b ^ p.c,
		c: p.a ^ p.c ^ p.b<<17,
		d: rotl(p.b^p.d, 45),
	}
	return out
}

// TestMixIsSplitMix64 compares with the widely published first outputs of
// SplitMix64 (Steele, Lea and Flood, 2014) for the seed 1234567.
func TestMixIsSplitMix64(t *testing.T) {
	h := uint64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		h += 0x9e3779b97f4a7c15
		if got := mix(h); got != want {
			t.Errorf("output %d is %d, published is %d", i, got, want)
		}
	}
}

// TestNameIsFNV1a compares with published hashes of FNV-1a, 64 bits (Fowler,
// Noll and Vo's test vectors).
func TestNameIsFNV1a(t *testing.T) {
	for word, want := range map[string]uint64{"": 0xcbf29ce484222325, "a": 0xaf63dc4c8601ec8c, "foobar": 0x85944171f73967e8} {
		if got := Name(word); got != want {
			t.Errorf("Name(%q) = %#x, published is %#x", word, got, want)
		}
	}
}

// TestStreamsNeverChange holds the bytes that seeds give: generated data and
// recorded orders depend on them for ever.
func TestStreamsNeverChange(t *testing.T) {
	for _, c := range []struct {
		seed uint64
		path []uint64
		want uint64
	}{
		{0, nil, 18110106563157542208},
		{1, []uint64{Name("order"), 1}, 4634175202036553876},
		{math.MaxUint64, []uint64{0, math.MaxUint64}, 2234006322660877646},
	} {
		r := At(c.seed, c.path...)
		if got := r.Uint64(); got != c.want {
			t.Errorf("At(%d, %v) begins with %d, it was %d", c.seed, c.path, got, c.want)
		}
	}
}

func TestStreamsAtDifferentPathsDoNotCoincide(t *testing.T) {
	seen := map[[4]uint64]string{}
	note := func(what string, seed uint64, path ...uint64) {
		s := At(seed, path...).s
		if s == [4]uint64{} {
			t.Errorf("%s: the state is all zero", what)
		}
		if other, ok := seen[s]; ok {
			t.Errorf("%s has the stream of %s", what, other)
		}
		seen[s] = what
	}
	for seed := range uint64(20) {
		note(fmt.Sprint(seed), seed)
		for a := range uint64(30) {
			note(fmt.Sprint(seed, a), seed, a)
			for b := range uint64(30) { // order and depth matter: (1, 2), (2, 1) and (1, 2, 0) differ
				note(fmt.Sprint(seed, a, b), seed, a, b)
				note(fmt.Sprint(seed, a, b, 0), seed, a, b, 0)
			}
		}
	}
}

// TestNeighbouringStreamsAreUncorrelated counts equal bits of neighbouring
// streams: binomial with p = 1/2, so a mean outside 5 standard deviations has
// a chance below 1e-6.
func TestNeighbouringStreamsAreUncorrelated(t *testing.T) {
	const n = 20_000
	equal := 0
	for i := range uint64(n) {
		a, b := At(7, i), At(7, i+1)
		equal += 64 - bits.OnesCount64(a.Uint64()^b.Uint64())
	}
	if z := (float64(equal) - 32*n) / math.Sqrt(16*n); math.Abs(z) > 5 {
		t.Errorf("%d of %d bits are equal: z = %.1f", equal, 64*n, z)
	}
}

// chiSquare returns the statistic of counts against equal expectations.
func chiSquare(counts []int) float64 {
	n := 0
	for _, c := range counts {
		n += c
	}
	expected := float64(n) / float64(len(counts))
	var x float64
	for _, c := range counts {
		d := float64(c) - expected
		x += d * d / expected
	}
	return x
}

// critical is about the 99.99 % quantile of chi-square with k degrees of
// freedom, by the approximation of Wilson and Hilferty (1931):
// k (1 − 2/(9k) + z √(2/(9k)))³ with z = 3.719.
func critical(k int) float64 {
	h := 2 / (9 * float64(k))
	return float64(k) * math.Pow(1-h+3.719*math.Sqrt(h), 3)
}

func TestIntNIsUniform(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 7, 10, 64, 1000} {
		r := At(42, Name("uniform"), uint64(n))
		counts := make([]int, n)
		for range 100 * max(n, 100) {
			counts[r.IntN(n)]++
		}
		if n == 1 {
			continue // every draw is 0, or the index would have panicked
		}
		if x := chiSquare(counts); x > critical(int(n)-1) {
			t.Errorf("IntN(%d): chi-square %.1f is over %.1f", n, x, critical(int(n)-1))
		}
	}
}

// TestIntNIsUniformWhereNIsLarge tells rejection from plain scaling: without
// it, at n = 3·2^61 a third of the numbers come twice as often as the others.
func TestIntNIsUniformWhereNIsLarge(t *testing.T) {
	const n = 3 << 61
	r := At(42, Name("large"))
	counts := make([]int, 3) // by the residue, which is where the bias shows
	for range 30_000 {
		counts[r.IntN(n)%3]++
	}
	if x := chiSquare(counts); x > critical(2) {
		t.Errorf("residues %v: chi-square %.1f is over %.1f", counts, x, critical(2))
	}
}

func TestIntNKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := At(rapid.Uint64().Draw(t, "seed"))
		n := rapid.Int64Range(1, math.MaxInt64).Draw(t, "n")
		if got := r.IntN(n); got < 0 || got >= n {
			t.Fatalf("IntN(%d) = %d", n, got)
		}
		lo := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "lo")
		hi := lo + rapid.Int64Range(0, 1<<40).Draw(t, "span")
		if got := r.Between(lo, hi); got < lo || got > hi {
			t.Fatalf("Between(%d, %d) = %d", lo, hi, got)
		}
		if f := r.Float64(); f < 0 || f >= 1 {
			t.Fatalf("Float64() = %v", f)
		}
	})
}

func TestIntNPanicsOnEmptyRanges(t *testing.T) {
	for _, n := range []int64{0, -1, math.MinInt64} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("IntN(%d) did not panic", n)
				}
			}()
			r := At(1)
			r.IntN(n)
		}()
	}
}

func TestBetweenReachesBothEnds(t *testing.T) {
	r := At(3)
	seen := map[int64]int{}
	for range 1000 {
		seen[r.Between(-2, 2)]++
	}
	if len(seen) != 5 || seen[-2] == 0 || seen[2] == 0 {
		t.Errorf("Between(-2, 2) gave %v", seen)
	}
}

// TestExpHasItsMeanAndSpread: mean and standard deviation of an exponential
// are equal; the mean of n draws has a standard error of mean/√n.
func TestExpHasItsMeanAndSpread(t *testing.T) {
	const n, mean = 200_000, 2.5
	r := At(11, Name("exp"))
	var sum, squares float64
	over := 0
	for range n {
		x := r.Exp(mean)
		if x < 0 || math.IsInf(x, 0) || math.IsNaN(x) {
			t.Fatalf("Exp gave %v", x)
		}
		sum += x
		squares += x * x
		if x > 3*mean {
			over++
		}
	}
	if got := sum / n; math.Abs(got-mean) > 5*mean/math.Sqrt(n) {
		t.Errorf("the mean is %v, want %v", got, mean)
	}
	if sd := math.Sqrt(squares/n - (sum/n)*(sum/n)); math.Abs(sd-mean) > 0.02*mean {
		t.Errorf("the standard deviation is %v, want %v", sd, mean)
	}
	tail := math.Exp(-3) // of draws lie over three means
	if got := float64(over) / n; math.Abs(got-tail) > 5*math.Sqrt(tail*(1-tail)/n) {
		t.Errorf("%v lie over three means, want %v", got, tail)
	}
	if got := r.Exp(0); got != 0 {
		t.Errorf("Exp(0) = %v", got)
	}
}

func TestShuffleGivesEveryOrderAlike(t *testing.T) {
	counts := map[[4]int]int{}
	r := At(5, Name("shuffle"))
	for range 24_000 {
		a := [4]int{0, 1, 2, 3}
		r.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
		counts[a]++
	}
	var list []int
	for _, c := range counts {
		list = append(list, c)
	}
	if len(list) != 24 {
		t.Fatalf("%d orders of 24 came", len(list))
	}
	if x := chiSquare(list); x > critical(23) {
		t.Errorf("chi-square %.1f is over %.1f", x, critical(23))
	}
}
