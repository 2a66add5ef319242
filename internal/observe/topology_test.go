package observe_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/observe"
)

// sysfs makes files as the kernel shows them.
type sysfs struct {
	t    *testing.T
	root string
}

func (s sysfs) put(path, text string) {
	s.t.Helper()
	full := filepath.Join(s.root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text+"\n"), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s sysfs) cpu(n, socket int, siblings, l3 string) {
	dir := fmt.Sprintf("devices/system/cpu/cpu%d/", n)
	s.put(dir+"topology/physical_package_id", fmt.Sprint(socket))
	s.put(dir+"topology/core_cpus_list", siblings)
	for i, c := range []struct{ level, kind, size, shared string }{
		{"1", "Data", "48K", siblings}, {"1", "Instruction", "32K", siblings}, {"2", "Unified", "2048K", siblings}, {"3", "Unified", "32768K", l3},
	} {
		index := fmt.Sprintf("%scache/index%d/", dir, i)
		s.put(index+"level", c.level)
		s.put(index+"type", c.kind)
		s.put(index+"size", c.size)
		s.put(index+"shared_cpu_list", c.shared)
	}
}

func (s sysfs) node(n int, cpus string, kib int) {
	s.put(fmt.Sprintf("devices/system/node/node%d/cpulist", n), cpus)
	s.put(fmt.Sprintf("devices/system/node/node%d/meminfo", n), fmt.Sprintf("Node %d MemTotal:       %d kB\nNode %d MemFree: 1 kB", n, kib, n))
}

func (s sysfs) disk(name, sectors, rotational, scheduler, model string) {
	s.put("block/"+name+"/size", sectors)
	s.put("block/"+name+"/queue/rotational", rotational)
	s.put("block/"+name+"/queue/scheduler", scheduler)
	if model != "" {
		s.put("block/"+name+"/device/model", model)
	}
}

func TestTopologyIsDrawnAsATree(t *testing.T) {
	s := sysfs{t, t.TempDir()}
	for n := range 4 { // two sockets, two cores each, two threads each
		s.cpu(n, n/2, fmt.Sprintf("%d,%d", n, n+4), []string{"0-1,4-5", "2-3,6-7"}[n/2])
		s.cpu(n+4, n/2, fmt.Sprintf("%d,%d", n, n+4), []string{"0-1,4-5", "2-3,6-7"}[n/2])
	}
	s.put("devices/system/cpu/cpu8/topology/physical_package_id", "") // offline
	s.node(0, "0-1,4-5", 16<<20)
	s.node(1, "2-3,6-7", 16<<20)
	s.node(2, "", 64<<20)
	s.disk("nvme0n1", "2097152", "0", "[none] mq-deadline", "Fast 9")
	s.disk("sda", "4194304", "1", "none [mq-deadline]", "")
	s.disk("loop0", "8", "0", "[none]", "")
	const want = `machine: 2 sockets, 4 cores, 8 threads, 3 NUMA nodes, 96 GiB
├─ socket 0
│  └─ NUMA node 0, 16 GiB
│     └─ L3 32 MiB
│        ├─ core: CPUs 0,4, L1d 48 KiB, L1i 32 KiB, L2 2 MiB
│        └─ core: CPUs 1,5, L1d 48 KiB, L1i 32 KiB, L2 2 MiB
├─ socket 1
│  └─ NUMA node 1, 16 GiB
│     └─ L3 32 MiB
│        ├─ core: CPUs 2,6, L1d 48 KiB, L1i 32 KiB, L2 2 MiB
│        └─ core: CPUs 3,7, L1d 48 KiB, L1i 32 KiB, L2 2 MiB
├─ NUMA node 2, 64 GiB, without CPUs
├─ disk nvme0n1, 1 GiB, solid state or virtual, scheduler none, Fast 9
└─ disk sda, 2 GiB, rotating, scheduler mq-deadline
`
	if got := observe.FindTopology(s.root).Draw(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestManyCoresAlikeAreOneLine(t *testing.T) {
	s := sysfs{t, t.TempDir()}
	for n := range 64 {
		s.cpu(n, 0, fmt.Sprint(n), "0-63")
	}
	const want = `machine: 1 socket, 64 cores, 64 threads, 1 NUMA node
└─ socket 0
   └─ L3 32 MiB
      └─ 64 cores: CPUs 0-63, L1d 48 KiB, L1i 32 KiB, L2 2 MiB, 1 thread each
`
	if got := observe.FindTopology(s.root).Draw(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestANodeOfPartOfASocketHasItsCoresOnly(t *testing.T) {
	s := sysfs{t, t.TempDir()}
	for n := range 4 {
		s.cpu(n, 0, fmt.Sprint(n), []string{"0-1", "2-3"}[n/2])
	}
	s.node(0, "0-1", 1<<20)
	s.node(1, "2-3", 1<<20)
	got := observe.FindTopology(s.root).Draw()
	if !strings.Contains(got, "   ├─ NUMA node 0, 1 GiB\n   │  └─ L3 32 MiB\n   │     ├─ core: CPU 0,") || !strings.Contains(got, "   └─ NUMA node 1") {
		t.Errorf("got\n%s", got)
	}
}

func TestWithoutSysfsNothingIsDrawn(t *testing.T) {
	if got := observe.FindTopology(t.TempDir()).Draw(); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestThisMachinesTopologyAgreesWithItsDescription(t *testing.T) {
	top := observe.FindTopology("/sys")
	if len(top.Sockets) == 0 {
		t.Skip("this system has no sysfs")
	}
	cores := 0
	for _, s := range top.Sockets {
		cores += len(s.Cores)
	}
	m := observe.Machine(t.TempDir())
	if len(top.Sockets) != m.Sockets || cores != m.Cores {
		t.Errorf("%d sockets and %d cores are drawn, the machine has %d and %d", len(top.Sockets), cores, m.Sockets, m.Cores)
	}
	t.Log("\n" + top.Draw())
}
