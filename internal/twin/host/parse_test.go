package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

const sound = `host: box
about: a box
nodes: 2
cpu: {sockets: 2, cores: 4, threads: 2, clock: 2.8GHz, turbo: [3.4GHz, 3.0GHz], smt-gain: 1.25, remote: 1.6}
memory: 64GiB
devices:
  ssd: {read: 100us, write: 50us, channels: 4, rate: 400MB/s, capacity: 200GB}
stores:
  data:
    tiers:
      - {device: ssd, raid: raid10, groups: 2, disks: 4}
    queue-depth: 64
    copies: 2
    hop: 150us
nics:
  lan: {rate: 10Gb/s, latency: 30us, queues: 4, interrupts: 8000}
`

func TestParseReadsEveryEntry(t *testing.T) {
	h, err := Parse("box.yaml", []byte(sound))
	if err != nil {
		t.Fatal(err)
	}
	if h.Name != "box" || h.Nodes != 2 || h.Memory != 64*unit.GiB || h.CPU.CPUs() != 16 || h.CPU.GHz != 2.8 ||
		len(h.CPU.Turbo) != 2 || h.CPU.Turbo[1] != 3 || h.CPU.SMTGain != 1.25 || h.CPU.Remote != 1.6 {
		t.Errorf("%+v", h)
	}
	s, err := h.Store("data")
	if err != nil || s.QueueDepth != 64 || s.Copies != 2 || s.Hop != 150*time.Microsecond || s.Extent != 64*unit.MiB {
		t.Fatalf("%+v, %v", s, err)
	}
	tier := s.Tiers[0]
	if tier.Level != RAID10 || tier.Device.Rate != 400e6 || tier.Device.Channels != 4 || tier.Capacity(s.Copies) != 400e9 {
		t.Errorf("%+v with %s", tier, tier.Capacity(s.Copies))
	}
	n, err := h.NIC("lan")
	if err != nil || n.BitsPerSecond != 10e9 || n.Queues != 4 || n.MTU != 1500 || n.InterruptsPerSecond != 8000 {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := h.Store("x"); err == nil {
		t.Error("an unknown store: no error")
	}
	if _, err := h.NIC("x"); err == nil {
		t.Error("an unknown interface: no error")
	}
}

func TestFaultsCarryTheirPlaces(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"host: box", "hots: box", "box.yaml:1:1: the file lacks host"},
		{"host: box", "hots: box", `box.yaml:1:1: the file has no entry "hots"; allowed: about, cpu, devices`},
		{"nodes: 2", "nodes: 0", `box.yaml:3:8: nodes: "0" is not a whole number from 1 to 1024`},
		{"nodes: 2", "about: x", `box.yaml:3:1: "about" stands twice in the file`},
		{"2.8GHz", "2.8", `box.yaml:4:48: clock: "2.8" is not a number from 0.1 to 10 with the unit GHz`},
		{"3.0GHz]", "3.6GHz]", "turbo: 3.6GHz with more active cores than 3.4GHz"},
		{"turbo: [3.4GHz, 3.0GHz]", "turbo: 3.4GHz", "box.yaml:4:63: turbo is a list"},
		{"64GiB", "64", "box.yaml:5:9: memory: "},
		{"memory: 64GiB", "memory: [1]", "box.yaml:5:9: memory is a single value"},
		{"cores: 4", "cores: 40", "80 threads a socket"},
		{"400MB/s", "400", `rate: "400" is not a rate such as 120MB/s`},
		{"device: ssd", "device: hdd", `box.yaml:11:18: device: "hdd" stands not under devices`},
		{"raid10", "raid6", "raid6"},
		{"disks: 4", "disks: 3", "box.yaml:11:10: 3 disks do not make pairs"},
		{"groups: 2", "groups: 1", "2 copies need as many groups, not 1"},
		{"nics:\n  lan: {", "nics:\n  lan: {x: 1, ", `box.yaml:16:9: lan has no entry "x"`},
		{"nics:", "nics: 5\nmore:", "box.yaml:15:7: nics is a section of entries"},
		{"sockets: 2", "sockets: *x", "box.yaml:4:16: "},
		{"cpu: {", "cpu: {{", "box.yaml:4:"},
		{sound, "", "box.yaml:1:1: a host file is one document"},
		{sound, "- a", "box.yaml:1:1: the file is a section"},
		{sound, strings.Repeat("#", maxFile+1), "at most 65536"},
	} {
		_, err := Parse("box.yaml", []byte(strings.Replace(sound, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %q", c.new, c.old, err, c.want)
			continue
		}
		var one Error
		if !errors.As(err, &one) || one.Line < 1 || one.Column < 1 {
			t.Errorf("%s: no Error within %v", c.new, err)
		}
	}
}

func TestAllFaultsComeAtOnceAndInOrder(t *testing.T) {
	src := strings.NewReplacer("nodes: 2", "nodes: x", "64GiB", "much", "queues: 4", "queues: -1").Replace(sound)
	_, err := Parse("f", []byte(src))
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "f:3:") || !strings.HasPrefix(lines[1], "f:5:") || !strings.HasPrefix(lines[2], "f:16:") {
		t.Errorf("faults %q", lines)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte("cpu: {turbo: [*a, &b 3GHz], <<: 1}\nhost: !x y\n? [a]: b\n--- \n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		h, err := Parse("f", src)
		if (h == nil) == (err == nil) {
			t.Fatalf("host %v, error %v", h, err)
		}
		if h != nil && (h.CPU.CPUs() < 1 || h.Nodes < 1 || h.Memory < 0) {
			t.Fatalf("%+v passed", h)
		}
	})
}

// TestTheHostFilesAreSound reads the machines that come with the project.
func TestTheHostFilesAreSound(t *testing.T) {
	const folder = "../../../hosts"
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) < 14 {
		t.Fatalf("%d host files, %v", len(files), err)
	}
	// Sockets, cores and threads of a node, as the studies print them.
	printed := map[string][3]int{
		"r920": {4, 60, 120}, "r920prev": {4, 40, 80}, "pe2970": {2, 8, 8}, "lro": {2, 12, 24}, "docker16": {2, 16, 32},
		"vmkpool": {2, 24, 48}, "iompool": {2, 24, 48}, "net40": {2, 12, 24}, "r820": {4, 32, 64}, "vsan8": {2, 20, 40},
		"r730": {2, 36, 72}, "e74870": {4, 32, 64}, "hc380": {2, 36, 72}, "dl580": {4, 72, 144},
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h, err := Parse(file, src)
		if err != nil {
			t.Error(err)
			continue
		}
		p := h.CPU
		if want := printed[name]; h.Name != name || [3]int{p.Sockets, p.Sockets * p.Cores, p.CPUs()} != want {
			t.Errorf("%s: host %s with %d sockets, %d cores, %d threads, want %v", file, h.Name, p.Sockets, p.Sockets*p.Cores, p.CPUs(), want)
		}
		if h.Source == "" || h.About == "" || len(h.Stores) == 0 || len(h.NICs) == 0 {
			t.Errorf("%s lacks its source, a line about it, stores or interfaces", file)
		}
		delete(printed, name)
	}
	if len(printed) > 0 {
		t.Errorf("no files for %v", printed)
	}
}
