package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine"
)

// parameter is one row of the view pg_settings.
type parameter struct {
	name, setting, unit, kind, source, boot string
	pending                                 bool // changed in a file, but only a restart applies it
}

// settingsQuery reads every parameter but those that only describe this
// session.
const settingsQuery = `SELECT name, setting, coalesce(unit, ''), vartype, source, coalesce(boot_val, ''), pending_restart
FROM pg_settings WHERE source NOT IN ('client', 'session') OR boot_val IS DISTINCT FROM setting ORDER BY name`

// Settings implements engine.Database. It lists what Loadstone and the study
// set, what proves the cluster's nature (version, checksums, page sizes), and
// whatever else is not at the product's default; paths and ports, which differ
// between any two starts, are left out. Values are in their largest unit, so
// that 16384 pages of 8 kB and 128MB are the same text.
func (s *server) Settings(ctx context.Context) ([]engine.Setting, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	result := conn.ExecParams(ctx, settingsQuery, nil, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, fmt.Errorf("read settings: %w", result.Err)
	}
	parameters := make([]parameter, len(result.Rows))
	for i, row := range result.Rows {
		parameters[i] = parameter{string(row[0]), string(row[1]), string(row[2]), string(row[3]), string(row[4]), string(row[5]), string(row[6]) == "t"}
	}
	out := compare(s.chosen, parameters)
	if s.logDir == "" {
		return out, nil
	}
	log, err := s.logSetting(ctx)
	return append(out, log), err
}

// compare joins what was chosen with what the server says.
func compare(chosen []choice, parameters []parameter) []engine.Setting {
	var out []engine.Setting
	left := slices.Clone(chosen)
	for _, p := range parameters {
		if own(strings.ToLower(p.name)) || p.source == "client" {
			continue
		}
		effective, boot := p.canonical(p.setting), p.canonical(p.boot)
		i := slices.IndexFunc(left, func(c choice) bool { return c.name == strings.ToLower(p.name) })
		switch {
		case i >= 0:
			intended := p.canonical(left[i].value)
			out = append(out, engine.Setting{
				Name: p.name, Intended: intended, Effective: effective, Default: boot, Why: left[i].why,
				Matches: !p.pending && (intended == effective || meant(p.name, intended, effective)),
			})
			left = slices.Delete(left, i, i+1)
		case proof(p.name) || p.source != "default" && effective != boot:
			out = append(out, engine.Setting{Name: p.name, Effective: effective, Default: boot, Why: why(p), Matches: true})
		}
	}
	// A setting that was chosen and that the server does not list can't be
	// proved.
	for _, c := range left {
		out = append(out, engine.Setting{Name: c.name, Intended: c.value, Why: c.why})
	}
	return out
}

// proof says whether a parameter is listed even at its default.
func proof(name string) bool {
	return slices.Contains([]string{"server_version", "data_checksums", "block_size", "wal_block_size", "wal_segment_size",
		"server_encoding", "huge_pages", "huge_pages_status", "fsync", "synchronous_commit", "full_page_writes"}, name)
}

// why says where a value that nobody asked for is from.
func why(p parameter) string {
	switch p.source {
	case "override":
		return "built in or made with the cluster"
	case "configuration file":
		return "Loadstone's own"
	case "environment variable":
		return "environment of the machine"
	default:
		return p.source
	}
}

// meant says whether effective is what the product makes of intended: values
// that tell it to choose for itself, and old spellings.
func meant(name, intended, effective string) bool {
	switch name {
	case "wal_buffers":
		return intended == "-1"
	case "commit_timestamp_buffers", "subtransaction_buffers", "transaction_buffers":
		return intended == "0"
	case "wal_compression":
		return intended == "on" && effective == "pglz"
	default:
		return false
	}
}

// canonical writes a value in the one form in which equal values are equal
// texts. What can't be read is returned as it is.
func (p parameter) canonical(text string) string {
	trimmed := strings.TrimSpace(text)
	switch p.kind {
	case "bool", "enum":
		return switchName(strings.ToLower(trimmed), p.kind == "bool")
	case "integer", "real":
		if n, ok := p.number(trimmed); ok {
			return p.quantity(n)
		}
	}
	return text
}

// switchName maps the spellings of on and off; a bool may be cut short as long
// as it is unambiguous.
func switchName(text string, abbreviated bool) string {
	for _, names := range [][]string{{"on", "true", "yes", "1"}, {"off", "false", "no", "0"}} {
		for _, n := range names {
			if text == n || abbreviated && text != "" && text != "o" && strings.HasPrefix(n, text) {
				return names[0]
			}
		}
	}
	return text
}

// scale is a unit and its size in the smallest of its family.
type scale struct {
	name string
	size float64
}

// units returns the family of units (memory in bytes, time in microseconds)
// that name belongs to, from the largest down.
func units(name string) []scale {
	memory := []scale{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}, {"B", 1}}
	times := []scale{{"d", 86400e6}, {"h", 3600e6}, {"min", 60e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}}
	for _, family := range [][]scale{memory, times} {
		if slices.ContainsFunc(family, func(s scale) bool { return s.name == name }) {
			return family
		}
	}
	return nil
}

// base is the size of the parameter's unit, such as 8kB, in the smallest unit
// of its family, and that family; 1 and nil where it has no unit.
func (p parameter) base() (float64, []scale) {
	name := strings.TrimLeft(p.unit, "0123456789")
	for _, s := range units(name) {
		if s.name != name {
			continue
		}
		if n, err := strconv.ParseFloat(p.unit[:len(p.unit)-len(name)], 64); err == nil {
			return n * s.size, units(name)
		}
		return s.size, units(name)
	}
	return 1, nil
}

// number reads text, with or without a unit, in the smallest unit of the
// parameter's family.
func (p parameter) number(text string) (float64, bool) {
	base, family := p.base()
	for _, s := range append(slices.Clone(family), scale{"", base}) {
		digits, ok := strings.CutSuffix(text, s.name)
		if !ok {
			continue
		}
		digits = strings.TrimSpace(digits)
		if n, err := strconv.ParseFloat(digits, 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
			return n * s.size, true
		}
		if n, err := strconv.ParseInt(digits, 0, 64); err == nil && p.kind == "integer" {
			return float64(n) * s.size, true
		}
	}
	return 0, false
}

// quantity writes n, in the smallest unit of the family, in the largest unit
// that divides it. Zero and negative values, which are switches rather than
// amounts, are written in the parameter's own unit without naming it.
func (p parameter) quantity(n float64) string {
	base, family := p.base()
	for _, s := range family {
		if n > 0 && math.Mod(n, s.size) == 0 {
			return strconv.FormatFloat(n/s.size, 'f', -1, 64) + s.name
		}
	}
	return strconv.FormatFloat(n/base, 'f', -1, 64)
}
