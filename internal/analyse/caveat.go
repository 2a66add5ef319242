package analyse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// caveats are what providers say of every figure of their instances, such as
// that the processors were emulated: each once, with the trials and instances
// that it is about where it is not about all that were begun.
func caveats(runs []run) (out []string) {
	var texts []string
	about := map[string][]place{}
	begun := 0
	for _, r := range runs {
		if len(r.manifest.Instances) == 0 {
			continue
		}
		begun++
		for _, i := range r.manifest.Instances {
			for _, w := range i.Warnings {
				if about[w] == nil {
					texts = append(texts, w)
				}
				about[w] = append(about[w], place{r.manifest, i.Name})
			}
		}
	}
	for _, text := range texts {
		out = append(out, whose(about[text], begun)+text)
	}
	return out
}

// place is an instance of a trial.
type place struct {
	trial    record.Trial
	instance string
}

// whose says which trials and instances places are; "" where they are all
// instances of all trials, of which there are as many as begun.
func whose(places []place, begun int) string {
	var trials, instances []string
	all := true
	for _, p := range places {
		if n := strconv.Itoa(p.trial.Planned.Trial); !slices.Contains(trials, n) {
			trials = append(trials, n)
		}
		if !slices.Contains(instances, p.instance) {
			instances = append(instances, p.instance)
		}
	}
	for _, p := range places {
		for _, i := range p.trial.Instances {
			all = all && slices.Contains(instances, i.Name)
		}
	}
	var parts []string
	if len(trials) < begun {
		parts = append(parts, fmt.Sprintf("trial%s %s", plural(len(trials)), strings.Join(trials, ", ")))
	}
	if !all {
		parts = append(parts, strings.Join(instances, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}

// plural is the ending of a word for n things.
func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
