package demand

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

// Format writes f as Parse reads it: Parse of the result gives f again. It
// fails where two devices of one name differ.
func Format(f *File) ([]byte, error) {
	w := &writer{}
	if err := w.host(f.Host); err != nil {
		return nil, err
	}
	if len(f.Ranges) > 0 {
		w.line(0, "ranges:")
		for _, r := range f.Ranges {
			w.line(1, "%s: {%s, about: %s}", key(r.Name), inside(r.Quantity), quote(r.About))
		}
	}
	if len(f.Workloads) > 0 {
		w.line(0, "workloads:")
		for i := range f.Workloads {
			w.workload(&f.Workloads[i])
		}
	}
	return []byte(w.String()), nil
}

type writer struct{ strings.Builder }

func (w *writer) line(indent int, format string, args ...any) {
	w.WriteString(strings.Repeat("  ", indent))
	_, _ = fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// quote writes any text as YAML: JSON is YAML.
func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always has a form in JSON
	}
	return string(out)
}

var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// key writes a name as the key of an entry.
func key(name string) string {
	switch strings.ToLower(name) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return quote(name)
	}
	if plain.MatchString(name) {
		return name
	}
	return quote(name)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// inside is q without braces.
func inside(q Quantity) string {
	s := fmt.Sprintf("value: %s, low: %s, high: %s", number(q.Value), number(q.Low), number(q.High))
	if q.Assumed {
		s += ", assumed: true"
	}
	return s
}

func braces(q Quantity) string { return "{" + inside(q) + "}" }

func (w *writer) host(h *host.Host) error {
	w.line(0, "host: %s", quote(h.Name))
	for _, t := range []struct{ name, text string }{{"about", h.About}, {"source", h.Source}} {
		if t.text != "" {
			w.line(0, "%s: %s", t.name, quote(t.text))
		}
	}
	w.line(0, "nodes: %d", h.Nodes)
	w.processor(h.CPU)
	w.line(0, "memory: %s", h.Memory)
	devices := map[string]host.Device{}
	for _, s := range h.Stores {
		for _, t := range s.Tiers {
			if d, known := devices[t.Device.Name]; known && d != t.Device {
				return fmt.Errorf("host %s: two devices are named %q", h.Name, d.Name)
			}
			devices[t.Device.Name] = t.Device
		}
	}
	if len(devices) > 0 {
		w.line(0, "devices:")
	}
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		d := devices[name]
		w.line(1, "%s: {read: %s, write: %s, spread: %s, reorder: %s, channels: %d, rate: %sMB/s, capacity: %s}", key(name),
			d.Read, d.Write, number(d.Spread), number(d.Reorder), d.Channels, number(d.Rate/1e6), d.Capacity)
	}
	if len(h.Stores) > 0 {
		w.line(0, "stores:")
	}
	for _, s := range h.Stores {
		w.store(s)
	}
	if len(h.NICs) > 0 {
		w.line(0, "nics:")
	}
	for _, n := range h.NICs {
		w.line(1, "%s: {rate: %sGb/s, latency: %s, queues: %d, mtu: %d, interrupts: %s}", key(n.Name),
			number(n.BitsPerSecond/1e9), n.Latency, n.Queues, n.MTU, number(n.InterruptsPerSecond))
	}
	return nil
}

func (w *writer) processor(p host.Processor) {
	w.line(0, "cpu:")
	if p.Model != "" {
		w.line(1, "model: %s", quote(p.Model))
	}
	w.line(1, "sockets: %d", p.Sockets)
	w.line(1, "cores: %d", p.Cores)
	w.line(1, "threads: %d", p.Threads)
	w.line(1, "clock: %sGHz", number(p.GHz))
	if len(p.Turbo) > 0 {
		var all []string
		for _, f := range p.Turbo {
			all = append(all, number(f)+"GHz")
		}
		w.line(1, "turbo: [%s]", strings.Join(all, ", "))
	}
	w.line(1, "smt-gain: %s", number(p.SMTGain))
	w.line(1, "remote: %s", number(p.Remote))
}

func (w *writer) store(s host.Store) {
	w.line(1, "%s:", key(s.Name))
	w.line(2, "tiers:")
	for _, t := range s.Tiers {
		w.line(3, "- {device: %s, raid: %s, groups: %d, disks: %d}", quote(t.Device.Name),
			[...]string{"raid0", "raid10", "raid5"}[t.Level], t.Groups, t.Disks)
	}
	w.line(2, "pool: %t", s.Pool)
	w.line(2, "queue-depth: %d", s.QueueDepth)
	w.line(2, "hop: %s", s.Hop)
	w.line(2, "copies: %d", s.Copies)
	w.line(2, "write-cache: %s", s.WriteCache)
	w.line(2, "read-cache: %s", s.ReadCache)
	w.line(2, "cache-time: %s", s.CacheTime)
	w.line(2, "extent: %s", s.Extent)
	w.line(2, "promote: %s", s.Promote)
}

func (w *writer) workload(d *Workload) {
	w.line(1, "- workload: %s", quote(d.Name))
	w.line(2, "engine: %s", quote(d.Engine))
	w.line(2, "version: %s", quote(d.Version))
	w.line(2, "mode: %s", quote(d.Mode))
	if len(d.Params) > 0 {
		w.line(2, "params:")
		for _, k := range slices.Sorted(maps.Keys(d.Params)) {
			w.line(3, "%s: %s", key(k), quote(d.Params[k]))
		}
	}
	w.texts("trials", d.Trials)
	if d.Invalid {
		w.line(2, "invalid: true")
	}
	w.line(2, "clock: %sGHz", number(d.GHz))
	w.line(2, "cpus: %s", number(d.CPUs))
	for _, q := range []struct {
		name string
		Quantity
	}{{"cpu-ns", d.CPU}, {"driver-ns", d.Driver}, {"stall", d.Stall}, {"pages", d.Pages}, {"reads", d.Reads}, {"writes", d.Writes}, {"ios", d.IOs}} {
		w.line(2, "%s: %s", q.name, braces(q.Quantity))
	}
	w.line(2, "costs:")
	w.line(3, "io-ns: %s", braces(d.Costs.IO))
	w.line(3, "latch-ns: %s", braces(d.Costs.Latch))
	w.line(3, "latch-byte-ns: %s", braces(d.Costs.LatchByte))
	if d.Misfit > 0 {
		w.line(2, "misfit: %s", number(d.Misfit))
	}
	w.line(2, "split: %s", quote(string(d.Split)))
	w.line(2, "classes:")
	for _, c := range d.Classes {
		w.line(3, "%s:", key(c.Name))
		w.line(4, "share: %s", number(c.Share))
		w.line(4, "compute-ns: %s", braces(c.Compute))
		w.line(4, "memory-ns: %s", braces(c.Memory))
		w.line(4, "log-b: %s", braces(c.LogBytes))
	}
	w.texts("notes", d.Notes)
}

// texts writes a list of single values, one a line.
func (w *writer) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.line(2, "%s:", name)
	for _, t := range list {
		w.line(3, "- %s", quote(t))
	}
}
