package cli

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
	"github.com/loadstone-perf/loadstone/internal/twin/scenario"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

type calibrateCommand struct {
	Dirs    []string `arg:"" help:"Result directories of real trials on one machine."`
	Output  string   `short:"o" placeholder:"FILE" help:"Host file to write, such as hosts/mine.yaml; printed where omitted."`
	Name    string   `placeholder:"NAME" help:"Name of the host; where omitted, that of the machine."`
	Invalid bool     `help:"Use trials that the validity gate refused, too; the file then says so."`
	Seed    uint64   `default:"1" help:"Seed of the bootstrap behind the intervals."`
}

// Help is shown by 'loadstone calibrate --help'.
func (calibrateCommand) Help() string {
	return `Describes the machine that the trials ran on as a host file, and fits to them what each transaction costs there: processor work, bytes of the log, I/O, each with a 90 % interval. What the trials can't tell is taken from a stated range and marked as assumed. 'loadstone whatif' and 'loadstone run --on' plan with the file.

Trials with several loads tell most: one with a single user, and some up to saturation. Nothing is run.

Exit codes: 0 good, 1 failed, 2 wrong usage, 3 the validity gate refused every trial.

Examples:
  loadstone run order-entry --out results/one-cpu
  loadstone calibrate results/one-cpu --output hosts/mine.yaml
  loadstone whatif hosts/mine.yaml order-entry --set instance.cpus=1,2,4`
}

// Run calibrates.
func (c calibrateCommand) Run(e *env) error {
	g := &gathering{seed: c.Seed, invalid: c.Invalid}
	for _, path := range c.Dirs {
		if err := g.add(path); err != nil {
			return err
		}
	}
	for _, why := range g.refused {
		_, _ = fmt.Fprintln(e.stderr, "left out:", why)
	}
	if len(g.order) == 0 {
		if g.byGate > 0 {
			return invalidError{errors.New("no trial is left to calibrate with (--invalid uses those that the gate refused, and says so)")}
		}
		return errors.New("no trial is left to calibrate with")
	}
	var fits []*demand.Fitted
	for _, key := range g.order {
		f, err := demand.Fit(*g.groups[key])
		if err != nil {
			return err
		}
		fits = append(fits, f)
	}
	m := g.machine(c.Name)
	file, err := m.Calibrated(fits)
	if err != nil {
		return err
	}
	again, err := g.reproduce(e.ctx, file)
	if err != nil {
		return err
	}
	text, err := demand.Format(file)
	if err != nil {
		return err
	}
	if c.Output == "" {
		_, err := e.stdout.Write(text)
		return err
	}
	if err := os.WriteFile(c.Output, text, 0o644); err != nil {
		return fmt.Errorf("write the host file: %w", err)
	}
	calibrated(e, file, fits, again)
	e.printf("%s\n", c.Output)
	return nil
}

// gathering is trials sorted by what they are of.
type gathering struct {
	seed    uint64
	invalid bool
	groups  map[string]*demand.Observed
	defs    map[string]*workload.Definition // by the keys of groups, as is driven
	driven  map[string][]drivenTrial
	order   []string // keys of groups as they came
	found   record.Machine
	refused []string // which trials, and why
	byGate  int      // of refused, those that the gate did not let pass
}

// add reads a result directory.
func (g *gathering) add(path string) error {
	dir, err := record.Open(path)
	if err != nil {
		return err
	}
	result, err := analyse.Load(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	m := dir.Study().Machine
	if g.groups == nil {
		g.groups, g.found = map[string]*demand.Observed{}, m
		g.defs, g.driven = map[string]*workload.Definition{}, map[string][]drivenTrial{}
	} else if o := g.found; m.CPUModel != o.CPUModel || m.Threads != o.Threads || m.Sockets != o.Sockets || m.Cores != o.Cores {
		return fmt.Errorf("%s ran on another machine (%s, %d threads) than the first directory (%s, %d threads)", path, m.CPUModel, m.Threads, o.CPUModel, o.Threads)
	}
	readers, err := dir.Trials()
	if err != nil {
		return err
	}
	for i, t := range result.Trials {
		if why := g.unfit(&t, &readers[i].Trial); why != "" {
			g.refused = append(g.refused, fmt.Sprintf("%s: %s", filepath.Join(path, t.Dir), why))
			continue
		}
		if err := g.take(path, &t, readers[i]); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(path, t.Dir), err)
		}
	}
	return nil
}

// unfit says why a trial can't be calibrated with; "" where it can.
func (g *gathering) unfit(t *analyse.Trial, m *record.Trial) string {
	if t.Simulated {
		return "it was simulated, so that it says nothing of this machine"
	}
	if !t.Counts {
		return "it did not finish: " + t.Status + " " + t.Reason
	}
	if len(m.Instances) != 1 {
		return fmt.Sprintf("it has %d instances, whose work can't be told apart", len(m.Instances))
	}
	if m.Engine.InProcess {
		return "its database ran inside the driver's process, whose work can't be told from the database's"
	}
	for _, gate := range t.Gates {
		if !gate.Passed && !g.invalid {
			g.byGate++
			return fmt.Sprintf("INVALID: %s: %s, %s wanted", gate.Name, gate.Found, gate.Want)
		}
	}
	return ""
}

// take adds a trial to its group.
func (g *gathering) take(path string, t *analyse.Trial, r *record.Reader) error {
	m := &r.Trial
	key := fmt.Sprint(m.Workload.Name, "\x00", m.Engine.Name, "\x00", m.Engine.Version)
	for _, p := range slices.Sorted(maps.Keys(m.Workload.Params)) {
		key += "\x00" + p + "=" + m.Workload.Params[p]
	}
	o := g.groups[key]
	if o == nil {
		d, err := definition(m.Workload)
		if err != nil {
			return err
		}
		o = g.describe(m, d)
		g.groups[key], g.defs[key] = o, d
		g.order = append(g.order, key)
	}
	for _, gate := range t.Gates {
		o.Invalid = o.Invalid || !gate.Passed
	}
	seen := demand.Trial{
		Name: filepath.ToSlash(filepath.Join(path, t.Dir)), CPUs: float64(t.CPUs), Alone: alone(t, m),
		Seconds: seconds(t, o.Classes, float64(g.found.Threads)), Latched: math.NaN(),
	}
	for k := range o.Classes {
		response := math.NaN()
		if k < len(t.Types) {
			response = float64(t.Types[k].MeanMs) / 1e3
		}
		seen.Response = append(seen.Response, response)
	}
	if s, err := r.States("instance-1/waits"); err == nil {
		seen.Latched = 0
		for i, at := range s.At {
			if at >= t.Window.Start && at <= t.Window.End {
				seen.Polls += s.Polls[i]
			}
		}
		for _, w := range t.Waits {
			if strings.HasPrefix(w.State, "Latch:") {
				seen.Latched += w.Mean
			}
		}
	}
	o.Trials = append(o.Trials, seen)
	g.driven[key] = append(g.driven[key], drivenBy(t, m))
	return nil
}

// alone says whether transactions of a trial hardly ever met: one user, or
// arrivals that leave the instance idle for most of the time.
func alone(t *analyse.Trial, m *record.Trial) bool {
	const quietPct = 20
	if m.Load.RatePerS == 0 || m.Load.Extra > 0 {
		return m.Load.Users == 1 && m.Load.Extra == 0
	}
	for _, u := range t.Usage {
		if u.Name == "instance CPU" {
			return u.Value < quietPct
		}
	}
	return false
}

// describe begins a group with what the workload says of its transactions.
func (g *gathering) describe(m *record.Trial, d *workload.Definition) *demand.Observed {
	o := &demand.Observed{
		Name: m.Workload.Name, Engine: m.Engine.Name, Version: m.Engine.Version, Mode: scenario.Mode(d),
		Params: m.Workload.Params, GHz: nominalGHz(g.found), Seed: g.seed,
	}
	described := scenario.Assume(d)
	for i, t := range d.Transactions {
		o.Classes = append(o.Classes, t.Name)
		work, log, trips := 1.0, 0.0, 1.0
		if i < len(d.Access) {
			work, log, trips = described.Classes[i].Compute+described.Classes[i].Memory, d.LogBytes(d.Access[i]), d.Access[i].RoundTrips
		}
		o.Work, o.LogBytes, o.Trips = append(o.Work, work), append(o.LogBytes, log), append(o.Trips, trips)
	}
	return o
}

// definition is the workload that a trial ran.
func definition(w record.Workload) (*workload.Definition, error) {
	for _, k := range catalog.Workloads() {
		if k.Name != w.Name {
			continue
		}
		v, err := unit.NewValues(k.Params, w.Params)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", w.Name, err)
		}
		return k.New(v, 1)
	}
	return nil, fmt.Errorf("this build has no workload %q", w.Name)
}

// nominalGHz is the nominal frequency of a machine: that in the model's name,
// else what the system shows, else a usual one.
func nominalGHz(m record.Machine) float64 {
	if _, at, ok := strings.Cut(m.CPUModel, "@ "); ok {
		if f, err := strconv.ParseFloat(strings.TrimSuffix(at, "GHz"), 64); err == nil && f > 0.1 && f < 10 {
			return f
		}
	}
	if f := math.Round(m.MHz/10) / 100; f >= 0.1 && f <= 10 {
		return f
	}
	const usual = 2.5
	return usual
}

// machine is what the records say of it.
func (g *gathering) machine(name string) demand.Machine {
	m := g.found
	if name == "" {
		name = m.Host
	}
	if name == "" {
		name = "mine"
	}
	about := []string{m.CPUModel, m.OS, m.Kernel}
	if m.Hypervisor != "" {
		about = append(about, "itself a virtual machine: "+m.Hypervisor)
	}
	if len(m.Caches) > 0 {
		about = append(about, "caches "+strings.Join(m.Caches, ", "))
	}
	return demand.Machine{
		Name: name, About: strings.Join(slices.DeleteFunc(about, func(s string) bool { return s == "" }), "; "), Model: m.CPUModel,
		Sockets: m.Sockets, Cores: m.Cores, Threads: m.Threads, GHz: nominalGHz(m), Memory: unit.Bytes(m.MemBytes),
		Disk: unit.Bytes(m.Disk.SizeBytes), Rotational: m.Disk.Rotational, Fsync: 1e3 * m.Disk.FsyncUs,
	}
}
