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
	"github.com/loadstone-perf/loadstone/internal/provider/external"
	"github.com/loadstone-perf/loadstone/internal/provider/twin"
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
	cpus     trial.CPUs
	noCPUs   error // why cpus is empty
	kind     workload.Kind
	engine   engine.Engine
	provider provider.Provider
	// providers are those of a study that varies them, by name; else nil.
	providers map[string]provider.Provider
	model     *twin.Twin          // in place of a machine; nil where the study runs on one
	install   engine.Installation // nil until located
	server    engine.Server       // that runs already; nil where the study names none, or until attached
	missing   error               // why there is no installation or server
	dataSize  unit.Bytes          // the largest golden state
	goldens   int                 // different golden states
}

// readStudy reads a study file, or a ready-made study by its name.
func readStudy(name string) (file string, source []byte, err error) {
	source, err = os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		path := strings.TrimSuffix(name, ".yaml") + ".yaml"
		if source, own := studies.Files.ReadFile(path); own == nil {
			return path, source, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\`) {
		return "", nil, usageError{fmt.Errorf("loadstone: there is neither a file nor a ready-made study %q: 'loadstone list' shows the studies", name)}
	}
	if err != nil {
		return "", nil, usageError{fmt.Errorf("loadstone: read study: %w", err)}
	}
	return name, source, nil
}

// newJob parses and plans a study: every fault in the file is an error now. A
// study that scales does so for the machine to, or, where that is zero, as it
// says itself.
func newJob(e *env, file string, source []byte, to study.Size) (*job, error) {
	known := catalog.Known()
	known.Machine, known.To = size(observe.Machine(e.cache)), to
	model, err := modelOf(source)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	if model != nil {
		known.Machine = hostSize(model.Model().Host)
		known.Providers = wholeCPUs(known.Providers, model.Virtual())
	}
	s, err := study.Parse(file, source, known)
	if err != nil {
		return nil, usageError{err}
	}
	plan, err := study.NewPlan(s)
	if err != nil {
		return nil, usageError{err}
	}
	j := &job{plan: plan}
	j.cpus, j.noCPUs = trial.FindCPUs()
	if err := j.find(s); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	if s.Base.Provider.Name == twin.Name || j.providers[twin.Name] != nil {
		if err := j.simulated(model); err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", file, err)}
		}
	}
	goldens := map[string]bool{}
	for _, c := range j.configs() {
		defs, err := trial.Definitions(j.kind, c)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", file, err)}
		}
		for _, d := range defs {
			goldens[d.DataKey] = true
			j.dataSize = max(j.dataSize, d.DataSize)
		}
	}
	j.goldens = len(goldens)
	return j, nil
}

// find finds what the study names in the catalogue. What varies there has no
// single name.
func (j *job) find(s *study.Study) error {
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
	if s.Base.Endpoint.URL != "" {
		j.provider = external.New(external.Server{})
	} else if j.provider == nil {
		j.findProviders()
	}
	for knob, missing := range map[string]bool{"workload.name": j.kind.New == nil, "engine.name": j.engine == nil, "provider.name": j.provider == nil} {
		if missing {
			return fmt.Errorf("the study varies %s, which this build can't do yet: run one study for each and compare them", knob)
		}
	}
	return nil
}

// findProviders finds the providers of a study that varies them.
func (j *job) findProviders() {
	j.providers = map[string]provider.Provider{}
	for _, c := range j.configs() {
		for _, x := range catalog.Providers() {
			if x.Name == c.Provider.Name && j.providers[x.Name] == nil {
				j.providers[x.Name] = x.New()
			}
		}
	}
	j.provider = j.of(j.configs()[0])
}

// of is the provider of c.
func (j *job) of(c study.Config) provider.Provider {
	if p, ok := j.providers[c.Provider.Name]; ok {
		return p
	}
	return j.provider
}

// problem is a reason why a study can't run here.
type problem struct {
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// locate finds the server program; with fetch it may be downloaded. A study
// with an endpoint is attached to its server instead.
func (j *job) locate(e *env, fetch bool, progress func(string)) {
	if j.model != nil {
		return // no server runs
	}
	if j.endpoint().URL != "" {
		j.attach(e)
		return
	}
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
	if j.endpoint().URL != "" {
		all = j.foreignProblems(e)
	} else if j.missing != nil {
		all = append(all, problem{j.missing.Error(), "install the server, or let Loadstone fetch it"})
	}
	if j.model != nil {
		all = append(all, j.needsHost()...)
	} else {
		all = append(all, j.needs(e)...)
	}
	all = append(all, j.shapes(e)...)
	for _, dir := range j.volumes(e) {
		if free := unit.Bytes(observe.Machine(dir).Disk.FreeBytes); free > 0 && free < j.diskNeeded() {
			all = append(all, problem{
				fmt.Sprintf("the study needs about %s of disk below %s, where %s are free", j.diskNeeded().Human(), dir, free.Human()),
				"free some space, or point --cache (or instance.data_volume) to another disk",
			})
		}
	}
	slices.SortStableFunc(all, func(a, b problem) int { return strings.Compare(a.What, b.What) })
	return slices.Compact(all)
}

// volumes are the directories below which instances and golden states lie.
func (j *job) volumes(e *env) (dirs []string) {
	for _, c := range j.configs() {
		for _, g := range c.Groups {
			dir := g.Shape.DataVolume
			if dir == "" {
				dir = e.cache
			}
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// shapes lists what stands in the way of the instances' shapes and of the CPUs
// that everybody gets.
func (j *job) shapes(e *env) (all []problem) {
	add := func(found []provider.Problem) {
		for _, p := range found {
			if x := (problem{p.Knob + ": " + p.Reason, p.Remedy}); !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	type place struct {
		provider string
		shape    provider.Shape
	}
	checked := map[place]bool{}
	for _, c := range j.configs() {
		if c.Driver != (study.Driver{}) && j.noCPUs != nil {
			add([]provider.Problem{{Knob: "driver", Reason: j.noCPUs.Error(), Remedy: "leave it out: the driver then shares all CPUs"}})
			continue
		}
		if c.Driver != (study.Driver{}) && engine.Inside(j.engine) {
			add([]provider.Problem{{Knob: "driver", Reason: "engine " + j.engine.Name() + " runs in the driver's own process", Remedy: "leave it out, and confine loadstone itself, as with taskset"}})
		}
		seating, problems := j.cpus.Seat(c)
		add(problems)
		if j.model == nil {
			add(j.unequipped(c))
		}
		for _, s := range seating.Shapes {
			if at := (place{c.Provider.Name, s}); !checked[at] {
				checked[at] = true
				add(j.of(c).Check(e.ctx, s))
			}
		}
		add(trial.EventProblems(e.ctx, j.of(c), c, seating.Shapes))
	}
	if j.model != nil {
		add(j.unmodelled())
	}
	return all
}

// unequipped lists what the shapes of c ask of the engine, where it knows
// nothing of it.
func (j *job) unequipped(c study.Config) (all []provider.Problem) {
	can, ok := j.engine.(engine.Equipped)
	for _, g := range c.Groups {
		if g.Shape.LogVolume != "" && (!ok || !can.LogApart()) {
			all = append(all, provider.Problem{Knob: "instance.log_volume", Reason: "engine " + j.engine.Name() + " can't keep its log apart from its data", Remedy: "instance.data_volume holds both"})
		}
		if g.Shape.LargePages != "" && (!ok || !can.LargePages()) {
			all = append(all, provider.Problem{Knob: "instance.large_pages", Reason: "engine " + j.engine.Name() + " can't be told whether to use large pages", Remedy: "leave it out"})
		}
	}
	return all
}

// diskNeeded is what golden states and the instances of one trial take: an
// instance grows by its log (up to max_wal_size and what it keeps) and the
// new rows.
func (j *job) diskNeeded() unit.Bytes {
	if j.endpoint().URL != "" || j.model != nil {
		return 0 // below the cache; the server's disk is not observed
	}
	const log = 2 * unit.GiB
	instances := 1
	for _, c := range j.configs() {
		instances = max(instances, c.Instances)
	}
	return unit.Bytes(j.goldens)*j.dataSize + unit.Bytes(instances)*(j.dataSize*3/2+log)
}

// onServer is diskNeeded on somebody else's server.
func (j *job) onServer() unit.Bytes {
	instances := 1
	for _, c := range j.configs() {
		instances = max(instances, c.Instances)
	}
	return unit.Bytes(j.goldens)*j.dataSize + unit.Bytes(instances)*j.dataSize*3/2
}

// overhead is the guess of what a trial takes beside driving, until trials
// have shown it: restore, start, stop, checks.
func (j *job) overhead() float64 {
	if j.model != nil {
		return 1
	}
	return 3 + float64(j.dataSize)/float64(300*unit.MiB)
}

// loadSeconds is the guess of what loading the golden states takes.
func (j *job) loadSeconds() float64 {
	if j.model != nil {
		return 0
	}
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
