package demand

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// block is some seconds of one trial, added up.
type block struct {
	trial int
	Second
}

// sample is all blocks of trials, in units that may be drawn again: trials
// where there are enough of them, for how trials differ among themselves is
// more than how seconds do; else blocks.
type sample struct {
	o       *Observed
	blocks  []block
	byTrial bool
}

func (o *Observed) sample() *sample {
	b := &sample{o: o, byTrial: len(o.Trials) >= leastTrials}
	for i, t := range o.Trials {
		b.blocks = append(b.blocks, blocks(i, t.Seconds)...)
	}
	return b
}

// blocks joins seconds to blocks of blockLength; what is left at the end
// belongs to the last.
func blocks(trial int, seconds []Second) []block {
	var out []block
	for _, s := range seconds {
		if math.IsNaN(s.CPU) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Length < blockLength {
			out[n-1].Second = plus(out[n-1].Second, s)
			continue
		}
		s.Done = slices.Clone(s.Done)
		out = append(out, block{trial, s})
	}
	if n := len(out); n > 1 && out[n-1].Length < blockLength {
		out[n-2].Second = plus(out[n-2].Second, out[n-1].Second)
		out = out[:n-1]
	}
	return out
}

// plus adds b to a; a.Done is changed in place.
func plus(a, b Second) Second {
	for k := range a.Done {
		a.Done[k] += b.Done[k]
	}
	x, y := a.amounts(), b.amounts()
	for i := range x {
		*x[i] += *y[i]
	}
	return a
}

func (s *Second) amounts() []*float64 {
	return []*float64{&s.Length, &s.CPU, &s.Driver, &s.Pages, &s.PagesRead, &s.PagesWritten, &s.LogBytes, &s.LogWrites, &s.LogSeconds,
		&s.DiskReads, &s.DiskReadSeconds, &s.DiskWrites, &s.DiskWriteSeconds}
}

// units is how many things are drawn in the bootstrap.
func (b *sample) units() int {
	if !b.byTrial {
		return len(b.blocks)
	}
	seen := map[int]bool{}
	for _, x := range b.blocks {
		seen[x.trial] = true
	}
	return len(seen)
}

// resamples is the number of draws of the bootstrap.
const resamples = 300

// again calls take with resamples of b's units, drawn with replacement from a
// stream of b's own (Efron and Tibshirani, An Introduction to the Bootstrap,
// 1993). What take gets is only lent.
func (b *sample) again(take func([]block)) {
	var units [][]block
	for i := range b.blocks {
		if n := len(units); b.byTrial && n > 0 && units[n-1][0].trial == b.blocks[i].trial {
			units[n-1] = append(units[n-1], b.blocks[i])
			continue
		}
		units = append(units, b.blocks[i:i+1:i+1])
	}
	s := rng.At(b.o.Seed, rng.Name("bootstrap"))
	var drawn []block
	for range resamples {
		drawn = drawn[:0]
		for range units {
			drawn = append(drawn, units[s.IntN(int64(len(units)))]...)
		}
		take(drawn)
	}
}

// quantity is what of finds in b, with its interval.
func (b *sample) quantity(of func([]block) float64) Quantity {
	var draws []float64
	b.again(func(drawn []block) {
		if x := of(drawn); !math.IsNaN(x) && !math.IsInf(x, 0) {
			draws = append(draws, x)
		}
	})
	return interval(of(b.blocks), draws, b.units())
}

// interval is the 90 % interval of value from draws of a bootstrap of n units:
// Student's t on the logarithm with the bootstrap's variance, which is too
// small by (n-1)/n; where a draw is not positive, on the value itself, not
// below 0.
func interval(value float64, draws []float64, n int) Quantity {
	if n < 2 || len(draws) < resamples/2 || math.IsNaN(value) {
		return Exactly(value)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.95) * math.Sqrt(float64(n)/float64(n-1))
	if value > 0 && slices.Min(draws) > 0 {
		logs := make([]float64, len(draws))
		for i, x := range draws {
			logs[i] = math.Log(x)
		}
		by := math.Exp(t * stat.StdDev(logs, nil))
		return Quantity{value, value / by, value * by, false}
	}
	half := t * stat.StdDev(draws, nil)
	return Quantity{value, min(value, max(0, value-half)), value + half, false}
}

// total adds up an amount; NaN where it was not recorded.
func total(u []block, get func(Second) float64) (sum float64) {
	for _, x := range u {
		sum += get(x.Second)
	}
	return sum
}

// perDone is an amount for each transaction, over the blocks in which it was
// recorded; NaN with none.
func perDone(u []block, get func(Second) float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range u {
		if v := get(x.Second); !math.IsNaN(v) {
			sum, n = sum+v, n+x.done()
		}
	}
	return sum / n
}

// shares is each class's part of all transactions.
func shares(u []block, classes int) []float64 {
	out, all := make([]float64, classes), 0.0
	for _, x := range u {
		for k, n := range x.Done {
			out[k] += n
			all += n
		}
	}
	for k := range out {
		out[k] /= all
	}
	return out
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func column(rows [][]float64, k int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = r[k]
	}
	return out
}

// zero is x, or 0 where it is not there.
func zero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// spreadOfIO is how far trials differ in I/Os a transaction, relative to their
// mean.
func (b *sample) spreadOfIO() float64 {
	ios, done := make([]float64, len(b.o.Trials)), make([]float64, len(b.o.Trials))
	for _, x := range b.blocks {
		ios[x.trial], done[x.trial] = ios[x.trial]+x.ios(), done[x.trial]+x.done()
	}
	least, most := math.Inf(1), 0.0
	for i := range ios {
		if done[i] > 0 {
			least, most = min(least, ios[i]/done[i]), max(most, ios[i]/done[i])
		}
	}
	if most == 0 {
		return 0
	}
	return 2 * (most - least) / (most + least)
}

// latched is how often sessions were seen to wait for latches.
func (b *sample) latched() (seen float64) {
	for _, t := range b.o.Trials {
		if n := t.Latched * t.Polls; n > 0 && t.busy() <= mostBusy {
			seen += n
		}
	}
	return seen
}

// busy is the part of its processors that t's instance used.
func (t Trial) busy() float64 {
	cpu, length := 0.0, 0.0
	for _, s := range t.Seconds {
		cpu, length = cpu+zero(s.CPU), length+s.Length
	}
	return cpu / length / t.CPUs
}

// heldLatch is how long a commit holds the log's latch, in nanoseconds, where
// as many wait for it as are seen to wait for latches: in a queue M/M/1 with
// the use ρ there wait ρ²/(1-ρ).
func (b *sample) heldLatch(u []block) float64 {
	commits, length, waiting := 0.0, 0.0, 0.0
	for _, x := range u {
		t := b.o.Trials[x.trial]
		l := t.Latched
		if math.IsNaN(l) || t.busy() > mostBusy {
			continue
		}
		for k, n := range x.Done {
			if b.o.LogBytes[k] > 0 {
				commits += n
			}
		}
		length, waiting = length+x.Length, waiting+l*x.Length
	}
	l := waiting / length
	rho := (math.Sqrt(l*l+4*l) - l) / 2
	return 1e9 * rho * length / commits
}

// logWrite is the mean time of a write of the log in seconds, in the quietest
// trial; NaN where not known.
func (b *sample) logWrite() float64 {
	q := b.quietest().blocks
	return total(q, func(s Second) float64 { return s.LogSeconds }) / total(q, func(s Second) float64 { return s.LogWrites })
}

// quietest is the blocks of the trial whose instance used least of its CPUs:
// times of devices are taken from it, for waiting for processors is not in
// them.
func (b *sample) quietest() *sample {
	best, least := 0, math.Inf(1)
	for i, t := range b.o.Trials {
		if used := t.busy(); used < least {
			best, least = i, used
		}
	}
	out := &sample{o: b.o}
	for _, x := range b.blocks {
		if x.trial == best {
			out.blocks = append(out.blocks, x)
		}
	}
	return out
}

// regress finds the work of each class in seconds, by least squares over
// blocks with no negative work, and again for each resample. The cost of an
// I/O is found along with it, and comes last; or, where it is known to be io
// seconds, is taken off before. Blocks count by the inverse of what they did,
// as does the variance of a sum.
func (b *sample) regress(io float64, known bool) (point []float64, draws [][]float64) {
	columns := len(b.o.Classes)
	if !known {
		columns, io = columns+1, 0
	}
	solve := func(u []block) []float64 {
		square, right := make([]float64, columns*columns), make([]float64, columns)
		row := make([]float64, columns)
		for _, x := range u {
			n := x.done()
			if n == 0 {
				continue
			}
			copy(row, x.Done)
			ios := x.ios()
			if !known {
				row[columns-1] = ios
			}
			y := x.CPU - io*ios
			for i, a := range row {
				right[i] += a * y / n
				for j, c := range row {
					square[i*columns+j] += a * c / n
				}
			}
		}
		return nonNegative(square, right)
	}
	b.again(func(u []block) { draws = append(draws, solve(u)) })
	return solve(b.blocks), draws
}

// nonNegative solves square·x = right in least squares with no x below 0:
// directly where nothing is, else by descent along one coordinate after the
// other, which finds the minimum because the problem is convex (Franc, Hlaváč
// and Navara, 2005).
func nonNegative(square, right []float64) []float64 {
	k := len(right)
	x := make([]float64, k)
	var free mat.VecDense
	var factors mat.Cholesky
	if factors.Factorize(mat.NewSymDense(k, square)) && factors.SolveVecTo(&free, mat.NewVecDense(k, right)) == nil {
		for i := range x {
			x[i] = max(0, free.AtVec(i))
		}
		if slices.Min(free.RawVector().Data) >= 0 {
			return x
		}
	}
	const rounds, enough = 2000, 1e-9
	for range rounds {
		moved, size := 0.0, 0.0
		for i := range x {
			d := square[i*k+i]
			if d == 0 {
				continue
			}
			gradient := dot(square[i*k:(i+1)*k], x) - right[i]
			next := max(0, x[i]-gradient/d)
			moved, size = max(moved, math.Abs(next-x[i])), max(size, next)
			x[i] = next
		}
		if moved <= enough*size {
			break
		}
	}
	return x
}
