package observe

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Topology is how a machine is built, as far as its kernel tells
// (Documentation/ABI/stable/sysfs-devices-system-cpu, sysfs-devices-node).
type Topology struct {
	Nodes   []Node // that have memory or CPUs
	Sockets []Socket
	Disks   []Device
}

// Node is a NUMA node.
type Node struct {
	Number int
	CPUs   []int // empty where it has memory only
	Memory unit.Bytes
}

// Socket is a processor package with its cores, by number.
type Socket struct {
	Number int
	Cores  []Core
}

// Core is a physical core with its hardware threads.
type Core struct {
	CPUs   []int   // its threads, as the kernel counts CPUs
	Caches []Cache // the nearest first
}

// Cache is a cache and the CPUs that share it.
type Cache struct {
	Name string // "L1d", "L2"
	Size unit.Bytes
	CPUs []int
}

// Device is a block device that is no partition, loop or memory device.
type Device struct {
	Name       string
	Model      string
	Size       unit.Bytes
	Rotational bool
	Scheduler  string // of requests: "none", "mq-deadline"
}

// FindTopology reads the topology below sys, which is "/sys" except in tests.
// What the system does not tell is left out; the zero Topology means that it
// tells nothing (there is no sysfs).
func FindTopology(sys string) Topology {
	var t Topology
	dirs, _ := filepath.Glob(filepath.Join(sys, "devices/system/cpu/cpu[0-9]*/topology"))
	sockets := map[int]map[string]Core{} // socket → list of a core's threads → core
	for _, d := range dirs {
		socket, err := strconv.Atoi(word(d + "/physical_package_id"))
		threads := firstOf(d+"/core_cpus_list", d+"/thread_siblings_list")
		cpus := cpuList(threads)
		if err != nil || len(cpus) == 0 {
			continue // offline
		}
		if sockets[socket] == nil {
			sockets[socket] = map[string]Core{}
		}
		if _, known := sockets[socket][threads]; !known {
			sockets[socket][threads] = Core{CPUs: cpus, Caches: cachesOf(filepath.Dir(d))}
		}
	}
	for _, number := range slices.Sorted(maps.Keys(sockets)) {
		cores := slices.SortedFunc(maps.Values(sockets[number]), func(a, b Core) int { return cmp.Compare(a.CPUs[0], b.CPUs[0]) })
		t.Sockets = append(t.Sockets, Socket{Number: number, Cores: cores})
	}
	t.Nodes = nodesOf(sys)
	t.Disks = devicesOf(sys)
	return t
}

// firstOf is the first file's word that is not empty: names of files in sysfs
// have changed over time.
func firstOf(paths ...string) string {
	for _, p := range paths {
		if w := word(p); w != "" {
			return w
		}
	}
	return ""
}

// cachesOf reads the caches of one CPU.
func cachesOf(cpu string) (all []Cache) {
	dirs, _ := filepath.Glob(cpu + "/cache/index[0-9]*")
	for _, d := range dirs {
		kind := map[string]string{"Data": "d", "Instruction": "i"}[word(d+"/type")]
		kib, err := strconv.Atoi(strings.TrimSuffix(word(d+"/size"), "K"))
		if err != nil {
			continue
		}
		all = append(all, Cache{Name: "L" + word(d+"/level") + kind, Size: unit.Bytes(kib) * unit.KiB, CPUs: cpuList(word(d + "/shared_cpu_list"))})
	}
	slices.SortFunc(all, func(a, b Cache) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func nodesOf(sys string) (all []Node) {
	dirs, _ := filepath.Glob(filepath.Join(sys, "devices/system/node/node[0-9]*"))
	for _, d := range dirs {
		number, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(d), "node"))
		if err != nil {
			continue
		}
		n := Node{Number: number, CPUs: cpuList(word(d + "/cpulist"))}
		for line := range strings.Lines(word(d + "/meminfo")) {
			f := strings.Fields(line) // "Node 0 MemTotal: 24659212 kB"
			if len(f) == 5 && f[2] == "MemTotal:" {
				kib, _ := strconv.ParseInt(f[3], 10, 64)
				n.Memory = unit.Bytes(kib) * unit.KiB
			}
		}
		if len(n.CPUs) > 0 || n.Memory > 0 {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b Node) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

func devicesOf(sys string) (all []Device) {
	dirs, _ := filepath.Glob(filepath.Join(sys, "block/*"))
	for _, d := range dirs {
		name := filepath.Base(d)
		sectors, err := strconv.ParseInt(word(d+"/size"), 10, 64)
		memory := strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "ram") || strings.HasPrefix(name, "zram")
		if err != nil || sectors == 0 || memory {
			continue
		}
		all = append(all, Device{
			Name: strings.ReplaceAll(name, "!", "/"), Model: word(d + "/device/model"), Size: unit.Bytes(sectors * sectorBytes),
			Rotational: word(d+"/queue/rotational") == "1", Scheduler: chosen(word(d + "/queue/scheduler")),
		})
	}
	return all
}

// cpuList reads a list as the kernel writes it ("0-1,4"); nil where it is none.
func cpuList(list string) (cpus []int) {
	const most = 1 << 13 // the most CPUs that a Linux kernel can be built for
	for _, part := range strings.Split(list, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		first, err1 := strconv.Atoi(lo)
		last, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || first < 0 || last < first || last >= most {
			return nil
		}
		for c := first; c <= last; c++ {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// cpuText is the reverse of cpuList: "CPU 0", "CPUs 0-1,4".
func cpuText(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		part := strconv.Itoa(cpus[i])
		if j > i {
			part += "-" + strconv.Itoa(cpus[j])
		}
		parts, i = append(parts, part), j+1
	}
	if len(cpus) == 1 {
		return "CPU " + parts[0]
	}
	return "CPUs " + strings.Join(parts, ",")
}

// sameCaches says whether two cores have caches of the same sizes.
func sameCaches(a, b []Cache) bool {
	return slices.EqualFunc(a, b, func(x, y Cache) bool { return x.Name == y.Name && x.Size == y.Size })
}

// count is "1 core", "2 cores".
func count(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
