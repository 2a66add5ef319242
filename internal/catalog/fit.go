package catalog

import (
	"fmt"
	"slices"
	"sync"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// newFit returns what finds the parts of a configuration that do not go
// together. It remembers what it found of a workload on an engine: cells of a
// study share them.
func newFit() func(study.Config) []study.Misfit {
	var known sync.Map // by engine, workload and parameters
	return func(c study.Config) []study.Misfit {
		e, w, ok := pair(c)
		if !ok {
			return nil
		}
		out := confined(c, e)
		key := fmt.Sprintf("%s %s %q", c.Engine.Name, c.Workload.Name, fmt.Sprint(c.Workload.Params.All()))
		found, seen := known.Load(key)
		if !seen {
			found = rendered(c, e, w)
			known.Store(key, found)
		}
		return append(out, found.([]study.Misfit)...)
	}
}

// pair finds the engine and the workload of c; ok is false where it is not
// complete.
func pair(c study.Config) (e engine.Engine, w workload.Kind, ok bool) {
	engines, workloads := Engines(), Workloads()
	i := slices.IndexFunc(engines, func(e Engine) bool { return e.Name == c.Engine.Name })
	j := slices.IndexFunc(workloads, func(w workload.Kind) bool { return w.Name == c.Workload.Name })
	if i < 0 || j < 0 || len(c.Workload.Params.All()) != len(workloads[j].Params) {
		return nil, w, false
	}
	return engines[i].New(), workloads[j], true
}

// confined finds limits of an instance that would not reach a database inside
// Loadstone's own process: to run without them would not be what was asked for.
func confined(c study.Config, e engine.Engine) (out []study.Misfit) {
	if !engine.Inside(e) {
		return nil
	}
	s := c.Shape
	for knob, asked := range map[string]bool{
		"instance.cpus": s.CPUs > 0, "instance.cpuset": s.CPUSet != "", "instance.placement": s.Placement != "",
		"instance.mems": s.Mems != "", "instance.memory": s.Memory > 0, "instance.cpu_shares": s.CPUShares > 0,
		"instance.disk_read": s.ReadBytesPS > 0, "instance.disk_write": s.WriteBytesPS > 0,
		"instance.disk_read_ops": s.ReadOpsPS > 0, "instance.disk_write_ops": s.WriteOpsPS > 0,
	} {
		if asked {
			out = append(out, study.Misfit{
				Knobs:   []string{knob},
				Message: fmt.Sprintf("%s does not confine engine %s, which runs inside Loadstone's own process and not in the instance", knob, c.Engine.Name),
				Allowed: "a study without " + knob + "; confine loadstone itself instead, as with taskset or a control group",
			})
		}
	}
	slices.SortFunc(out, func(a, b study.Misfit) int { return slices.Compare(a.Knobs, b.Knobs) })
	if name := c.Provider.Name; name != "" && name != "native" {
		out = append(out, study.Misfit{
			Knobs:   []string{"provider.name"},
			Message: fmt.Sprintf("engine %s runs inside Loadstone's own process and can't run in an instance of provider %s", c.Engine.Name, name),
			Allowed: "provider: {name: native}",
		})
	}
	return out
}

// rendered finds what the workload sends and the engine has no form of.
func rendered(c study.Config, e engine.Engine, w workload.Kind) []study.Misfit {
	d, err := w.New(c.Workload.Params, 1)
	if err != nil {
		return nil // reported with the parameters
	}
	misfit := func(allowed string, err error) []study.Misfit {
		return []study.Misfit{{
			Knobs:   append(modes(w), "engine.name"),
			Message: fmt.Sprintf("engine %s can't run workload %s as the study has it: %v", c.Engine.Name, w.Name, err),
			Allowed: allowed,
		}}
	}
	if _, ok := d.Scripts[c.Engine.Name]; !ok && len(d.Scripts) > 0 {
		allowed := ""
		for _, knob := range modes(w) {
			allowed = knob + ": statements"
		}
		return misfit(allowed, fmt.Errorf("the workload has no procedures for this engine"))
	}
	dialect := e.Dialect()
	if _, _, err := dialect.Schema(d); err != nil {
		return misfit("", err)
	}
	statements := slices.Clone(d.Statements)
	for _, check := range d.Checks {
		statements = append(statements, check.Query)
	}
	for _, s := range statements {
		if _, err := dialect.Statement(s); err != nil {
			return misfit("", err)
		}
	}
	return nil
}

// modes are the parameters of w by which it does without procedures.
func modes(w workload.Kind) (knobs []string) {
	for _, p := range w.Params {
		if slices.Contains(p.Allowed, "statements") {
			knobs = append(knobs, "workload."+p.Name)
		}
	}
	return knobs
}
