package host

import "testing"

func TestPacketsAndInterrupts(t *testing.T) {
	n := NIC{BitsPerSecond: 1e9, MTU: 1500, Queues: 2}
	for bytes, want := range map[float64]float64{0: 0, 1: 1, 1460: 1, 1461: 2, 14600: 10} {
		if got := n.Packets(bytes); got != want {
			t.Errorf("%g bytes in %g packets, want %g", bytes, got, want)
		}
	}
	if got := n.SendNanos(1460); got != 12_000 {
		t.Errorf("a full packet takes %d ns at 1 Gb/s, want 12000", got)
	}
	if got := n.Interrupts(1e6); got != 1e6 {
		t.Errorf("%g interrupts without coalescing", got)
	}
	n.InterruptsPerSecond = 8000
	if got := n.Interrupts(1e6); got != 16_000 {
		t.Errorf("%g interrupts from two queues of 8000", got)
	}
	if got := n.Interrupts(100); got != 100 {
		t.Errorf("%g interrupts for 100 packets", got)
	}
}

func TestAStreamRunsAtItsBottleneck(t *testing.T) {
	n := NIC{BitsPerSecond: 10e9, MTU: 1500, Queues: 4}
	base := Stream{Connections: 4, Window: 1 << 20, RoundTrip: 1e-3, WirePacket: 1460, Delivered: 1460, Cores: 100}
	costs := StreamCosts{PerGigabit: 0.02, PerDelivered: 1e-6, PerMerged: 0.2e-6}
	change := func(f func(*Stream)) Stream { s := base; f(&s); return s }
	perWire := 1e9 / 8 / 1460.
	for _, c := range []struct {
		name   string
		s      Stream
		gbps   float64
		bottle string
	}{
		{"line", base, 10 * 1460 / 1500., "line"},
		{"W/RTT", change(func(s *Stream) { s.Connections, s.Window = 1, 100_000 }), 0.8, "window"},
		{"a queue's core", change(func(s *Stream) { s.Connections = 1; s.Window = 1e9 }), 1 / (0.02 + perWire*1e-6), "queue"},
		{"half a core's memory on the other socket", change(func(s *Stream) { s.Connections = 1; s.Window = 1e9; s.Rho = 1.25 }), 1 / (0.02 + perWire*1e-6) / 1.25, "queue"},
		{"all cores", change(func(s *Stream) { s.Cores = 0.5 }), 0.5 / (0.02 + perWire*1e-6), "cores"},
		{"merged packets", change(func(s *Stream) { s.Connections, s.Window, s.Merged, s.Delivered = 1, 1e9, true, 14600 }),
			1 / (0.02 + perWire*1e-6/10 + perWire*0.2e-6), "queue"},
	} {
		n := n
		if c.s.Merged {
			n.BitsPerSecond = 100e9
		}
		r := n.Solve(c.s, costs)
		near(t, c.name+", Gb/s", r.BitsPerSecond/1e9, c.gbps, 1e-9)
		if r.Bottleneck != c.bottle {
			t.Errorf("%s: bottleneck %s, want %s", c.name, r.Bottleneck, c.bottle)
		}
		near(t, c.name+", wire packets", r.WirePerSecond*1460*8, r.BitsPerSecond, 1)
		near(t, c.name+", delivered packets", r.DeliveredPerSecond*c.s.Delivered*8, r.BitsPerSecond, 1)
	}
}

func TestAWalkCostsGuestAndHost(t *testing.T) {
	p := PageCosts{Guest: [2]float64{10, 2}, Host: [2]float64{30, 5}}
	for _, c := range []struct {
		guest, host PageSize
		want        float64
	}{{SmallPages, SmallPages, 40}, {LargePages, SmallPages, 32}, {SmallPages, LargePages, 15}, {LargePages, LargePages, 7}} {
		if got := p.Walk(c.guest, c.host); got != c.want {
			t.Errorf("pages %d in %d: %g ns, want %g", c.guest, c.host, got, c.want)
		}
	}
}
