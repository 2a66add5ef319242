package observe

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
)

// sectorBytes is the kernel's unit in /proc/diskstats, whatever the device's
// own sectors are.
const sectorBytes = 512

// Host gives the counters of the whole machine from /proc.
type Host struct {
	proc    procfs.FS
	block   blockdevice.FS
	disks   []string
	nets    []string
	columns []Column
	// readers fill the columns in order; each knows how many are its own.
	readers []reader
}

// reader fills the next columns; those it can't read stay NaN.
type reader struct {
	columns []Column
	read    func(out []float64) error
}

// NewHost opens the machine's counters. Counters that this kernel does not
// have are left out; the error says that there are none at all.
func NewHost() (*Host, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("host counters: %w", err)
	}
	block, err := blockdevice.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("host counters: %w", err)
	}
	h := &Host{proc: proc, block: block}
	for _, r := range []reader{h.cpu(), h.memory(), h.swap(), h.diskReader(), h.netReader(), h.pressure("cpu"), h.pressure("io"), h.pressure("memory")} {
		probe := make([]float64, len(r.columns))
		if len(probe) == 0 || r.read(probe) != nil {
			continue
		}
		h.readers = append(h.readers, r)
		h.columns = append(h.columns, r.columns...)
	}
	if len(h.columns) == 0 {
		return nil, fmt.Errorf("host counters: /proc holds none that are known")
	}
	return h, nil
}

// Name implements Source.
func (h *Host) Name() string { return "host" }

// Columns implements Source.
func (h *Host) Columns() []Column { return h.columns }

// Read implements Source.
func (h *Host) Read(_ context.Context, out []float64) error {
	for _, r := range h.readers {
		own := out[:len(r.columns)]
		for i := range own {
			own[i] = math.NaN()
		}
		// A reader that fails leaves its columns absent for this tick; the
		// others are read all the same.
		_ = r.read(own)
		out = out[len(own):]
	}
	return nil
}

// Disks are the names of the devices that Host watches.
func (h *Host) Disks() []string { return h.disks }

func (h *Host) cpu() reader {
	return reader{
		columns: []Column{
			{Name: "cpu_user_s", Total: true, About: "CPU time in user mode, all CPUs"},
			{Name: "cpu_nice_s", Total: true, About: "CPU time in user mode at low priority"},
			{Name: "cpu_system_s", Total: true, About: "CPU time in the kernel"},
			{Name: "cpu_idle_s", Total: true, About: "idle CPU time"},
			{Name: "cpu_iowait_s", Total: true, About: "idle CPU time while a disk was waited for"},
			{Name: "cpu_irq_s", Total: true, About: "CPU time in interrupt handlers"},
			{Name: "cpu_softirq_s", Total: true, About: "CPU time in soft interrupts"},
			{Name: "cpu_steal_s", Total: true, About: "CPU time that the hypervisor gave to others"},
			{Name: "cpus", Total: false, About: "CPUs online"},
			{Name: "run_queue", Total: false, About: "tasks that run or could run"},
			{Name: "blocked", Total: false, About: "tasks that wait for a disk"},
			{Name: "context_switches", Total: true, About: "context switches"},
			{Name: "interrupts", Total: true, About: "interrupts"},
			{Name: "forks", Total: true, About: "processes made"},
		},
		read: func(out []float64) error {
			s, err := h.proc.Stat()
			if err != nil {
				return err
			}
			t := s.CPUTotal
			copy(out, []float64{
				t.User, t.Nice, t.System, t.Idle, t.Iowait, t.IRQ, t.SoftIRQ, t.Steal,
				float64(len(s.CPU)), float64(s.ProcessesRunning), float64(s.ProcessesBlocked),
				float64(s.ContextSwitches), float64(s.IRQTotal), float64(s.ProcessCreated),
			})
			return nil
		},
	}
}

func (h *Host) memory() reader {
	return reader{
		columns: []Column{
			{Name: "mem_total_bytes", Total: false, About: "memory of the machine"},
			{Name: "mem_available_bytes", Total: false, About: "memory that programs could still get"},
			{Name: "mem_cached_bytes", Total: false, About: "page cache"},
			{Name: "mem_dirty_bytes", Total: false, About: "page cache not yet written"},
			{Name: "mem_writeback_bytes", Total: false, About: "page cache being written"},
			{Name: "huge_pages_free", Total: false, About: "large pages that nobody uses"},
			{Name: "huge_pages_total", Total: false, About: "large pages reserved"},
		},
		read: func(out []float64) error {
			m, err := h.proc.Meminfo()
			if err != nil {
				return err
			}
			copy(out, []float64{
				ptr(m.MemTotalBytes), ptr(m.MemAvailableBytes), ptr(m.CachedBytes), ptr(m.DirtyBytes),
				ptr(m.WritebackBytes), ptr(m.HugePagesFree), ptr(m.HugePagesTotal),
			})
			return nil
		},
	}
}

func (h *Host) swap() reader {
	return reader{
		columns: []Column{
			{Name: "swap_in_pages", Total: true, About: "pages read back from swap"},
			{Name: "swap_out_pages", Total: true, About: "pages written to swap"},
		},
		read: func(out []float64) error {
			text, err := os.ReadFile("/proc/vmstat")
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
				n, err := strconv.ParseFloat(value, 64)
				switch {
				case err != nil:
				case name == "pswpin":
					out[0] = n
				case name == "pswpout":
					out[1] = n
				}
			}
			return nil
		},
	}
}

// diskReader watches whole devices that have done anything since boot: no
// partitions, which would count twice, and no idle loop devices.
func (h *Host) diskReader() reader {
	var r reader
	stats, err := h.block.ProcDiskstats()
	if err != nil {
		return r
	}
	for _, d := range stats {
		if _, err := os.Stat("/sys/block/" + d.DeviceName); err != nil || d.ReadIOs+d.WriteIOs == 0 {
			continue
		}
		h.disks = append(h.disks, d.DeviceName)
		p := "disk_" + d.DeviceName + "_"
		r.columns = append(r.columns,
			Column{Name: p + "reads", Total: true, About: "reads completed"},
			Column{Name: p + "writes", Total: true, About: "writes completed"},
			Column{Name: p + "read_bytes", Total: true, About: "bytes read"},
			Column{Name: p + "write_bytes", Total: true, About: "bytes written"},
			Column{Name: p + "read_s", Total: true, About: "time that reads took, added up"},
			Column{Name: p + "write_s", Total: true, About: "time that writes took, added up"},
			Column{Name: p + "busy_s", Total: true, About: "time with at least one request under way"},
			Column{Name: p + "queue_s", Total: true, About: "time of all requests under way, added up"},
			Column{Name: p + "flushes", Total: true, About: "cache flushes completed"},
			Column{Name: p + "flush_s", Total: true, About: "time that flushes took, added up"},
		)
	}
	r.read = func(out []float64) error {
		stats, err := h.block.ProcDiskstats()
		if err != nil {
			return err
		}
		for i, name := range h.disks {
			for _, d := range stats {
				if d.DeviceName == name {
					copy(out[i*10:], []float64{
						float64(d.ReadIOs), float64(d.WriteIOs),
						float64(d.ReadSectors) * sectorBytes, float64(d.WriteSectors) * sectorBytes,
						float64(d.ReadTicks) / 1e3, float64(d.WriteTicks) / 1e3,
						float64(d.IOsTotalTicks) / 1e3, float64(d.WeightedIOTicks) / 1e3,
						float64(d.FlushRequestsCompleted), float64(d.TimeSpentFlushing) / 1e3,
					})
				}
			}
		}
		return nil
	}
	return r
}

// netReader watches interfaces that have carried anything, loopback included:
// the load of a study on one machine crosses it.
func (h *Host) netReader() reader {
	var r reader
	dev, err := h.proc.NetDev()
	if err != nil {
		return r
	}
	for _, d := range dev {
		if d.RxPackets+d.TxPackets > 0 || d.Name == "lo" {
			h.nets = append(h.nets, d.Name)
		}
	}
	for _, name := range h.nets {
		p := "net_" + name + "_"
		r.columns = append(r.columns,
			Column{Name: p + "rx_bytes", Total: true, About: "bytes received"},
			Column{Name: p + "tx_bytes", Total: true, About: "bytes sent"},
			Column{Name: p + "rx_packets", Total: true, About: "packets received"},
			Column{Name: p + "tx_packets", Total: true, About: "packets sent"},
		)
	}
	r.read = func(out []float64) error {
		dev, err := h.proc.NetDev()
		if err != nil {
			return err
		}
		for i, name := range h.nets {
			if d, ok := dev[name]; ok {
				copy(out[i*4:], []float64{float64(d.RxBytes), float64(d.TxBytes), float64(d.RxPackets), float64(d.TxPackets)})
			}
		}
		return nil
	}
	return r
}

// pressure reads the stall times of one resource (kernel 4.20 and later).
func (h *Host) pressure(resource string) reader {
	columns := []Column{{Name: "pressure_" + resource + "_some_s", Total: true, About: "time in which some task waited for " + resource}}
	if resource != "cpu" {
		columns = append(columns, Column{Name: "pressure_" + resource + "_full_s", Total: true, About: "time in which every task waited for " + resource})
	}
	return reader{columns, func(out []float64) error {
		p, err := h.proc.PSIStatsForResource(resource)
		if err != nil {
			return err
		}
		for i, line := range []*procfs.PSILine{p.Some, p.Full}[:len(columns)] {
			if line != nil {
				out[i] = float64(line.Total) / 1e6
			}
		}
		return nil
	}}
}

func ptr(n *uint64) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}
