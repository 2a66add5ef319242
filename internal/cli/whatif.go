package cli

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/provider/twin"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/twin/predict"
)

type whatifCommand struct {
	Host      string   `arg:"" help:"Host file, best one from 'loadstone calibrate', or the name of a host that comes with the program."`
	Study     string   `arg:"" help:"Study file, or the name of a ready-made study: the workload, the engine, the shape of the instances and their load."`
	Instances string   `placeholder:"FROM..TO" help:"Numbers of instances to ask about: 1..40, or a list such as 4,8,12."`
	Set       []string `sep:"none" placeholder:"KNOB=V,V" help:"Values to ask about for a knob of the study (instance.cpus=2,4,8) or of the host (host.sockets, host.cores, host.threads, host.clock, host.memory, host.nodes; host.disk-times and host.log-times are factors). May be given several times."`
	Until     []string `sep:"none" placeholder:"CONDITION" help:"What must hold: 'p95 < 10ms', 'p99:TYPE < 1s', 'throughput > 10000', 'cpu < 80%', 'host cpu < 90%'. May be given several times. Where instances are asked about, more are tried until one is sure to fail."`
	Like      string   `enum:"native,container,libvirt" default:"native" help:"What instances are like: processes (native, container) or virtual machines (libvirt)."`
	Driver    string   `enum:"apart,shared" default:"apart" help:"Whether the load generator runs on machines of its own or on the host's processors, with the work that calibration found."`
	Seconds   int      `default:"10" help:"Simulated seconds of each run, after two of ramp."`
	Draws     int      `default:"8" help:"Runs of each configuration, with demands drawn from their intervals; 0 gives no intervals."`
	Seed      uint64   `default:"1" help:"Seed of everything random."`
	Format    string   `enum:"text,json" default:"text" help:"How the answers are printed."`
}

// Help is shown by 'loadstone whatif --help'.
func (whatifCommand) Help() string {
	return `Calculates what a host would do, on a model of it: how many instances fit under a limit, what size is right, what another socket, half the memory or a slower disk change. Every combination of the values is a configuration; each answer has an interval of 90 % from what calibration could not tell, the resource that limits it, and the reason. Nothing is measured: everything it prints is SIMULATED.

Ctrl-C ends the sweep; what was calculated until then is printed.

Examples:
  loadstone whatif hosts/mine.yaml order-entry --instances 1..40 --until 'p95 < 10ms'
  loadstone whatif hosts/mine.yaml study.yaml --set instance.cpus=2,4,8 --set users=16,32
  loadstone whatif hosts/mine.yaml study.yaml --set host.sockets=1,2 --set host.disk-times=1,4
  loadstone whatif r920 study.yaml --like libvirt --set instance.latency=normal,high --format json`
}

// The bounds of a sweep.
const (
	mostConfigurations = 10_000
	mostSeconds        = 3600
	whatifRamp         = 2 * time.Second
)

// Run asks.
func (c whatifCommand) Run(e *env) error {
	o := predict.Options{Draws: c.Draws, Workers: runtime.GOMAXPROCS(0), Seed: c.Seed}
	if err := o.Validate(); err != nil {
		return usageError{fmt.Errorf("loadstone: %w", err)}
	}
	if c.Seconds < 1 || c.Seconds > mostSeconds {
		return usageError{fmt.Errorf("loadstone: --seconds %d: 1 to %d", c.Seconds, mostSeconds)}
	}
	s, err := c.sweep()
	if err != nil {
		return usageError{err}
	}
	lanes, questions := s.questions()
	total, done := 0, 0
	for _, lane := range lanes {
		total += len(lane)
	}
	found, err := predict.Sweep(e.ctx, s.file, questions, o, func(lane, question int, a predict.Answer) bool {
		return s.stops && predict.Judge(s.until, a) == predict.Fails
	}, func() {
		done++
		s.progress(e, done, total)
	})
	if err != nil {
		return err
	}
	out := s.result(lanes, found)
	if c.Format == "json" {
		err = e.json(out)
	} else {
		out.print(e)
	}
	switch {
	case err != nil:
		return err
	case e.ctx.Err() != nil:
		return fmt.Errorf("broken off: %d of %d configurations are calculated", done, total)
	case out.answered() == 0:
		return errors.New("no configuration could be calculated: see the reasons above")
	}
	return nil
}

// sweep reads the host, the study and the values.
func (c whatifCommand) sweep() (*sweep, error) {
	axes, err := c.axes()
	if err != nil {
		return nil, fmt.Errorf("loadstone: %w", err)
	}
	file, _, err := twin.Read(c.Host)
	if err != nil {
		return nil, fmt.Errorf("loadstone: host: %w", err)
	}
	name, source, err := readStudy(c.Study)
	if err != nil {
		return nil, err
	}
	s := &sweep{command: c, file: file, hostAxes: slices.DeleteFunc(slices.Clone(axes), func(a axis) bool { return !a.ofHost() })}
	for _, a := range s.hostAxes {
		for _, v := range a.values {
			if _, err := onHost(file.Host, a.knob, v); err != nil {
				return nil, fmt.Errorf("loadstone: --set %s: %w", a.knob, err)
			}
		}
	}
	known := catalog.Known()
	known.Machine = hostSize(file.Host)
	edited, err := onTwin(source, c.Host, c.Like, slices.DeleteFunc(axes, axis.ofHost))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	parsed, err := study.Parse(name, edited, known)
	if err != nil {
		return nil, err
	}
	if parsed.Search != nil {
		return nil, fmt.Errorf("loadstone: %s searches for a load, and whatif needs one: --set %s=…", name, parsed.Search.Knob)
	}
	plan, err := study.NewPlan(parsed)
	if err != nil {
		return nil, err
	}
	return s, s.describe(plan)
}

// axis is a knob with the values that are asked about.
type axis struct {
	knob   string
	values []string
}

func (a axis) ofHost() bool { return strings.HasPrefix(a.knob, hostPrefix) }

// hostPrefix begins the knobs of a host.
const hostPrefix = "host."

// axes reads --set and --instances; the number of instances comes last.
func (c whatifCommand) axes() ([]axis, error) {
	var out []axis
	for _, text := range c.Set {
		knob, values, ok := strings.Cut(text, "=")
		knob = strings.TrimSpace(knob)
		if !ok || knob == "" {
			return nil, fmt.Errorf("--set %q: it looks like instance.cpus=2,4,8", text)
		}
		if slices.ContainsFunc(out, func(a axis) bool { return a.knob == knob }) {
			return nil, fmt.Errorf("--set %s is given twice", knob)
		}
		list, err := valuesOf(values)
		if err != nil {
			return nil, fmt.Errorf("--set %s: %w", knob, err)
		}
		out = append(out, axis{knob, list})
	}
	if c.Instances == "" {
		return out, nil
	}
	if slices.ContainsFunc(out, func(a axis) bool { return a.knob == instancesKnob }) {
		return nil, errors.New("--instances and --set instances are one thing: give one")
	}
	list, err := valuesOf(c.Instances)
	if err != nil {
		return nil, fmt.Errorf("--instances: %w", err)
	}
	return append(out, axis{instancesKnob, list}), nil
}

const instancesKnob = "instances"

// valuesOf reads 1,2,4 or 1..40, or both together.
func valuesOf(text string) (out []string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		from, to, span := strings.Cut(part, "..")
		if !span {
			if part == "" {
				return nil, fmt.Errorf("%q has an empty value", text)
			}
			out = append(out, part)
			continue
		}
		a, b, err := spanOf(from, to)
		if err != nil {
			return nil, err
		}
		for n := a; n <= b; n++ {
			out = append(out, fmt.Sprint(n))
		}
	}
	return out, nil
}
