package observe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// eachBound is up to how many cores below one cache are drawn one by one.
const eachBound = 8

// branch is one line of the drawing and what hangs below it.
type branch struct {
	text  string
	below []branch
}

// Draw draws the topology as a tree of text: sockets, NUMA nodes, caches that
// cores share, cores with their threads and own caches, then disks. It ends
// with the end of a line; it is empty where the system told nothing.
func (t Topology) Draw() string {
	if len(t.Sockets) == 0 && len(t.Disks) == 0 {
		return ""
	}
	cores, threads := 0, 0
	var memory unit.Bytes
	for _, s := range t.Sockets {
		cores += len(s.Cores)
		threads += len(s.cpus())
	}
	for _, n := range t.Nodes {
		memory += n.Memory
	}
	top := branch{text: fmt.Sprintf("machine: %s, %s, %s, %s", count(len(t.Sockets), "socket"), count(cores, "core"), count(threads, "thread"), count(max(1, len(t.Nodes)), "NUMA node"))}
	if memory > 0 {
		top.text += ", " + memory.Human()
	}
	for _, s := range t.Sockets {
		top.below = append(top.below, branch{fmt.Sprintf("socket %d", s.Number), t.drawNodes(s)})
	}
	for _, n := range t.Nodes {
		if len(n.CPUs) == 0 {
			top.below = append(top.below, branch{text: fmt.Sprintf("NUMA node %d, %s, without CPUs", n.Number, n.Memory.Human())})
		}
	}
	for _, d := range t.Disks {
		top.below = append(top.below, branch{text: d.text()})
	}
	var out strings.Builder
	top.write(&out, "", "")
	return out.String()
}

func (b branch) write(out *strings.Builder, first, rest string) {
	out.WriteString(first + b.text + "\n")
	for i, x := range b.below {
		if i < len(b.below)-1 {
			x.write(out, rest+"├─ ", rest+"│  ")
		} else {
			x.write(out, rest+"└─ ", rest+"   ")
		}
	}
}

func (s Socket) cpus() (all []int) {
	for _, c := range s.Cores {
		all = append(all, c.CPUs...)
	}
	slices.Sort(all)
	return all
}

// drawNodes puts the cores of a socket below the NUMA nodes that they are in;
// without nodes, directly below the socket.
func (t Topology) drawNodes(s Socket) (out []branch) {
	rest := slices.Clone(s.Cores)
	for _, n := range t.Nodes {
		in := func(c Core) bool { return slices.Contains(n.CPUs, c.CPUs[0]) }
		var mine []Core
		for _, c := range rest {
			if in(c) {
				mine = append(mine, c)
			}
		}
		rest = slices.DeleteFunc(rest, in)
		if len(mine) > 0 {
			out = append(out, branch{fmt.Sprintf("NUMA node %d, %s", n.Number, n.Memory.Human()), drawShared(mine)})
		}
	}
	return append(out, drawShared(rest)...)
}

// drawShared groups cores by the last cache that several of them share.
func drawShared(cores []Core) (out []branch) {
	for len(cores) > 0 {
		last := cores[0].shared()
		in := func(c Core) bool { return last != nil && slices.Contains(last.CPUs, c.CPUs[0]) }
		if last == nil {
			return append(out, drawCores(cores)...)
		}
		var mine []Core
		for _, c := range cores {
			if in(c) {
				mine = append(mine, c)
			}
		}
		cores = slices.DeleteFunc(slices.Clone(cores), in)
		out = append(out, branch{fmt.Sprintf("%s %s", last.Name, last.Size.Human()), drawCores(mine)})
	}
	return out
}

// shared is the last cache that more than this core uses, nil where there is
// none.
func (c Core) shared() *Cache {
	for _, cache := range slices.Backward(c.Caches) {
		if len(cache.CPUs) > len(c.CPUs) {
			return &cache
		}
	}
	return nil
}

// drawCores draws cores one by one, or many alike in one line.
func drawCores(cores []Core) (out []branch) {
	for len(cores) > 0 {
		n := 1
		for n < len(cores) && len(cores) > eachBound && sameCaches(cores[n].Caches, cores[0].Caches) && len(cores[n].CPUs) == len(cores[0].CPUs) {
			n++
		}
		var own []string
		for _, cache := range cores[0].Caches {
			if len(cache.CPUs) <= len(cores[0].CPUs) {
				own = append(own, cache.Name+" "+cache.Size.Human())
			}
		}
		text := "core: " + cpuText(cores[0].CPUs)
		if n > 1 {
			text = fmt.Sprintf("%d cores: %s", n, cpuText(Socket{Cores: cores[:n]}.cpus()))
			own = append(own, count(len(cores[0].CPUs), "thread")+" each")
		}
		out = append(out, branch{text: strings.Join(append([]string{text}, own...), ", ")})
		cores = cores[n:]
	}
	return out
}

func (d Device) text() string {
	kind := "solid state or virtual"
	if d.Rotational {
		kind = "rotating"
	}
	text := fmt.Sprintf("disk %s, %s, %s", d.Name, d.Size.Human(), kind)
	if d.Scheduler != "" {
		text += ", scheduler " + d.Scheduler
	}
	if d.Model != "" {
		text += ", " + d.Model
	}
	return text
}
