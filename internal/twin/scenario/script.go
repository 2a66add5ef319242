package scenario

import (
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// load is i's load, with the workload's own scripts of users: the mix, the think
// times, the units of work, and who works beside the users asked for, are those
// of a real trial.
func load(i *Instance) dbms.Load {
	l := i.Load
	out := dbms.Load{Users: l.Users, Rate: l.RatePerS, Constant: l.Constant, Connections: l.Connections}
	users := l.Users
	if l.RatePerS > 0 {
		users = l.Connections
	}
	d := i.Workload
	if d.NewRun != nil {
		out.Extra = d.NewRun(users, 0).Extra()
	}
	out.Cast = func(seed uint64) func(int) dbms.Script {
		of := d.NewUser
		if d.NewRun != nil {
			of = d.NewRun(users, seed).User
		}
		return func(user int) dbms.Script {
			return newScript(d, of(user, rng.At(seed, rng.Name("user"), uint64(user))))
		}
	}
	return out
}

// script is a workload's user for the model.
type script struct {
	user  workload.User
	timed workload.Timed // user, where it wants to know the time; else nil
	d     *workload.Definition
	step  workload.Step // under way
}

func newScript(d *workload.Definition, u workload.User) *script {
	t, _ := u.(workload.Timed)
	return &script{user: u, timed: t, d: d}
}

// Next implements dbms.Script.
func (s *script) Next(now int64) dbms.Step {
	if s.timed != nil {
		s.step = s.timed.NextAt(time.Duration(now))
	} else {
		s.step = s.user.Next()
	}
	w := s.step
	out := dbms.Step{Class: -1, Due: int64(w.Due), Keying: int64(w.Keying), Think: int64(w.Think), Last: w.Last, Untimed: w.Untimed}
	if w.Transaction != nil {
		out.Class = w.Transaction.Index
	}
	return out
}

// Done implements dbms.Script.
func (s *script) Done(now int64, rolledBack bool) {
	o := workload.Outcome{Status: workload.Committed}
	if rolledBack {
		o.Status = workload.RolledBack
	}
	if answer := s.d.Access[s.step.Transaction.Index].Answer; answer != nil {
		answer(s.step.Input)
	}
	if s.timed != nil {
		s.timed.DoneAt(time.Duration(now), o)
		return
	}
	s.user.Done(o)
}
