//go:build linux

package libvirt

import (
	"fmt"
	"strconv"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt/guest"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// namespace is of our metadata in a domain's description.
const namespace = "https://loadstone-perf.github.io/libvirt/1"

// namePrefix begins the names of our domains.
const namePrefix = "loadstone-"

// periodUs is the period of CPU quotas in microseconds, libvirt's default.
const periodUs = 100_000

// plan is what a machine is made of: the shape with its defaults filled in, and
// files.
type plan struct {
	shape    provider.Shape
	name     string // of the domain
	owner    string // the instance's directory, for the mark
	maker    home.Owner
	kvm      bool
	emulator string
	vcpus    int
	memory   unit.Bytes
	pins     [][]int // for each vCPU the host's CPUs, nil where not pinned

	kernel, initramfs string
	root, data        string // disks
	channel, console  string // paths
	hostAddress       string // of the host on the network with the guest, "a.b.c.d"; "" for no network
	tap               string // the name of the network device on the host
}

// adapter is a disk adapter: how libvirt calls it, and the guest's driver.
type adapter struct {
	bus, model, device string
	drivers            []string
	target             string
}

// diskAdapters are those that QEMU has, by the names that studies use.
func diskAdapters() map[string]adapter {
	return map[string]adapter{
		"virtio-blk":  {"virtio", "", "", []string{"virtio_blk"}, "vdb"},
		"virtio-scsi": {"scsi", "virtio-scsi", "", []string{"virtio_scsi", "sd_mod"}, "sda"},
		"lsilogic":    {"scsi", "lsilogic", "", []string{"sym53c8xx", "sd_mod"}, "sda"},
		"lsisas1068":  {"scsi", "lsisas1068", "", []string{"mptsas", "sd_mod"}, "sda"},
		"pvscsi":      {"scsi", "vmpvscsi", "", []string{"vmw_pvscsi", "sd_mod"}, "sda"},
		"sata":        {"sata", "", "", []string{"ahci", "sd_mod"}, "sda"},
	}
}

// networkAdapters are those that QEMU has: libvirt's name, and the driver.
func networkAdapters() map[string][2]string {
	return map[string][2]string{
		"virtio-net": {"virtio", "virtio_net"},
		"e1000":      {"e1000", "e1000"},
		"e1000e":     {"e1000e", "e1000e"},
		"vmxnet3":    {"vmxnet3", "vmxnet3"},
	}
}

func ptr[T any](v T) *T { return &v }

// domain is the plan in libvirt's words.
func (p *plan) domain() *libvirtxml.Domain {
	kind, mode := "qemu", "maximum"
	if p.kvm {
		kind, mode = "kvm", "host-passthrough"
	}
	d := &libvirtxml.Domain{
		Type: kind, Name: p.name,
		Metadata: &libvirtxml.DomainMetadata{XML: metadata(p.owner, p.maker)},
		Memory:   &libvirtxml.DomainMemory{Value: uint(p.memory / unit.KiB), Unit: "KiB"},
		VCPU:     &libvirtxml.DomainVCPU{Placement: "static", Value: uint(p.vcpus)},
		OS: &libvirtxml.DomainOS{
			Type: &libvirtxml.DomainOSType{Arch: "x86_64", Machine: "q35", Type: "hvm"}, Kernel: p.kernel, Initrd: p.initramfs,
			// A kernel that panics reboots, which ends the domain. On a busy host an
			// emulated timer is late, for which kernels would take it as broken.
			Cmdline: "quiet console=ttyS0 panic=-1 no_timer_check LD_LIBRARY_PATH=/lib -- " + AgentCommand,
		},
		Features: &libvirtxml.DomainFeatureList{ACPI: &libvirtxml.DomainFeature{}, APIC: &libvirtxml.DomainFeatureAPIC{}},
		CPU:      &libvirtxml.DomainCPU{Mode: mode, Check: "none", Topology: p.topology(), Numa: p.cells()},
		Clock:    &libvirtxml.DomainClock{Offset: "utc"},
		// However the guest ends, its domain does.
		OnPoweroff: "destroy", OnReboot: "destroy", OnCrash: "destroy",
		CPUTune: p.cpuTune(), NUMATune: p.numaTune(), MemoryBacking: p.memoryBacking(),
		Devices: p.devices(),
	}
	if p.shape.LatencySensitivity == "high" {
		d.QEMUCommandline = &libvirtxml.DomainQEMUCommandline{Args: []libvirtxml.DomainQEMUCommandlineArg{{Value: "-overcommit"}, {Value: "cpu-pm=on"}}}
	}
	return d
}

// describe is the plan as libvirt takes it. The library writes the host's
// address of a network device only where there is a route besides, hence the
// second step.
func (p *plan) describe() (string, error) {
	text, err := p.domain().Marshal()
	if err != nil || p.hostAddress == "" {
		return text, err
	}
	const at = `<interface type="ethernet">`
	if strings.Count(text, at) != 1 {
		return "", fmt.Errorf("the description has no place for the host's address %s: %s", p.hostAddress, text)
	}
	return strings.Replace(text, at, fmt.Sprintf(`%s<source><ip address="%s" prefix="30"/></source>`, at, p.hostAddress), 1), nil
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func (p *plan) topology() *libvirtxml.DomainCPUTopology {
	t := p.shape.Topology
	if t == (provider.Topology{}) {
		// One socket: what most machines of this size are.
		return &libvirtxml.DomainCPUTopology{Sockets: 1, Cores: p.vcpus, Threads: 1}
	}
	return &libvirtxml.DomainCPUTopology{Sockets: max(t.Sockets, 1), Cores: max(t.Cores, 1), Threads: max(t.Threads, 1)}
}

// cells divides vCPUs and memory evenly among virtual NUMA nodes.
func (p *plan) cells() *libvirtxml.DomainNuma {
	n := p.shape.VirtualNUMA
	if n < 2 {
		return nil
	}
	var cells []libvirtxml.DomainCell
	cpus, memory := p.vcpus/n, p.memory/unit.Bytes(n)/unit.MiB*unit.MiB
	for i := range n {
		size := memory
		if i == n-1 { // the rest, so that all of it is there
			size = p.memory - memory*unit.Bytes(n-1)
		}
		cells = append(cells, libvirtxml.DomainCell{
			ID: ptr(uint(i)), CPUs: fmt.Sprintf("%d-%d", i*cpus, (i+1)*cpus-1), Memory: uint(size / unit.KiB), Unit: "KiB",
		})
	}
	return &libvirtxml.DomainNuma{Cell: cells}
}

// quota is the limit of all the guest's CPU time in microseconds a period; 0
// where the number of vCPUs is limit enough.
func (p *plan) quota() int64 {
	if p.shape.CPUs == 0 || p.shape.CPUs == float64(p.vcpus) {
		return 0
	}
	return int64(p.shape.CPUs*periodUs + 0.5)
}

func (p *plan) cpuTune() *libvirtxml.DomainCPUTune {
	t := &libvirtxml.DomainCPUTune{}
	if s := p.shape.CPUShares; s > 0 {
		t.Shares = &libvirtxml.DomainCPUTuneShares{Value: uint(s)}
	}
	if q := p.quota(); q > 0 {
		t.GlobalPeriod = &libvirtxml.DomainCPUTunePeriod{Value: periodUs}
		t.GlobalQuota = &libvirtxml.DomainCPUTuneQuota{Value: q}
	}
	for n, cpus := range p.pins {
		t.VCPUPin = append(t.VCPUPin, libvirtxml.DomainCPUTuneVCPUPin{VCPU: uint(n), CPUSet: cpuList(cpus)})
	}
	if p.shape.CPUSet != "" {
		t.EmulatorPin = &libvirtxml.DomainCPUTuneEmulatorPin{CPUSet: p.shape.CPUSet}
	}
	if p.shape.LatencySensitivity == "high" {
		t.VCPUSched = []libvirtxml.DomainCPUTuneVCPUSched{{VCPUs: fmt.Sprintf("0-%d", p.vcpus-1), Scheduler: "fifo", Priority: ptr(1)}}
	}
	return t
}

func (p *plan) numaTune() *libvirtxml.DomainNUMATune {
	if p.shape.Mems == "" {
		return nil
	}
	return &libvirtxml.DomainNUMATune{Memory: &libvirtxml.DomainNUMATuneMemory{Mode: "strict", Nodeset: p.shape.Mems}}
}

func (p *plan) memoryBacking() *libvirtxml.DomainMemoryBacking {
	b := &libvirtxml.DomainMemoryBacking{}
	if l := p.shape.LargePages; l == provider.LargePagesHost || l == provider.LargePagesBoth {
		b.MemoryHugePages = &libvirtxml.DomainMemoryHugepages{}
	}
	if p.shape.LatencySensitivity == "high" {
		b.MemoryLocked = &libvirtxml.DomainMemoryLocked{}
	}
	if *b == (libvirtxml.DomainMemoryBacking{}) {
		return nil
	}
	return b
}

func (p *plan) devices() *libvirtxml.DomainDeviceList {
	a := p.diskAdapter()
	list := &libvirtxml.DomainDeviceList{
		Emulator: p.emulator,
		Disks:    []libvirtxml.DomainDisk{p.rootDisk(), p.dataDisk(a)},
		Channels: []libvirtxml.DomainChannel{{
			Source: &libvirtxml.DomainChardevSource{UNIX: &libvirtxml.DomainChardevSourceUNIX{Mode: "bind", Path: p.channel}},
			Target: &libvirtxml.DomainChannelTarget{VirtIO: &libvirtxml.DomainChannelTargetVirtIO{Name: guest.Port}},
		}},
		Serials: []libvirtxml.DomainSerial{{
			Source: &libvirtxml.DomainChardevSource{File: &libvirtxml.DomainChardevSourceFile{Path: p.console}},
			Target: &libvirtxml.DomainSerialTarget{Port: ptr(uint(0))},
		}},
		MemBalloon: &libvirtxml.DomainMemBalloon{Model: "virtio", Stats: &libvirtxml.DomainMemBalloonStats{Period: 1}},
		Controllers: []libvirtxml.DomainController{
			{Type: "usb", Model: "none"},
			{Type: "virtio-serial", Index: ptr(uint(0))},
		},
	}
	if a.bus == "scsi" {
		list.Controllers = append(list.Controllers, libvirtxml.DomainController{Type: "scsi", Index: ptr(uint(0)), Model: a.model})
	}
	if p.hostAddress != "" {
		list.Interfaces = []libvirtxml.DomainInterface{p.network()}
	}
	return list
}

func (p *plan) diskAdapter() adapter {
	name := p.shape.DiskAdapter
	if name == "" {
		name = "virtio-blk"
	}
	return diskAdapters()[name]
}

// rootDisk has the programs; machines share it and none may write.
func (p *plan) rootDisk() libvirtxml.DomainDisk {
	return libvirtxml.DomainDisk{
		Device: "disk", Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "raw"},
		Source: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: p.root}},
		Target: &libvirtxml.DomainDiskTarget{Dev: "vda", Bus: "virtio"},
		Serial: "root", ReadOnly: &libvirtxml.DomainDiskReadOnly{}, Shareable: &libvirtxml.DomainDiskShareable{},
	}
}

// dataDisk has the instance's directory. The host does not cache it: what the
// guest has flushed is on the disk, and the guest's cache is all there is.
func (p *plan) dataDisk(a adapter) libvirtxml.DomainDisk {
	cache, io := "none", "native"
	if !direct(p.data) {
		cache, io = "writeback", ""
	}
	d := libvirtxml.DomainDisk{
		Device: "disk",
		Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "qcow2", Cache: cache, IO: io, ErrorPolicy: "report", Discard: "unmap"},
		Source: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: p.data}},
		Target: &libvirtxml.DomainDiskTarget{Dev: a.target, Bus: a.bus},
		Serial: "data",
	}
	s := p.shape
	if s.ReadBytesPS != 0 || s.WriteBytesPS != 0 || s.ReadOpsPS != 0 || s.WriteOpsPS != 0 {
		d.IOTune = &libvirtxml.DomainDiskIOTune{
			ReadBytesSec: uint64(s.ReadBytesPS), WriteBytesSec: uint64(s.WriteBytesPS),
			ReadIopsSec: uint64(s.ReadOpsPS), WriteIopsSec: uint64(s.WriteOpsPS),
		}
	}
	return d
}

// network is a device of its own on the host, with the guest at its other end
// and nothing else: no bridge, no way out.
func (p *plan) network() libvirtxml.DomainInterface {
	name := p.shape.NetworkAdapter
	if name == "" {
		name = "virtio-net"
	}
	return libvirtxml.DomainInterface{
		Source: &libvirtxml.DomainInterfaceSource{Ethernet: &libvirtxml.DomainInterfaceSourceEthernet{}},
		Target: &libvirtxml.DomainInterfaceTarget{Dev: p.tap},
		Model:  &libvirtxml.DomainInterfaceModel{Type: networkAdapters()[name][0]},
	}
}

// cpuList writes CPUs as libvirt reads them: "0-1,4".
func cpuList(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		n := i
		for n+1 < len(cpus) && cpus[n+1] == cpus[n]+1 {
			n++
		}
		if part := strconv.Itoa(cpus[i]); n > i {
			parts = append(parts, part+"-"+strconv.Itoa(cpus[n]))
		} else {
			parts = append(parts, part)
		}
		i = n + 1
	}
	return strings.Join(parts, ",")
}
