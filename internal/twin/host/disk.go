package host

import (
	"math"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// part is one operation of one disk.
type part struct {
	op    int32
	bytes int32
	write bool
}

// disk is a station with one queue and Channels servers whose service depends
// on how many are there.
type disk struct {
	device *Device
	wait   des.Ring[part]
	busy   int
	nanos  int64 // channel-nanoseconds served
	count  int64
}

// length is how many operations wait or are served.
func (d *disk) length() int { return d.wait.Len() + d.busy }

// service draws the time of p in nanoseconds.
func (d *disk) service(p part, draw *rng.Stream) int64 {
	mean := d.device.Read
	if p.write {
		mean = d.device.Write
	}
	t := float64(mean)
	if d.device.Spread > 0 {
		t *= 1 + d.device.Spread*(2*draw.Float64()-1)
	}
	if d.device.Reorder > 0 {
		t /= math.Pow(float64(d.length()+1), d.device.Reorder)
	}
	if d.device.Rate > 0 {
		t += float64(p.bytes) / d.device.Rate * 1e9
	}
	return max(1, int64(t))
}

// operate brings an operation to disk i.
func (s *Storage) operate(i int32, p part) {
	d := &s.disks[i]
	if d.busy == d.device.Channels {
		d.wait.Push(p)
		return
	}
	s.serve(i, p)
}

func (s *Storage) serve(i int32, p part) {
	d := &s.disks[i]
	t := d.service(p, &s.draw)
	d.busy++
	d.nanos += t
	d.count++
	s.sim.After(t, s.served, i, int64(p.op))
}

// diskDone is the end of one disk's operation for op.
func (s *Storage) diskDone(i int32, op int64) {
	d := &s.disks[i]
	d.busy--
	if d.wait.Len() > 0 {
		s.serve(i, d.wait.Pop())
	}
	s.partDone(int32(op))
}
