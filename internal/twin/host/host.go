package host

import (
	"fmt"
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Host is a machine, or a cluster of equal nodes with common storage, as its
// file describes it.
type Host struct {
	Name   string
	About  string
	Source string // where the numbers come from
	Nodes  int
	CPU    Processor  // of a node
	Memory unit.Bytes // of a node
	Stores []Store
	NICs   []NIC
}

// Store returns the store of that name.
func (h *Host) Store(name string) (Store, error) {
	var names []string
	for _, s := range h.Stores {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Store{}, fmt.Errorf("host %s has no store %q, only %q", h.Name, name, names)
}

// NIC returns the network interface of that name.
func (h *Host) NIC(name string) (NIC, error) {
	var names []string
	for _, n := range h.NICs {
		if n.Name == name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return NIC{}, fmt.Errorf("host %s has no network interface %q, only %q", h.Name, name, names)
}

// Device is a kind of disk.
type Device struct {
	Name string
	// Read and Write are the mean times of one operation without its
	// transfer, alone on the device: positioning, or access to flash.
	Read, Write time.Duration
	// Spread is how far single times lie from the mean: uniformly within
	// mean·(1 ± Spread).
	Spread float64
	// Reorder is how much a queue shortens positioning: with n waiting or
	// served, its time is divided by n^Reorder.
	Reorder  float64
	Channels int     // operations at once
	Rate     float64 // transfer, bytes a second
	Capacity unit.Bytes
}

// RAID is how a group of disks keeps its data.
type RAID uint8

// The RAID levels. A write costs 1, 2 and 4 operations: 5 reads and writes
// both the data and the parity.
const (
	RAID0 RAID = iota
	RAID10
	RAID5
)

// WriteOperations is how many operations of disks one small write costs.
func (r RAID) WriteOperations() int { return [...]int{1, 2, 4}[r] }

// Tier is a part of a store on equal disks.
type Tier struct {
	Device Device
	Level  RAID
	Groups int // RAID groups
	Disks  int // a group
}

// Capacity is what the tier holds with so many network copies.
func (t Tier) Capacity(copies int) unit.Bytes {
	data := t.Disks
	switch t.Level {
	case RAID10:
		data /= 2
	case RAID5:
		data--
	}
	return t.Device.Capacity * unit.Bytes(data*t.Groups/copies)
}

// Store is an array, or what else volumes are made from.
type Store struct {
	Name  string
	Tiers []Tier // the fastest first
	// Pool spreads each volume over all groups; else a volume lies on one.
	Pool bool
	// QueueDepth is how much of a volume is outstanding at once; the rest
	// waits in the host.
	QueueDepth int
	Hop        time.Duration // to the array and back
	// Copies is 2 for network RAID 10: every write also goes to another group,
	// one more hop away.
	Copies int
	// WriteCache answers writes at CacheTime as long as it holds less than so
	// much that is not yet on disk; ReadCache keeps extents.
	WriteCache, ReadCache unit.Bytes
	CacheTime             time.Duration
	// Extent is the unit of tiers and of the read cache.
	Extent unit.Bytes
	// Promote is how often extents change tiers by how much they are used.
	Promote time.Duration
}

// NIC is a network interface.
type NIC struct {
	Name          string
	BitsPerSecond float64
	Latency       time.Duration // one way, to the clients
	Queues        int           // that are received on different cores
	MTU           int           // bytes of a packet's payload and headers
	// InterruptsPerSecond bounds the interrupts of a queue by coalescing; 0 is
	// one interrupt a packet.
	InterruptsPerSecond float64
}
