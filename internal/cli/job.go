package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/trial"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/studies"
)

// job is a study that was found to be right, with what runs it.
type job struct {
	plan     *study.Plan
	kind     workload.Kind
	engine   engine.Engine
	provider provider.Provider
	install  engine.Installation // nil until located
	missing  error               // why there is no installation
	dataSize unit.Bytes          // the largest golden state
	goldens  int                 // different golden states
}

// readStudy reads a study file, or a ready-made study by its name.
func readStudy(name string) (file string, source []byte, err error) {
	source, err = os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\`) {
		if source, own := studies.Files.ReadFile(strings.TrimSuffix(name, ".yaml") + ".yaml"); own == nil {
			return strings.TrimSuffix(name, ".yaml") + ".yaml", source, nil
		}
		return "", nil, usageError{fmt.Errorf("loadstone: there is neither a file nor a ready-made study %q: 'loadstone list' shows the studies", name)}
	}
	if err != nil {
		return "", nil, usageError{fmt.Errorf("loadstone: read study: %w", err)}
	}
	return name, source, nil
}

// newJob parses and plans a study: every fault in the file is an error now.
func newJob(file string, source []byte) (*job, error) {
	s, err := study.Parse(file, source, catalog.Known())
	if err != nil {
		return nil, usageError{err}
	}
	plan, err := study.NewPlan(s)
	if err != nil {
		return nil, usageError{err}
	}
	j := &job{plan: plan}
	for _, k := range catalog.Workloads() {
		if k.Name == s.Base.Workload.Name {
			j.kind = k
		}
	}
	for _, x := range catalog.Engines() {
		if x.Name == s.Base.Engine.Name {
			j.engine = x.New()
		}
	}
	for _, x := range catalog.Providers() {
		if x.Name == s.Base.Provider.Name {
			j.provider = x.New()
		}
	}
	goldens := map[string]bool{}
	for _, c := range j.configs() {
		d, err := trial.Definition(j.kind, c)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", file, err)}
		}
		goldens[d.DataKey] = true
		j.dataSize = max(j.dataSize, d.DataSize)
	}
	j.goldens = len(goldens)
	return j, nil
}

// problem is a reason why a study can't run here.
type problem struct {
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// locate finds the server program; with fetch it may be downloaded.
func (j *job) locate(e *env, fetch bool, progress func(string)) {
	versions := map[string]bool{}
	all := j.configs()
	for _, c := range all {
		versions[c.Version] = true
	}
	if len(versions) > 1 {
		j.missing = fmt.Errorf("the study varies engine.version, which this build can't do yet: run one study for each version and compare them")
		return
	}
	j.install, j.missing = j.engine.Locate(e.ctx, engine.Want{
		Version: all[0].Version, Cache: filepath.Join(e.cache, "servers"), Fetch: fetch, Progress: progress,
	})
}

// problems lists all that stands in the way, before anything is started.
func (j *job) problems(e *env) (all []problem) {
	if j.missing != nil {
		all = append(all, problem{j.missing.Error(), "install the server, or let Loadstone fetch it"})
	}
	for _, c := range j.configs() {
		s := c.Shape
		for _, p := range j.provider.Check(e.ctx, provider.Shape{CPUs: s.CPUs, CPUSet: s.CPUSet, Memory: s.Memory, CPUShares: s.CPUShares}) {
			all = append(all, problem{p.Knob + ": " + p.Reason, p.Remedy})
		}
	}
	if free := unit.Bytes(observe.Machine(e.cache).Disk.FreeBytes); free > 0 && free < j.diskNeeded() {
		all = append(all, problem{
			fmt.Sprintf("the study needs about %s of disk below %s, where %s are free", j.diskNeeded().Human(), e.cache, free.Human()),
			"free some space, or point --cache to another disk",
		})
	}
	slices.SortStableFunc(all, func(a, b problem) int { return strings.Compare(a.What, b.What) })
	return slices.Compact(all)
}

// diskNeeded is what golden states and the instances of one trial take: an
// instance grows by its log (up to max_wal_size and what it keeps) and the
// new rows.
func (j *job) diskNeeded() unit.Bytes {
	const log = 2 * unit.GiB
	instances := 1
	for _, c := range j.configs() {
		instances = max(instances, c.Instances)
	}
	return unit.Bytes(j.goldens)*j.dataSize + unit.Bytes(instances)*(j.dataSize*3/2+log)
}

// overhead is the guess of what a trial takes beside driving, until trials
// have shown it: restore, start, stop, checks.
func (j *job) overhead() float64 { return 3 + float64(j.dataSize)/float64(300*unit.MiB) }

// loadSeconds is the guess of what loading the golden states takes.
func (j *job) loadSeconds() float64 {
	return float64(j.goldens) * (4 + float64(j.dataSize)/float64(40*unit.MiB))
}

// driven is the time for which a trial of cell drives load.
func driven(c study.Config) float64 {
	return (c.Run.Ramp + c.Run.Warmup + c.Run.Measure).Seconds()
}

// records are trials of the plan as records hold them.
func (j *job) records(trials []study.Trial) (out []record.Planned) {
	for _, t := range trials {
		out = append(out, record.Planned{
			Trial: t.Number, Block: t.Block, Cell: t.Cell + 1, Seed: t.Seed, Dir: t.Dir,
			Factors: recordFactors(j.plan.Cells[t.Cell].Factors),
		})
	}
	return out
}

func recordFactors(from []study.Factor) []record.Factor {
	out := []record.Factor{}
	for _, f := range from {
		out = append(out, record.Factor{Knob: f.Knob, Value: f.Value})
	}
	return out
}

// configs are all configurations that are known beforehand; those of a search
// lack its load.
func (j *job) configs() (out []study.Config) {
	for _, c := range slices.Concat(j.plan.Bases, j.plan.Cells) {
		out = append(out, c.Config)
	}
	return out
}

// label is a cell's name for people: "users = 4, instance.cpus = 2".
func label(factors []record.Factor) string {
	var parts []string
	for _, f := range factors {
		parts = append(parts, f.Knob+" = "+f.Value)
	}
	if len(parts) == 0 {
		return "the only configuration"
	}
	return strings.Join(parts, ", ")
}
