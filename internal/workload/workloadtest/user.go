package workloadtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// stepsAtMost bounds the steps of one unit: a script that never ends a unit
// fails the suite rather than hanging it.
const stepsAtMost = 10_000

// player plays the script of one user against a connection.
type player struct {
	d    *workload.Definition
	user workload.User
	conn workload.Conn
}

func (s suite) player(d *workload.Definition, user int) *player {
	return &player{d: d, user: d.NewUser(user, stream(user)), conn: s.Conn(d)}
}

// step plays one step and returns it with how it ended.
func (p *player) step() (workload.Step, workload.Status, error) {
	st := p.user.Next()
	status, err := st.Transaction.Exec(context.Background(), p.conn, st.Input)
	o := workload.Outcome{Status: status}
	if err != nil {
		o = workload.Outcome{Status: workload.Failed, Class: workload.Fatal}
	}
	p.user.Done(o)
	return st, status, err
}

// unit plays to the end of a unit and calls f with each step.
func (p *player) unit(f func(workload.Step, workload.Status)) error {
	for range stepsAtMost {
		st, status, err := p.step()
		if err != nil {
			return fmt.Errorf("%s: %w", st.Transaction.Name, err)
		}
		if !slices.Contains(p.d.Transactions, st.Transaction) {
			return fmt.Errorf("transaction %s is not the definition's", st.Transaction.Name)
		}
		if st.Keying < 0 || st.Think < 0 {
			return fmt.Errorf("%s: keying %v, think %v", st.Transaction.Name, st.Keying, st.Think)
		}
		f(st, status)
		if st.Last || p.d.Unit == "" {
			return nil
		}
	}
	return fmt.Errorf("no unit ended within %d steps", stepsAtMost)
}

// recorder hashes what goes to a connection.
type recorder struct {
	workload.Conn
	h hash.Hash
}

// Run implements workload.Conn.
func (r recorder) Run(ctx context.Context, s *workload.Statement, args []workload.Value) (workload.Result, error) {
	r.h.Write([]byte(s.Name))
	encode(r.h, args)
	return r.Conn.Run(ctx, s, args)
}

// repeat sees that a user's calls follow from the stream alone, and that
// other users make others.
func (s suite) repeat(t *testing.T) {
	calls := func(user int) string {
		p := s.player(s.define(t), user)
		r := recorder{p.conn, sha256.New()}
		p.conn = r
		for range 200 {
			if err := p.unit(func(workload.Step, workload.Status) {}); err != nil {
				t.Fatal(err)
			}
		}
		return fmt.Sprintf("%x", r.h.Sum(nil))
	}
	if first, again := calls(3), calls(3); first != again {
		t.Error("user 3 made other calls with the same stream")
	}
	if calls(3) == calls(4) {
		t.Error("users 3 and 4 made the same calls")
	}
}

// mix compares counts with the stated shares by a chi-square test at 0.1 %.
func (s suite) mix(t *testing.T) {
	d := s.define(t)
	const users = 20
	counts := make([]float64, len(d.Transactions))
	total := 0.0
	for u := range users {
		p := s.player(d, u)
		for range s.Units / users {
			err := p.unit(func(st workload.Step, _ workload.Status) { counts[st.Transaction.Index]++; total++ })
			if err != nil {
				t.Fatalf("user %d: %v", u, err)
			}
		}
	}
	chi, free := 0.0, -1.0
	for i, tx := range d.Transactions {
		want := total * tx.Share / 100
		if want == 0 {
			if stated(d) && counts[i] > 0 {
				t.Errorf("%s has no share, and ran %v times", tx.Name, counts[i])
			}
			continue
		}
		t.Logf("%s: %.2f %% of %v steps, stated %.2f %%", tx.Name, 100*counts[i]/total, total, tx.Share)
		chi += (counts[i] - want) * (counts[i] - want) / want
		free++
	}
	if limit := chiSquare(free); free > 0 && chi > limit {
		t.Errorf("chi-square %.1f with %v degrees of freedom is over %.1f: the mix is not the stated one", chi, free, limit)
	}
}

// stated says whether d states a mix.
func stated(d *workload.Definition) bool {
	return slices.ContainsFunc(d.Transactions, func(tx *workload.Transaction) bool { return tx.Share > 0 })
}

// chiSquare is the 99.9 % quantile with k degrees of freedom, by Wilson and
// Hilferty (1931): k (1 − 2/9k + z √(2/9k))³, with z = 3.0902.
func chiSquare(k float64) float64 {
	a := 2 / (9 * k)
	return k * math.Pow(1-a+3.0902*math.Sqrt(a), 3)
}

// broken is a connection on which every n-th call fails.
type broken struct {
	workload.Conn
	n, calls int
}

var errBroken = errors.New("broken on purpose")

// Run implements workload.Conn.
func (b *broken) Run(ctx context.Context, s *workload.Statement, args []workload.Value) (workload.Result, error) {
	if b.calls++; b.calls%b.n == 0 {
		return workload.Result{}, errBroken
	}
	return b.Conn.Run(ctx, s, args)
}

// failures sees that errors come back as they are, that the step after a
// failed one begins a new unit, and that the user goes on to finish units.
func (s suite) failures(t *testing.T) {
	d := s.define(t)
	begins := map[*workload.Transaction]bool{}
	const units = 200
	whole := s.player(d, 1)
	counted := &broken{Conn: whole.conn, n: math.MaxInt}
	whole.conn = counted
	for p, n := whole, 0; n < units; n++ {
		first := true
		err := p.unit(func(st workload.Step, _ workload.Status) {
			begins[st.Transaction] = begins[st.Transaction] || first
			first = false
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	p := s.player(d, 0)
	// Some units fail and some do not, however many calls one takes.
	p.conn = &broken{Conn: p.conn, n: max(7, 2*counted.calls/units+1)}
	failed, finished, after := 0, 0, false
	for range 1_000 {
		st, _, err := p.step()
		if after && d.Unit != "" && !begins[st.Transaction] {
			t.Fatalf("%s follows a failed step, and begins no unit", st.Transaction.Name)
		}
		switch after = err != nil; {
		case errors.Is(err, errBroken):
			failed++
		case err != nil:
			t.Fatalf("%s: %v", st.Transaction.Name, err)
		case st.Last || d.Unit == "":
			finished++
		}
	}
	if failed == 0 || finished == 0 {
		t.Errorf("%d steps failed, %d units were finished", failed, finished)
	}
}

// allocations plays steps in the steady state: hundreds at a time, because the
// average of AllocsPerRun is rounded down.
func (s suite) allocations(t *testing.T) {
	p := s.player(s.define(t), 0)
	const steps = 500
	n := testing.AllocsPerRun(10, func() {
		for range steps {
			_, _, _ = p.step()
		}
	})
	if n > 0 {
		t.Errorf("%v allocations in %d steps", n, steps)
	}
}

// think compares the mean think time of a unit with the stated one, within
// five standard errors.
func (s suite) think(t *testing.T) {
	if s.Think.Params == nil {
		return
	}
	p := s.player(s.define(t, s.Think.Params), 0)
	sum, squares, n := 0.0, 0.0, 5_000.0
	for range int(n) {
		var unit time.Duration
		if err := p.unit(func(st workload.Step, _ workload.Status) { unit += st.Think }); err != nil {
			t.Fatal(err)
		}
		x := unit.Seconds()
		sum, squares = sum+x, squares+x*x
	}
	mean := sum / n
	sem := math.Sqrt((squares/n - mean*mean) / n)
	if want := s.Think.Mean.Seconds(); math.Abs(mean-want) > 5*sem {
		t.Errorf("a unit's think time is %.3f s ± %.3f s on average, stated %.3f s", mean, sem, want)
	}
}
