package host

import (
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/des"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// stripeBytes is how much of a volume lies on one disk before the next.
const stripeBytes = 64 << 10

// Storage is all stores of a host. Make it with NewStorage.
type Storage struct {
	sim     *des.Sim
	done    func(token int64)
	stores  []store
	volumes []volume
	disks   []disk
	ops     []op
	free    []int32
	draw    rng.Stream
	served  des.Kind // a disk's operation ended
	arrived des.Kind // a request is at the array
	answer  des.Kind // a request is answered
	promote des.Kind
}

// store is a Store with its state.
type store struct {
	spec    Store
	disks   [][]int32 // first disk of each group, by tier
	volumes []int32
	dirty   int64 // bytes in the write cache
	stalled des.Ring[int32]
	cache   lru
	usage   StoreUsage
}

// volume is a LUN.
type volume struct {
	store       int32
	group       int32
	outstanding int
	wait        des.Ring[int32]
	first       int64 // its first extent among those of the store
	tier        []uint8
	heat        []uint32
	usage       VolumeUsage
}

// op is a request, or work of the array itself.
type op struct {
	token     int64
	offset    int64
	submitted int64
	issued    int64
	volume    int32
	bytes     int32
	parts     int32 // operations of disks that are still to end
	tier      uint8
	write     bool
	second    bool // of a RAID 5 write: the reads are done
	own       bool // nobody waits: destaging or promotion
	cached    bool // bytes to take off the write cache at the end
}

// VolumeUsage is what a volume has done since time 0. Differences over a second
// give the commands, and the queue and device latencies, that an
// administrator's tool shows.
type VolumeUsage struct {
	Reads, Writes         int64
	ReadBytes, WriteBytes int64
	QueueNanos            int64 // summed time before the array got them
	DeviceNanos           int64 // summed time from then to the answer
}

// StoreUsage is what a store has done since time 0.
type StoreUsage struct {
	DiskOperations           int64
	DiskNanos                int64 // channel-nanoseconds that disks were busy
	CacheHits, CacheMisses   int64 // of the read cache
	FastHits, SlowHits       int64 // reads by tier: the first, the others
	Promoted                 int64 // extents that went to a faster tier
	StalledWrites            int64 // that found the write cache full
	ChannelCount, DirtyBytes int64
}

// NewStorage returns the stores of h, empty of volumes. done is called with
// the token of each request that is answered.
func NewStorage(sim *des.Sim, h *Host, done func(token int64)) *Storage {
	s := &Storage{sim: sim, done: done, draw: sim.Stream(rng.Name("storage"))}
	s.served = sim.Handle(s.diskDone)
	s.arrived = sim.Handle(func(i int32, _ int64) { s.arrive(i) })
	s.answer = sim.Handle(func(i int32, _ int64) { s.finish(i) })
	s.promote = sim.Handle(s.promoteExtents)
	for i, spec := range h.Stores {
		st := store{spec: spec}
		for t := range spec.Tiers {
			tier := &spec.Tiers[t]
			var groups []int32
			for range tier.Groups {
				groups = append(groups, int32(len(s.disks)))
				for range tier.Disks {
					s.disks = append(s.disks, disk{device: &tier.Device})
				}
			}
			st.disks = append(st.disks, groups)
			st.usage.ChannelCount += int64(tier.Groups * tier.Disks * tier.Device.Channels)
		}
		if spec.ReadCache > 0 {
			st.cache = newLRU(int(spec.ReadCache / spec.Extent))
		}
		s.stores = append(s.stores, st)
		if len(spec.Tiers) > 1 {
			sim.After(int64(spec.Promote), s.promote, int32(i), 0)
		}
	}
	return s
}

// AddVolume makes a volume on a store and returns its number. Without a pool,
// volumes go to the groups in turn. Volumes fill the fastest tier first.
func (s *Storage) AddVolume(storeName string, size unit.Bytes) (int32, error) {
	for i := range s.stores {
		st := &s.stores[i]
		if st.spec.Name != storeName {
			continue
		}
		v := volume{store: int32(i), group: int32(len(st.volumes) % st.spec.Tiers[0].Groups)}
		used := int64(0)
		for _, other := range st.volumes {
			used += int64(len(s.volumes[other].tier))
		}
		extents := int64((size + st.spec.Extent - 1) / st.spec.Extent)
		if capacity := st.extents(len(st.spec.Tiers)); used+extents > capacity {
			return 0, fmt.Errorf("store %s: a volume of %s: %d extents of %s are free", storeName, size, capacity-used, st.spec.Extent)
		}
		v.first = used
		v.tier, v.heat = make([]uint8, extents), make([]uint32, extents)
		for e := range v.tier {
			for used+int64(e) >= st.extents(int(v.tier[e])+1) {
				v.tier[e]++
			}
		}
		st.volumes = append(st.volumes, int32(len(s.volumes)))
		s.volumes = append(s.volumes, v)
		return int32(len(s.volumes) - 1), nil
	}
	return 0, fmt.Errorf("there is no store %q", storeName)
}

// extents is how many extents the first n tiers hold.
func (st *store) extents(n int) (sum int64) {
	for _, t := range st.spec.Tiers[:n] {
		sum += int64(t.Capacity(st.spec.Copies) / st.spec.Extent)
	}
	return sum
}

// Submit brings a request of a volume; offset and bytes are in bytes.
func (s *Storage) Submit(vol int32, write bool, offset, bytes, token int64) {
	i := s.take()
	s.ops[i] = op{token: token, offset: offset, bytes: int32(bytes), volume: vol, write: write, submitted: s.sim.Now()}
	v := &s.volumes[vol]
	if v.outstanding == s.stores[v.store].spec.QueueDepth {
		v.wait.Push(i)
		return
	}
	s.issue(i)
}

func (s *Storage) take() int32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i
	}
	s.ops = append(s.ops, op{})
	return int32(len(s.ops) - 1)
}

// issue sends a request to the array.
func (s *Storage) issue(i int32) {
	o := &s.ops[i]
	v := &s.volumes[o.volume]
	v.outstanding++
	o.issued = s.sim.Now()
	if hop := int64(s.stores[v.store].spec.Hop); hop > 0 {
		s.sim.After(hop, s.arrived, i, 0)
		return
	}
	s.arrive(i)
}

// arrive is a request at the array: the caches answer what they can.
func (s *Storage) arrive(i int32) {
	o := &s.ops[i]
	v := &s.volumes[o.volume]
	st := &s.stores[v.store]
	e := s.extent(o)
	v.heat[e]++
	switch {
	case o.write && st.spec.WriteCache > 0:
		if st.dirty+int64(o.bytes) > int64(st.spec.WriteCache) {
			st.usage.StalledWrites++
			st.stalled.Push(i)
			return
		}
		s.cacheWrite(i)
	case !o.write && st.spec.ReadCache > 0:
		if st.cache.touch(v.first + e) {
			st.usage.CacheHits++
			s.sim.After(int64(st.spec.CacheTime), s.answer, i, 0)
			return
		}
		st.usage.CacheMisses++
		s.toDisks(i)
	default:
		s.toDisks(i)
	}
}

// extent is the number of o's extent in its volume.
func (s *Storage) extent(o *op) int64 {
	v := &s.volumes[o.volume]
	return o.offset / int64(s.stores[v.store].spec.Extent) % int64(len(v.tier))
}

// cacheWrite answers a write from the cache and destages it.
func (s *Storage) cacheWrite(i int32) {
	o := s.ops[i]
	st := &s.stores[s.volumes[o.volume].store]
	st.dirty += int64(o.bytes)
	s.sim.After(int64(st.spec.CacheTime), s.answer, i, 0)
	d := s.take()
	s.ops[d] = op{offset: o.offset, bytes: o.bytes, volume: o.volume, write: true, own: true, cached: true}
	s.toDisks(d)
}

// toDisks splits a request into operations of disks.
func (s *Storage) toDisks(i int32) {
	o := &s.ops[i]
	v := &s.volumes[o.volume]
	st := &s.stores[v.store]
	e := s.extent(o)
	tier := v.tier[e]
	if !o.write {
		if tier == 0 {
			st.usage.FastHits++
		} else {
			st.usage.SlowHits++
		}
	}
	s.onTier(i, tier, false)
}

// onTier starts the operations of request i on a tier. second is the writing
// half of a RAID 5 write.
func (s *Storage) onTier(i int32, tier uint8, second bool) {
	o := &s.ops[i]
	v := &s.volumes[o.volume]
	st := &s.stores[v.store]
	t := &st.spec.Tiers[tier]
	group := int(v.group)
	if st.spec.Pool {
		group = int(s.extent(o))
	}
	copies := 1
	if o.write {
		copies = st.spec.Copies
	}
	var targets [4]int32 // two disks on each of two copies
	n := 0
	for c := range copies {
		first := st.disks[tier][(group+c)%t.Groups]
		stripe := o.offset / stripeBytes
		data := int32(stripe % int64(t.Disks))
		switch t.Level {
		case RAID0:
			targets[n] = first + data
			n++
		case RAID10:
			data = int32(stripe % int64(t.Disks/2) * 2)
			if o.write {
				targets[n], targets[n+1] = first+data, first+data+1
				n += 2
				break
			}
			if s.disks[first+data+1].length() < s.disks[first+data].length() {
				data++
			}
			targets[n] = first + data
			n++
		case RAID5:
			targets[n] = first + data
			n++
			if o.write { // parity rotates with the stripes
				parity := int32((stripe/int64(t.Disks) + int64(data) + 1 + stripe%int64(t.Disks-1)) % int64(t.Disks))
				if parity == data {
					parity = (parity + 1) % int32(t.Disks)
				}
				targets[n] = first + parity
				n++
			}
		}
	}
	o.parts, o.tier, o.second = int32(n), tier, second
	p := part{op: i, bytes: o.bytes, write: o.write && (t.Level != RAID5 || second)}
	for _, d := range targets[:n] {
		s.operate(d, p)
	}
}

// partDone is the end of one operation of a disk for request i.
func (s *Storage) partDone(i int32) {
	o := &s.ops[i]
	if o.parts--; o.parts > 0 {
		return
	}
	v := &s.volumes[o.volume]
	st := &s.stores[v.store]
	if o.write && !o.second && st.spec.Tiers[o.tier].Level == RAID5 {
		s.onTier(i, o.tier, true)
		return
	}
	if o.cached {
		st.dirty -= int64(o.bytes)
		s.free = append(s.free, i)
		s.unstall(st)
		return
	}
	if o.own {
		s.free = append(s.free, i)
		return
	}
	if o.write && st.spec.Copies > 1 { // the other copy is one more hop away
		s.sim.After(int64(st.spec.Hop), s.answer, i, 0)
		return
	}
	s.finish(i)
}

// unstall lets writes into the cache as far as it has room.
func (s *Storage) unstall(st *store) {
	for st.stalled.Len() > 0 {
		i := st.stalled.Peek()
		if st.dirty+int64(s.ops[i].bytes) > int64(st.spec.WriteCache) {
			return
		}
		st.stalled.Pop()
		s.cacheWrite(i)
	}
}

// finish answers request i and issues the next of its volume.
func (s *Storage) finish(i int32) {
	o := s.ops[i]
	s.free = append(s.free, i)
	v := &s.volumes[o.volume]
	v.outstanding--
	u := &v.usage
	u.QueueNanos += o.issued - o.submitted
	u.DeviceNanos += s.sim.Now() - o.issued
	if o.write {
		u.Writes++
		u.WriteBytes += int64(o.bytes)
	} else {
		u.Reads++
		u.ReadBytes += int64(o.bytes)
	}
	if v.wait.Len() > 0 {
		s.issue(v.wait.Pop())
	}
	s.done(o.token)
}

// VolumeUsage accounts for a volume up to now.
func (s *Storage) VolumeUsage(vol int32) VolumeUsage { return s.volumes[vol].usage }

// StoreUsage accounts for a store up to now.
func (s *Storage) StoreUsage(i int) StoreUsage {
	st := &s.stores[i]
	u := st.usage
	u.DirtyBytes = st.dirty
	for t, groups := range st.disks {
		for _, first := range groups {
			for d := first; d < first+int32(st.spec.Tiers[t].Disks); d++ {
				u.DiskNanos += s.disks[d].nanos
				u.DiskOperations += s.disks[d].count
			}
		}
	}
	return u
}
