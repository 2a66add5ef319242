// Package study reads a study file and plans its trials. It is pure: nothing
// is started, and every fault in the file is found at once, each with file,
// line, column, what was found and what is allowed.
//
// A load that the study leaves open is searched for: Search.Next says from
// the results so far which load comes next, and the plan grows by it.
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
	// Retries is how often a trial that something outside the study disturbed
	// is run again.
	Retries int
	Vary    []Axis
	Limits  Limits
	// Search is how the load is searched for; nil where the study gives it.
	Search *Search
	// Scale tells how the file's figures were shrunk; nil where the file does
	// not ask for it.
	Scale *Scale
	Needs Needs
	// Published are values that others printed of the same question, in the
	// order of the file.
	Published []Published
	// Base is the configuration without what Vary and Search set.
	Base Config
	// cells are all configurations, expanded and checked by Parse; with a
	// Search they lack its load.
	cells []Cell
}

// Limits are what the study allows before a result is invalid, and before a
// search goes no further. Zero is no limit, but for errors.
type Limits struct {
	ErrorsPct   float64       // of all transactions
	CPUPct      float64       // of what the instance may use
	DiskLatency time.Duration // mean of reads and writes
	// OtherCPUPct and StealPct bound what processes beside the instances and
	// the driver, and the hypervisor, may take of the machine's CPU.
	OtherCPUPct, StealPct float64
	Response              []ResponseLimit
}

// ResponseLimit bounds a percentile of one transaction type's latency.
type ResponseLimit struct {
	Type       string  // one of Offer.Types of the workload
	Percentile float64 // 99.9; between 0 and 100, both excluded
	Max        time.Duration
}

// Axis is one entry of `vary`: one knob, or several that change together.
type Axis struct {
	Knobs  []string
	Values [][]string // by step, one text for each knob
}

// Config is everything that a trial does, each knob fixed. Workload.Params,
// Settings, Shape and Load are those of instances whose group says nothing
// else; what each instance really has is in Groups.
type Config struct {
	Workload Choice
	Engine   Choice
	// Provider makes the instances; its name is External where Endpoint says
	// where the server runs already.
	Provider  Choice
	Endpoint  Endpoint
	Version   string // of the engine: ">=15"
	Settings  map[string]string
	Instances int // in all groups together
	Shape     Shape
	Load      Load
	Driver    Driver
	Run       Run
	// Events happen while load runs, in the order of their times.
	Events []Event
	// Groups are the instances by what they have in common, in the order of
	// the file. There is at least one; where the file names none, it has no
	// name.
	Groups []Group
}

// Group is a number of instances that are alike.
type Group struct {
	Name     string // "" for the only group of a study that names none
	Count    int    // may be 0
	Workload Choice // of the same name in all groups
	Settings map[string]string
	Shape    Shape
	Load     Load // all groups are driven in the same loop, closed or open
}

// Of is the configuration as it would be if g were its only group.
func (c Config) Of(g Group) Config {
	c.Workload, c.Settings, c.Shape, c.Load = g.Workload, g.Settings, g.Shape, g.Load
	c.Instances, c.Groups = g.Count, []Group{g}
	return c
}

// Driver is the `driver:` section: CPUs that the driver has for itself. Where
// both are zero it shares all CPUs.
type Driver struct {
	CPUs   int
	CPUSet string
}

// External is the name of the provider of a study that has an Endpoint.
const External = "external"

// Endpoint is a server that somebody else runs; its zero value is none.
type Endpoint struct {
	URL string // without a password: Parse refuses one
	// PasswordEnv and PasswordFile say where the password is: in a variable of
	// the environment or in a file. Both are "" where there is none.
	PasswordEnv, PasswordFile string
	// Load allows Loadstone to make databases of its own names on the server.
	Load bool
}

// Choice is a named thing with its parameters, complete with defaults.
type Choice struct {
	Name   string
	Params unit.Values
}

// Shape is the `instance:` section. Zero fields are not confined, or left to
// the provider.
type Shape struct {
	CPUs                  float64
	CPUSet                string
	Placement             string // PlaceCores, PlaceThreads or PlaceNode
	Mems                  string
	Memory                unit.Bytes
	CPUShares             int
	ReadBytesPS           unit.Bytes
	WriteBytesPS          unit.Bytes
	ReadOpsPS, WriteOpsPS int
	DataVolume, LogVolume string // absolute paths
	LargePages            string // "off", "guest", "host", "both"
	// What follows only virtual machines have.
	Reservation                 float64
	Topology                    Topology
	VirtualNUMA                 int
	LatencySensitivity          string // "normal", "high"
	DiskAdapter, NetworkAdapter string
}

// Topology is what a virtual machine sees; zero is the provider's choice.
type Topology struct{ Sockets, Cores, Threads int }

// Load is who drives each instance, and how hard.
type Load struct {
	Users       int
	RatePerS    float64 // open loop where > 0
	Arrivals    string  // "poisson" or "constant"
	Connections int     // 0: one for each user
	// Profile is the load over time: from the end of the ramp on its phases
	// follow each other, again and again until measuring ends. Empty is full
	// load. Where the file says that it does not repeat, its last phase lasts
	// as long as a trial can.
	Profile []Phase
}

// Phase is one part of a Profile.
type Phase struct {
	For time.Duration
	// LoadPct is the part of Users that are at work, from 0 to 100 and of
	// more than 0 at least one user; in open loop the factor on RatePerS, from
	// 0 to 1000.
	LoadPct float64
}

// Run is the `run:` section.
type Run struct {
	Ramp, Warmup time.Duration
	// Measure is how long is measured; where MeasureMax > 0, at least.
	Measure time.Duration
	// MeasureMax is how long is measured at most until PrecisionPct and
	// Checkpoints are reached; 0 is the fixed length Measure.
	MeasureMax time.Duration
	// PrecisionPct is the half width of the 95 % interval of throughput, in
	// percent of its mean, at which measuring ends; 0 is none.
	PrecisionPct float64
	// Checkpoints is how many whole checkpoint cycles the window must hold.
	Checkpoints int
	Restore     string // "each": before every trial
}

// Known is what this build offers: what a study may name.
type Known struct {
	Workloads []Offer
	Engines   []Offer
	Providers []Offer
	// Settings says whether an engine may know a setting's name; nil accepts
	// every name (the server has the last word).
	Settings func(engine, name, value string) error
	// Fit finds what single sections can't tell: a workload that the engine
	// does not run, a shape that does not confine it. Parts of the
	// configuration that the file leaves open, or that are wrong by
	// themselves, are empty. nil accepts everything.
	Fit func(Config) []Misfit
	// Machine is what `scale: {to: machine}` means; zero where nobody knows:
	// values then stay as they are.
	Machine Size
	// To takes the place of scale.to where it is not zero.
	To Size
}

// Misfit is one reason why parts of a configuration do not go together.
type Misfit struct {
	Knobs   []string // where to report it: the first that the file has
	Message string
	Allowed string
}

// Offer is one thing that a study may name.
type Offer struct {
	Name   string
	About  string
	Params []unit.Param
	// Types are the names of a workload's transaction types and of its unit of
	// work, whose latency a study may limit; nil accepts every name.
	Types []string
	// Check finds impossible combinations of single values that are all
	// right; may be nil.
	Check func(unit.Values) error
	// Endpoint checks the URL of a server that runs already; nil where the
	// product can't be attached to.
	Endpoint func(url string) error
	// Size names the parameter of a workload that says how much data it has;
	// "" where there is none.
	Size string
	// SizeStep is of what Size must be a multiple where it is a number; 0 is 1.
	SizeStep int64
	// WholeCPUs says that a provider's instances have whole CPUs only.
	WholeCPUs bool
	// Events are what can happen to a provider's running instances: EventSet, …
	Events []string
}

// Plan is the trials of a study in the order of running.
type Plan struct {
	Study  *Study
	Cells  []Cell
	Trials []Trial
	// Bases are the configurations for each of which a study with a Search
	// looks for the load, without it; nil for other studies. Cells and Trials
	// of such a plan begin empty and grow by Extend and Repeat.
	Bases []Cell
	found []found // of each of Cells, where Bases is not nil
}

// found is where a cell that a search added comes from.
type found struct {
	base int // index in Plan.Bases
	load float64
}

// Cell is one configuration.
type Cell struct {
	Factors []Factor
	Config  Config
}

// Factor is a varied knob with its value; where it was scaled, Scale tells what
// stands in the file.
type Factor struct{ Knob, Value string }

// Trial is one run of a cell.
type Trial struct {
	Number int // from 1, in the order of running
	Block  int // from 1
	Cell   int // index in Plan.Cells
	Seed   uint64
	Dir    string // "007-b2-users-4": unique, sorts in the order of running
}
