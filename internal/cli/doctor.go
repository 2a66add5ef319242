package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/twin"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

type doctorCommand struct {
	Study string `arg:"" optional:"" help:"Study file with an engine.endpoint: look at that server instead of this machine."`
	JSON  bool   `help:"Print as JSON."`
}

// Help is shown by 'loadstone doctor --help'.
func (doctorCommand) Help() string {
	return `Every line is ok, note (it works, but know this) or missing (some studies can't run), with the remedy below. Exit code 1 where the quickstart study can't run. With a study that measures a server which runs already, it connects there and tells what it finds; nothing is changed.

Examples:
  loadstone doctor
  loadstone doctor my-server.yaml
  loadstone doctor --json | jq '.[] | select(.state != "ok")'`
}

// The states of a finding.
const (
	ok      = "ok"
	note    = "note"
	missing = "missing"
)

// finding is one line of the doctor.
type finding struct {
	State  string `json:"state"`
	What   string `json:"what"`
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"`
	// Fatal says that not even the quickstart study runs.
	Fatal bool `json:"fatal,omitempty"`
}

// Run looks at the machine.
func (c doctorCommand) Run(e *env) error {
	all, err := c.findings(e)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := e.json(all); err != nil {
			return err
		}
	}
	fatal := 0
	for _, f := range all {
		if f.Fatal {
			fatal++
		}
		if c.JSON {
			continue
		}
		e.printf("%-8s %-22s %s\n", f.State, f.What, f.Found)
		if f.Remedy != "" {
			e.printf("%31s remedy: %s\n", "", f.Remedy)
		}
	}
	if fatal > 0 && c.Study != "" {
		return errors.New("this study can't run: see the remedies above")
	}
	if fatal > 0 {
		return errors.New("the quickstart study can't run here: see the remedies above")
	}
	return nil
}

// findings are about the study's server, or about this machine.
func (c doctorCommand) findings(e *env) ([]finding, error) {
	if c.Study != "" {
		return aboutStudy(e, c.Study)
	}
	m := observe.Machine(e.cache)
	all := append(append(aboutMachine(m), aboutCache(e, m)...), aboutLeftovers(e)...)
	return append(append(append(all, aboutProviders(e)...), aboutEngines(e)...), aboutStudies(e)...), nil
}

func aboutMachine(m record.Machine) []finding {
	cpu := finding{State: ok, What: "CPUs", Found: fmt.Sprintf("%d threads on %d cores, %d sockets: %s", m.Threads, m.Cores, m.Sockets, m.CPUModel)}
	if m.Threads < 2 {
		cpu.State, cpu.Remedy = note, "the driver and the server share the only CPU: figures are lower than the server's own"
	}
	mem := finding{State: ok, What: "memory", Found: unit.Bytes(m.MemBytes).Human()}
	if m.MemBytes > 0 && m.MemBytes < int64(2*unit.GiB) {
		mem.State, mem.Remedy = note, "sizes above small will not fit into memory"
	}
	all := []finding{cpu, mem}
	if m.Hypervisor != "" {
		all = append(all, finding{note, "virtual machine", m.Hypervisor, "neighbours may take CPU time: reports watch steal, and trials that it spoils are run again", false})
	}
	if m.Governor != "" && m.Governor != "performance" {
		all = append(all, finding{note, "frequency governor", m.Governor, "for steady clocks: cpupower frequency-set -g performance", false})
	}
	if _, err := observe.NewHost(); err != nil {
		all = append(all, finding{note, "host counters", err.Error(), "reports will lack what the host's CPU and disks did (Linux with /proc has it)", false})
	} else if _, err := os.Stat("/proc/pressure/cpu"); err != nil {
		all = append(all, finding{note, "pressure counters", "not there", "boot with psi=1 (kernel 4.20 or later)", false})
	} else {
		all = append(all, finding{State: ok, What: "host counters", Found: "CPU, memory, disks, network, pressure"})
	}
	return all
}

func aboutCache(e *env, m record.Machine) []finding {
	if err := os.MkdirAll(e.cache, 0o755); err != nil {
		return []finding{{missing, "cache directory", err.Error(), "point --cache or LOADSTONE_CACHE to a directory that you may write", true}}
	}
	d := finding{State: ok, What: "cache directory", Found: fmt.Sprintf("%s on %s (%s), %s free", e.cache, m.Disk.FileSystem, m.Disk.Device, unit.Bytes(m.Disk.FreeBytes).Human())}
	us, err := observe.FsyncMicroseconds(e.clock, e.cache)
	if err != nil {
		return []finding{{missing, "cache directory", err.Error(), "point --cache or LOADSTONE_CACHE to a directory that you may write", true}}
	}
	f := finding{State: ok, What: "durable write", Found: fmt.Sprintf("%.0f µs for 8 KiB with fsync (median)", us)}
	if us < 20 {
		f.State, f.Remedy = note, "too fast to be true for a disk that survives a power cut: figures hold for this volume only"
	}
	return []finding{d, f}
}

// aboutLeftovers tells of what runs that were killed left.
func aboutLeftovers(e *env) []finding {
	c := cleanCommand{}
	dirs, err := c.places(e)
	if err != nil {
		return nil // the cache directory has a finding of its own
	}
	left, failed := c.find(e, dirs)
	switch {
	case failed != nil:
		return []finding{{note, "leftovers", failed.Error(), "'loadstone clean' tells more", false}}
	case len(left) > 0:
		return []finding{{note, "leftovers", counted(len(left), "thing") + " of runs that were killed", "'loadstone clean' lists and removes them", false}}
	}
	return nil
}

func aboutProviders(e *env) (all []finding) {
	for _, p := range catalog.Providers() {
		if p.Name == twin.Name { // what it can do depends on the host that it models
			all = append(all, finding{State: ok, What: "provider " + p.Name, Found: "calculates on a model: " + counted(len(twin.Hosts()), "host") + " come with the program"})
			continue
		}
		place, shape := p.New(), provider.Shape{CPUs: 1, CPUSet: "0", Memory: 512 * unit.MiB, CPUShares: 1024}
		problems := place.Check(e.ctx, shape)
		if len(problems) == 0 {
			all = append(all, finding{State: ok, What: "provider " + p.Name, Found: "CPUs, CPU set, memory and shares can be set"})
		}
		for _, x := range problems {
			all = append(all, finding{missing, "provider " + p.Name, x.Knob + ": " + x.Reason, x.Remedy, false})
		}
		if n, ok := place.(provider.Noter); ok && len(problems) == 0 {
			for _, text := range n.Notes(e.ctx, shape) {
				all = append(all, finding{State: note, What: "provider " + p.Name, Found: text})
			}
		}
	}
	return all
}

func aboutEngines(e *env) (all []finding) {
	for _, x := range catalog.Engines() {
		inst, err := x.New().Locate(e.ctx, engine.Want{Cache: filepath.Join(e.cache, "servers")})
		if err != nil {
			all = append(all, finding{note, "engine " + x.Name, "no server on this machine", "the first run fetches one; or install it from your system's packages", false})
			continue
		}
		all = append(all, finding{State: ok, What: "engine " + x.Name, Found: inst.Version() + ", " + inst.Origin()})
	}
	return all
}
