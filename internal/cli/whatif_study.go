package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/loadstone-perf/loadstone/internal/provider/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// spanOf reads the ends of a span of whole numbers.
func spanOf(from, to string) (a, b int, err error) {
	a, errA := strconv.Atoi(strings.TrimSpace(from))
	b, errB := strconv.Atoi(strings.TrimSpace(to))
	if errA != nil || errB != nil || a < 0 || b < a || b-a >= mostConfigurations {
		return 0, 0, fmt.Errorf("%q is no span such as 1..40", from+".."+to)
	}
	return a, b, nil
}

// onTwin is a study's source with the twin as provider and the axes in vary,
// where they take the place of what varied there. Sections that the twin has
// no use for are left out. What remains keeps its lines, so that faults in it
// are told where they stand.
func onTwin(source []byte, hostFile, like string, axes []axis) (edited []byte, err error) {
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
	entries := entriesOf(file.Docs[0].Body)
	lines := strings.Split(string(source), "\n")
	var vary string
	for i, e := range entries {
		key := e.Key.GetToken()
		anew := "" // what stands in the entry's place
		if within(e, axes) {
			value, err := flow(e.Value, key.Value+".", axes)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key.Value, err)
			}
			if value != empty { // the axes set all of it
				anew = key.Value + ": " + value
			}
		} else if !superseded(e, axes) {
			continue
		}
		if key.Position.Column != 1 {
			return nil, fmt.Errorf("line %d: a study whose entries do not begin their lines can't be planned with", key.Position.Line)
		}
		if key.Value == "vary" {
			vary, err = varying(e.Value, axes)
			if err != nil {
				return nil, err
			}
		}
		end := len(lines)
		if i+1 < len(entries) {
			end = entries[i+1].Key.GetToken().Position.Line - 1
		}
		for n := key.Position.Line - 1; n < end; n++ {
			lines[n] = ""
		}
		lines[key.Position.Line-1] = anew
	}
	out := strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
	out += fmt.Sprintf("provider: {name: %s, host: %s, like: %s}\n", twin.Name, strconv.Quote(hostFile), like)
	for _, a := range axes {
		quoted := make([]string, len(a.values))
		for i, v := range a.values {
			quoted[i] = strconv.Quote(v)
		}
		vary += fmt.Sprintf("  %s: [%s]\n", strconv.Quote(a.knob), strings.Join(quoted, ", "))
	}
	if vary != "" {
		out += "vary:\n" + vary
	}
	return []byte(out), nil
}

// superseded says whether an entry at the top of a study is left out or written
// anew: what the twin has no use for, and what the axes set.
func superseded(e *ast.MappingValueNode, axes []axis) bool {
	name := e.Key.GetToken().Value
	set := func(knob string) bool { return slices.ContainsFunc(axes, func(a axis) bool { return a.knob == knob }) }
	switch name {
	case "provider", "driver", "needs", "vary", "endpoint":
		return true
	case "saturate":
		return set("users") || set("rate") || set(instancesKnob)
	}
	_, scalar := e.Value.(ast.ScalarNode)
	return scalar && set(name)
}

// within says whether an axis sets something in a section.
func within(e *ast.MappingValueNode, axes []axis) bool {
	name := e.Key.GetToken().Value
	section := len(entriesOf(e.Value)) > 0 && name != "vary"
	return section && slices.ContainsFunc(axes, func(a axis) bool { return strings.HasPrefix(a.knob, name+".") })
}

// entriesOf are the entries of a mapping.
func entriesOf(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// varying writes the entries of a study's vary again that no axis replaces.
func varying(n ast.Node, axes []axis) (out string, err error) {
	for _, e := range entriesOf(n) {
		key := e.Key.GetToken().Value
		knobs := strings.Split(key, "+")
		replaced := 0
		for _, k := range knobs {
			if slices.ContainsFunc(axes, func(a axis) bool { return a.knob == strings.TrimSpace(k) }) {
				replaced++
			}
		}
		switch {
		case replaced == len(knobs):
			continue
		case replaced > 0:
			return "", fmt.Errorf("the study varies %s together: --set all of them, or none", key)
		}
		values, err := flow(e.Value, "", nil)
		if err != nil {
			return "", fmt.Errorf("vary: %s: %w", key, err)
		}
		out += fmt.Sprintf("  %s: %s\n", strconv.Quote(key), values)
	}
	return out, nil
}

// empty is a section without entries, which studies may not have.
const empty = "{}"

// flow writes values, lists and sections in one line, without what the axes
// set; path is that of n, with a dot at its end.
func flow(n ast.Node, path string, axes []axis) (string, error) {
	var out []string
	if entries := entriesOf(n); entries != nil {
		for _, e := range entries {
			key := e.Key.GetToken().Value
			if slices.ContainsFunc(axes, func(a axis) bool { return a.knob == path+key }) {
				continue
			}
			text, err := flow(e.Value, path+key+".", axes)
			if err != nil {
				return "", err
			}
			if text != empty {
				out = append(out, strconv.Quote(key)+": "+text)
			}
		}
		return "{" + strings.Join(out, ", ") + "}", nil
	}
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		if _, scalar := n.(ast.ScalarNode); !scalar {
			return "", fmt.Errorf("%q is neither a value, nor a list nor a section of them", strings.TrimSpace(n.String()))
		}
		return strconv.Quote(n.GetToken().Value), nil
	}
	for _, v := range list.Values {
		text, err := flow(v, path, axes)
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	return "[" + strings.Join(out, ", ") + "]", nil
}

// onHost is h with one of its knobs at a value: a copy.
func onHost(h *host.Host, knob, text string) (*host.Host, error) {
	out := *h
	whole := func(most int) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("%q is not a whole number from 1 to %d", text, most)
		}
		return n, nil
	}
	number := func(text string, least, most float64) (float64, error) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= least && x <= most) || math.IsInf(x, 0) {
			return 0, fmt.Errorf("%q is not a number from %g to %g", text, least, most)
		}
		return x, nil
	}
	var err error
	switch strings.TrimPrefix(knob, hostPrefix) {
	case "sockets":
		out.CPU.Sockets, err = whole(64)
	case "cores":
		out.CPU.Cores, err = whole(32)
	case "threads":
		out.CPU.Threads, err = whole(2)
	case "nodes":
		out.Nodes, err = whole(1024)
	case "clock":
		out.CPU.GHz, err = number(strings.TrimSuffix(text, "GHz"), 0.1, 10)
		out.CPU.Turbo = nil // it was of another clock
	case "memory":
		if out.Memory, err = unit.ParseBytes(text); err == nil && out.Memory < unit.MiB {
			err = fmt.Errorf("%s is too little memory", text)
		}
	case "disk-times", "log-times":
		var by float64
		if by, err = number(text, 0.001, 1000); err != nil {
			break
		}
		found, log := false, strings.HasSuffix(knob, "log-times")
		out.Stores = demand.ScaleTimes(h.Stores, by, func(device string) bool {
			is := (device == demand.LogDevice) == log
			found = found || is
			return is
		})
		if !found {
			err = fmt.Errorf("host %s has no such device: the log's is called %s, and all others hold data", h.Name, demand.LogDevice)
		}
	default:
		err = errors.New("there are only host.sockets, host.cores, host.threads, host.clock, host.memory, host.nodes, host.disk-times and host.log-times")
	}
	return &out, err
}
