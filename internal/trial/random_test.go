package trial_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/trial"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// seed returns the seed of a random test, which it prints: LOADSTONE_SEED
// repeats one.
func seed(t *testing.T) uint64 {
	n := uint64(clock.Real{}.Now().UnixNano())
	if text := os.Getenv("LOADSTONE_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("LOADSTONE_SEED=%d", n)
	return n
}

func TestAServerKilledAtAnyPointLeavesACorrectStudy(t *testing.T) {
	random := rng.At(seed(t))
	for range 3 {
		seq, pending := bench(t, twoTrials)
		// A trial tells of about 12 steps once its server runs.
		at, seen, killed := int(random.Between(1, 12)), 0, false
		seq.Bench.Progress = func(p trial.Progress) {
			pid, err := postmaster()
			if p.Trial != 1 || err != nil {
				return
			}
			if seen++; seen == at {
				killed = syscall.Kill(pid, syscall.SIGKILL) == nil
			}
		}
		if err := seq.Run(t.Context(), pending); err != nil {
			t.Fatal(err)
		}
		trials, err := seq.Dir.Trials()
		if err != nil {
			t.Fatal(err)
		}
		first, second := trials[0].Trial, trials[1].Trial
		// Killed while it was being stopped, a server has done its work.
		if killed && first.Status != record.Failed && !(first.Status == record.Finished && passed(first)) {
			t.Errorf("killed at step %d: trial 1 is %s (%s); want failed, or finished with all checks passed", at, first.Status, first.Reason)
		}
		if second.Status != record.Finished || !passed(second) {
			t.Errorf("killed at step %d: trial 2 is %s (%s); want finished, all checks passed", at, second.Status, second.Reason)
		}
		nothingLeft(t, seq.Bench.Cache)
	}
}

// TestChecksHoldAfterAnyInterleaving plays random numbers of users with random
// scripts, whose steps interleave at random, and runs the workload's checks
// after each history. The database is never restored: the tally grows.
func TestChecksHoldAfterAnyInterleaving(t *testing.T) {
	for _, mode := range []string{"strict", "compat"} {
		t.Run(mode, func(t *testing.T) {
			seq, _ := bench(t, "study: any\nworkload: {name: dvdstore, mode: "+mode+"}\nengine: {name: postgres}\nprovider: {name: native}\n")
			def, err := definition(seq)
			if err != nil {
				t.Fatal(err)
			}
			db := loaded(t, seq, def, 32)
			total := workload.Tally{Committed: map[string]int64{}, RolledBack: map[string]int64{}, Unknown: map[string]int64{}}
			history := uint64(0)
			rapid.Check(t, func(r *rapid.T) {
				history++ // shrinking repeats draws, but user names must be new
				users := rapid.IntRange(1, 12).Draw(r, "users")
				steps := rapid.IntRange(1, 40).Draw(r, "steps of each")
				s := rapid.Uint64().Draw(r, "seed")
				if err := play(t.Context(), db, def, users, steps, s^history<<32, &total); err != nil {
					r.Fatal(err)
				}
				found, err := trial.Checks(t.Context(), db, def, total)
				if err != nil {
					r.Fatal(err)
				}
				for _, c := range found {
					if !c.Passed {
						r.Fatalf("%s: found %d, want %d to %d (%s)", c.Name, c.Found, c.Least, c.Most, c.About)
					}
				}
			})
		})
	}
}

// play runs users side by side, each for some steps, and adds up what they did.
func play(ctx context.Context, db engine.Database, def *workload.Definition, users, steps int, seed uint64, total *workload.Tally) error {
	var wait sync.WaitGroup
	var mu sync.Mutex
	errs := make([]error, users)
	for u := range users {
		wait.Go(func() {
			own := workload.Tally{Committed: map[string]int64{}, RolledBack: map[string]int64{}}
			errs[u] = playOne(ctx, db, def, u, steps, seed, own)
			mu.Lock()
			defer mu.Unlock()
			for name, n := range own.Committed {
				total.Committed[name] += n
			}
			for name, n := range own.RolledBack {
				total.RolledBack[name] += n
			}
		})
	}
	wait.Wait()
	for i := range errs {
		if errs[i] != nil {
			return fmt.Errorf("user %d of %d: %w", i, users, errs[i])
		}
	}
	return nil
}

// attempts bounds how often one step meets a conflict.
const attempts = 100

func playOne(ctx context.Context, db engine.Database, def *workload.Definition, number, steps int, seed uint64, own workload.Tally) error {
	s, err := db.Open(ctx, def)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	user := def.NewUser(number, rng.At(seed, rng.Name("user"), uint64(number)))
	pause := rng.At(seed, rng.Name("pause"), uint64(number))
	for range steps {
		for range pause.IntN(20) { // others come in between
			runtime.Gosched()
		}
		step := user.Next()
		name := step.Transaction.Name
		var out workload.Outcome
		for range attempts {
			out, err = s.Do(ctx, step.Transaction, step.Input)
			if !slices.Contains([]workload.Class{workload.Retry, workload.Deadlock}, out.Class) {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		counts := map[workload.Status]map[string]int64{workload.Committed: own.Committed, workload.RolledBack: own.RolledBack}
		counts[out.Status][name]++
		user.Done(out)
	}
	return nil
}
