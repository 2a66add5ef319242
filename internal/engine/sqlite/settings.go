package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// pageSize is the page size of the databases that are made here: the product's
// default, written down because counts of pages depend on it.
const pageSize = 4096

// setting is one setting that a study can give.
type setting struct {
	name     string
	fallback string   // the product's default
	kind     kind     // of its value
	words    []string // of a kind words: the value's names from number 0 on
	own      bool     // kept by Loadstone in place of the library
}

// kind is the form of a setting's value.
type kind uint8

const (
	number kind = iota // 0 or more
	size               // bytes
	cache              // bytes, or pages, or negative for KiB as the PRAGMA has it
	words
)

// settings are what a study can give. SQLite takes any name and any value
// without a word, so that only a list can find a mistake.
func settings() []setting {
	onOff := []string{"off", "on"}
	return []setting{
		{name: "automatic_index", fallback: "on", kind: words, words: onOff},
		{name: "busy_timeout", fallback: "0", kind: number, own: true},
		{name: "cache_size", fallback: "2000kB", kind: cache},
		{name: "cell_size_check", fallback: "off", kind: words, words: onOff},
		{name: "checkpoint_fullfsync", fallback: "off", kind: words, words: onOff},
		{name: "foreign_keys", fallback: "off", kind: words, words: onOff},
		{name: "fullfsync", fallback: "off", kind: words, words: onOff},
		{name: "mmap_size", fallback: "0kB", kind: size},
		{name: "secure_delete", fallback: "off", kind: words, words: []string{"off", "on", "fast"}},
		{name: "synchronous", fallback: "full", kind: words, words: []string{"off", "normal", "full", "extra"}},
		{name: "temp_store", fallback: "default", kind: words, words: []string{"default", "file", "memory"}},
		{name: "wal_autocheckpoint", fallback: "1000", kind: number, own: true},
	}
}

// madeWith are the properties of a database's file, which no start changes,
// with the product's defaults. They are listed as a proof.
func madeWith() map[string]string {
	return map[string]string{"page_size": strconv.Itoa(pageSize), "journal_mode": "delete", "auto_vacuum": "0", "encoding": "UTF-8"}
}

// find returns the setting called name, in any case.
func find(name string) (setting, error) {
	list := settings()
	lower := strings.ToLower(strings.TrimSpace(name))
	if i := slices.IndexFunc(list, func(s setting) bool { return s.name == lower }); i >= 0 {
		return list[i], nil
	}
	if _, ok := madeWith()[lower]; ok {
		return setting{}, errors.New("it belongs to the database's file, which is made when the workload is loaded")
	}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.name
	}
	return setting{}, fmt.Errorf("it is not a setting: allowed are %s", strings.Join(names, ", "))
}

// canonical writes a value in the one form in which equal values are equal
// texts. A percentage is of memory.
func (s setting) canonical(text string, memory unit.Bytes) (string, error) {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseInt(text, 10, 64)
	isNumber := err == nil
	switch s.kind {
	case words:
		return s.word(strings.ToLower(text))
	case number:
		if !isNumber || n < 0 || n > 1<<31-1 {
			return "", fmt.Errorf("%q is not a whole number from 0 to 2147483647", text)
		}
		return strconv.FormatInt(n, 10), nil
	case cache:
		if isNumber && n < 0 {
			return amount(unit.Bytes(-n) * unit.KiB), nil
		}
		if isNumber {
			return amount(unit.Bytes(n) * pageSize), nil
		}
	case size:
		if isNumber && n >= 0 {
			return amount(unit.Bytes(n)), nil
		}
	}
	if strings.HasSuffix(text, "%") {
		share, err := unit.ParsePercent(text)
		switch {
		case err != nil:
			return "", err
		case memory <= 0:
			return "", errors.New("a percentage needs an instance with a known memory")
		case share <= 0 || share > 100:
			return "", errors.New("a percentage of memory must be above 0% and at most 100%")
		}
		return amount(unit.Bytes(float64(memory) * share / 100)), nil
	}
	b, ok := bytesOf(text)
	if !ok {
		return "", fmt.Errorf("%q is not a size: write 64MB, 64MiB or 25%%", text)
	}
	return amount(b), nil
}

// word is the name of a value that may be given as a number.
func (s setting) word(text string) (string, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n < len(s.words) {
		return s.words[n], nil
	}
	if len(s.words) == 2 { // a switch
		switch text {
		case "true", "yes":
			return "on", nil
		case "false", "no":
			return "off", nil
		}
	}
	if !slices.Contains(s.words, text) {
		return "", fmt.Errorf("%q is none of %s", text, strings.Join(s.words, ", "))
	}
	return text, nil
}

// scales are units of sizes, each with 1024 of the one before, as reports write
// them for every engine, and as the standard does.
func scales() []struct{ short, iec string } {
	return []struct{ short, iec string }{{"kB", "KiB"}, {"MB", "MiB"}, {"GB", "GiB"}, {"TB", "TiB"}}
}

// bytesOf reads a size with its unit.
func bytesOf(text string) (unit.Bytes, bool) {
	for i, s := range scales() {
		for _, suffix := range []string{s.short, s.iec} {
			if digits, ok := strings.CutSuffix(text, suffix); ok {
				n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
				n *= float64(int64(1) << (10 * (i + 1)))
				return unit.Bytes(n), err == nil && n >= 0 && n < 1<<62
			}
		}
	}
	return 0, false
}

// amount writes a size in MB, or in kB where it is no whole number of them;
// less than a kB is dropped.
func amount(b unit.Bytes) string {
	if b >= unit.MiB && b%unit.MiB == 0 {
		return fmt.Sprintf("%dMB", b/unit.MiB)
	}
	return fmt.Sprintf("%dkB", b/unit.KiB)
}

// choice is a setting with its value and why.
type choice struct {
	setting
	value string // canonical
	why   string
}

// choose lists what the database runs with, each once, and why. The study's
// take the place of ours, except that nothing overrides what loading needs.
func choose(c engine.Config, memory unit.Bytes) ([]choice, error) {
	if c.Connections < 0 {
		return nil, fmt.Errorf("%d connections", c.Connections)
	}
	var chosen []choice
	set := func(name, value, why string) {
		s, err := find(name)
		if err != nil {
			panic("sqlite: " + err.Error())
		}
		chosen = append(chosen, choice{s, value, why})
	}
	if memory > 0 {
		set("cache_size", amount(cacheOf(memory, c.Connections)), "sized from memory")
	}
	set("busy_timeout", "30000", "sessions wait for the writer's lock, as servers' do; Loadstone keeps this, with SQLite's own pauses")
	set("wal_autocheckpoint", "1000", "the product's default; Loadstone keeps this, to count checkpoints")
	set("foreign_keys", "on", "the workload's references hold, as in other engines")
	if c.Durable {
		set("synchronous", "full", "durability")
	} else {
		set("synchronous", "off", "loading")
	}
	given := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		s, err := find(name)
		if err != nil {
			return nil, fmt.Errorf("setting %s: %w", name, err)
		}
		value, err := s.canonical(c.Settings[name], memory)
		if err != nil {
			return nil, fmt.Errorf("setting %s: %w", name, err)
		}
		if given[s.name] {
			return nil, fmt.Errorf("setting %s is given twice", s.name)
		}
		given[s.name] = true
		i := slices.IndexFunc(chosen, func(o choice) bool { return o.name == s.name })
		switch {
		case i < 0:
			chosen = append(chosen, choice{s, value, "study"})
		case chosen[i].why != "loading":
			chosen[i] = choice{s, value, "study"}
		}
	}
	return chosen, nil
}

// cacheOf is each connection's page cache: a quarter of the memory for all
// together, as other engines get for their shared one, at least the product's
// default of 2000 KiB and at most 1 GiB each. Connections share no pages; what
// is not in a cache of theirs comes from the operating system's.
func cacheOf(memory unit.Bytes, connections int) unit.Bytes {
	each := memory / 4 / unit.Bytes(max(1, connections))
	return min(max(each/unit.MiB*unit.MiB, 2000*unit.KiB), unit.GiB)
}

// value of the choice called name; "" where there is none.
func valueOf(chosen []choice, name string) string {
	i := slices.IndexFunc(chosen, func(c choice) bool { return c.name == name })
	if i < 0 {
		return ""
	}
	return chosen[i].value
}

// count reads a choice of kind number.
func count(chosen []choice, name string) int64 {
	n, _ := strconv.ParseInt(valueOf(chosen, name), 10, 64) // canonical values can be read
	return n
}

// pragma is the statement that applies c.
func (c choice) pragma() string {
	value := c.value
	if b, ok := bytesOf(value); ok {
		value = strconv.FormatInt(int64(b), 10)
		if c.kind == cache {
			value = strconv.FormatInt(-int64(b/unit.KiB), 10)
		}
	}
	return "PRAGMA " + c.name + " = " + value
}

// apply gives a connection its settings. It waits where the file is locked as a
// whole, as when another connection, the last one until now, is closing.
func apply(h *handle, chosen []choice) error {
	defer h.patient(openWait)()
	for _, c := range chosen {
		if c.own {
			continue
		}
		if err := h.script(c.pragma()); err != nil {
			return err
		}
	}
	return nil
}

// Settings implements engine.Database. They are read back from a connection
// that is opened as users' are, to a database of the workload where there is
// one.
func (d *database) Settings(ctx context.Context) ([]engine.Setting, error) {
	path := filepath.Join(d.dir, ownFile)
	if loaded, err := filepath.Glob(filepath.Join(d.dir, "*"+suffix)); err == nil && len(loaded) > 0 {
		path = loaded[0]
	}
	h, err := d.connect(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer func() { _ = h.close() }() // it only reads
	out, err := d.readBack(h)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return out, nil
}

func (d *database) readBack(h *handle) ([]engine.Setting, error) {
	out := []engine.Setting{{
		Name: "sqlite_version", Effective: libraryVersion(), Default: libraryVersion(), Why: "built into Loadstone", Matches: true,
	}}
	made := madeWith()
	for _, name := range slices.Sorted(maps.Keys(made)) {
		effective, err := h.text("PRAGMA " + name)
		if err != nil {
			return nil, err
		}
		out = append(out, engine.Setting{Name: name, Effective: effective, Default: made[name], Why: "made with the database", Matches: true})
	}
	for _, s := range settings() {
		effective := valueOf(d.chosen, s.name)
		if !s.own {
			text, err := h.text("PRAGMA " + s.name)
			if err != nil {
				return nil, err
			}
			if effective, err = s.canonical(text, 0); err != nil {
				return nil, fmt.Errorf("PRAGMA %s gave %q: %w", s.name, text, err)
			}
		}
		i := slices.IndexFunc(d.chosen, func(c choice) bool { return c.name == s.name })
		switch {
		case i >= 0:
			c := d.chosen[i]
			out = append(out, engine.Setting{Name: s.name, Intended: c.value, Effective: effective, Default: s.fallback, Why: c.why, Matches: c.value == effective})
		case effective != s.fallback:
			out = append(out, engine.Setting{Name: s.name, Effective: effective, Default: s.fallback, Why: "default of the library as built", Matches: true})
		}
	}
	return out, nil
}

// busyTimeout is the setting of that name.
func busyTimeout(chosen []choice) time.Duration {
	return time.Duration(count(chosen, "busy_timeout")) * time.Millisecond
}
