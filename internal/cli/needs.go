package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/studies"
)

// size is how large a machine is, as far as scaling goes.
func size(m record.Machine) study.Size {
	return study.Size{CPUs: float64(m.Threads), Memory: unit.Bytes(m.MemBytes)}
}

// needs lists what the study's question needs and this machine lacks.
func (j *job) needs(e *env) []problem {
	n := j.plan.Study.Needs
	m := observe.Machine(e.cache)
	perCore := 0
	for _, s := range j.cpus.Topology.Sockets {
		for _, c := range s.Cores {
			perCore = max(perCore, len(c.CPUs))
		}
	}
	var all []problem
	least := func(knob string, want, have int, what, remedy string) {
		if want > have {
			all = append(all, problem{fmt.Sprintf("%s: the study's question needs %d %s, and there are %d", knob, want, what, have), remedy})
		}
	}
	least("needs.cpus", n.CPUs, len(j.cpus.Allowed), "CPUs", "run it on a larger machine")
	least("needs.numa_nodes", n.NUMANodes, m.NUMANodes, "NUMA nodes", "run it on a machine with more sockets")
	least("needs.threads_per_core", n.ThreadsPerCore, perCore, "threads on a core", "turn hyper-threading on, or run it on a machine that has it")
	least("needs.hosts", n.Hosts, 1, "machines", "this build drives the one that it runs on")
	if memory := unit.Bytes(m.MemBytes); n.Memory > memory {
		all = append(all, problem{fmt.Sprintf("needs.memory: the study's question needs %s of memory, and there are %s", n.Memory.Human(), memory.Human()), "run it on a larger machine"})
	}
	if why := noKVM(); n.KVM && why != "" {
		all = append(all, problem{"needs.kvm: the study's question needs hardware virtualization: " + why, "run it on a machine with KVM, or with nested virtualization turned on"})
	}
	return append(all, j.needsProvider(n)...)
}

// needsProvider says why the study's provider is none that its question needs.
func (j *job) needsProvider(n study.Needs) []problem {
	name, wanted := "", true
	for _, c := range j.configs() {
		if !slices.Contains(n.Providers, c.Provider.Name) {
			name, wanted = c.Provider.Name, false
		}
	}
	if len(n.Providers) == 0 || wanted {
		return nil
	}
	remedy := "this build has none of them"
	for _, p := range catalog.Providers() {
		if slices.Contains(n.Providers, p.Name) {
			remedy = "provider: {name: " + p.Name + "}"
		}
	}
	return []problem{{fmt.Sprintf("needs.providers: the study's question needs provider %s, not %s", strings.Join(n.Providers, " or "), name), remedy}}
}

// noKVM says why this machine can't run virtual machines by its hardware, ""
// where it can.
func noKVM() string {
	if !libvirt.HasKVM() {
		return "this machine has no KVM that guests can use"
	}
	return ""
}

// aboutStudies tells which of the ready-made studies can run here. A server
// that is not there yet is no obstacle: the run fetches it.
func aboutStudies(e *env) (all []finding) {
	paths, err := studies.Paths()
	if err != nil {
		return []finding{{missing, "studies", err.Error(), "", false}}
	}
	for _, path := range paths {
		f := finding{State: ok, What: "study " + strings.TrimSuffix(path, ".yaml"), Found: "can run here"}
		if problems := studyProblems(e, path); len(problems) > 0 {
			f.State, f.Found, f.Remedy = missing, problems[0].What, problems[0].Remedy
			if n := len(problems) - 1; n > 0 {
				f.Found += fmt.Sprintf(" (and %s)", counted(n, "more reason"))
			}
		}
		all = append(all, f)
	}
	return all
}

// studyProblems are the reasons why a ready-made study can't run here.
func studyProblems(e *env, path string) []problem {
	file, source, err := readStudy(path)
	if err != nil {
		return []problem{{err.Error(), ""}}
	}
	j, err := newJob(e, file, source, study.Size{})
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return []problem{{first, "'loadstone plan " + strings.TrimSuffix(path, ".yaml") + "' tells more"}}
	}
	return j.problems(e)
}
