package dbms

import (
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/des"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// instance is a Config with its state.
type instance struct {
	id      int32
	cfg     Config
	guest   guest
	nic     host.NIC
	line    *line
	data    int32 // volumes
	log     int32
	pool    *pool
	draw    rng.Stream // pages, locks
	mix     pick
	locks   [][]rowLock
	latch   *des.Queue
	busy    int
	free    []int32         // connections of an open load that wait for work
	backlog des.Ring[int64] // intended times of arrivals without a connection
	arrival rng.Stream
	writer  logWriter
	check   checkpointer
	packets packetRate
	usage   Usage
}

// logBytes is the size of a log's volume, which is written round and round.
const logBytes = 4 * unit.GiB

// logWriter is group commit: while one write of the log is under way, commits
// gather for the next.
type logWriter struct {
	waiting []int32 // sessions whose records are not being written yet
	writing []int32
	written []int32
	bytes   float64 // of those that wait
	busy    bool
	offset  int64
}

// sector is what the log's writes are rounded up to.
const sector = 4096

// harden lets session i's commit wait for the log.
func (s *System) harden(x *instance, i int32, bytes float64) {
	w := &x.writer
	w.waiting = append(w.waiting, i)
	w.bytes += bytes
	if !w.busy {
		s.flush(x)
	}
}

// flush writes what has gathered.
func (s *System) flush(x *instance) {
	w := &x.writer
	w.busy = true
	w.writing, w.waiting = w.waiting, w.writing[:0]
	size := (int64(w.bytes) + sector - 1) / sector * sector
	w.bytes = 0
	x.usage.LogFlushes++
	x.usage.LogBytes += size
	s.Storage.Submit(x.log, true, w.offset, size, token(x.id, logToken))
	w.offset = (w.offset + size) % int64(logBytes)
	s.background(x, 1)
	s.hypervisor(x, 1, 0)
}

// flushed is the end of a write of the log.
func (s *System) flushed(x *instance) {
	w := &x.writer
	w.busy = false
	w.written = append(w.written[:0], w.writing...)
	if len(w.waiting) > 0 {
		s.flush(x)
	}
	for _, i := range w.written {
		s.committed(i)
	}
}

// background brings the processor work of n I/Os that no transaction waits for.
func (s *System) background(x *instance, n float64) {
	k := x.cfg.Costs
	work := n * (k.IO + k.Interrupt/max(1, k.DiskInterrupt))
	x.usage.DiskInterrupts += n / max(1, k.DiskInterrupt)
	if work >= 1 {
		s.CPUs[x.guest.node].Submit(x.guest.client, backgroundTask, host.Demand{Compute: host.Nanos(work)})
	}
}

// hypervisor brings the work of the hypervisor for so many disk requests and
// packets of x: on an idle thread where there is one, else in x's own time.
func (s *System) hypervisor(x *instance, requests, packets float64) {
	work := requests*x.cfg.Costs.HostIO + packets*x.cfg.Costs.HostPacket
	if work < 1 {
		return
	}
	g := x.guest
	if k := x.cfg.Kernel; k > 0 && s.CPUs[g.node].Idle() > 0 {
		g = s.guests[k-1]
	}
	s.CPUs[g.node].Submit(g.client, backgroundTask, host.Demand{Compute: host.Nanos(work)})
}

// driver brings the load generator's work for one transaction of x.
func (s *System) driver(x *instance) {
	if k := x.cfg.Driver; k > 0 && x.cfg.Costs.Driver >= 1 {
		g := s.guests[k-1]
		s.CPUs[g.node].Submit(g.client, backgroundTask, host.Demand{Compute: host.Nanos(x.cfg.Costs.Driver)})
	}
}

// backgroundTask is the task of work whose end nobody waits for.
const backgroundTask = 1<<31 - 1

// checkpointer writes the pages that were dirty when a checkpoint began, at a
// bounded rate.
type checkpointer struct {
	left   []int64 // by stratum
	total  int64
	rate   float64 // pages a second
	tokens float64
	at     int // stratum
}

// Steps of the checkpoint event.
const (
	checkpointBegins int64 = iota
	checkpointWrites
)

// checkpointTick is how often the token bucket is filled.
const checkpointTick = 10 * des.Millisecond

func (s *System) checkpointStep(id int32, step int64) {
	x := s.instances[id]
	c := &x.check
	if step == checkpointBegins {
		s.sim.After(int64(x.cfg.Checkpoint.Every), s.kinds.checkpoint, id, checkpointBegins)
		if c.total > 0 { // the one under way goes on; the next includes what is new
			x.usage.CheckpointsOverdue++
			return
		}
		x.usage.Checkpoints++
		c.left = append(c.left[:0], x.pool.dirty...)
		c.total, c.at, c.tokens = x.pool.total, 0, 0
		c.rate = x.cfg.Checkpoint.BytesPerSecond / float64(x.cfg.Database.PageBytes)
		if c.rate == 0 {
			c.rate = float64(c.total) / (0.9 * x.cfg.Checkpoint.Every.Seconds())
		}
		if c.total > 0 {
			s.sim.After(checkpointTick, s.kinds.checkpoint, id, checkpointWrites)
		}
		return
	}
	c.tokens += c.rate * float64(checkpointTick) / float64(des.Second)
	wrote := 0.0
	for ; c.tokens >= 1 && c.total > 0; c.tokens-- {
		for c.left[c.at] == 0 {
			c.at++
		}
		c.left[c.at]--
		c.total--
		if x.pool.dirty[c.at] == 0 { // it was written to make room meanwhile
			continue
		}
		x.pool.dirty[c.at]--
		x.pool.total--
		x.pool.usage.Checkpointed++
		s.writePage(x, c.at)
		wrote++
	}
	if wrote > 0 {
		s.background(x, wrote)
	}
	if c.total > 0 {
		s.sim.After(checkpointTick, s.kinds.checkpoint, id, checkpointWrites)
	}
}

// writePage writes a page of a stratum; nobody waits for it.
func (s *System) writePage(x *instance, stratum int) {
	size := int64(x.cfg.Database.PageBytes)
	page := x.pool.page(x.cfg.Database, stratum, &x.draw)
	s.Storage.Submit(x.data, true, page*size, size, token(x.id, pageToken))
	s.hypervisor(x, 1, 0)
}

// Tokens of requests that belong to no session carry the instance and what
// they are; those of sessions are the session's number.
const (
	logToken int64 = 1 << (40 + iota)
	pageToken
)

func token(instance int32, what int64) int64 { return what | int64(instance) }

// diskDone is the answer to a request.
func (s *System) diskDone(t int64) {
	switch {
	case t&logToken != 0:
		s.flushed(s.instances[t&^logToken])
	case t&pageToken != 0:
	default:
		s.read(int32(t))
	}
}

// rowLock is a lock on one hot row: who has it, and who waits for it in turn.
type rowLock struct {
	held bool
	wait des.Ring[int32]
}

// packetRate counts the packets of the last second, by which coalescing is
// judged.
type packetRate struct {
	second    int64
	now, last float64
}

// add counts packets and returns the rate of the last whole second.
func (p *packetRate) add(n float64, at int64) float64 {
	if second := at / des.Second; second != p.second {
		p.last, p.now = p.now, 0
		if second > p.second+1 {
			p.last = 0
		}
		p.second = second
	}
	p.now += n
	return p.last
}
