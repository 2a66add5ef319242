package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/twin"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/trial"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// modelOf is the twin that a study names as its provider, nil where it names
// another, none, or no host: Parse tells of these. The study is not parsed yet,
// because what it means may depend on the host.
func modelOf(source []byte) (t *twin.Twin, err error) {
	defer func() { // the library has panicked on malformed input before
		if recover() != nil {
			t, err = nil, nil
		}
	}()
	var head struct {
		Provider map[string]any `yaml:"provider"`
	}
	if yaml.Unmarshal(source, &head) != nil || head.Provider["name"] != twin.Name || head.Provider["host"] == nil {
		return nil, nil
	}
	texts := map[string]string{}
	for _, p := range twin.Params() {
		if v, ok := head.Provider[p.Name]; ok {
			texts[p.Name] = fmt.Sprint(v)
		}
	}
	v, err := unit.NewValues(twin.Params(), texts)
	if err != nil {
		return nil, nil //nolint:nilerr // Parse tells of it, with its place
	}
	return twin.New(v)
}

// simulated makes a study's job one on the model m, which is nil where provider's
// name or host varies.
func (j *job) simulated(m *twin.Twin) error {
	if m == nil {
		return errors.New("the study varies provider.name or provider.host with the twin: what is calculated and what is measured are never in one study, nor are two hosts; run one study for each")
	}
	for _, c := range j.configs() {
		first := j.configs()[0].Provider.Params.All()
		for name, text := range c.Provider.Params.All() {
			if first[name] != text {
				return fmt.Errorf("the study varies provider.%s, which this build can't do yet: run one study for each and compare them", name)
			}
		}
	}
	j.model, j.provider, j.providers = m, m, nil
	j.cpus, j.noCPUs = trial.ModelCPUs(m.Model().Host), nil
	return nil
}

// unmodelled lists what the study asks for and the model has not.
func (j *job) unmodelled() (all []provider.Problem) {
	for _, c := range j.configs() {
		all = append(all, trial.Unmodelled(c, j.model.Model().Host)...)
	}
	return all
}

// hostSize is how large a modelled host is, as far as scaling goes: one node.
func hostSize(h *host.Host) study.Size {
	return study.Size{CPUs: float64(h.CPU.CPUs()), Memory: h.Memory}
}

// hostMachine describes a modelled host as the head of a result directory does a
// machine.
func hostMachine(h *host.Host) record.Machine {
	m := record.Machine{
		Host: h.Name, OS: "none: a model", Arch: "none", Cgroup: "none", CPUModel: h.CPU.Model,
		Sockets: h.CPU.Sockets, Cores: h.CPU.Sockets * h.CPU.Cores, Threads: h.Nodes * h.CPU.CPUs(), MHz: 1000 * h.CPU.GHz,
		NUMANodes: h.CPU.Sockets, MemBytes: int64(h.Nodes) * int64(h.Memory),
	}
	if len(h.Stores) > 0 {
		s := h.Stores[0]
		if data, err := h.Store("data"); err == nil {
			s = data
		}
		size := unit.Bytes(0)
		for _, t := range s.Tiers {
			size += t.Capacity(max(1, s.Copies))
		}
		m.Disk = record.Disk{Path: s.Name, FileSystem: "none", Device: s.Name, SizeBytes: int64(size), FreeBytes: int64(size)}
	}
	return m
}

// onHostFile is a study's source with the twin of a host in place of its
// provider; all else stays as it is and where it is. What the provider is like
// is what the study named.
func onHostFile(source []byte, hostFile string) (edited []byte, err error) {
	defer func() { // the library has panicked on malformed input before
		if p := recover(); p != nil {
			edited, err = nil, fmt.Errorf("not readable as YAML: %v", p)
		}
	}()
	file, err := parser.ParseBytes(source, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, errors.New("a study is one document with entries such as study: NAME")
	}
	lines := strings.Split(string(source), "\n")
	entries := entriesOf(file.Docs[0].Body)
	for i, e := range entries {
		key := e.Key.GetToken()
		if key.Value != "provider" {
			continue
		}
		first, end := key.Position.Line-1, len(lines)
		if i+1 < len(entries) {
			end = entries[i+1].Key.GetToken().Position.Line - 1
		}
		if key.Position.Column != 1 || end <= first {
			return nil, fmt.Errorf("line %d: provider does not begin a line of its own", first+1)
		}
		last := first + 1 // comments and empty lines behind it stay
		for n := first + 1; n < end; n++ {
			if text := strings.TrimSpace(lines[n]); text != "" && !strings.HasPrefix(text, "#") {
				last = n + 1
			}
		}
		for n := first; n < last; n++ {
			lines[n] = ""
		}
		lines[first] = fmt.Sprintf("provider: {name: %s, host: %s, like: %s}", twin.Name, strconv.Quote(hostFile), likeOf(source))
		return []byte(strings.Join(lines, "\n")), nil
	}
	return nil, errors.New("--on takes the place of the study's provider, and the study names none (a server that runs already can't be put on a model)")
}

// likeOf is what the provider of a study is like.
func likeOf(source []byte) string {
	var head struct {
		Provider struct {
			Name string `yaml:"name"`
			Like string `yaml:"like"`
		} `yaml:"provider"`
	}
	_ = yaml.Unmarshal(source, &head) // Parse tells of faults
	switch p := head.Provider; {
	case p.Name == twin.Name && p.Like != "":
		return p.Like
	case p.Name == twin.LikeContainer, p.Name == twin.LikeLibvirt:
		return p.Name
	}
	return twin.LikeNative
}

// needsHost lists what the study's question needs and the modelled host lacks.
// What a machine must be able to run, the model can.
func (j *job) needsHost() (all []problem) {
	n, h := j.plan.Study.Needs, j.model.Model().Host
	least := func(knob string, want, have int, what string) {
		if want > have {
			all = append(all, problem{fmt.Sprintf("%s: the study's question needs %d %s, and host %s has %d", knob, want, what, h.Name, have), "a larger host"})
		}
	}
	least("needs.cpus", n.CPUs, h.CPU.CPUs(), "CPUs")
	least("needs.numa_nodes", n.NUMANodes, h.CPU.Sockets, "NUMA nodes")
	least("needs.threads_per_core", n.ThreadsPerCore, h.CPU.Threads, "threads on a core")
	least("needs.hosts", n.Hosts, h.Nodes, "machines")
	if n.Memory > h.Memory {
		all = append(all, problem{fmt.Sprintf("needs.memory: the study's question needs %s of memory, and host %s has %s", n.Memory.Human(), h.Name, h.Memory.Human()), "a larger host"})
	}
	return all
}

// wholeCPUs is offers of providers, of which the twin's instances have whole CPUs
// only where they are virtual machines.
func wholeCPUs(offers []study.Offer, virtual bool) []study.Offer {
	out := slices.Clone(offers)
	for i := range out {
		if out[i].Name == twin.Name {
			out[i].WholeCPUs = virtual
		}
	}
	return out
}
