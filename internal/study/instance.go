package study

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Patterns of what instances are given. The schema and the checks use the same.
const (
	byteRatePattern = `^([0-9]+(\.[0-9]*)?|\.[0-9]+) *([KMGT]i?B|kB|B) */ *s$`
	opRatePattern   = `^[1-9][0-9]{0,8} */ *s$`
	topologyPattern = `^[1-9][0-9]{0,2}x[1-9][0-9]{0,2}x[1-9][0-9]{0,2}$`
	devicePattern   = `^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`
	pathPattern     = `^/[^\n\x00]*$`
)

// Placements are what instance.placement may be.
const (
	PlaceCores   = "cores"   // each CPU on a core of its own
	PlaceThreads = "threads" // on as few cores as possible, all their threads
	PlaceNode    = "node"    // on one NUMA node
)

// instanceKnobs are those that control groups have, too.
func instanceKnobs() []knob {
	return []knob{
		// Least: a quota of 1 ms in the kernel's default period of 100 ms,
		// the shortest that cgroups accept.
		{Param: unit.Param{Name: "instance.cpus", Kind: unit.Float, Min: "0.01", Max: "4096", About: "CPU time that the instance may use, as a number of CPUs (a quota); left out, unconfined."},
			set: func(_ *Study, c *Config, t string) { c.Shape.CPUs = float(t) }},
		listKnob("instance.cpuset", "Which CPUs the instance may run on, in the kernel's list form; left out, all.",
			func(c *Config, t string) { c.Shape.CPUSet = t }),
		{Param: unit.Param{Name: "instance.placement", Allowed: []string{"none", PlaceCores, PlaceThreads, PlaceNode}, About: "How instance.cpus CPUs are chosen for the instance: cores, each on a core of its own; threads, on as few cores as possible; node, all on one NUMA node; none, where left out."},
			set: func(_ *Study, c *Config, t string) {
				if t != "none" {
					c.Shape.Placement = t
				}
			}},
		listKnob("instance.mems", "Which NUMA nodes the instance has its memory from, in the kernel's list form; left out, all.",
			func(c *Config, t string) { c.Shape.Mems = t }),
		{Param: unit.Param{Name: "instance.memory", Kind: unit.Size, Min: "16MiB", Max: "1024TiB", About: "Memory limit of the instance, page cache included; left out, unconfined."},
			set: func(_ *Study, c *Config, t string) { c.Shape.Memory, _ = unit.ParseBytes(t) }},
		// Bounds: MIN_SHARES and MAX_SHARES of the kernel's scheduler.
		{Param: unit.Param{Name: "instance.cpu_shares", Kind: unit.Int, Min: "2", Max: "262144", About: "Weight of the instance where CPUs are short, in the scale of cgroup v1: 1024 is normal."},
			set: func(_ *Study, c *Config, t string) { c.Shape.CPUShares = int(number(t)) }},
		byteRateKnob("instance.disk_read", "What the instance may read from the disk of its files in a second; left out, no limit.",
			func(c *Config, b unit.Bytes) { c.Shape.ReadBytesPS = b }),
		byteRateKnob("instance.disk_write", "What the instance may write to the disk of its files in a second; left out, no limit.",
			func(c *Config, b unit.Bytes) { c.Shape.WriteBytesPS = b }),
		opRateKnob("instance.disk_read_ops", "How many reads of the disk of its files the instance may make in a second; left out, no limit.",
			func(c *Config, n int) { c.Shape.ReadOpsPS = n }),
		opRateKnob("instance.disk_write_ops", "How many writes to the disk of its files the instance may make in a second; left out, no limit.",
			func(c *Config, n int) { c.Shape.WriteOpsPS = n }),
		volumeKnob("instance.data_volume", "Directory, on whatever file system, that holds the instance's files and their golden state; left out, the cache directory.",
			func(c *Config, t string) { c.Shape.DataVolume = t }),
		volumeKnob("instance.log_volume", "Directory, on whatever file system, that holds the database's log apart from its data; left out, the log lies with the data.",
			func(c *Config, t string) { c.Shape.LogVolume = t }),
		{Param: unit.Param{Name: "instance.large_pages", Allowed: []string{"off", "guest", "host", "both"}, About: "Large pages: for the database's buffers (guest, where the instance is a virtual machine; host, where it is not), for a virtual machine's memory (host), or both; left out, as the system has it."},
			set: func(_ *Study, c *Config, t string) { c.Shape.LargePages = t }},
	}
}

// guestKnobs are those that only virtual machines have.
func guestKnobs() []knob {
	device := func(name, about string, set func(*Config, string)) knob {
		return knob{Param: unit.Param{Name: name, About: about},
			also:  matches(devicePattern, "the name of a device"),
			shape: "the provider's name of a device, such as virtio-scsi", pattern: devicePattern,
			set: func(_ *Study, c *Config, t string) { set(c, t) }}
	}
	return []knob{
		{Param: unit.Param{Name: "instance.cpu_reservation", Kind: unit.Float, Min: "0.01", Max: "4096", About: "CPU time that is kept for the virtual machine even where others want it, as a number of CPUs; left out, none."},
			set: func(_ *Study, c *Config, t string) { c.Shape.Reservation = float(t) }},
		{Param: unit.Param{Name: "instance.topology", About: "Sockets, cores of a socket and threads of a core that the virtual machine sees, such as 2x4x1; left out, the provider's choice."},
			also:  matches(topologyPattern, "a topology"),
			shape: "SOCKETSxCORESxTHREADS, such as 2x4x1", pattern: topologyPattern,
			set: func(_ *Study, c *Config, t string) { c.Shape.Topology = parseTopology(t) }},
		{Param: unit.Param{Name: "instance.vnuma", Kind: unit.Int, Min: "1", Max: "64", About: "How many NUMA nodes the virtual machine sees; left out, the provider's choice."},
			set: func(_ *Study, c *Config, t string) { c.Shape.VirtualNUMA = int(number(t)) }},
		{Param: unit.Param{Name: "instance.latency", Allowed: []string{"normal", "high"}, About: "Latency sensitivity of the virtual machine; left out, normal."},
			set: func(_ *Study, c *Config, t string) { c.Shape.LatencySensitivity = t }},
		device("instance.disk_adapter", "Adapter of the virtual machine's disks; left out, the provider's choice.",
			func(c *Config, t string) { c.Shape.DiskAdapter = t }),
		device("instance.network_adapter", "Network adapter of the virtual machine; left out, the provider's choice.",
			func(c *Config, t string) { c.Shape.NetworkAdapter = t }),
	}
}

// driverKnobs say where the driver runs.
func driverKnobs() []knob {
	const fixed = "results of different drivers could not be compared"
	set := listKnob("driver.cpuset", "CPUs of the driver's own, in the kernel's list form; instances are kept off them.",
		func(c *Config, t string) { c.Driver.CPUSet = t })
	set.fixed = fixed
	return []knob{
		{Param: unit.Param{Name: "driver.cpus", Kind: unit.Int, Min: "1", Max: "4096", About: "How many CPUs of its own the driver gets, whole cores where it can; instances are kept off them. Left out, the driver shares all CPUs."},
			fixed: fixed, set: func(_ *Study, c *Config, t string) { c.Driver.CPUs = int(number(t)) }},
		set,
	}
}

// matches checks a text that may be empty, which is "not set".
func matches(pattern, what string) func(string) error {
	re := regexp.MustCompile(pattern)
	return func(t string) error {
		if t != "" && !re.MatchString(t) {
			return fmt.Errorf("%q is not %s", t, what)
		}
		return nil
	}
}

// listKnob takes a list of CPUs or NUMA nodes.
func listKnob(name, about string, set func(*Config, string)) knob {
	what := "CPU"
	if strings.HasSuffix(name, "mems") {
		what = "node"
	}
	return knob{Param: unit.Param{Name: name, About: about},
		also: func(t string) error {
			if t == "" {
				return nil
			}
			_, err := parseList(what, t)
			return err
		},
		shape: what + ` numbers and ranges such as "0-1,4"`, pattern: cpuSetPattern,
		same: func(t string) string {
			if cpus, err := parseList(what, t); err == nil {
				return fmt.Sprint(cpus)
			}
			return t
		},
		set: func(_ *Study, c *Config, t string) { set(c, t) }}
}

func byteRateKnob(name, about string, set func(*Config, unit.Bytes)) knob {
	return knob{Param: unit.Param{Name: name, About: about},
		also: func(t string) error {
			if t == "" {
				return nil
			}
			_, err := parseByteRate(t)
			return err
		},
		shape: "a size a second, such as 50MiB/s", pattern: byteRatePattern,
		same: func(t string) string {
			if b, err := parseByteRate(t); err == nil {
				return b.String()
			}
			return t
		},
		set: func(_ *Study, c *Config, t string) {
			b, _ := parseByteRate(t)
			set(c, b)
		}}
}

func opRateKnob(name, about string, set func(*Config, int)) knob {
	count := func(t string) string { n, _, _ := strings.Cut(t, "/"); return strings.TrimSpace(n) }
	return knob{Param: unit.Param{Name: name, About: about},
		also:  matches(opRatePattern, "a number of operations a second"),
		shape: "a whole number a second, such as 200/s", pattern: opRatePattern,
		same: count,
		set:  func(_ *Study, c *Config, t string) { set(c, int(number(count(t)))) }}
}

func volumeKnob(name, about string, set func(*Config, string)) knob {
	return knob{Param: unit.Param{Name: name, About: about},
		also: func(t string) error {
			switch {
			case t != "" && !filepath.IsAbs(t):
				return fmt.Errorf("%q is not the path of a directory from the root on", t)
			case strings.ContainsAny(t, "\n\x00"):
				return errors.New("a path is one line")
			}
			return nil
		},
		shape: "an absolute path such as /mnt/fast", pattern: pathPattern, same: filepath.Clean,
		set: func(_ *Study, c *Config, t string) {
			if t != "" {
				set(c, filepath.Clean(t))
			}
		}}
}

// parseByteRate reads an amount a second such as 50MiB/s.
func parseByteRate(text string) (unit.Bytes, error) {
	amount, per, _ := strings.Cut(text, "/")
	b, err := unit.ParseBytes(strings.TrimSpace(amount))
	switch {
	case strings.TrimSpace(per) != "s" || err != nil:
		return 0, fmt.Errorf("%q is not a size a second", text)
	case b < unit.KiB:
		return 0, fmt.Errorf("%s is out of range: at least 1KiB/s", text)
	}
	return b, nil
}

// parseTopology reads a text that was found to be right.
func parseTopology(text string) (t Topology) {
	parts := strings.Split(text, "x")
	if len(parts) == 3 {
		t.Sockets, t.Cores, t.Threads = int(number(parts[0])), int(number(parts[1])), int(number(parts[2]))
	}
	return t
}

// ParseCPUs reads a list of CPUs such as "0-1,4", in rising order.
func ParseCPUs(text string) ([]int, error) { return parseList("CPU", text) }

// parseList reads a list of what is numbered, in rising order.
func parseList(what, text string) ([]int, error) {
	const most = 8191 // the kernel's largest NR_CPUS is 8192
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		lo, err1 := strconv.ParseUint(first, 10, 32)
		hi, err2 := strconv.ParseUint(last, 10, 32)
		switch {
		case errors.Join(err1, err2) != nil:
			return nil, fmt.Errorf("%q is not a list of %ss", text, what)
		case lo > hi:
			return nil, fmt.Errorf("range %s of %ss ends before it begins", part, what)
		case hi > most:
			return nil, fmt.Errorf("%s %d is out of range: at most %d", what, hi, most)
		}
		for n := lo; n <= hi; n++ {
			all = append(all, int(n))
		}
	}
	slices.Sort(all)
	for i := range all[1:] {
		if all[i] == all[i+1] {
			return nil, fmt.Errorf("%s %d stands twice in %q", what, all[i], text)
		}
	}
	return all, nil
}

// shaped reports parts of a shape that are right alone and impossible
// together.
func (c *checker) shaped(m map[string]entry, s Shape) {
	if set := s.CPUSet; set != "" {
		if cpus, err := ParseCPUs(set); err == nil && s.CPUs > float64(len(cpus)) {
			c.faultOnce("cpus over cpuset", c.blame(m, "instance.cpus", "instance.cpuset"),
				fmt.Sprintf("%g CPUs are more than the %d that cpuset %s holds", s.CPUs, len(cpus), set), "instance.cpus no more than instance.cpuset holds")
		}
	}
	switch {
	case s.Placement == "":
	case s.CPUSet != "":
		c.faultOnce("placement and cpuset", c.blame(m, "instance.placement", "instance.cpuset"),
			"instance.placement chooses the CPUs, but instance.cpuset names them already", "one of the two")
	case s.CPUs == 0 && !c.given("instance.cpus"):
		c.faultOnce("placement without cpus", c.blame(m, "instance.placement"),
			fmt.Sprintf("instance.placement: %s does not know how many CPUs to choose", s.Placement), "instance.cpus beside it")
	}
	if n := s.Topology.Sockets * s.Topology.Cores * s.Topology.Threads; n > 0 && s.CPUs > 0 && s.CPUs != float64(n) {
		c.faultOnce("topology and cpus", c.blame(m, "instance.topology", "instance.cpus"),
			fmt.Sprintf("instance.topology has %d CPUs, but instance.cpus is %g", n, s.CPUs), "the same number of CPUs in both")
	}
	if s.CPUs > 0 && s.Reservation > s.CPUs {
		c.faultOnce("reservation over cpus", c.blame(m, "instance.cpu_reservation", "instance.cpus"),
			fmt.Sprintf("%g CPUs can't be kept for an instance that may use %g", s.Reservation, s.CPUs), "instance.cpu_reservation no more than instance.cpus")
	}
}

// apart reports a driver and an instance that want the same CPUs.
func (c *checker) apart(m map[string]entry, cfg Config) {
	d := cfg.Driver
	if d.CPUs > 0 && d.CPUSet != "" {
		c.faultOnce("driver's cpus and cpuset", c.blame(m, "driver.cpus"), "driver.cpus chooses the driver's CPUs, but driver.cpuset names them already", "one of the two")
	}
	own, err1 := ParseCPUs(d.CPUSet)
	theirs, err2 := ParseCPUs(cfg.Shape.CPUSet)
	if d.CPUSet == "" || cfg.Shape.CPUSet == "" || err1 != nil || err2 != nil {
		return
	}
	for _, cpu := range theirs {
		if slices.Contains(own, cpu) {
			c.faultOnce("driver and cpuset", c.blame(m, "instance.cpuset", "driver.cpuset"),
				fmt.Sprintf("CPU %d is the driver's own (driver.cpuset %s) and is in instance.cpuset %s, too", cpu, d.CPUSet, cfg.Shape.CPUSet), "CPUs that the driver does not have")
			return
		}
	}
}

// WholeCPUs is how many CPUs an instance of shape s needs to have CPUs of its
// own, 0 where its CPUs are not confined.
func (s Shape) WholeCPUs() int { return int(math.Ceil(s.CPUs)) }
