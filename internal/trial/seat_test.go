package trial

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/study"
)

// host makes a machine of so many sockets (each a NUMA node), cores and
// threads, whose CPUs are counted as Linux does: first threads first.
func host(sockets, cores, threads int) CPUs {
	var m CPUs
	for s := range sockets {
		socket, node := observe.Socket{Number: s}, observe.Node{Number: s}
		for c := range cores {
			var core observe.Core
			for t := range threads {
				core.CPUs = append(core.CPUs, t*sockets*cores+s*cores+c)
			}
			socket.Cores, node.CPUs = append(socket.Cores, core), append(node.CPUs, core.CPUs...)
			m.Allowed = append(m.Allowed, core.CPUs...)
		}
		m.Topology.Sockets, m.Topology.Nodes = append(m.Topology.Sockets, socket), append(m.Topology.Nodes, node)
	}
	slices.Sort(m.Allowed)
	return m
}

// some are groups of so many instances with a shape.
func some(count int, s study.Shape) study.Group { return study.Group{Count: count, Shape: s} }

func TestSeating(t *testing.T) {
	big := host(2, 4, 2) // cores {0,8} … {3,11} on node 0, {4,12} … {7,15} on node 1
	for _, c := range []struct {
		name   string
		on     CPUs
		driver study.Driver
		groups []study.Group
		want   string // driver; instances; shared
	}{
		{"nothing is asked for", big, study.Driver{}, []study.Group{some(2, study.Shape{CPUs: 2})}, "; , ; all instances"},
		{"the driver has the last core", big, study.Driver{CPUs: 2}, []study.Group{some(1, study.Shape{})}, "7,15; 0-6,8-14; "},
		{"half a core", big, study.Driver{CPUs: 1}, []study.Group{some(1, study.Shape{})}, "15; 0-14; a core whose other thread instances may have (CPUs 7,15)"},
		{"by name", big, study.Driver{CPUSet: "0,8"}, []study.Group{some(1, study.Shape{}), some(1, study.Shape{CPUSet: "1-2"})}, "0,8; 1-7,9-15, 1-2; "},
		{"off what instances name", big, study.Driver{CPUs: 4}, []study.Group{some(1, study.Shape{CPUSet: "7"})}, "5-6,13-14; 7; "},
		{"a core each", big, study.Driver{}, []study.Group{some(2, study.Shape{CPUs: 3, Placement: "cores"})}, "; 0-2, 4-6; all instances"},
		{"over two nodes where none has enough", big, study.Driver{}, []study.Group{some(1, study.Shape{CPUs: 6, Placement: "cores"})}, "; 0-5; all instances"},
		{"both threads", big, study.Driver{}, []study.Group{some(3, study.Shape{CPUs: 4, Placement: "threads"})}, "; 0-1,8-9, 2-3,10-11, 4-5,12-13; all instances"},
		{"a fraction", big, study.Driver{}, []study.Group{some(1, study.Shape{CPUs: 2.5, Placement: "threads"})}, "; 0-1,8; all instances"},
		{"a node each", big, study.Driver{}, []study.Group{some(3, study.Shape{CPUs: 4, Placement: "node"})}, "; 0-3,8-11, 4-7,12-15, 0-3,8-11; all instances"},
		{"a node without the driver", big, study.Driver{CPUs: 2}, []study.Group{some(2, study.Shape{CPUs: 4, Placement: "node"})}, "7,15; 0-3,8-11, 4-6,12-14; "},
		{"groups of all kinds", big, study.Driver{CPUs: 2}, []study.Group{
			some(1, study.Shape{CPUs: 1, Placement: "cores"}), some(0, study.Shape{CPUs: 99}), some(1, study.Shape{CPUs: 2, Placement: "threads"}), some(1, study.Shape{CPUShares: 5}),
		}, "7,15; 0, 1,9, 0-6,8-14; "},
		{"without threads", host(1, 2, 1), study.Driver{CPUs: 1}, []study.Group{some(2, study.Shape{CPUs: 0.5})}, "1; 0, 0; "},
		{"a system that does not tell", CPUs{Allowed: []int{0, 1, 2}}, study.Driver{CPUs: 1}, []study.Group{some(1, study.Shape{})}, "2; 0-1; "},
		{"a part of the machine", CPUs{Allowed: []int{8, 9, 1}, Topology: big.Topology}, study.Driver{}, []study.Group{some(2, study.Shape{CPUs: 1, Placement: "cores"})}, "; 1, 8; all instances"},
	} {
		s, problems := c.on.Seat(study.Config{Driver: c.driver, Groups: c.groups})
		var sets []string
		for _, shape := range s.Shapes {
			sets = append(sets, shape.CPUSet)
		}
		got := fmt.Sprintf("%s; %s; %s", formatList(s.Driver), strings.Join(sets, ", "), s.Shared)
		if got != c.want || len(problems) > 0 {
			t.Errorf("%s: %q, %v; want %q", c.name, got, problems, c.want)
		}
	}
}

func TestWhatCannotBeSeatedIsAProblemWithARemedy(t *testing.T) {
	small := host(1, 2, 1)
	for _, c := range []struct {
		name   string
		on     CPUs
		driver study.Driver
		groups []study.Group
		knob   string
		reason string
	}{
		{"all CPUs for the driver", small, study.Driver{CPUs: 2}, []study.Group{some(1, study.Shape{})}, "driver.cpus", "would have all 2 CPUs"},
		{"more than there are", small, study.Driver{CPUs: 3}, []study.Group{some(1, study.Shape{})}, "driver.cpus", "3 CPUs are asked for, and 2 of the 2"},
		{"taken by name", small, study.Driver{CPUs: 1}, []study.Group{some(1, study.Shape{CPUSet: "0-1"})}, "driver.cpus", "0 of the 2 here are left by instance.cpuset"},
		{"no such CPU", small, study.Driver{CPUSet: "5"}, []study.Group{some(1, study.Shape{})}, "driver.cpuset", "CPU 5 is not online"},
		{"in each other's way", small, study.Driver{CPUSet: "0"}, []study.Group{some(1, study.Shape{CPUSet: "0-1"})}, "instance.cpuset", "CPU 0 is the driver's own"},
		{"too little left", small, study.Driver{CPUs: 1}, []study.Group{some(1, study.Shape{CPUs: 1.5})}, "instance.cpus", "1.5 CPUs are asked for, and the driver leaves 1"},
		{"not enough cores", small, study.Driver{}, []study.Group{some(2, study.Shape{CPUs: 2, Placement: "cores"})}, "instance.placement", "needs 2 whole cores that nobody else has for each instance, and 0 are left"},
		{"not enough threads", small, study.Driver{CPUs: 1}, []study.Group{some(1, study.Shape{CPUs: 2, Placement: "threads"})}, "instance.placement", "and 1 are left"},
		{"no such node", host(2, 2, 1), study.Driver{}, []study.Group{some(1, study.Shape{CPUs: 3, Placement: "node"})}, "instance.placement", "no NUMA node has the 3 CPUs"},
		{"nobody knows the cores", CPUs{Allowed: []int{0, 1}}, study.Driver{}, []study.Group{some(1, study.Shape{CPUs: 1, Placement: "cores"})}, "instance.placement", "does not tell"},
	} {
		_, problems := c.on.Seat(study.Config{Driver: c.driver, Groups: c.groups})
		found := false
		for _, p := range problems {
			found = found || p.Knob == c.knob && strings.Contains(p.Reason, c.reason) && p.Remedy != ""
		}
		if !found {
			t.Errorf("%s: %+v; want %s: %s", c.name, problems, c.knob, c.reason)
		}
	}
}

// TestSeatsAreApartAndAsPlaced: on every machine, whatever is seated without a
// problem has the CPUs that it asked for, as placed reads them back; nobody has
// the driver's, and instances on cores of their own share none.
func TestSeatsAreApartAndAsPlaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := host(rapid.IntRange(1, 3).Draw(t, "sockets"), rapid.IntRange(1, 6).Draw(t, "cores"), rapid.IntRange(1, 2).Draw(t, "threads"))
		m.Allowed = slices.DeleteFunc(m.Allowed, func(int) bool { return rapid.IntRange(0, 9).Draw(t, "forbidden") == 0 })
		c := study.Config{Driver: study.Driver{CPUs: rapid.IntRange(0, 3).Draw(t, "driver")}}
		for range rapid.IntRange(1, 4).Draw(t, "groups") {
			shape := study.Shape{Placement: rapid.SampledFrom([]string{"", "cores", "threads", "node"}).Draw(t, "placement")}
			shape.CPUs = float64(rapid.IntRange(1, 8).Draw(t, "halves")) / 2
			c.Groups = append(c.Groups, some(rapid.IntRange(0, 2).Draw(t, "count"), shape))
		}
		s, problems := m.Seat(c)
		if len(problems) > 0 {
			return
		}
		if len(s.Driver) != c.Driver.CPUs {
			t.Fatalf("the driver has %v of %d", s.Driver, c.Driver.CPUs)
		}
		alone := map[int]bool{}
		i := 0
		for _, g := range c.Groups {
			for range g.Count {
				set := listed(s.Shapes[i].CPUSet)
				i++
				for _, n := range set {
					if slices.Contains(s.Driver, n) || !slices.Contains(m.Allowed, n) {
						t.Fatalf("instance %d has CPU %d: the driver has %v, allowed are %v", i, n, s.Driver, m.Allowed)
					}
					if p := g.Shape.Placement; p == "cores" || p == "threads" {
						if alone[n] {
							t.Fatalf("CPU %d is two instances' own", n)
						}
						alone[n] = true
					}
				}
				if g.Shape.Placement == "" {
					continue
				}
				if about, ok := m.placed(formatList(set), g.Shape.Placement, g.Shape.CPUs); !ok {
					t.Fatalf("%g CPUs placed by %s are %s", g.Shape.CPUs, g.Shape.Placement, about)
				}
			}
		}
	})
}

// TestPlacedSeesWhatIsNotAsAskedFor: the reverse of the test above.
func TestPlacedSeesWhatIsNotAsAskedFor(t *testing.T) {
	m := host(2, 4, 2)
	for _, c := range []struct {
		list, placement string
		cpus            float64
		ok              bool
	}{
		{"0-1", "cores", 2, true}, {"0,8", "cores", 2, false}, {"0-2", "cores", 2, false}, {"0", "cores", 1.5, false},
		{"0,8", "threads", 2, true}, {"0-1", "threads", 2, false}, {"0-1,8", "threads", 3, true}, {"", "threads", 1, false},
		{"0-3,8-11", "node", 4, true}, {"0-4", "node", 4, false}, {"0-1", "node", 4, false}, {"", "node", 1, false},
	} {
		if about, ok := m.placed(c.list, c.placement, c.cpus); ok != c.ok {
			t.Errorf("CPUs %s for %g by %s: %v (%s)", c.list, c.cpus, c.placement, ok, about)
		}
	}
}
