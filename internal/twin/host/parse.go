package host

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a host file. name is for errors, all of which come at once, each
// with line and column; errors.As finds the single Error.
//
//	host: NAME
//	about: one line
//	source: where the numbers come from
//	nodes: 1
//	cpu: {model, sockets, cores, threads, clock: 2.8GHz, turbo: [3.4GHz, …], smt-gain: 1.3, remote: 1.5}
//	memory: 1TiB
//	devices:
//	  NAME: {read: 5ms, write: 5ms, spread: 0.5, reorder: 0.2, channels: 1, rate: 120MB/s, capacity: 300GB}
//	stores:
//	  NAME: {tiers: [{device, raid: raid0, groups: 1, disks: 6}], pool, queue-depth, hop, copies,
//	         write-cache, read-cache, cache-time, extent, promote}
//	nics:
//	  NAME: {rate: 10Gb/s, latency: 30us, queues: 1, mtu: 1500, interrupts: 8000}
func Parse(name string, src []byte) (*Host, error) { return ParseWith(name, src, nil) }

// ParseWith is Parse for a file that holds more than a host: more, where it is
// not nil, takes the other entries from the file's own section. The host it
// gets holds what could be read, faults apart.
func ParseWith(name string, src []byte, more func(*Host, Section)) (*Host, error) {
	r := &reader{file: name}
	top := r.open(src)
	if top == nil {
		return nil, r.err()
	}
	h := &Host{
		Name:   top.text("host", required),
		About:  top.text("about", ""),
		Source: top.text("source", ""),
		Nodes:  top.int("nodes", "1", 1, 1024),
		Memory: top.bytes("memory", required),
	}
	if cpu := top.sub("cpu", true); cpu != nil {
		h.CPU = readProcessor(cpu)
		cpu.done()
	}
	devices := map[string]Device{}
	top.named("devices", false, func(name string, s *section) { devices[name] = readDevice(name, s) })
	top.named("stores", false, func(name string, s *section) { h.Stores = append(h.Stores, readStore(name, s, devices)) })
	top.named("nics", false, func(name string, s *section) { h.NICs = append(h.NICs, readNIC(name, s)) })
	if more != nil {
		more(h, Section{top})
	}
	top.done()
	if err := r.err(); err != nil {
		return nil, err
	}
	return h, nil
}

func readProcessor(s *section) Processor {
	p := Processor{
		Model:   s.text("model", ""),
		Sockets: s.int("sockets", required, 1, 64),
		Cores:   s.int("cores", required, 1, 64),
		Threads: s.int("threads", required, 1, 2),
		GHz:     scalar(s, "clock", required, numberFrom("GHz", 0.1, 10)),
		SMTGain: s.number("smt-gain", "1.3", 1, 2),
		Remote:  s.number("remote", "1.5", 1, 10),
	}
	if n := p.perSocket(); n > 64 { // a mask of threads is a word
		s.r.fault(s.at, "%d threads a socket: at most 64", n)
	}
	for _, n := range s.list("turbo", false) {
		f, err := numberFrom("GHz", 0.1, 10)(n.GetToken().Value)
		switch {
		case err != nil:
			s.r.fault(n.GetToken(), "turbo: %v", err)
		case len(p.Turbo) > 0 && f > p.Turbo[len(p.Turbo)-1]:
			s.r.fault(n.GetToken(), "turbo: %gGHz with more active cores than %gGHz", f, p.Turbo[len(p.Turbo)-1])
		}
		p.Turbo = append(p.Turbo, f)
	}
	if len(p.Turbo) > p.Cores {
		s.r.fault(s.at, "turbo: %d frequencies for %d cores", len(p.Turbo), p.Cores)
	}
	return p
}

func readDevice(name string, s *section) Device {
	return Device{
		Name:     name,
		Read:     s.duration("read", required),
		Write:    s.duration("write", required),
		Spread:   s.number("spread", "0", 0, 1),
		Reorder:  s.number("reorder", "0", 0, 1),
		Channels: s.int("channels", "1", 1, 1024),
		Rate:     scalar(s, "rate", required, byteRate),
		Capacity: s.bytes("capacity", required),
	}
}

// byteRate parses 120MB/s into bytes a second.
func byteRate(t string) (float64, error) {
	num, ok := strings.CutSuffix(t, "MB/s")
	x, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if !ok || err != nil || !(x > 0 && x < 1e6) {
		return 1, fmt.Errorf("%q is not a rate such as 120MB/s", t)
	}
	return x * 1e6, nil
}

func readStore(name string, s *section, devices map[string]Device) Store {
	st := Store{
		Name:       name,
		Pool:       s.flag("pool"),
		QueueDepth: s.int("queue-depth", "32", 1, 1<<16),
		Hop:        s.duration("hop", "0s"),
		Copies:     s.int("copies", "1", 1, 2),
		WriteCache: s.bytes("write-cache", "0B"),
		ReadCache:  s.bytes("read-cache", "0B"),
		CacheTime:  s.duration("cache-time", "200us"),
		Extent:     s.bytes("extent", "64MiB"),
		Promote:    s.duration("promote", "60s"),
	}
	if st.Extent < 64<<10 || st.Extent > 1<<30 {
		s.r.fault(s.at, "%s: an extent of %s is not within 64KiB and 1GiB", name, st.Extent)
		st.Extent = 1 << 20
	}
	if st.Promote < 1e6 {
		s.r.fault(s.at, "%s: promotion every %s is too often", name, st.Promote)
	}
	for _, n := range s.list("tiers", true) {
		t := s.r.section("tier", n)
		if t == nil {
			continue
		}
		st.Tiers = append(st.Tiers, readTier(t, devices, st.Copies))
		t.done()
	}
	if n := len(st.Tiers); n < 1 || n > 4 {
		s.r.fault(s.at, "%s has %d tiers, not 1 to 4", name, n)
	}
	return st
}

func readTier(s *section, devices map[string]Device, copies int) Tier {
	levels := map[string]RAID{"raid0": RAID0, "raid10": RAID10, "raid5": RAID5}
	t := Tier{
		Level: scalar(s, "raid", "raid0", func(t string) (RAID, error) {
			l, ok := levels[t]
			if !ok {
				return RAID0, fmt.Errorf("%q is none of raid0, raid10, raid5", t)
			}
			return l, nil
		}),
		Groups: s.int("groups", "1", 1, 1024),
		Disks:  s.int("disks", required, 1, 1024),
		Device: scalar(s, "device", required, func(t string) (Device, error) {
			d, ok := devices[t]
			if !ok {
				return d, fmt.Errorf("%q stands not under devices", t)
			}
			return d, nil
		}),
	}
	least := [...]int{1, 2, 3}[t.Level]
	switch {
	case t.Disks < least:
		s.r.fault(s.at, "%d disks are too few for the RAID level, which takes %d", t.Disks, least)
	case t.Level == RAID10 && t.Disks%2 != 0:
		s.r.fault(s.at, "%d disks do not make pairs", t.Disks)
	case t.Groups < copies:
		s.r.fault(s.at, "%d copies need as many groups, not %d", copies, t.Groups)
	}
	return t
}

func readNIC(name string, s *section) NIC {
	return NIC{
		Name:                name,
		BitsPerSecond:       1e9 * scalar(s, "rate", required, numberFrom("Gb/s", 0.001, 1000)),
		Latency:             s.duration("latency", "50us"),
		Queues:              s.int("queues", "1", 1, 1024),
		MTU:                 s.int("mtu", "1500", 576, 65535),
		InterruptsPerSecond: s.number("interrupts", "0", 0, 1e7),
	}
}
