package trial

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/study"
)

// CPUs is what is known of the CPUs of the machine that instances and driver
// share.
type CPUs struct {
	Allowed  []int // those that Loadstone may use, rising
	Topology observe.Topology
}

// Seating says which CPUs everybody in a trial gets.
type Seating struct {
	// Driver is the driver's own CPUs; nil where it shares all.
	Driver []int
	// Shapes are those of the instances in the order of their groups, with the
	// CPUs that placement and the driver leave them.
	Shapes []provider.Shape
	// Shared says who else may run where the driver does: see record.Seat.
	Shared string
}

// core is a physical core as far as Loadstone may use it.
type core struct {
	threads []int // rising
	node    int
	taken   bool // by an instance's placement or by the driver
}

// Seat shares the machine's CPUs out among the driver and the instances of c.
// The problems say what can't be had; the Seating is of use only without any.
func (m CPUs) Seat(c study.Config) (Seating, []provider.Problem) {
	s := seater{cores: m.cores(), nodes: m.nodes(), known: len(m.Topology.Sockets) > 0}
	out := Seating{}
	if c.Driver != (study.Driver{}) {
		out.Driver = s.driver(c)
	}
	for _, g := range c.Groups {
		for range g.Count {
			shape := shapeOf(g.Shape)
			s.seat(&shape, g.Shape, out.Driver)
			out.Shapes = append(out.Shapes, shape)
		}
	}
	out.Shared = s.sharing(out)
	return out, s.problems
}

// shapeOf is a study's shape as providers know it, before its placement.
func shapeOf(s study.Shape) provider.Shape {
	return provider.Shape{
		CPUs: s.CPUs, CPUSet: s.CPUSet, Mems: s.Mems, Memory: s.Memory, CPUShares: s.CPUShares,
		ReadBytesPS: s.ReadBytesPS, WriteBytesPS: s.WriteBytesPS, ReadOpsPS: s.ReadOpsPS, WriteOpsPS: s.WriteOpsPS,
		Reservation: s.Reservation, Topology: provider.Topology(s.Topology), VirtualNUMA: s.VirtualNUMA,
		LargePages: s.LargePages, LatencySensitivity: s.LatencySensitivity,
		DiskAdapter: s.DiskAdapter, NetworkAdapter: s.NetworkAdapter,
		DataVolume: s.DataVolume, LogVolume: s.LogVolume,
	}
}

// cores are the machine's cores with the threads that Loadstone may use, by
// their first thread. Where the system does not tell, each CPU is one.
func (m CPUs) cores() (all []core) {
	seen := map[int]bool{}
	add := func(cpus []int) {
		threads := slices.DeleteFunc(slices.Clone(cpus), func(n int) bool { return !slices.Contains(m.Allowed, n) || seen[n] })
		if len(threads) == 0 {
			return
		}
		for _, n := range threads {
			seen[n] = true
		}
		all = append(all, core{threads: threads, node: m.nodeOf(threads[0])})
	}
	for _, socket := range m.Topology.Sockets {
		for _, c := range socket.Cores {
			add(c.CPUs)
		}
	}
	for _, n := range m.Allowed {
		add([]int{n})
	}
	slices.SortFunc(all, func(a, b core) int { return cmp.Compare(a.threads[0], b.threads[0]) })
	return all
}

// nodes are the NUMA nodes with CPUs that Loadstone may use.
func (m CPUs) nodes() (numbers []int) {
	for _, n := range m.Allowed {
		if at := m.nodeOf(n); !slices.Contains(numbers, at) {
			numbers = append(numbers, at)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// nodeOf is the NUMA node of a CPU, 0 where the system does not tell.
func (m CPUs) nodeOf(cpu int) int {
	for _, n := range m.Topology.Nodes {
		if slices.Contains(n.CPUs, cpu) {
			return n.Number
		}
	}
	return 0
}

// seater gives CPUs away, one after the other.
type seater struct {
	cores    []core
	nodes    []int
	known    bool            // the system tells which threads are on one core
	onNode   map[int]float64 // CPUs of the instances that were placed there
	problems []provider.Problem
}

func (s *seater) problem(knob, remedy, format string, args ...any) {
	p := provider.Problem{Knob: knob, Reason: fmt.Sprintf(format, args...), Remedy: remedy}
	if !slices.Contains(s.problems, p) {
		s.problems = append(s.problems, p)
	}
}

// all are the CPUs of some cores.
func all(cores []core) (cpus []int) {
	for _, c := range cores {
		cpus = append(cpus, c.threads...)
	}
	slices.Sort(cpus)
	return cpus
}

// driver chooses the driver's CPUs: those that the study names, or else the
// last cores, because CPU 0 serves most interrupts. Instances need at least
// one CPU beside it.
func (s *seater) driver(c study.Config) []int {
	every := all(s.cores)
	if c.Driver.CPUSet != "" {
		own := listed(c.Driver.CPUSet)
		for _, n := range own {
			if !slices.Contains(every, n) {
				s.problem("driver.cpuset", "choose from "+formatList(every), "CPU %d is not online here or not allowed to Loadstone", n)
				return nil
			}
		}
		s.take(own)
		return s.leaving("driver.cpuset", own, every)
	}
	var own []int
	asked := map[int]bool{} // CPUs that instances name
	for _, g := range c.Groups {
		for _, n := range listed(g.Shape.CPUSet) {
			asked[n] = g.Count > 0 || asked[n]
		}
	}
	for _, core := range slices.Backward(s.cores) {
		free := slices.DeleteFunc(slices.Clone(core.threads), func(n int) bool { return asked[n] })
		if need := c.Driver.CPUs - len(own); len(free) == len(core.threads) {
			own = append(own, free[max(0, len(free)-need):]...)
		}
	}
	if len(own) < c.Driver.CPUs {
		s.problem("driver.cpus", "ask for fewer, or leave driver out: it then shares all CPUs",
			"%d CPUs are asked for, and %d of the %d here are left by instance.cpuset", c.Driver.CPUs, len(own), len(every))
		return nil
	}
	slices.Sort(own)
	s.take(own)
	return s.leaving("driver.cpus", own, every)
}

// leaving is own, or a problem where it is every CPU.
func (s *seater) leaving(knob string, own, every []int) []int {
	if len(own) >= len(every) {
		s.problem(knob, "a machine with more CPUs, or leave driver out: it then shares all CPUs", "the driver would have all %d CPUs, and instances none", len(every))
		return nil
	}
	return own
}

// take marks the cores of CPUs.
func (s *seater) take(cpus []int) {
	for i, c := range s.cores {
		for _, n := range c.threads {
			s.cores[i].taken = s.cores[i].taken || slices.Contains(cpus, n)
		}
	}
}

// seat gives an instance its CPUs, off those of the driver.
func (s *seater) seat(shape *provider.Shape, asked study.Shape, driver []int) {
	switch {
	case asked.CPUSet != "":
		for _, n := range listed(asked.CPUSet) {
			if slices.Contains(driver, n) {
				s.problem("instance.cpuset", "CPUs that the driver does not have", "CPU %d is the driver's own: it has %s", n, formatList(driver))
			}
		}
	case asked.Placement != "":
		if cpus := s.place(asked); cpus != nil {
			shape.CPUSet = formatList(cpus)
		}
	case driver != nil:
		shape.CPUSet = formatList(without(all(s.cores), driver))
		if left := len(listed(shape.CPUSet)); shape.CPUs > float64(left) {
			s.problem("instance.cpus", fmt.Sprintf("ask for at most %d, or leave driver out", left),
				"%g CPUs are asked for, and the driver leaves %d", shape.CPUs, left)
		}
	}
}

func without(cpus, other []int) []int {
	return slices.DeleteFunc(slices.Clone(cpus), func(n int) bool { return slices.Contains(other, n) })
}

// place chooses CPUs as instance.placement asks; nil where there are none.
func (s *seater) place(asked study.Shape) []int {
	if !s.known {
		s.problem("instance.placement", "name the CPUs by instance.cpuset", "this system does not tell which CPUs are on one core")
		return nil
	}
	n := asked.WholeCPUs()
	var cpus []int
	what := "whole cores"
	switch asked.Placement {
	case study.PlaceNode:
		return s.onOneNode(asked.CPUs)
	case study.PlaceCores:
		for _, c := range s.free(n, func(core) int { return 1 }) {
			cpus = append(cpus, c.threads[0])
		}
	default:
		what = "threads of whole cores"
		for _, c := range s.free(n, func(c core) int { return len(c.threads) }) {
			cpus = append(cpus, c.threads...)
		}
	}
	if len(cpus) < n {
		s.problem("instance.placement", "fewer or smaller instances, or placement: none",
			"placement %s needs %d %s that nobody else has for each instance, and %d are left for one of them", asked.Placement, n, what, len(cpus))
		return nil
	}
	cpus = cpus[:n]
	s.take(cpus)
	slices.Sort(cpus)
	return cpus
}

// free are cores that nobody has: those of the first node that has n CPUs
// left, each core counted as per says, or else those of all nodes.
func (s *seater) free(n int, per func(core) int) []core {
	var every []core
	for _, node := range s.nodes {
		var here []core
		left := 0
		for _, c := range s.cores {
			if c.node == node && !c.taken {
				here, left = append(here, c), left+per(c)
			}
		}
		if left >= n {
			return here
		}
		every = append(every, here...)
	}
	return every
}

// onOneNode chooses the node with the most room, and gives all its CPUs:
// instances on one node share them.
func (s *seater) onOneNode(cpus float64) []int {
	if s.onNode == nil {
		s.onNode = map[int]float64{}
	}
	best, room := -1, 0.0
	for _, node := range s.nodes {
		if left := float64(len(s.ofNode(node))) - s.onNode[node]; best < 0 || left > room {
			best, room = node, left
		}
	}
	if best < 0 || float64(len(s.ofNode(best))) < cpus {
		s.problem("instance.placement", "fewer CPUs an instance, or placement: none", "no NUMA node has the %g CPUs of an instance", cpus)
		return nil
	}
	s.onNode[best] += cpus
	return s.ofNode(best)
}

// ofNode are the CPUs of a node on cores that nobody has for himself.
func (s *seater) ofNode(node int) (cpus []int) {
	for _, c := range s.cores {
		if c.node == node && !c.taken {
			cpus = append(cpus, c.threads...)
		}
	}
	slices.Sort(cpus)
	return cpus
}

// sharing says who else may run where the driver does.
func (s *seater) sharing(out Seating) string {
	if out.Driver == nil {
		return "all instances"
	}
	for _, c := range s.cores {
		mine := slices.ContainsFunc(c.threads, func(n int) bool { return slices.Contains(out.Driver, n) })
		theirs := slices.ContainsFunc(c.threads, func(n int) bool { return !slices.Contains(out.Driver, n) })
		if mine && theirs {
			return fmt.Sprintf("a core whose other thread instances may have (CPUs %s)", formatList(c.threads))
		}
	}
	return ""
}

// placed says in words how the CPUs of a list lie, and whether that is what
// placement asks for an instance of so many CPUs.
func (m CPUs) placed(list, placement string, cpus float64) (about string, matches bool) {
	set := listed(list)
	nodes, cores, partly := map[int]bool{}, 0, 0
	for _, c := range m.cores() {
		here := 0
		for _, n := range c.threads {
			if slices.Contains(set, n) {
				here++
				nodes[c.node] = true
			}
		}
		if here > 0 {
			cores++
		}
		if here > 0 && here < len(c.threads) {
			partly++
		}
	}
	n := int(math.Ceil(cpus))
	about = fmt.Sprintf("CPUs %s: %s, %s", list, counted(cores, "core"), counted(len(nodes), "NUMA node"))
	if partly > 0 && placement == study.PlaceThreads {
		about += fmt.Sprintf(", %s in part", counted(partly, "core"))
	}
	switch placement {
	case study.PlaceCores:
		return about, len(set) == n && cores == n
	case study.PlaceThreads:
		return about, len(set) == n && partly <= 1 // the last core may not be needed whole
	}
	return about, len(nodes) == 1 && len(set) >= n
}

// counted is "1 core", "2 cores".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// listed are the CPUs of a list that Parse found to be right.
func listed(text string) []int {
	if text == "" {
		return nil
	}
	cpus, _ := study.ParseCPUs(text)
	return cpus
}

// formatList writes CPUs, rising, as the kernel does: "0-1,4".
func formatList(cpus []int) string {
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
	return strings.Join(parts, ",")
}
