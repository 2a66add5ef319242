//go:build linux

package libvirt

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/digitalocean/go-libvirt"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt/guest"
)

// Sources implements provider.CounterSource: "cgroup", the emulator as the host
// sees it, with the columns of other providers' instances, so that figures lie
// on one axis; "domain", what the hypervisor says of the machine, ready time
// included; and "guest", what the guest's kernel counts of itself.
func (i *Instance) Sources() []observe.Source {
	var all []observe.Source
	for _, name := range []string{"cgroup", "processes"} {
		if f, err := i.follow(func() (observe.Source, error) { return i.emulatorSource(name) }); err == nil {
			all = append(all, f)
		}
	}
	disk, columns := i.plan.diskAdapter().target, domainColumns(i.plan.vcpus)
	if f, err := i.follow(func() (observe.Source, error) {
		conn, dom := i.where()
		return &domainSource{conn: conn, domain: dom, disk: disk, columns: columns}, nil
	}); err == nil {
		all = append(all, f)
	}
	return append(all, &guestSource{clk: i.clk, sampling: i.link.agent.Sampling(), facts: i.facts})
}

// emulatorSource is what the host counts of the emulator that the guest is in
// now, by the source's name.
func (i *Instance) emulatorSource(name string) (observe.Source, error) {
	_, dom := i.where()
	pid, ok := emulatorOf(dom.Name)
	if !ok {
		return nil, fmt.Errorf("machine %s has no process", dom.Name)
	}
	g, err := cgroup.Of(pid, dom.Name, i.shape, i.vm())
	if err != nil {
		return nil, err
	}
	for _, s := range g.Sources() {
		if s.Name() == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("machine %s has no counters %s", dom.Name, name)
}

// HostPID returns the process id of the emulator: whatever runs in the guest
// lives and dies with it.
func (i *Instance) HostPID(int) (int, bool) { return i.pid() }

// pid finds the emulator, which has the machine's name among its arguments.
func (i *Instance) pid() (int, bool) { return emulatorOf(i.plan.name) }

// emulatorOf finds the emulator of the machine with this name.
func emulatorOf(name string) (int, bool) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "guest="+name+",") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		return pid, err == nil
	}
	return 0, false
}

// domainSource reads what libvirt counts of a machine.
type domainSource struct {
	conn    *libvirt.Libvirt
	domain  libvirt.Domain
	disk    string // the data disk's name
	columns []domainColumn
}

// domainColumn is one column and the statistics that are added up for it.
type domainColumn struct {
	observe.Column
	fields []string
	scale  float64
}

// statistics are the groups that are asked for (virDomainStatsTypes): state,
// CPU, balloon, vCPUs, network, disks.
const statistics = 1 | 2 | 4 | 8 | 16 | 32

// domainColumns are libvirt's statistics of a machine with that many vCPUs;
// "disk." stands for the number of the data disk.
func domainColumns(vcpus int) []domainColumn {
	total := func(name, about string, scale float64, fields ...string) domainColumn {
		return domainColumn{observe.Column{Name: name, Total: true, About: about}, fields, scale}
	}
	state := func(name, about string, scale float64, fields ...string) domainColumn {
		return domainColumn{observe.Column{Name: name, About: about}, fields, scale}
	}
	each := func(what string) (fields []string) {
		for n := range vcpus {
			fields = append(fields, fmt.Sprintf("vcpu.%d.%s", n, what))
		}
		return fields
	}
	columns := []domainColumn{
		total("cpu_s", "CPU time of the emulator, virtual CPUs included", 1e-9, "cpu.time"),
		total("vcpu_run_s", "CPU time of virtual CPUs, added up", 1e-9, each("time")...),
		total("vcpu_ready_s", "time in which virtual CPUs could run but had no CPU of the host, added up", 1e-9, each("delay")...),
		total("vcpu_wait_s", "time in which virtual CPUs waited for the host's input and output, added up", 1e-9, each("wait")...),
		state("balloon_bytes", "memory that the balloon leaves the guest", 1024, "balloon.current"),
		state("mem_rss_bytes", "memory of the emulator on the host", 1024, "balloon.rss"),
		state("guest_unused_bytes", "memory that the guest has left unused", 1024, "balloon.unused"),
		total("swap_in_bytes", "memory that the guest read back from swap", 1024, "balloon.swap_in"),
		total("swap_out_bytes", "memory that the guest wrote to swap", 1024, "balloon.swap_out"),
		total("major_faults", "page faults of the guest that read from a disk", 1, "balloon.major_fault"),
		total("reads", "reads from the data disk", 1, "disk.rd.reqs"),
		total("writes", "writes to the data disk", 1, "disk.wr.reqs"),
		total("read_bytes", "bytes read from the data disk", 1, "disk.rd.bytes"),
		total("write_bytes", "bytes written to the data disk", 1, "disk.wr.bytes"),
		total("read_s", "time that reads from the data disk took, added up", 1e-9, "disk.rd.times"),
		total("write_s", "time that writes to the data disk took, added up", 1e-9, "disk.wr.times"),
		total("flushes", "flushes of the data disk", 1, "disk.fl.reqs"),
		total("flush_s", "time that flushes of the data disk took, added up", 1e-9, "disk.fl.times"),
		total("rx_bytes", "bytes that the guest received", 1, "net.0.rx.bytes"),
		total("tx_bytes", "bytes that the guest sent", 1, "net.0.tx.bytes"),
		total("rx_packets", "packets that the guest received", 1, "net.0.rx.pkts"),
		total("tx_packets", "packets that the guest sent", 1, "net.0.tx.pkts"),
	}
	return columns
}

// Name implements observe.Source.
func (s *domainSource) Name() string { return "domain" }

// Columns implements observe.Source.
func (s *domainSource) Columns() (columns []observe.Column) {
	for _, c := range s.columns {
		columns = append(columns, c.Column)
	}
	return columns
}

// Read implements observe.Source.
func (s *domainSource) Read(_ context.Context, out []float64) error {
	records, err := s.conn.ConnectGetAllDomainStats([]libvirt.Domain{s.domain}, statistics, 0)
	if err != nil {
		return fmt.Errorf("the statistics of machine %s: %w", s.domain.Name, err)
	}
	values := map[string]float64{}
	for _, r := range records {
		disk := diskNumber(r.Params, s.disk)
		for _, p := range r.Params {
			if v, ok := number(p.Value.I); ok {
				if rest, ok := strings.CutPrefix(p.Field, disk); ok {
					values["disk."+rest] = v
				}
				values[p.Field] = v
			}
		}
	}
	for n, c := range s.columns {
		out[n] = c.sum(values)
	}
	return nil
}

// diskNumber is the beginning of the fields of the disk with this name.
func diskNumber(params []libvirt.TypedParam, name string) string {
	for _, p := range params {
		prefix, ok := strings.CutSuffix(p.Field, ".name")
		if text, isText := p.Value.I.(string); ok && isText && strings.HasPrefix(prefix, "block.") && text == name {
			return prefix + "."
		}
	}
	return "no disk"
}

// sum is NaN where one of the column's statistics is absent.
func (c domainColumn) sum(values map[string]float64) (sum float64) {
	for _, f := range c.fields {
		v, ok := values[f]
		if !ok {
			return math.NaN()
		}
		sum += v * c.scale
	}
	return sum
}

// guestSource reads the guest's own counters over the serial port. They count
// for the host's time of the reading, which lies between question and answer.
type guestSource struct {
	clk      clock.Clock
	sampling *guest.Sampling
	facts    guest.Facts
}

// Name implements observe.Source.
func (s *guestSource) Name() string { return "guest" }

// Columns implements observe.Source: those of a host, and two about the reading
// itself.
func (s *guestSource) Columns() []observe.Column {
	return append(s.facts.Columns[:len(s.facts.Columns):len(s.facts.Columns)],
		observe.Column{Name: "reading_s", About: "time between question and answer, within which the reading was made"},
		observe.Column{Name: "clock_offset_s", About: "how far the guest's time of day is ahead of the host's, give or take half of reading_s"})
}

// Read implements observe.Source.
func (s *guestSource) Read(ctx context.Context, out []float64) error {
	n := len(s.facts.Columns)
	asked := s.clk.Now()
	at, err := s.sampling.Read(out[:n])
	if err != nil {
		return fmt.Errorf("the guest's counters: %w", err)
	}
	took := s.clk.Now().Sub(asked)
	out[n] = took.Seconds()
	out[n+1] = at.Sub(asked.Add(took / 2)).Seconds()
	return ctx.Err()
}
