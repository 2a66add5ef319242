package analyse

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// What the gates allow.
const (
	mostResidualPct = 2.0  // of Little's law, beside what the edges explain
	mostDriverPct   = 80.0 // of the driver's CPU allowance
	mostLateUs      = 1000 // 99th percentile of lateness in open loop
	mostStealPct    = 2.0  // of the machine's CPUs, where the study names no limit
	mostOtherPct    = 10.0 // likewise, for processes that are none of ours
)

// The gates on what others did to the machine.
const (
	gateSteal = "steal"
	gateQuiet = "machine quiet"
)

// judged is what the gates look at: a trial's record, its window and what was
// found in it.
type judged struct {
	raw
	limits record.Limits
	window Window
	rows   []record.Interval // in the window, instances joined
	found  []sample          // by series, in the window
	usage  []Resource
	late   Number // 99th percentile of lateness in µs
}

// gates judges a trial: each condition with what was found and what is
// wanted. Conditions that do not apply to the trial are left out: Little's
// law in open loop, and lateness in closed loop. Of those that concern a machine
// or the driver, a simulated trial says that they do not apply. A trial that did
// not finish fails the first
// and is judged no further.
func gates(j judged) []Gate {
	out := []Gate{{
		Name: "finished", Passed: j.trial.Status == record.Finished,
		Found: standing(j.raw), Want: "finished",
	}}
	if !out[0].Passed {
		return out
	}
	out = append(out, j.work(), j.checks(), j.errors(), j.configuration())
	if j.window.Tested {
		out = append(out, j.steady())
	}
	for _, judge := range []func() (Gate, bool){j.mix, j.responses} {
		if g, applies := judge(); applies {
			out = append(out, g)
		}
	}
	machine := []Gate{}
	if j.trial.Load.RatePerS > 0 {
		machine = append(machine, j.lateness())
	} else {
		out = append(out, j.little())
	}
	machine = append(machine, j.headroom(), j.stolen(), j.alone())
	if j.trial.Simulated {
		for i := range machine {
			machine[i] = Gate{Name: machine[i].Name, Passed: true, Found: "the trial was simulated", Want: "does not apply: no driver and no machine were in it"}
		}
	}
	return append(out, machine...)
}

// standing says in words where a trial stands.
func standing(r raw) string {
	switch {
	case r.missing || r.trial.Status == "":
		return "never begun"
	case r.cutShort:
		return "cut short"
	}
	return string(r.trial.Status)
}

// work demands that something was measured at all.
func (j judged) work() Gate {
	n := counted(total(j.rows, metricSeries(j.trial.Workload)), j.trial.Workload.Metric)
	return Gate{
		Name: "work done", Passed: n > 0,
		Found: fmt.Sprintf("%s counted in %s s", figure(n), figure(j.window.End-j.window.Start)), Want: "at least one",
	}
}

// checks demands that every check on the database passed.
func (j judged) checks() Gate {
	all := 0
	var bad []string
	for _, i := range j.trial.Instances {
		all += len(i.Checks)
		for _, c := range i.Checks {
			if !c.Passed {
				bad = append(bad, fmt.Sprintf("%s found %d", c.Name, c.Found))
			}
		}
	}
	g := Gate{Name: "checks", Passed: len(bad) == 0, Want: "all pass", Found: count(all, "check") + " passed"}
	if len(bad) > 0 {
		g.Found = fmt.Sprintf("%d of %d failed: %s", len(bad), all, strings.Join(bad, ", "))
	}
	return g
}

// errors bounds the part of transactions in the window that ended in one.
func (j judged) errors() Gate {
	var bad, all int64
	for i := range j.trial.Workload.Types {
		s := total(j.rows, i)
		bad += failed(s)
		all += failed(s) + s.Committed + s.RolledBack
	}
	pct := 0.0
	if all > 0 {
		pct = 100 * float64(bad) / float64(all)
	}
	return Gate{
		Name: "errors", Passed: pct <= j.limits.ErrorsPct,
		Found: fmt.Sprintf("%s of %s transactions failed (%s)", figure(float64(bad)), figure(float64(all)), percent(pct)),
		Want:  fmt.Sprintf("at most %s", percent(j.limits.ErrorsPct)),
	}
}

// configuration demands that every setting and knob reads back as intended.
func (j judged) configuration() Gate {
	all := 0
	var bad []string
	for _, i := range j.trial.Instances {
		for _, k := range slices.Concat(i.Shape, i.Setting) {
			all++
			if !k.Matches {
				bad = append(bad, fmt.Sprintf("%s is %s instead of %s", k.Name, k.Effective, k.Intended))
			}
		}
	}
	g := Gate{Name: "configuration", Passed: len(bad) == 0, Want: "all as intended", Found: fmt.Sprintf("%s as intended", count(all, "knob"))}
	if len(bad) > 0 {
		g.Found = strings.Join(bad, ", ")
	}
	return g
}

// steady demands that nothing speaks against a steady state in the window.
func (j judged) steady() Gate {
	g := Gate{Name: "steady", Passed: j.window.Steady, Found: "nothing against it", Want: "no trend and no shift that matters, and no warm-up to the end"}
	if !g.Passed {
		g.Found = j.window.Why
	}
	return g
}

// mix bounds how far the parts of the types stray from those stated: the
// tolerance, and three standard errors of a part of so many transactions,
// which a short window strays by chance.
func (j judged) mix() (Gate, bool) {
	counts, all := make([]float64, len(j.trial.Workload.Types)), 0.0
	for i := range counts {
		s := total(j.rows, i)
		counts[i] = float64(s.Committed + s.RolledBack + failed(s))
		all += counts[i]
	}
	g := Gate{Name: "mix", Passed: true, Want: "every part as stated"}
	applies := false
	worst := -1.0
	for i, t := range j.trial.Workload.Types {
		if t.Share <= 0 || all == 0 {
			continue
		}
		applies = true
		part := t.Share / 100
		allowed := t.ShareTolerance + 300*math.Sqrt(part*(1-part)/all)
		off := math.Abs(100*counts[i]/all - t.Share)
		if off/allowed > worst {
			worst = off / allowed
			g.Found = fmt.Sprintf("%s is %.2f %%", t.Name, 100*counts[i]/all)
			g.Want = fmt.Sprintf("%.2f ± %.2f %%", t.Share, allowed)
			g.Passed = off <= allowed
		}
	}
	return g, applies
}

// responses demands that no type exceeded a limit that binds. A type of which
// too few were done for its percentile to be known is not judged.
func (j judged) responses() (Gate, bool) {
	g := Gate{Name: "response limits", Passed: true, Want: "every type within its limit"}
	applies, worst := false, -1.0
	for i, t := range j.trial.Workload.Types {
		if !t.Binding || t.LimitSeconds <= 0 || i >= len(j.found) {
			continue
		}
		took := j.found[i].response.at(t.Percentile)
		if !took.OK() {
			continue
		}
		applies = true
		if part := float64(took) / (1e3 * t.LimitSeconds); part > worst {
			worst = part
			g.Found = fmt.Sprintf("p%g of %s is %s ms", t.Percentile, t.Name, figure(float64(took)))
			g.Want = fmt.Sprintf("at most %s ms", figure(1e3*t.LimitSeconds))
			g.Passed = part <= 1
		}
	}
	return g, applies
}

// little checks Little's law in a closed loop: N users are busy or thinking
// at any time, so over a window of T seconds the times of all transactions,
// keying and thinking included, add up to N·T. What is missing is time that
// the driver did not account for. Users whom a profile of the load leaves idle
// are not among the N; nor are those that the workload adds, who wait for work
// of others instead of making it, and what they did is left out.
//
// Work counts where it ended, so what was under way at the start of the
// window comes in and what was at its end stays out: for each of N users the
// difference of two ages. Three standard deviations of their sum,
// 3·√(2N)·s ÷ (N·T), are allowed for, with s that of an age: of the response
// times as they were found, stalls included, and of think times as if they
// were exponential. So is the time of failed work, which is not in the sums,
// at the mean of other work.
func (j judged) little() Gate {
	users, length := float64(j.users()), j.window.End-j.window.Start
	idle := 0.0
	for _, r := range j.rows {
		idle += float64(r.IdleSum) / 1e6 / length
	}
	var done, bad int64
	var busy, think time.Duration
	var response []dist
	for i, t := range j.trial.Workload.Types {
		if t.Extra {
			continue
		}
		s := total(j.rows, i)
		done += s.Committed + s.RolledBack
		bad += failed(s)
		busy += time.Duration(s.ResponseSum) * time.Microsecond
		think += time.Duration(s.ThinkSum) * time.Microsecond
		if i < len(j.found) {
			response = append(response, j.found[i].response)
		}
	}
	g := Gate{Name: "Little's law", Found: "no work to check it on", Want: fmt.Sprintf("a residual of at most %s", percent(mostResidualPct))}
	atWork := users - idle
	if done == 0 || length <= 0 || atWork <= 0 {
		return g
	}
	cycle := (busy + think).Seconds() / float64(done)
	age := merge(response...).ageDeviation() + think.Seconds()/float64(done)
	residual := 100 * stats.Little(atWork, float64(done)/length, cycle)
	edge := 100 * (3*math.Sqrt(2*users)*age + float64(bad)*cycle) / (atWork * length)
	g.Passed = math.Abs(residual) <= mostResidualPct+edge
	n := count(int(users), "user")
	if idle > 0 {
		n = fmt.Sprintf("%s of %s at work on average", figure(atWork), n)
	}
	g.Found = fmt.Sprintf("N = %s, X·(R+Z) = %s: a residual of %s", n, figure(float64(done)/length*cycle), percent(residual))
	g.Want = fmt.Sprintf("at most %s, and %s for the edges of the window", percent(mostResidualPct), percent(edge))
	return g
}

// users is how many users all instances together were asked for.
func (j judged) users() (n int) {
	l := j.trial.Load
	if !slices.ContainsFunc(j.trial.Instances, func(i record.Instance) bool { return i.Drive.Users > 0 }) {
		return l.Users * max(1, len(j.intervals))
	}
	for _, i := range j.trial.Instances {
		n += i.Drive.Users
	}
	return n
}

// Disturbed says which processes or neighbours outside the study took the
// machine during t, "" where none did enough to matter.
func (t Trial) Disturbed() string {
	var out []string
	for _, g := range t.Gates {
		if !g.Passed && (g.Name == gateSteal || g.Name == gateQuiet) {
			out = append(out, g.Name+": "+g.Found+", "+g.Want+" wanted")
		}
	}
	return strings.Join(out, "; ")
}

// lateness bounds how late an open loop started its work.
func (j judged) lateness() Gate {
	g := Gate{Name: "driver on time", Found: "not recorded", Want: "99 % of the work started within 1 ms of its time"}
	queued := slices.ContainsFunc(j.rows, func(r record.Interval) bool { return r.Backlog > 0 })
	switch {
	case j.late.OK():
		g.Found = fmt.Sprintf("p99 of lateness %s ms", figure(float64(j.late)/1e3))
		g.Passed = j.late <= mostLateUs
	case queued:
		// All work waited for a user, which is the database's lateness and in
		// the response times; the driver had no occasion to be late itself.
		g.Found, g.Passed = "no arrival found a free user", true
	}
	return g
}

// headroom demands that the driver had CPU to spare. Where the database runs in
// the driver's process, nothing tells what of its CPU is whose, so that a
// process without headroom may be a database at work: nothing is demanded, and
// the report says why.
func (j judged) headroom() Gate {
	if r, together := resource(j.usage, togetherCPU); together {
		return Gate{
			Name: "driver headroom", Passed: true, Want: "can't be judged: the database runs inside the driver's process",
			Found: fmt.Sprintf("driver and database together use %s of the CPU they may use", percent(r.Value)),
		}
	}
	r, known := resource(j.usage, driverCPU)
	g := Gate{Name: "driver headroom", Found: "the driver's CPU time was not recorded", Want: fmt.Sprintf("at most %s of the CPU it may use", percent(mostDriverPct))}
	if known {
		g.Found, g.Passed = fmt.Sprintf("%s of the CPU it may use", percent(r.Value)), r.Value <= mostDriverPct
	}
	return g
}

// notObserved is what gates on a machine say of one that is elsewhere.
const notObserved = "not observed: the server runs on another machine"

// stolen bounds the CPU that a hypervisor gave to others. A machine that
// counts no steal has none.
func (j judged) stolen() Gate {
	r, known := resource(j.usage, stealCPU)
	most := stated(j.limits.StealPct, mostStealPct)
	g := Gate{Name: gateSteal, Passed: true, Found: "not counted by this machine", Want: "at most " + percent(most)}
	if _, elsewhere := remote(j.trial); elsewhere {
		g.Found = notObserved
	} else if known {
		g.Found, g.Passed = percent(r.Value)+" of the machine's CPU", r.Value <= most
	}
	return g
}

// alone bounds the CPU of processes that are neither the instance nor the
// driver. Without an instance's own counters nothing can be told, which is
// said but is no fault.
func (j judged) alone() Gate {
	r, known := resource(j.usage, otherCPU)
	most := stated(j.limits.OtherCPUPct, mostOtherPct)
	g := Gate{Name: gateQuiet, Passed: true, Found: "can't be told: the instance's own CPU time was not recorded", Want: "at most " + percent(most)}
	if _, elsewhere := remote(j.trial); elsewhere {
		g.Found = notObserved
	} else if known {
		g.Found, g.Passed = fmt.Sprintf("other processes use %s of the machine's CPU", percent(r.Value)), r.Value <= most
	}
	return g
}

// stated is the limit that the study states, or the usual one.
func stated(limit, usual float64) float64 {
	if limit > 0 {
		return limit
	}
	return usual
}
