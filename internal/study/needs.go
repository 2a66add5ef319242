package study

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Needs is the `needs:` section: what a machine must have for the study's
// question to make sense there. Zero fields ask for nothing.
type Needs struct {
	KVM            bool
	CPUs           int // that Loadstone may use
	Memory         unit.Bytes
	NUMANodes      int
	ThreadsPerCore int
	Hosts          int
	// Providers are those that will do, by name; empty is any.
	Providers []string
}

const providerPattern = `^[a-z][a-z0-9_-]{0,31}$`

var providerName = regexp.MustCompile(providerPattern)

// needKnobs are all needs but the providers, which are a list.
func needKnobs() []knob {
	const fixed = "what the machine needs holds for the whole study"
	count := func(name, most, about string, set func(*Needs, int)) knob {
		return knob{Param: unit.Param{Name: name, Kind: unit.Int, Min: "1", Max: most, About: about},
			fixed: fixed, set: func(s *Study, _ *Config, t string) { set(&s.Needs, int(number(t))) }}
	}
	return []knob{
		{Param: unit.Param{Name: "needs.kvm", Allowed: []string{"yes", "no"}, About: "Whether the machine must run virtual machines by its hardware (KVM)."},
			fixed: fixed, set: func(s *Study, _ *Config, t string) { s.Needs.KVM = t == "yes" }},
		count("needs.cpus", "8192", "How many CPUs the machine must have.", func(n *Needs, v int) { n.CPUs = v }),
		{Param: unit.Param{Name: "needs.memory", Kind: unit.Size, Min: "16MiB", Max: "1024TiB", About: "How much memory the machine must have."},
			fixed: fixed, set: func(s *Study, _ *Config, t string) { s.Needs.Memory, _ = unit.ParseBytes(t) }},
		count("needs.numa_nodes", "1024", "How many NUMA nodes the machine must have.", func(n *Needs, v int) { n.NUMANodes = v }),
		count("needs.threads_per_core", "8", "How many hardware threads a core must have.", func(n *Needs, v int) { n.ThreadsPerCore = v }),
		count("needs.hosts", "64", "How many machines the study runs on.", func(n *Needs, v int) { n.Hosts = v }),
	}
}

const providersShape = "a list of names such as [native, container]"

// readProviders reads the list needs.providers. A name that this build does
// not know is no fault: the study needs another build.
func (c *checker) readProviders(p pair) {
	switch {
	case p.value.shape == refused:
		return
	case p.value.shape == absent || p.value.shape == list && len(p.value.items) == 0:
		c.fault(p.key, "needs.providers has no names", providersShape)
		return
	case p.value.shape != list:
		c.fault(p.value, "needs.providers is "+p.value.what()+", not a list of names", providersShape)
		return
	}
	for _, item := range p.value.items {
		switch {
		case item.shape == refused:
		case item.shape == absent:
			c.fault(p.key, "needs.providers: a name is missing", providersShape)
		case item.shape != scalar:
			c.fault(item, "needs.providers: a provider is "+item.what()+", not a name", providersShape)
		case !providerName.MatchString(item.text):
			c.fault(item, fmt.Sprintf("needs.providers: %q is not the name of a provider", item.text), "small letters, digits, - and _")
		case slices.Contains(c.needed, item.text):
			c.fault(item, fmt.Sprintf("needs.providers: %s stands here twice", item.text), "each name once")
		default:
			c.needed = append(c.needed, item.text)
		}
	}
}
