package host

import "math"

// headerBytes is what IP and TCP take of each packet (RFC 791, RFC 9293,
// without options).
const headerBytes = 40

// Packets is how many packets a message of so many bytes takes; an empty one
// takes none.
func (n NIC) Packets(bytes float64) float64 {
	return math.Ceil(bytes / float64(n.MTU-headerBytes))
}

// Interrupts is how many interrupts a second so many packets a second raise:
// one each, as far as coalescing lets them through.
func (n NIC) Interrupts(packetsPerSecond float64) float64 {
	if n.InterruptsPerSecond == 0 {
		return packetsPerSecond
	}
	return min(packetsPerSecond, n.InterruptsPerSecond*float64(n.Queues))
}

// SendNanos is how long a message occupies the line.
func (n NIC) SendNanos(bytes float64) int64 {
	return int64(math.Ceil((bytes + n.Packets(bytes)*headerBytes) * 8 / n.BitsPerSecond * 1e9))
}

// StreamCosts are the processor times of receiving, in seconds of a core at
// nominal speed: CPU a gigabit = a + b·delivered packets + c·wire packets, the
// last only where packets are merged (receive offload). Calibration finds
// them.
type StreamCosts struct {
	PerGigabit   float64 // a: copying
	PerDelivered float64 // b: what the stack and the guest do for a packet
	PerMerged    float64 // c: merging a packet from the wire
}

// Stream is a bulk transfer over TCP in one direction.
type Stream struct {
	Connections int
	Window      float64 // bytes a connection
	RoundTrip   float64 // seconds, without what queueing adds
	WirePacket  float64 // bytes of payload of a packet on the wire
	// Delivered is the payload of a packet that the guest gets: WirePacket, or
	// more where packets are merged.
	Delivered float64
	Merged    bool // receive offload is on
	Cores     float64
	// CoreLimit is how much of a core one receive queue may use; 0 is one.
	CoreLimit float64
	// Rho is the cost of memory accesses as a multiple of local ones: 1 where
	// interrupts, memory and the receiver share a socket.
	Rho float64
}

// StreamResult is the steady state of a Stream.
type StreamResult struct {
	BitsPerSecond      float64
	WirePerSecond      float64 // packets
	DeliveredPerSecond float64
	Cores              float64 // used at nominal speed
	Bottleneck         string  // "line", "window", "queue" or "cores"
}

// Solve finds the bottleneck of a stream: the line, the windows over the round
// trip, the cores that serve its queues, or all cores it has.
func (n NIC) Solve(s Stream, c StreamCosts) StreamResult {
	perPacket := 1e9 / 8 // bytes a gigabit
	cpu := c.PerGigabit + c.PerDelivered*perPacket/s.Delivered
	if s.Merged {
		cpu += c.PerMerged * perPacket / s.WirePacket
	}
	cpu *= max(1, s.Rho)
	limit := s.CoreLimit
	if limit == 0 {
		limit = 1
	}
	queues := float64(min(n.Queues, s.Connections)) * limit
	r := StreamResult{BitsPerSecond: n.BitsPerSecond * s.WirePacket / (s.WirePacket + headerBytes), Bottleneck: "line"}
	for _, b := range []struct {
		name string
		rate float64
	}{
		{"window", float64(s.Connections) * s.Window * 8 / s.RoundTrip},
		{"queue", queues / cpu * 1e9},
		{"cores", s.Cores / cpu * 1e9},
	} {
		if b.rate < r.BitsPerSecond {
			r.BitsPerSecond, r.Bottleneck = b.rate, b.name
		}
	}
	r.WirePerSecond = r.BitsPerSecond / 8 / s.WirePacket
	r.DeliveredPerSecond = r.BitsPerSecond / 8 / s.Delivered
	r.Cores = r.BitsPerSecond / 1e9 * cpu
	return r
}
