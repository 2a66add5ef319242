// Package host models the machine under a database in discrete events:
// processors with their schedulers, memory, storage and network. A machine is
// described by a file (see Parse); hosts/ has those of published studies.
//
// Each part stands alone on a des.Sim: CPU runs bursts of work for clients,
// Storage serves reads and writes, and the network is formulas. What uses them
// says when it wants what, and is told when it is done.
package host

import "math/bits"

// Work is processor work in femtoseconds of a thread that runs alone on its
// core at the nominal frequency: 1e6 a nanosecond. It is an integer so that
// what is demanded and what is done can be compared exactly; an int64 holds
// two and a half hours of one thread.
type Work int64

// Nanos returns the work of ns nanoseconds at nominal speed.
func Nanos(ns float64) Work { return Work(ns * nominal) }

// nominal is the speed of a thread that runs alone at the nominal frequency,
// in femtoseconds of work a nanosecond.
const nominal = 1_000_000

// Processor is the hardware of one node.
type Processor struct {
	Model   string
	Sockets int
	Cores   int     // a socket
	Threads int     // a core: 1 or 2
	GHz     float64 // nominal frequency
	// Turbo is the frequency in GHz by the number of active cores of a
	// socket, from one on; the last holds for all above. Empty is no turbo.
	Turbo []float64
	// SMTGain g is what two busy threads of a core do together, as a multiple
	// of one alone: 1 to 2. Each runs at g/2.
	SMTGain float64
	// Remote r is the cost of a memory access to another socket as a multiple
	// of a local one, at least 1.
	Remote float64
}

// perSocket is the number of threads of a socket.
func (p Processor) perSocket() int { return p.Cores * p.Threads }

// CPUs is the number of threads of a node.
func (p Processor) CPUs() int { return p.Sockets * p.perSocket() }

// frequency is the speed at nominal frequency 1 of a socket with so many
// active cores, in femtoseconds a nanosecond.
func (p Processor) frequency(active int) int64 {
	if len(p.Turbo) == 0 {
		return nominal
	}
	i := min(max(active, 1), len(p.Turbo)) - 1
	return int64(p.Turbo[i] / p.GHz * nominal)
}

// Demand is the processor work of one burst, as if all memory were local:
// D = [c + m·ρ + w·ρ]/f + n_io·k_io + n_pkt·k_pkt + n_irq·k_irq, where
// Compute has c and the k, and Memory has m and w. Where the share f_remote of
// accesses goes to another socket, ρ = 1 + f_remote (r - 1).
type Demand struct{ Compute, Memory Work }

// scale returns w·part/whole without overflow; part may not exceed whole.
func (w Work) scale(part, whole Work) Work {
	if whole == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(w), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return Work(q)
}

// thread is one hardware thread.
type thread struct {
	socket  int32
	bit     uint64 // in the socket's masks
	sibling int32  // none where the core has one thread
	runs    int32  // entity; none where idle
	last    int32  // entity that ran last
	owner   int32  // entity with exclusive use; none where free to all
	busy    int64  // ns
	since   int64
}

const none = -1

// socket is what the threads of a socket share.
type socket struct {
	idle      uint64 // threads that run nothing and are nobody's own
	first     uint64 // the first thread of each core
	active    int    // cores with a running thread
	coreNanos int64  // ns of active cores, up to since
	since     int64
	frequency int64 // femtoseconds a nanosecond
	ready     []int32
	// floor is the least virtual time of those who ran last: who wakes from
	// idling begins not far below, so that nobody saves up for a burst.
	floor float64
}

// activate changes the number of active cores.
func (s *socket) activate(by int, now int64) {
	s.coreNanos += int64(s.active) * (now - s.since)
	s.active += by
	s.since = now
}

// wholeCores returns the first threads of the cores whose threads all idle.
func (s *socket) wholeCores(threads int) uint64 {
	m := s.idle
	for t := 1; t < threads; t++ {
		m &= s.idle >> t
	}
	return m & s.first
}

// Seconds is how long w takes at nominal speed.
func (w Work) Seconds() float64 { return float64(w) / nominal / 1e9 }
