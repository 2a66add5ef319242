// Package study reads a study file and plans its trials. It is pure: nothing
// is started, and every fault in the file is found at once, each with file,
// line, column, what was found and what is allowed.
//
// The steps: parse (YAML → positions), decode and check against what this
// build offers (Known), expand `vary` into cells, order cells in randomised
// complete blocks.
package study

import (
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Study is a study file that was found to be right.
type Study struct {
	File     string // as given
	Source   []byte
	Name     string
	Question string
	Seed     uint64
	Repeats  int
	Vary     []Axis
	Limits   Limits
	// Base is the configuration without what Vary sets.
	Base Config
	// cells are all configurations, expanded and checked by Parse.
	cells []Cell
}

// Limits are what the study allows before a result is invalid.
type Limits struct{ ErrorsPct float64 }

// Axis is one entry of `vary`: one knob, or several that change together.
type Axis struct {
	Knobs  []string
	Values [][]string // by step, one text for each knob
}

// Config is everything that a trial does, each knob fixed.
type Config struct {
	Workload  Choice
	Engine    Choice
	Provider  Choice
	Version   string // of the engine: ">=15"
	Settings  map[string]string
	Instances int
	Shape     Shape
	Load      Load
	Run       Run
}

// Choice is a named thing with its parameters, complete with defaults.
type Choice struct {
	Name   string
	Params unit.Values
}

// Shape is the `instance:` section. Zero fields are not confined.
type Shape struct {
	CPUs      float64
	CPUSet    string
	Memory    unit.Bytes
	CPUShares int
}

// Load is who drives, and how hard.
type Load struct {
	Users       int
	RatePerS    float64 // open loop where > 0
	Arrivals    string  // "poisson" or "constant"
	Connections int     // 0: one for each user
}

// Run is the `run:` section.
type Run struct {
	Ramp, Warmup, Measure time.Duration
	Restore               string // "each": before every trial
}

// Known is what this build offers: what a study may name.
type Known struct {
	Workloads []Offer
	Engines   []Offer
	Providers []Offer
	// Settings says whether an engine may know a setting's name; nil accepts
	// every name (the server has the last word).
	Settings func(engine, name, value string) error
}

// Offer is one thing that a study may name.
type Offer struct {
	Name   string
	About  string
	Params []unit.Param
	// Check finds impossible combinations of single values that are all
	// right; may be nil.
	Check func(unit.Values) error
}

// Plan is the trials of a study in the order of running.
type Plan struct {
	Study  *Study
	Cells  []Cell
	Trials []Trial
}

// Cell is one configuration.
type Cell struct {
	Factors []Factor
	Config  Config
}

// Factor is a varied knob with its value.
type Factor struct{ Knob, Value string }

// Trial is one run of a cell.
type Trial struct {
	Number int // from 1, in the order of running
	Block  int // from 1
	Cell   int // index in Plan.Cells
	Seed   uint64
	Dir    string // "007-b2-users-4": unique, sorts in the order of running
}
