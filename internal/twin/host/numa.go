package host

// numaClient is a virtual node: virtual processors and memory with one home.
type numaClient struct {
	home  int32
	local []float64 // part of its memory by socket
	cpus  int
	load  int64 // ns that its entities ran and waited in the last period
	mark  int64 // the same since they began
}

// moveBytesPerSecond bounds how fast a migrated client's pages follow it.
const moveBytesPerSecond = 1e9

// NodeSplit is how many virtual processors a virtual node gets: all where they
// fit a socket's cores, else the largest divisor that fits, or, where that is
// less than half of an even split, the even split rounded up.
func NodeSplit(cpus, cores int) int {
	if cpus <= cores {
		return cpus
	}
	even := (cpus + (cpus+cores-1)/cores - 1) / ((cpus + cores - 1) / cores)
	for size := cores; 2*size >= even; size-- {
		if cpus%size == 0 {
			return size
		}
	}
	return even
}

// placeNodes splits a client into virtual nodes and gives each a home: the
// socket with the fewest virtual processors a thread that the client may use.
func (c *CPU) placeNodes(cl *client) {
	if c.cfg.Kind == Fair { // has no home nodes
		cl.nodes = []numaClient{{local: c.spread(cl)}}
		return
	}
	size := cl.spec.NodeSize
	if size == 0 {
		size = NodeSplit(cl.spec.CPUs, c.hw.Cores)
	}
	count := (cl.spec.CPUs + size - 1) / size
	for i := range count {
		cpus := (i+1)*cl.spec.CPUs/count - i*cl.spec.CPUs/count
		home := c.lightest(cl)
		local := make([]float64, len(c.sockets))
		local[home] = 1
		if cl.spec.Interleaved {
			local = c.spread(cl)
		}
		cl.nodes = append(cl.nodes, numaClient{home: home, local: local, cpus: cpus})
	}
}

// spread is memory interleaved over the sockets that a client may use.
func (c *CPU) spread(cl *client) []float64 {
	local, n := make([]float64, len(c.sockets)), 0.0
	for _, m := range cl.allowed {
		if m != 0 {
			n++
		}
	}
	for i, m := range cl.allowed {
		if m != 0 {
			local[i] = 1 / n
		}
	}
	return local
}

// lightest is the socket with the fewest virtual processors among those that
// cl may use.
func (c *CPU) lightest(cl *client) int32 {
	best, least := int32(0), -1
	for n := range c.sockets {
		if cl.allowed[n] == 0 {
			continue
		}
		cpus := 0
		for _, other := range c.clients {
			for _, node := range other.nodes {
				if int(node.home) == n {
					cpus += node.cpus
				}
			}
		}
		if least < 0 || cpus < least {
			best, least = int32(n), cpus
		}
	}
	return best
}

// remote is the part f_remote of x's memory accesses that leave its socket.
func (c *CPU) remote(x *entity) float64 {
	if len(c.sockets) == 1 {
		return 0
	}
	cl, n := c.clients[x.client], c.threads[x.thread].socket
	own := 1 - cl.nodes[x.numa].local[n]
	if len(cl.nodes) == 1 {
		return own
	}
	all := 0.0
	for i := range cl.nodes {
		all += 1 - cl.nodes[i].local[n]
	}
	return own + cl.spec.SharedMemory*(all/float64(len(cl.nodes))-own)
}

// followHome moves memory that lies elsewhere towards each client's home, as
// much as a period allows.
func (c *CPU) followHome(period float64) {
	for _, cl := range c.clients {
		if cl.spec.Interleaved {
			continue
		}
		for i := range cl.nodes {
			nc := &cl.nodes[i]
			away := 1 - nc.local[nc.home]
			if away <= 0 {
				continue
			}
			part := 1.0
			if cl.spec.Memory > 0 {
				part = min(1, moveBytesPerSecond*period/(away*cl.spec.Memory/float64(len(cl.nodes))))
			}
			for s := range nc.local {
				if int32(s) != nc.home {
					nc.local[nc.home] += nc.local[s] * part
					nc.local[s] -= nc.local[s] * part
				}
			}
		}
	}
}

// rebalance moves the home of one virtual node from the most to the least
// loaded socket, where that makes the two more alike.
func (c *CPU) rebalance(period int64) {
	load := make([]int64, len(c.sockets))
	for _, cl := range c.clients {
		sums := make([]int64, len(cl.nodes))
		for _, e := range cl.entities {
			x := &c.entities[e]
			sums[x.numa] += x.in(Running, c.sim.Now()) + x.in(Ready, c.sim.Now())
		}
		for i := range cl.nodes {
			nc := &cl.nodes[i]
			nc.load, nc.mark = sums[i]-nc.mark, sums[i]
			load[nc.home] += nc.load
		}
	}
	from, to := 0, 0
	for n := range load {
		if load[n] > load[from] {
			from = n
		}
		if load[n] < load[to] {
			to = n
		}
	}
	gap := load[from] - load[to]
	// Less than a tenth of a socket's cores is not worth moving memory for.
	if gap*10 < period*int64(c.hw.Cores) {
		return
	}
	if cl, i := c.mover(int32(from), int32(to), gap); cl != nil {
		cl.nodes[i].home = int32(to)
		c.bringHome(cl, int32(i))
	}
}

// bringHome moves the virtual processors of a virtual node to its home.
func (c *CPU) bringHome(cl *client, node int32) {
	home := cl.nodes[node].home
	for _, e := range cl.entities {
		x := &c.entities[e]
		switch {
		case x.numa != node:
		case x.state == Ready:
			c.unqueue(e)
			c.sched.wake(e)
		case x.state == Running && c.threads[x.thread].socket != home:
			t := c.preempt(e, Ready)
			c.sched.wake(e)
			c.sched.release(t)
		}
	}
}

// mover is the virtual node on socket from whose move to socket to lessens the
// gap most: the one whose load is nearest to half of it.
func (c *CPU) mover(from, to int32, gap int64) (best *client, node int) {
	var least int64
	for _, cl := range c.clients {
		if cl.allowed[to] == 0 || cl.spec.Exclusive {
			continue
		}
		for i := range cl.nodes {
			nc := &cl.nodes[i]
			off := max(gap/2-nc.load, nc.load-gap/2)
			if nc.home == from && nc.load > 0 && nc.load < gap && (best == nil || off < least) {
				best, node, least = cl, i, off
			}
		}
	}
	return best, node
}
