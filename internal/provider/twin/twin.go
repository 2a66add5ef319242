// Package twin is the provider whose instances are calculated: a model of a
// host takes the place of machine, server and driver, and package trial asks it
// for the model instead of running programs. Its instances run nothing and take
// nothing; what they can't have is refused by name before anything begins.
package twin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/hosts"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Name is the provider's name in studies and records.
const Name = "twin"

// What instances are like.
const (
	LikeNative    = "native"
	LikeContainer = "container"
	LikeLibvirt   = "libvirt"
)

// Params are the provider's parameters.
func Params() []unit.Param {
	return []unit.Param{
		{Name: "host", About: "Host file of the modelled machine, such as hosts/r920.yaml, or the name of one that comes with the program."},
		{
			Name: "like", Default: LikeNative, Allowed: []string{LikeNative, LikeContainer, LikeLibvirt},
			About: "Which provider's instances are modelled: native and container are processes under a Linux-like scheduler, libvirt is virtual machines under proportional shares.",
		},
		{Name: "data", About: "Store of the host that holds the data; left out, the one called data, or the first."},
		{Name: "log", About: "Store of the host that holds the logs; left out, the one called log, or the first."},
	}
}

// Twin is the provider of a modelled host.
type Twin struct {
	file      *demand.File // nil where New was given no host
	source    []byte
	like      string
	data, log string
}

// New returns the provider as a study's parameters say. A host file is looked
// for first, then one that comes with the program. Without a host, the provider
// only refuses.
func New(v unit.Values) (*Twin, error) {
	t := &Twin{like: v.Text("like"), data: v.Text("data"), log: v.Text("log")}
	name := v.Text("host")
	if name == "" {
		return t, errors.New("provider.host: the twin needs a host file, such as hosts/r920.yaml")
	}
	file, source, err := Read(name)
	if err != nil {
		return t, fmt.Errorf("provider.host: %w", err)
	}
	t.file, t.source = file, source
	for knob, store := range map[string]string{"provider.data": t.data, "provider.log": t.log} {
		if _, err := file.Host.Store(store); store != "" && err != nil {
			return t, fmt.Errorf("%s: %w", knob, err)
		}
	}
	if len(file.Host.Stores) == 0 || len(file.Host.NICs) == 0 {
		return t, fmt.Errorf("provider.host: %s has %d stores and %d network interfaces: a database needs one of each", name, len(file.Host.Stores), len(file.Host.NICs))
	}
	return t, nil
}

// None is the twin of no host: it refuses every shape.
func None() provider.Provider { return &Twin{like: LikeNative} }

// Read reads a host file, or the one of that name that comes with the program.
// Errors are those of the file, each with line and column.
func Read(name string) (*demand.File, []byte, error) {
	source, err := os.ReadFile(name)
	file := name
	if errors.Is(err, fs.ErrNotExist) {
		short := strings.TrimSuffix(path.Base(strings.ReplaceAll(name, `\`, "/")), ".yaml")
		own, missing := hosts.Files.ReadFile(short + ".yaml")
		if missing != nil {
			return nil, nil, fmt.Errorf("there is neither a file %q nor a host of that name: there are %s", name, strings.Join(Hosts(), ", "))
		}
		source, file, err = own, "hosts/"+short+".yaml", nil
	}
	if err != nil {
		return nil, nil, err
	}
	parsed, err := demand.Parse(file, source)
	return parsed, source, err
}

// Hosts are the names of the hosts that come with the program, sorted.
func Hosts() (names []string) {
	files, _ := fs.Glob(hosts.Files, "*.yaml")
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Name implements provider.Provider.
func (*Twin) Name() string { return Name }

// Virtual implements provider.Virtualizer.
func (t *Twin) Virtual() bool { return t.like == LikeLibvirt }

// Like is the provider that the instances are like.
func (t *Twin) Like() string { return t.like }

// Model is the host, with the demands that were fitted to trials, and Source the
// text of its file. Stores names the stores of data and logs, "" being the usual
// ones.
func (t *Twin) Model() *demand.File { return t.file }

// Source is the text of the host file.
func (t *Twin) Source() []byte { return t.source }

// Stores are the names of the stores of data and logs, "" being the usual ones.
func (t *Twin) Stores() (data, log string) { return t.data, t.log }

// Notes implements provider.Noter.
func (t *Twin) Notes(context.Context, provider.Shape) []string {
	return []string{"SIMULATED: " + t.about() + " is a model. No database is started; every figure is calculated"}
}

func (t *Twin) about() string {
	if t.file == nil {
		return "no host"
	}
	h := t.file.Host
	return fmt.Sprintf("%s (%d × %s, %d CPUs and %s each)", h.Name, h.Nodes, h.CPU.Model, h.CPU.CPUs(), h.Memory.Human())
}

// Digest is of the host file.
func (t *Twin) Digest() string { return fmt.Sprintf("sha256:%x", sha256.Sum256(t.source)) }

// Check implements provider.Provider: what the model has not is a problem.
func (t *Twin) Check(_ context.Context, s provider.Shape) []provider.Problem {
	if t.file == nil {
		return []provider.Problem{{Knob: "provider.host", Reason: "the twin needs a host file", Remedy: "provider: {name: twin, host: hosts/r920.yaml}"}}
	}
	return append(t.lacks(s), t.tooLarge(s, t.file.Host)...)
}

// lacks lists knobs that the model knows nothing of.
func (t *Twin) lacks(s provider.Shape) (problems []provider.Problem) {
	refuse := func(knob, why string, asked bool) {
		if asked {
			problems = append(problems, provider.Problem{Knob: knob, Reason: why, Remedy: "leave " + knob + " out: left in, it would be asked for and not calculated"})
		}
	}
	const none = "the twin's model has nothing like it"
	refuse("instance.mems", none, s.Mems != "")
	refuse("instance.disk_read", none, s.ReadBytesPS != 0)
	refuse("instance.disk_write", none, s.WriteBytesPS != 0)
	refuse("instance.disk_read_ops", none, s.ReadOpsPS != 0)
	refuse("instance.disk_write_ops", none, s.WriteOpsPS != 0)
	refuse("instance.topology", none+": a virtual machine's CPUs have no threads (instance.vnuma sets its NUMA nodes)", s.Topology != provider.Topology{})
	refuse("instance.disk_adapter", none, s.DiskAdapter != "")
	refuse("instance.network_adapter", none, s.NetworkAdapter != "")
	refuse("instance.data_volume", "the twin has stores instead of directories (provider.data)", s.DataVolume != "")
	refuse("instance.log_volume", "the twin has stores instead of directories (provider.log)", s.LogVolume != "")
	if !t.Virtual() {
		refuse("instance.large_pages", "a process has no guest: its large pages are those of the host",
			s.LargePages == provider.LargePagesGuest || s.LargePages == provider.LargePagesBoth)
		const guests = "only virtual machines have it (provider: {like: libvirt})"
		refuse("instance.cpu_reservation", guests, s.Reservation != 0)
		refuse("instance.vnuma", guests, s.VirtualNUMA != 0)
		refuse("instance.latency", guests, s.LatencySensitivity != "")
	}
	return problems
}

// tooLarge lists what the host is too small for, alone.
func (t *Twin) tooLarge(s provider.Shape, h *host.Host) (problems []provider.Problem) {
	add := func(knob, remedy, format string, args ...any) {
		problems = append(problems, provider.Problem{Knob: knob, Reason: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	if s.CPUs > float64(h.CPU.CPUs()) {
		add("instance.cpus", fmt.Sprintf("at most %d, or another host", h.CPU.CPUs()), "a node of %s has %d CPUs, and %g are asked for", h.Name, h.CPU.CPUs(), s.CPUs)
	}
	if t.Virtual() && s.CPUs != float64(int(s.CPUs)) {
		add("instance.cpus", "a whole number", "a virtual machine has whole CPUs, and %g are asked for", s.CPUs)
	}
	if s.Memory > h.Memory {
		add("instance.memory", "less memory, or another host", "a node of %s has %s, and %s are asked for", h.Name, h.Memory.Human(), s.Memory.Human())
	}
	if s.Reservation > float64(h.CPU.Sockets*h.CPU.Cores) {
		add("instance.cpu_reservation", "at most the cores of the host", "a node of %s has %d cores", h.Name, h.CPU.Sockets*h.CPU.Cores)
	}
	if n := s.VirtualNUMA; n > 0 && int(s.CPUs)%n != 0 {
		add("instance.vnuma", "a divisor of instance.cpus", "%g CPUs do not divide into %d NUMA nodes", s.CPUs, n)
	}
	return problems
}

// Provision implements provider.Provider: the instance is the shape that was
// asked for.
func (t *Twin) Provision(ctx context.Context, r provider.Request) (provider.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.Image != "" {
		return nil, fmt.Errorf("image %q: the twin has no images", r.Image)
	}
	if problems := t.Check(ctx, r.Shape); len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", problems[0].Knob, problems[0].Reason)
	}
	return instance{t, r.Shape}, nil
}

// instance is a shape on the model.
type instance struct {
	twin  *Twin
	shape provider.Shape
}

// Close implements provider.Instance: there is nothing to remove.
func (instance) Close(context.Context) error { return nil }

// Effective implements provider.Shaped: the model has exactly what was asked
// for, and what was not asked for is as the host is.
func (i instance) Effective(context.Context) ([]provider.Knob, error) {
	h := i.twin.file.Host
	knobs := []provider.Knob{
		{Name: "twin.host", Effective: i.twin.about() + ", " + i.twin.Digest()[:19], Matches: true},
		{Name: "twin.like", Effective: i.twin.like, Matches: true},
	}
	add := func(name, intended, otherwise string) {
		k := provider.Knob{Name: name, Intended: intended, Effective: intended, Matches: true}
		if intended == "" {
			k.Effective = otherwise
		}
		knobs = append(knobs, k)
	}
	text := func(asked bool, format string, v any) string {
		if !asked {
			return ""
		}
		return fmt.Sprintf(format, v)
	}
	s := i.shape
	add("instance.cpus", text(s.CPUs > 0, "%g", s.CPUs), fmt.Sprint(h.CPU.CPUs()))
	add("instance.cpuset", s.CPUSet, "not confined")
	add("instance.memory", text(s.Memory > 0, "%v", s.Memory), h.Memory.String())
	add("instance.cpu_shares", text(s.CPUShares > 0, "%d", s.CPUShares), "1024")
	add("instance.large_pages", s.LargePages, provider.LargePagesOff)
	if i.twin.Virtual() {
		add("instance.cpu_reservation", text(s.Reservation > 0, "%g", s.Reservation), "0")
		add("instance.vnuma", text(s.VirtualNUMA > 0, "%d", s.VirtualNUMA), "as the scheduler chooses")
		add("instance.latency", s.LatencySensitivity, "normal")
	}
	return knobs, nil
}
