package study

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

var bigHost = Size{CPUs: 120, Memory: unit.TiB}

// TestScalingFollowsTheGuidesRules has each rule and each unit once.
func TestScalingFollowsTheGuidesRules(t *testing.T) {
	s := Scale{From: bigHost, To: Size{CPUs: 2, Memory: 8 * unit.GiB}, Data: 0.001} // 1/60, 1/128, 1/1000
	for _, c := range []struct {
		rule              string
		by                ruling
		original, becomes string
	}{
		{"users", Scale.count, "60", "1"}, {"users, to the nearest", Scale.count, "95", "2"}, {"users", Scale.count, "6000", "100"},
		{"users that no parser takes", Scale.count, "many", "many"},
		{"a rate", Scale.rate, "600/s", "10/s"}, {"three digits", Scale.rate, "1000/s", "16.7/s"}, {"the unit stays", Scale.rate, "90 / min", "1.5/min"},
		{"CPUs", Scale.cpus, "120", "2"}, {"hundredths", Scale.cpus, "20", "0.33"}, {"the least", Scale.cpus, "0.6", "0.01"},
		{"whole CPUs", Scale.wholeCPUs, "60", "1"}, {"whole CPUs", Scale.wholeCPUs, "100", "2"},
		{"memory", Scale.memory, "512GiB", "4GiB"}, {"whole MiB", Scale.memory, "100GB", "745MiB"}, {"the least", Scale.memory, "8GiB", "64MiB"},
		{"a setting", scaleSetting, "64GB", "512MB"}, {"a whole number stays in its unit", scaleSetting, "256GB", "2GB"}, {"down to kB", scaleSetting, "1MB", "8kB"},
		{"with a space", scaleSetting, "64 GB", "512 MB"}, {"as MariaDB writes it", scaleSetting, "64G", "512M"}, {"and its K", scaleSetting, "1M", "8K"},
		{"binary names", scaleSetting, "1MiB", "8KiB"}, {"a percentage stays", scaleSetting, "25%", "25%"}, {"a number stays", scaleSetting, "16384", "16384"},
		{"a word stays", scaleSetting, "on", "on"}, {"a time stays", scaleSetting, "30s", "30s"},
		{"data", dataIn(1), "100GB", "100MB"}, {"rows", dataIn(1), "5000", "5"}, {"to the nearest", dataIn(1), "1600", "2"},
		{"customers in load units", dataIn(1000), "2600000", "3000"}, {"and not below one", dataIn(1000), "1000000", "1000"},
	} {
		got, why := c.by(s, c.original)
		if got != c.becomes || why != "" {
			t.Errorf("%s: %s becomes %q (%s); want %s", c.rule, c.original, got, why, c.becomes)
		}
	}
}

// dataIn scales data to multiples of step.
func dataIn(step int64) ruling {
	return func(s Scale, text string) (string, string) { return s.data(text, step) }
}

const scaled = `study: scaled
workload: {name: dvdstore, size: 100GB}
engine: {name: postgres, settings: {shared_buffers: 64GB, wal_compression: on}}
provider: {name: native}
instance: {memory: 256GiB, cpu_shares: 512}
instances:
  small: {count: 2, instance: {cpus: 15}, users: 60}
  large: {engine: {settings: {work_mem: 1GB}}}
vary:
  instances.large.instance.cpus + instances.large.users: [[30, 120], [60, 240]]
scale: {from: {cpus: 120, memory: 1TiB}, to: machine, data: 1/1000}
`

func TestAScaledStudyHasTheScaledValuesEverywhere(t *testing.T) {
	k := known()
	k.Machine = Size{CPUs: 2, Memory: 8 * unit.GiB}
	s, err := Parse("x.yaml", []byte(scaled), k)
	if err != nil {
		t.Fatal(err)
	}
	c := s.cells[1].Config
	small, large := c.Groups[0], c.Groups[1]
	if small.Shape.CPUs != 0.25 || small.Shape.Memory != 2*unit.GiB || small.Load.Users != 1 || small.Count != 2 || small.Shape.CPUShares != 512 {
		t.Errorf("small: %+v", small)
	}
	if large.Shape.CPUs != 1 || large.Load.Users != 4 || large.Settings["shared_buffers"] != "512MB" || large.Settings["work_mem"] != "8MB" || large.Settings["wal_compression"] != "on" {
		t.Errorf("large: %+v", large)
	}
	if got := large.Workload.Params.Text("size"); got != "100MB" {
		t.Errorf("size %s", got)
	}
	if got := fmt.Sprint(s.cells[1].Factors); got != "[{instances.large.instance.cpus 1} {instances.large.users 4}]" {
		t.Errorf("factors %s", got)
	}
	for _, want := range []Scaled{
		{"instance.memory", "256GiB", "2GiB"}, {"instances.small.users", "60", "1"}, {"engine.settings.shared_buffers", "64GB", "512MB"},
		{"workload.size", "100GB", "100MB"}, {"instances.large.instance.cpus", "60", "1"}, {"instances.large.users", "240", "4"},
	} {
		found := false
		for _, v := range s.Scale.Values {
			found = found || v == want
		}
		if !found {
			t.Errorf("%+v is not among %+v", want, s.Scale.Values)
		}
	}
	if len(s.Scale.Values) != 10 || s.Scale.To != k.Machine || s.Scale.From != bigHost {
		t.Errorf("scale %+v", s.Scale)
	}
}

func TestTheMachineOfTheCommandLineTakesThePlaceOfTheStudys(t *testing.T) {
	k := known()
	k.Machine, k.To = Size{CPUs: 2, Memory: 8 * unit.GiB}, Size{CPUs: 60, Memory: 512 * unit.GiB}
	for _, src := range []string{scaled, strings.Replace(scaled, "to: machine", "to: {cpus: 3, memory: 9GiB}", 1)} {
		s, err := Parse("x.yaml", []byte(src), k)
		if err != nil {
			t.Fatal(err)
		}
		if s.Scale.To != k.To || s.cells[0].Config.Groups[0].Load.Users != 30 {
			t.Errorf("to %v, %d users", s.Scale.To, s.cells[0].Config.Groups[0].Load.Users)
		}
	}
}

// TestNobodyScalesForAMachineThatIsNotKnown: a build that is not on its machine
// reads the figures as they stand.
func TestNobodyScalesForAMachineThatIsNotKnown(t *testing.T) {
	s, err := Parse("x.yaml", []byte(scaled), known())
	if err != nil {
		t.Fatal(err)
	}
	if g := s.cells[0].Config.Groups[0]; g.Load.Users != 60 || g.Shape.CPUs != 15 || s.Scale.To != (Size{}) {
		t.Errorf("%+v, %+v", g, s.Scale)
	}
}

func TestTheBoundsOfASearchAreScaledLikeItsLoad(t *testing.T) {
	src := minimal + "scale: {from: {cpus: 120, memory: 1TiB}, to: {cpus: 12, memory: 1TiB}}\n"
	s := parse(t, src+"users: saturate\nsaturate: {from: 40, to: 2000}\n")
	if s.Search.From != 4 || s.Search.To != 200 {
		t.Errorf("users from %g to %g", s.Search.From, s.Search.To)
	}
	s = parse(t, src+"rate: saturate\nsaturate: {from: 100/s, to: 5000/s}\n")
	if s.Search.From != 10 || s.Search.To != 500 {
		t.Errorf("rates from %g to %g", s.Search.From, s.Search.To)
	}
	s = parse(t, src+"instances: saturate\nsaturate: {from: 2, to: 30}\n")
	if s.Search.From != 2 || s.Search.To != 30 {
		t.Errorf("instances from %g to %g: a number of instances is no figure of the machine", s.Search.From, s.Search.To)
	}
}

// TestScalingKeepsOrderAndSaysWhatIsLost: on the machine itself nothing
// changes; on every other, values keep their order, and those that become the
// same are a fault that names a machine on which they stay apart.
func TestScalingKeepsOrderAndSaysWhatIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		users := rapid.SliceOfNDistinct(rapid.IntRange(1, 5000), 2, 5, rapid.ID).Draw(t, "users")
		to := rapid.IntRange(1, 120).Draw(t, "cpus")
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(users), "[]"), " ", ", ")
		src := func(cpus int) []byte {
			return []byte(minimal + fmt.Sprintf("scale: {from: {cpus: 120, memory: 1TiB}, to: {cpus: %d, memory: 1TiB}}\nvary: {users: [%s]}\n", cpus, list))
		}
		s, err := Parse("x.yaml", src(to), known())
		for round := 0; err != nil; round++ { // a machine that is enough for one value shows the next
			insideFile(t, src(to), err)
			enough := 0
			var all Errors
			if !errors.As(err, &all) {
				t.Fatalf("error of type %T", err)
			}
			for _, e := range all {
				var n int
				_, rest, found := strings.Cut(e.Message, "a machine with ")
				if _, err := fmt.Sscanf(rest, "%d CPUs", &n); !found || err != nil || n <= to || n > 120 {
					t.Fatalf("no machine that is larger than %d CPUs and large enough in:\n%v", to, e)
				}
				enough = max(enough, n)
			}
			if to = enough; round > 3 {
				t.Fatalf("%d CPUs were said to be enough:\n%v", to, err)
			}
			s, err = Parse("x.yaml", src(to), known())
		}
		for i := range users {
			got := s.cells[i].Config.Load.Users
			if got < 1 || to == 120 && got != users[i] {
				t.Fatalf("%d users became %d on %d of 120 CPUs", users[i], got, to)
			}
			for j := range i {
				if (users[i] < users[j]) != (got < s.cells[j].Config.Load.Users) {
					t.Fatalf("%d and %d users changed their order on %d of 120 CPUs", users[j], users[i], to)
				}
			}
		}
	})
}

func TestParseSize(t *testing.T) {
	if s, err := ParseSize("cpus=60, memory=512GiB"); err != nil || s != (Size{CPUs: 60, Memory: 512 * unit.GiB}) {
		t.Errorf("%v, %v", s, err)
	}
	for text, want := range map[string]string{
		"": "is not the size of a machine", "cpus=60": "lacks", "memory=1GiB": "lacks", "cpus=0,memory=1GiB": "out of range", "cpus=x,memory=1GiB": "not a number",
		"cpus=1,memory=1": "memory", "cpus=1,memory=1GiB,disks=2": "is not the size of a machine", "60 CPUs": "is not the size",
	} {
		if _, err := ParseSize(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

func TestNeedsAreWhatTheFileSays(t *testing.T) {
	s := parse(t, minimal+"needs: {kvm: yes, numa_nodes: 2, threads_per_core: 2, cpus: 4, memory: 64GiB, providers: [libvirt, native], hosts: 2}\n")
	want := Needs{KVM: true, CPUs: 4, Memory: 64 * unit.GiB, NUMANodes: 2, ThreadsPerCore: 2, Hosts: 2, Providers: []string{"libvirt", "native"}}
	if fmt.Sprintf("%+v", s.Needs) != fmt.Sprintf("%+v", want) {
		t.Errorf("needs %+v; want %+v", s.Needs, want)
	}
}

func TestInstanceKnobsReachTheShape(t *testing.T) {
	s := parse(t, minimal+`instance:
  cpus: 4
  placement: node
  mems: 0-1
  memory: 1GiB
  cpu_shares: 100
  disk_read: 50MiB/s
  disk_write: 1.5MB / s
  disk_read_ops: 200/s
  disk_write_ops: 1 / s
  data_volume: /mnt/a/../b/
  log_volume: /mnt/log
  large_pages: both
  cpu_reservation: 2
  topology: 2x2x1
  vnuma: 2
  latency: high
  disk_adapter: pvscsi
  network_adapter: virtio-net
driver: {cpus: 2}
`)
	want := Shape{
		CPUs: 4, Placement: PlaceNode, Mems: "0-1", Memory: unit.GiB, CPUShares: 100, ReadBytesPS: 50 * unit.MiB, WriteBytesPS: 1500000, ReadOpsPS: 200, WriteOpsPS: 1,
		DataVolume: "/mnt/b", LogVolume: "/mnt/log", LargePages: "both", Reservation: 2, Topology: Topology{2, 2, 1}, VirtualNUMA: 2, LatencySensitivity: "high",
		DiskAdapter: "pvscsi", NetworkAdapter: "virtio-net",
	}
	if c := s.cells[0].Config; c.Shape != want || c.Driver != (Driver{CPUs: 2}) || c.Groups[0].Shape != want {
		t.Errorf("shape %+v\nwant  %+v\ndriver %+v", c.Shape, want, c.Driver)
	}
	if s := parse(t, minimal+"instance: {placement: none}\ndriver: {cpuset: \"1,0\"}\n"); s.Base.Shape != (Shape{}) || s.Base.Driver.CPUSet != "1,0" {
		t.Errorf("placement none: %+v, %+v", s.Base.Shape, s.Base.Driver)
	}
}
