//go:build linux

package libvirt

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// live is what libvirt and the guest say of a running machine.
type live struct {
	domain    libvirtxml.Domain
	scheduler map[string]int64 // from the control groups
	vcpuMaps  [][]int          // from the scheduler, for each vCPU
	emulator  []int
	iotune    map[string]int64 // from QEMU
	numa      map[string]string
}

// read asks libvirt.
func (i *Instance) read() (l live, err error) {
	text, err := i.conn.DomainGetXMLDesc(i.domain, 0)
	if err != nil {
		return l, fmt.Errorf("the machine's description: %w", err)
	}
	if err := l.domain.Unmarshal(text); err != nil {
		return l, fmt.Errorf("the machine's description: %w", err)
	}
	if params, err := i.conn.DomainGetSchedulerParametersFlags(i.domain, schedulerMost, 0); err == nil {
		l.scheduler = whole(params)
	}
	room, err := (cgroup.Layout{}).Room()
	if err != nil {
		return l, err
	}
	hostCPUs := room.CPUs[len(room.CPUs)-1] + 1
	bytes := int32(hostCPUs+7) / 8
	info, maps, err := i.conn.DomainGetVcpus(i.domain, int32(i.plan.vcpus), bytes)
	if err != nil {
		return l, fmt.Errorf("the places of virtual CPUs: %w", err)
	}
	for n := range info {
		l.vcpuMaps = append(l.vcpuMaps, bitsOf(maps[n*int(bytes):(n+1)*int(bytes)], hostCPUs))
	}
	if m, _, err := i.conn.DomainGetEmulatorPinInfo(i.domain, bytes, 1); err == nil {
		l.emulator = bitsOf(m, hostCPUs)
	}
	if params, _, err := i.conn.DomainGetBlockIOTune(i.domain, libvirt.OptString{i.plan.diskAdapter().target}, iotuneMost, 0); err == nil {
		l.iotune = whole(params)
	}
	l.numa = map[string]string{}
	if params, _, err := i.conn.DomainGetNumaParameters(i.domain, numaMost, stringsToo); err == nil {
		for _, p := range params {
			l.numa[p.Field] = strings.TrimRight(fmt.Sprint(p.Value.I), "\x00")
		}
	}
	return l, nil
}

// How many parameters of a kind can be asked for at most (REMOTE_DOMAIN_…_MAX in
// libvirt's remote_protocol.x).
const (
	schedulerMost = 16
	iotuneMost    = 32
	numaMost      = 16
	// stringsToo is VIR_TYPED_PARAM_STRING_OKAY.
	stringsToo = 4
)

// whole are the numbers among typed parameters.
func whole(params []libvirt.TypedParam) map[string]int64 {
	m := map[string]int64{}
	for _, p := range params {
		if v, ok := number(p.Value.I); ok {
			m[p.Field] = int64(v)
		}
	}
	return m
}

// number is a typed parameter's value.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int32:
		return float64(v), true
	case uint32:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func bitsOf(m []byte, most int) (cpus []int) {
	for n := range most {
		if n/8 < len(m) && m[n/8]&(1<<(n%8)) != 0 {
			cpus = append(cpus, n)
		}
	}
	return cpus
}

// Effective implements provider.Shaped: from libvirt's description of the
// running machine, from the control groups and the scheduler through libvirt,
// from QEMU, and from what the guest itself sees.
func (i *Instance) Effective(ctx context.Context) ([]provider.Knob, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := i.read()
	if err != nil {
		return nil, err
	}
	knobs := []provider.Knob{i.cpusKnob(l), i.vcpusKnob(l), i.topologyKnob(), i.cpusetKnob(l), i.sharesKnob(l), i.memoryKnob(l), i.memsKnob(l), i.numaKnob(), i.largeKnob(l), i.latencyKnob(l)}
	knobs = append(knobs, i.diskKnobs(l)...)
	knobs = append(knobs, i.adapterKnobs(l)...)
	return append(knobs, i.about(l)...), nil
}

// equal is a knob that matches where nobody asked or the texts agree.
func equal(name, intended, effective string) provider.Knob {
	return provider.Knob{Name: name, Intended: intended, Effective: effective, Matches: intended == "" || intended == effective}
}

func number6(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// cpusKnob is CPU time: the quota, else the number of virtual CPUs.
func (i *Instance) cpusKnob(l live) provider.Knob {
	k := provider.Knob{Name: cgroup.KnobCPUs, Matches: true}
	got := float64(len(l.vcpuMaps))
	if q, p := l.scheduler["global_quota"], l.scheduler["global_period"]; q > 0 && p > 0 {
		got = min(got, float64(q)/float64(p))
	}
	k.Effective = number6(got)
	if i.shape.CPUs > 0 {
		k.Intended = number6(i.shape.CPUs)
		k.Matches = math.Abs(got-i.shape.CPUs) < 1e-4
	}
	return k
}

// vcpusKnob is how many CPUs the guest itself has online.
func (i *Instance) vcpusKnob(l live) provider.Knob {
	k := equal("instance.vcpus", strconv.Itoa(i.plan.vcpus), strconv.Itoa(i.facts.CPUs))
	k.Matches = k.Matches && len(l.vcpuMaps) == i.plan.vcpus
	return k
}

// topologyKnob is what the guest's kernel found, as studies write it: sockets,
// cores of a socket, threads of a core.
func (i *Instance) topologyKnob() provider.Knob {
	asked := ""
	if t := i.shape.Topology; t != (provider.Topology{}) {
		asked = topologyText(max(t.Sockets, 1), max(t.Cores, 1), max(t.Threads, 1))
	}
	return equal(knobTopology, asked, topologyText(i.facts.Sockets, i.facts.Cores, i.facts.Threads))
}

func topologyText(sockets, cores, threads int) string {
	return fmt.Sprintf("%dx%dx%d", sockets, cores, threads)
}

// cpusetKnob is where the scheduler lets the virtual CPUs and the emulator run.
func (i *Instance) cpusetKnob(l live) provider.Knob {
	var all []string
	matches := true
	for n, m := range l.vcpuMaps {
		all = append(all, cpuList(m))
		matches = matches && (i.plan.pins == nil || n < len(i.plan.pins) && cpuList(m) == cpuList(i.plan.pins[n]))
	}
	if set, _ := parseList(i.shape.CPUSet); len(set) > 0 {
		matches = matches && cpuList(l.emulator) == cpuList(set)
	}
	return provider.Knob{Name: cgroup.KnobCPUSet, Intended: i.shape.CPUSet, Effective: strings.Join(all, " | "), Matches: matches}
}

func (i *Instance) sharesKnob(l live) provider.Knob {
	asked, got := "", "unknown"
	if s := i.shape.CPUShares; s > 0 {
		asked = strconv.Itoa(s)
	}
	if s, ok := l.scheduler["cpu_shares"]; ok {
		got = strconv.FormatInt(s, 10)
	}
	return equal(cgroup.KnobShares, asked, got)
}

// memoryKnob compares what libvirt gives the guest; the guest's kernel keeps
// some of it.
func (i *Instance) memoryKnob(l live) provider.Knob {
	k := provider.Knob{Name: cgroup.KnobMemory, Matches: true}
	var got unit.Bytes
	if m := l.domain.CurrentMemory; m != nil {
		got = unit.Bytes(m.Value) * unit.KiB // the unit in which libvirt answers
	}
	k.Effective = fmt.Sprintf("%s, of which the guest's kernel leaves %s", got.Human(), unit.Bytes(i.facts.MemoryBytes).Human())
	if i.shape.Memory > 0 {
		k.Intended = i.shape.Memory.Human()
		k.Matches = got == i.plan.memory
	}
	return k
}

func (i *Instance) memsKnob(l live) provider.Knob {
	got := l.numa["numa_nodeset"]
	if got == "" {
		got = "any"
	}
	return equal(cgroup.KnobMems, i.shape.Mems, got)
}

func (i *Instance) numaKnob() provider.Knob {
	asked := ""
	if n := i.shape.VirtualNUMA; n > 0 {
		asked = strconv.Itoa(n)
	}
	return equal(knobNUMA, asked, strconv.Itoa(i.facts.NUMANodes))
}

func (i *Instance) largeKnob(l live) provider.Knob {
	host := l.domain.MemoryBacking != nil && l.domain.MemoryBacking.MemoryHugePages != nil
	guest := i.facts.LargePages > 0
	got := map[[2]bool]string{
		{false, false}: provider.LargePagesOff, {true, false}: provider.LargePagesHost,
		{false, true}: provider.LargePagesGuest, {true, true}: provider.LargePagesBoth,
	}[[2]bool{host, guest}]
	return equal(knobLarge, i.shape.LargePages, got)
}

func (i *Instance) latencyKnob(l live) provider.Knob {
	got := "normal"
	if t := l.domain.CPUTune; t != nil && len(t.VCPUSched) > 0 {
		got = "high"
	}
	return equal(knobLatency, i.shape.LatencySensitivity, got)
}

// diskKnobs are the limits that QEMU itself says it keeps.
func (i *Instance) diskKnobs(l live) (knobs []provider.Knob) {
	for _, k := range []struct {
		name, field string
		asked       int64
		text        func(int64) string
	}{
		{cgroup.KnobReadBytes, "read_bytes_sec", int64(i.shape.ReadBytesPS), bytesText},
		{cgroup.KnobWriteBytes, "write_bytes_sec", int64(i.shape.WriteBytesPS), bytesText},
		{cgroup.KnobReadOps, "read_iops_sec", int64(i.shape.ReadOpsPS), opsText},
		{cgroup.KnobWriteOps, "write_iops_sec", int64(i.shape.WriteOpsPS), opsText},
	} {
		got, ok := l.iotune[k.field]
		asked, effective := "", "not limited"
		if k.asked > 0 {
			asked = k.text(k.asked)
		}
		if ok && got > 0 {
			effective = k.text(got)
		}
		knobs = append(knobs, equal(k.name, asked, effective))
	}
	return knobs
}

func bytesText(n int64) string { return unit.Bytes(n).String() + "/s" }
func opsText(n int64) string   { return strconv.FormatInt(n, 10) + "/s" }

// adapterKnobs are the devices, and the drivers that the guest uses for them.
func (i *Instance) adapterKnobs(l live) []provider.Knob {
	disk, network := "none", "none"
	for _, d := range l.domain.Devices.Disks {
		if d.Serial != "data" {
			continue
		}
		for name, a := range diskAdapters() {
			if d.Target.Bus == a.bus && (a.bus != "scsi" || a.model == l.scsiModel()) {
				disk = name
			}
		}
	}
	for _, n := range l.domain.Devices.Interfaces {
		for name, a := range networkAdapters() {
			if n.Model != nil && n.Model.Type == a[0] {
				network = name
			}
		}
	}
	return []provider.Knob{
		equal(knobDisk, i.shape.DiskAdapter, disk),
		equal(knobNetwork, i.shape.NetworkAdapter, network),
		{Name: "instance.disk_driver", Effective: i.facts.DiskDriver, Matches: i.facts.DiskDriver != ""},
		{Name: "instance.network_driver", Effective: orNone(i.facts.NetDriver), Matches: i.plan.hostAddress == "" || i.facts.NetDriver != ""},
	}
}

func (l live) scsiModel() string {
	for _, c := range l.domain.Devices.Controllers {
		if c.Type == "scsi" {
			return c.Model
		}
	}
	return ""
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// about are knobs that nobody turns, but that a reader must know.
func (i *Instance) about(l live) []provider.Knob {
	virtualization := "KVM"
	if l.domain.Type != "kvm" {
		virtualization = "none: emulated in software (TCG), many times slower than a real machine"
	}
	path := "over the network adapter " + i.plan.tap + ", through the agent"
	if i.plan.hostAddress == "" {
		path = "over the serial port, through the agent: no network device could be made"
	}
	image := i.image
	if image == "" {
		image = "this machine's packages"
	}
	return []provider.Knob{
		{Name: "instance.virtualization", Effective: virtualization, Matches: true},
		{Name: "instance.path", Effective: path, Matches: true},
		{Name: "instance.kernel", Effective: i.facts.Kernel, Matches: true},
		{Name: "instance.image", Intended: i.image, Effective: image, Matches: true},
		{Name: "instance.manager", Effective: i.daemon.about, Matches: true},
		{Name: "instance.user", Intended: i.user.Name, Effective: i.user.Name, Matches: true}, // prove has asked
	}
}

// emulatedNote says what figures of emulated guests are worth.
const emulatedNote = "virtual machines are emulated in software here (no KVM): many times slower than real ones; their figures say nothing of any machine"

// Virtual implements provider.Virtualizer.
func (Provider) Virtual() bool { return true }

// Notes implements provider.Noter.
func (Provider) Notes(context.Context, provider.Shape) (notes []string) {
	if !HasKVM() {
		notes = append(notes, emulatedNote)
	}
	if !hasTap() {
		notes = append(notes, "no network device can be made for guests (/dev/net/tun): sessions go over the serial port, which is slow")
	}
	return notes
}

// Warnings implements provider.Warner.
func (i *Instance) Warnings() (warnings []string) {
	if !i.plan.kvm {
		warnings = append(warnings, emulatedNote)
	}
	if i.plan.hostAddress == "" {
		warnings = append(warnings, "sessions reached the guest over its serial port, not over a network adapter")
	}
	if !direct(i.plan.data) {
		warnings = append(warnings, "the host caches the guest's disk, because its file system has no direct input and output")
	}
	return warnings
}
