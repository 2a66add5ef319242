package study

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// play runs a search against a response, and fails where Next breaks its
// word: a load twice or out of bounds, another answer to the same points, no
// end.
func play(t fatalist, s Search, response func(load float64) Point) (points []Point, best float64, whys []string) {
	t.Helper()
	for {
		load, done, why := s.Next(points)
		if again, doneAgain, _ := s.Next(slices.Clone(points)); again != load || doneAgain != done {
			t.Fatalf("the same points gave %g and %g", load, again)
		}
		whys = append(whys, why)
		if why == "" || strings.Contains(why, "NaN") {
			t.Fatalf("the reason for %g is %q", load, why)
		}
		tried := slices.ContainsFunc(points, func(p Point) bool { return p.Load == load })
		if done {
			if load != 0 && !tried {
				t.Fatalf("the best load %g was not tried: %v", load, points)
			}
			return points, load, whys
		}
		switch {
		case tried:
			t.Fatalf("%g comes twice: %v", load, points)
		case load < s.From || load > s.To:
			t.Fatalf("%g is not from %g to %g", load, s.From, s.To)
		case s.Knob != "rate" && load != math.Trunc(load):
			t.Fatalf("%g %s are not whole", load, s.Knob)
		case s.Knob == "rate" && load != s.From && load != s.To && load != s.step(load):
			t.Fatalf("rate %g has more than two digits", load)
		case len(points) >= mostLoads:
			t.Fatalf("the search does not end: %v", points)
		}
		p := response(load)
		p.Load = load
		points = append(points, p)
	}
}

func users(to float64) Search {
	return Search{Knob: "users", From: 1, To: to, GainPct: 3, Loads: 6}
}

// usl is the Universal Scalability Law (Gunther, "Guerrilla Capacity
// Planning", 2007): X(N) = λN ∕ (1 + σ(N−1) + κN(N−1)).
func usl(lambda, sigma, kappa float64) func(float64) Point {
	return func(n float64) Point {
		return Point{Value: lambda * n / (1 + sigma*(n-1) + kappa*n*(n-1))}
	}
}

func loads(points []Point) (out []float64) {
	for _, p := range points {
		out = append(out, p.Load)
	}
	return out
}

func TestTheSearchOfKnownResponses(t *testing.T) {
	broken := func(from float64, grows func(float64) Point) func(float64) Point {
		return func(n float64) Point {
			p := grows(n)
			if n >= from {
				p.Broke = "cpu 95 % > 90 %"
			}
			return p
		}
	}
	rising := usl(100, 0, 0)
	flat := usl(100, 1, 0)
	rate := Search{Knob: "rate", From: 100, To: 10_000, GainPct: 3, Loads: 6}
	for _, c := range []struct {
		name     string
		search   Search
		response func(float64) Point
		loads    []float64
		best     float64
		last     string // the reason for the end
	}{
		{"peak at 16 of 1024", users(1024), usl(100, 0.02, 0.004), []float64{1, 2, 4, 8, 16, 32, 23, 11, 19, 13}, 16,
			"16 users gave the most of 10 loads, and the loads tried beside it are near"},
		{"flat", users(1024), flat, []float64{1, 2, 3, 5, 8, 12}, 1,
			"1 user gave the most of 6 loads, and the loads tried beside it are near"},
		{"rising to the end", users(40), rising, []float64{1, 2, 4, 8, 16, 32, 40}, 40,
			"40 users gave the most: throughput grew by 25 % from 32 to 40 users, the most that may be tried"},
		{"a limit at 12", users(1024), broken(12, rising), []float64{1, 2, 4, 8, 16, 11, 13, 9}, 11,
			"11 users gave the most of 8 loads, and the loads tried beside it are near"},
		{"a limit at once", users(1024), broken(1, rising), []float64{1}, 0,
			"the first load, 1 user, does not count (cpu 95 % > 90 %): no smaller load may be tried"},
		{"a limit at 2", users(8), broken(2, rising), []float64{1, 2, 3, 5, 8, 4}, 1,
			"1 user gave the most of 6 loads, and the loads tried beside it are near"},
		{"six loads are all there are", users(6), usl(100, 0, 1), []float64{1, 2, 3, 5, 6, 4}, 1,
			"1 user gave the most of 6 loads, and the loads tried beside it are near"},
		{"a rate that is kept up to 730/s", rate, func(r float64) Point { return Point{Value: min(r, 730)} }, []float64{100, 200, 400, 800, 1600, 1100, 570, 940, 680}, 800, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			points, best, whys := play(t, c.search, c.response)
			if got := loads(points); !slices.Equal(got, c.loads) || best != c.best {
				t.Errorf("loads %v and best %g, want %v and %g; because:\n%s", got, best, c.loads, c.best, strings.Join(whys, "\n"))
			}
			if got := whys[len(whys)-1]; c.last != "" && got != c.last {
				t.Errorf("ended because %q, want %q", got, c.last)
			}
		})
	}
}

func drawSearch(t *rapid.T) Search {
	s := Search{GainPct: rapid.Float64Range(0.1, 5).Draw(t, "gain"), Loads: rapid.IntRange(6, 12).Draw(t, "loads")}
	s.Knob = rapid.SampledFrom(searchable()).Draw(t, "knob")
	switch s.Knob {
	case "rate":
		s.From = math.Pow(10, rapid.Float64Range(-3, 2).Draw(t, "log from"))
		s.To = min(mostRate, s.From*rapid.Float64Range(1.01, mostRatio).Draw(t, "ratio"))
	default:
		s.From = float64(rapid.IntRange(1, 50).Draw(t, "from"))
		s.To = s.From + float64(rapid.IntRange(0, 50_000).Draw(t, "span"))
	}
	if s.Loads = s.room(s.Loads); s.Loads < 1 {
		t.Fatalf("room for %d loads", s.Loads)
	}
	return s
}

// TestEverySearchEnds tries responses of every shape, also such as no machine
// shows, with numbers that are none and limits that break here and there.
func TestEverySearchEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSearch(t)
		shape := rapid.SampledFrom([]string{"linear", "flat", "falling", "zero", "random", "odd", "negative", "late"}).Draw(t, "shape")
		breaks := rapid.Float64Range(0, 1).Draw(t, "breaks") * rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "often")
		points, best, whys := play(t, s, func(load float64) Point {
			v := map[string]float64{
				"linear": load, "flat": 5, "falling": 1 / load, "zero": 0, "negative": -load, "late": math.Exp(load / s.To),
				"random": rapid.Float64Range(0, 100).Draw(t, "value"),
				"odd":    rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1, 2, 1e300, -1}).Draw(t, "odd value"),
			}[shape]
			p := Point{Value: v, RelErrPct: rapid.SampledFrom([]float64{0, 1, 10, 100}).Draw(t, "noise")}
			if rapid.Float64Range(0, 1).Draw(t, "luck") < breaks {
				p.Broke = "a limit"
			}
			return p
		})
		if len(points) < s.Loads && best != 0 {
			t.Fatalf("%d loads of at least %d: %v\n%s", len(points), s.Loads, loads(points), strings.Join(whys, "\n"))
		}
		first := math.Inf(1)
		for _, p := range points {
			if p.Broke != "" {
				first = min(first, p.Load)
			}
		}
		for _, p := range points {
			switch {
			case best >= first:
				t.Fatalf("the best load %g lies over a limit that broke at %g", best, first)
			case p.Load == best && p.Broke != "":
				t.Fatalf("the best load %g broke a limit", best)
			}
			at := slices.IndexFunc(points, func(q Point) bool { return q.Load == best })
			if at >= 0 && p.Load < first && p.Value > points[at].Value && !math.IsInf(p.Value, 1) {
				t.Fatalf("%g gave %g, and the best load %g only %g", p.Load, p.Value, best, points[at].Value)
			}
		}
	})
}

// TestTheSearchFindsThePeak: on curves that obey the Universal Scalability
// Law, seen through noise, the load found gives nearly the highest throughput
// that any allowed load can give. The bound is 15 %.
func TestTheSearchFindsThePeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSearch(t)
		if s.Knob == "rate" {
			s.Knob, s.From, s.To = "users", 1, 1024
		}
		sigma := rapid.Float64Range(0, 0.3).Draw(t, "sigma")
		kappa := math.Pow(10, rapid.Float64Range(-7, -1).Draw(t, "log kappa"))
		noise := rapid.SampledFrom([]float64{0, 0.5, 1, 2}).Draw(t, "noise in percent")
		curve := usl(1000, sigma, kappa)
		points, best, whys := play(t, s, func(n float64) Point {
			p := curve(n)
			// A result lies within one standard error of the truth, or little over.
			p.Value *= 1 + noise/100*rapid.Float64Range(-1.5, 1.5).Draw(t, "error")
			p.RelErrPct = noise
			return p
		})
		top := math.Sqrt((1 - sigma) / kappa) // where dX/dN = 0
		top = min(max(top, s.From), s.To)
		most := max(curve(math.Floor(top)).Value, curve(math.Ceil(min(top, s.To))).Value)
		if got := curve(best).Value; got < 0.85*most {
			t.Fatalf("%g users give %.0f, %g give %.0f; tried %v:\n%s", best, got, top, most, loads(points), strings.Join(whys, "\n"))
		}
	})
}

// TestTheNeighboursOfThePeakAreNear: the curve around the load found is known
// on both sides.
func TestTheNeighboursOfThePeakAreNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := users(float64(rapid.IntRange(6, 5000).Draw(t, "to")))
		points, best, _ := play(t, s, usl(1, rapid.Float64Range(0, 0.2).Draw(t, "sigma"), math.Pow(10, rapid.Float64Range(-6, -1).Draw(t, "log kappa"))))
		if len(points) >= mostLoads {
			t.Skip("ended by the bound")
		}
		tried := loads(points)
		slices.Sort(tried)
		at := slices.Index(tried, best)
		for _, i := range []int{at - 1, at + 1} {
			if i >= 0 && i < len(tried) && math.Abs(tried[i]-best) > max(1, nearPct*best/100) {
				t.Fatalf("beside the best load %g lies %g: %v", best, tried[i], tried)
			}
		}
	})
}

// TestGainsWithinTheNoiseEndTheGrowth: where two results can't be told apart,
// more load is not known to pay.
func TestGainsWithinTheNoiseEndTheGrowth(t *testing.T) {
	points := []Point{{Load: 1, Value: 100, RelErrPct: 6}, {Load: 2, Value: 108, RelErrPct: 8}} // noise of the ratio: 10 %
	load, done, why := users(1024).Next(points)
	if load != 3 || done || !strings.Contains(why, "only 2 of at least 6") {
		t.Errorf("%g, %v, %q", load, done, why)
	}
	points[1].RelErrPct = 4 // and of this: 7.2 %
	load, done, why = users(1024).Next(points)
	if load != 4 || done || why != "throughput grew by 8 % from 1 to 2 users: on to 4 users" {
		t.Errorf("%g, %v, %q", load, done, why)
	}
}

// TestALateRiseIsFollowed: a response that stands still at first, as where
// commits begin to share a flush, is not given up for the loads that fill the
// curve.
func TestALateRiseIsFollowed(t *testing.T) {
	_, best, whys := play(t, users(1024), func(n float64) Point {
		if n <= 4 {
			return Point{Value: 100}
		}
		return usl(25, 0.01, 0.0005)(n)
	})
	if best < 30 || best > 60 { // the peak of the later curve is at 44
		t.Errorf("best %g because:\n%s", best, strings.Join(whys, "\n"))
	}
}

func TestOfTwoResultsOfOneLoadTheLaterCounts(t *testing.T) {
	load, done, _ := users(1024).Next([]Point{{Load: 1, Broke: "errors 3 % > 1 %"}, {Load: 1, Value: 5}})
	if load != 2 || done {
		t.Errorf("%g, %v", load, done)
	}
}

func TestEveryDecisionHasItsReason(t *testing.T) {
	s := users(1024)
	broke := Point{Load: 2, Value: 190, Broke: "p95 of order 600ms > 500ms"}
	for _, c := range []struct {
		points []Point
		load   float64
		want   string
	}{
		{nil, 1, "the search begins with 1 user"},
		{[]Point{{Load: 1, Value: 100}}, 2, "1 user alone tells nothing: on to 2 users"},
		{[]Point{{Load: 1, Value: 0}, {Load: 2, Value: 10}}, 4, "throughput began from 1 to 2 users: on to 4 users"},
		{[]Point{{Load: 8, Value: 100}, {Load: 16, Value: 101.2}}, 11, "throughput grew by only 1.2 % from 8 to 16 users: on to 11 users, between the best, 16, and 8"},
		{[]Point{{Load: 8, Value: 100}, {Load: 16, Value: 90}}, 11, "throughput did not grow from 8 to 16 users: on to 11 users, between the best, 8, and 16"},
		{[]Point{{Load: 8, Value: 100}, {Load: 16, Value: 90}, {Load: 11, Value: 95}}, 9, "8 users gave the most so far: on to 9 users, between the best, 8, and 11"},
		{[]Point{{Load: 1, Value: 100}, broke}, 3, "1 user gave the most and its neighbours are near, but only 2 of at least 6 loads were tried: on to 3 users"},
		{[]Point{{Load: 4, Value: 100}, {Load: 8, Value: 190, Broke: "cpu 95 % > 90 %"}}, 6, "the growth ends at 8 users (cpu 95 % > 90 %): on to 6 users, between the best, 4, and 8"},
		{[]Point{{Load: 1, Value: math.NaN()}}, 0, "no result at the first load, 1 user: no smaller load may be tried"},
	} {
		load, _, why := s.Next(c.points)
		if load != c.load || why != c.want {
			t.Errorf("%v:\n%g, %q, want\n%g, %q", c.points, load, why, c.load, c.want)
		}
	}
	rate := Search{Knob: "rate", From: 1.0 / 3, To: 250_000, GainPct: 3, Loads: 6}
	for _, c := range []struct {
		points []Point
		want   string
	}{
		{nil, "the search begins with 0.3333/s"},
		{[]Point{{Load: 100_000, Value: 1}}, "100000/s alone tells nothing: on to 200000/s"},
	} {
		if _, _, why := rate.Next(c.points); why != c.want {
			t.Errorf("%v: %q, want %q", c.points, why, c.want)
		}
	}
}

// TestRoomCountsTheLoadsThatThereAre compares with counting.
func TestRoomCountsTheLoadsThatThereAre(t *testing.T) {
	for _, c := range []struct {
		knob           string
		from, to       float64
		enough, expect int
	}{
		{"users", 1, 1, 6, 1},
		{"users", 1, 6, 6, 6},
		{"instances", 1, 64, 6, 6},
		{"rate", 100, 110, 6, 2},
		{"rate", 0.1, 0.15, 16, 6},
		{"rate", 95, 120, 16, 8},  // 95 to 99, 100, 110, 120
		{"rate", 123, 131, 16, 3}, // 123, 130, 131
		{"rate", 1, 10, 1000, 91},
	} {
		s := Search{Knob: c.knob, From: c.from, To: c.to}
		if got := s.room(c.enough); got != c.expect {
			t.Errorf("%s from %g to %g: room for %d, want %d", c.knob, c.from, c.to, got, c.expect)
		}
	}
}
