package orderentry

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// exact returns the chance of each value from n.x to n.y, by counting all
// pairs of rnd(0, A) and rnd(x, y). A is all ones in k bits: the upper bits of
// rnd(x, y) stay, and its lower bits y become each v that has all bits of y
// with the chance 2^bits(y) / 2^k.
func exact(n nurand) []float64 {
	size, block := n.y-n.x+1, n.a+1
	out := make([]float64, size)
	for high := int64(0); high <= n.y; high += block {
		below := make([]float64, block) // Σ over y that are subsets of v
		for low := range block {
			if y := high + low; y >= n.x && y <= n.y {
				below[low] = math.Pow(2, float64(ones(low))) / float64(block) / float64(size)
			}
		}
		for bit := int64(1); bit < block; bit <<= 1 {
			for v := range block {
				if v&bit != 0 {
					below[v] += below[v^bit]
				}
			}
		}
		for low, p := range below {
			out[(high+int64(low)+n.c)%size] += p
		}
	}
	return out
}

func ones(n int64) (count int) {
	for ; n > 0; n &= n - 1 {
		count++
	}
	return count
}

// bruteForce is what exact is, by trying every pair.
func bruteForce(n nurand) []float64 {
	out := make([]float64, n.y-n.x+1)
	for a := range n.a + 1 {
		for y := n.x; y <= n.y; y++ {
			out[((a|y)+n.c)%(n.y-n.x+1)] += 1 / float64((n.a+1)*(n.y-n.x+1))
		}
	}
	return out
}

func TestExactProbabilitiesMatchBruteForce(t *testing.T) {
	in := newInputs(1)
	for _, n := range []nurand{in.name, in.customer, {a: 7, x: 1, y: 100, c: 3}} {
		e, b := exact(n), bruteForce(n)
		sum := 0.0
		for i := range e {
			sum += e[i]
			if math.Abs(e[i]-b[i]) > 1e-12 {
				t.Fatalf("%+v: value %d has chance %v, by brute force %v", n, int64(i)+n.x, e[i], b[i])
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%+v: the chances add up to %v", n, sum)
		}
	}
}

// fitness is chi-square of counts against chances, with cells of few expected
// counts put together, and its 99.9 % quantile (Wilson and Hilferty, 1931).
func fitness(counts []int, chance []float64) (chi, limit float64) {
	n := 0
	for _, c := range counts {
		n += c
	}
	cells, seen, want := 0.0, 0.0, 0.0
	for i, c := range counts {
		seen, want = seen+float64(c), want+chance[i]*float64(n)
		if want < 10 && i < len(counts)-1 {
			continue
		}
		chi += (seen - want) * (seen - want) / want
		cells, seen, want = cells+1, 0, 0
	}
	k := cells - 1
	a := 2 / (9 * k)
	return chi, k * math.Pow(1-a+3.0902*math.Sqrt(a), 3)
}

// TestNURandHasItsExactDistribution: clause 2.1.6, for the three ranges.
func TestNURandHasItsExactDistribution(t *testing.T) {
	in := newInputs(5)
	for name, n := range map[string]nurand{"name": in.name, "customer": in.customer, "item": in.item, "loaded name": loadedNames(5)} {
		s, counts := rng.At(9, rng.Name(name)), make([]int, n.y-n.x+1)
		for range 500_000 {
			counts[n.draw(&s)-n.x]++ // panics outside the range
		}
		chi, limit := fitness(counts, exact(n))
		if chi > limit {
			t.Errorf("%s: chi-square %.1f is over %.1f", name, chi, limit)
		}
		uniform := make([]float64, len(counts))
		for i := range uniform {
			uniform[i] = 1 / float64(len(uniform))
		}
		if chi, limit := fitness(counts, uniform); chi < 2*limit {
			t.Errorf("%s: the test does not tell it from a uniform one: chi-square %.1f, limit %.1f", name, chi, limit)
		}
	}
}

// TestRunConstantKeepsItsDistance: clause 2.1.6.1.
func TestRunConstantKeepsItsDistance(t *testing.T) {
	seen := map[int64]bool{}
	for seed := range uint64(3_000) {
		in, loaded := newInputs(seed), loadedNames(seed)
		delta := in.name.c - loaded.c
		if delta < 0 {
			delta = -delta
		}
		if delta < 65 || delta > 119 || delta == 96 || delta == 112 {
			t.Fatalf("seed %d: C of the load %d, of the run %d", seed, loaded.c, in.name.c)
		}
		seen[delta] = true
		for what, n := range map[string]nurand{"load": loaded, "name": in.name, "customer": in.customer, "item": in.item} {
			if n.c < 0 || n.c > n.a {
				t.Fatalf("seed %d: C of %s is %d, A is %d", seed, what, n.c, n.a)
			}
		}
		if newInputs(seed) != in {
			t.Fatalf("seed %d gives other constants", seed)
		}
	}
	if len(seen) != 53 {
		t.Errorf("%d distances of 53 are used", len(seen))
	}
}

func TestLastNamesAreSyllables(t *testing.T) {
	for n, want := range map[int64]string{
		0: "BARBARBAR", 1: "BARBAROUGHT", 371: "PRICALLYOUGHT", 40: "BARPRESBAR", 256: "ABLEESEANTI", 888: "ATIONATIONATION", 999: "EINGEINGEING",
	} {
		if got := string(appendLastName(nil, n)); got != want {
			t.Errorf("name %d is %s, want %s", n, got, want)
		}
	}
	seen := map[string]bool{}
	for n := range int64(names) {
		name := string(appendLastName(nil, n))
		if seen[name] || len(name) > 16 {
			t.Errorf("name %d, %s, is there twice or too long", n, name)
		}
		seen[name] = true
	}
}

// TestThinkTimesAreExponentialAndCut: the mean of min(X, 10 m) is m (1 − e⁻¹⁰).
func TestThinkTimesAreExponentialAndCut(t *testing.T) {
	const n, mean = 400_000, 12 * time.Second
	s := rng.At(4)
	sum, over, longest := 0.0, 0, time.Duration(0)
	for range n {
		x := think(&s, mean)
		sum += x.Seconds()
		longest = max(longest, x)
		if x > 3*mean {
			over++
		}
		if x < 0 || x > 10*mean {
			t.Fatalf("think time %v", x)
		}
	}
	want := mean.Seconds() * (1 - math.Exp(-10))
	if got := sum / n; math.Abs(got-want) > 5*want/math.Sqrt(n) {
		t.Errorf("mean %.4f s, want %.4f s", got, want)
	}
	tail := math.Exp(-3)
	if got := float64(over) / n; math.Abs(got-tail) > 5*math.Sqrt(tail/n) {
		t.Errorf("%v are over three means, want %v", got, tail)
	}
	// Of 400,000 about 18 are cut.
	if longest != 10*mean {
		t.Errorf("the longest is %v, none was cut", longest)
	}
}

func TestTextsAreUniform(t *testing.T) {
	p, s := newPairs(), rng.At(8)
	counts := make([]int, 256)
	last := make([]int, 256)
	var b []byte
	for range 20_000 {
		n := s.Between(1, 40)
		b = p.appendText(append(b[:0], '*'), &s, n)
		if len(b) != int(n)+1 || b[0] != '*' {
			t.Fatalf("%d characters became %q", n, b)
		}
		for _, c := range b[1:] {
			counts[c]++
		}
		last[b[n]]++
	}
	chance := make([]float64, len(alphabet))
	for i := range chance {
		chance[i] = 1 / float64(len(alphabet))
	}
	for what, all := range map[string][]int{"all": counts, "last": last} {
		mine, others := make([]int, len(alphabet)), 0
		for c, n := range all {
			if i := bytes.IndexByte([]byte(alphabet), byte(c)); i >= 0 {
				mine[i] = n
			} else {
				others += n
			}
		}
		if chi, limit := fitness(mine, chance); chi > limit || others > 0 {
			t.Errorf("%s characters: chi-square %.1f, limit %.1f, %d of another alphabet", what, chi, limit, others)
		}
	}
}

func TestDigitsAreUniform(t *testing.T) {
	s := rng.At(8)
	for _, n := range []int{1, 4, 16, 18} {
		counts := make([][]int, n)
		for i := range counts {
			counts[i] = make([]int, 10)
		}
		for range 20_000 {
			b := appendDigits([]byte("*"), &s, n)
			if len(b) != n+1 || b[0] != '*' {
				t.Fatalf("%d digits became %q", n, b)
			}
			for i, c := range b[1:] {
				counts[i][c-'0']++
			}
		}
		for i, c := range counts {
			if chi, limit := fitness(c, []float64{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1}); chi > limit {
				t.Errorf("digit %d of %d: chi-square %.1f, limit %.1f: %v", i, n, chi, limit, c)
			}
		}
	}
}
