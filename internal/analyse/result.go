// Package analyse turns the records of a study into results: estimates with
// intervals, percentiles, the load curve and its knee, the limiting resource
// with its evidence, and the verdict of the validity gate. It is pure: it
// reads records and computes.
//
// The steps, one file each: read (records → raw), trial (one trial's results,
// from its window in steady, its response times in latency, its counters in
// usage and timeline, and its gates in gate), estimate (repeats → cells),
// curve (cells → load curve and knee), limit (counters → limiting resource),
// answer (the study and the sentence on top).
//
// Questions of their own: fair (instances that ran at once), sweep (speed-up,
// consolidation, what a knob's less costs), contention (waiting for CPUs against
// response times), published and published_line (what others printed).
//
// What two results, or two values of a factor, have to do with each other:
// compare (configurations matched, verdict in words), effect (one quantity:
// ratio, interval, tests), peak and equal (each at its best load, and at equal
// use of the CPUs), apart (what can't be compared, and what else
// differs), condition (what must not have changed), history (many runs).
package analyse

import (
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// Study is the result of a whole study: what reports show, and what
// `report --format json` prints. Times are seconds unless the name says else.
type Study struct {
	Format    int       `json:"format"`
	Loadstone string    `json:"loadstone"`
	Name      string    `json:"name"`
	Question  string    `json:"question,omitempty"`
	Created   time.Time `json:"created"`
	Simulated bool      `json:"simulated"`
	// Valid says that the headline may be shown: every trial behind it passed
	// the gate. Invalid lists the reasons otherwise.
	Valid   bool     `json:"valid"`
	Invalid []string `json:"invalid,omitempty"`
	// Answer is the study's answer in one sentence; it begins with INVALID
	// where Valid is false.
	Answer string `json:"answer"`
	// Measured is the part of Answer that tells the throughput at the peak,
	// whether it may be quoted or not; "" where nothing was measured.
	Measured string   `json:"measured,omitempty"`
	Notes    []string `json:"notes,omitempty"` // what a careful reader should know
	// Caveats are what the instances' providers say of every figure, such as
	// that processors were emulated: to be said beside the headline.
	Caveats []string `json:"caveats,omitempty"`
	Metric  Metric   `json:"metric"`
	// Nominal sets the peak against the amount of data; nil where the workload
	// states no figure for that, and where instances differ in it.
	Nominal *Nominal `json:"nominal,omitempty"`
	Machine []Fact   `json:"machine"`
	System  []Fact   `json:"system"`  // engine, provider, instance, workload, golden state, restore
	Factors []string `json:"factors"` // knobs that vary, in the study's order
	Cells   []Cell   `json:"cells"`   // in the order of the study file
	Curve   *Curve   `json:"curve,omitempty"`
	// Sweeps are throughput over each numeric factor that is not the load.
	Sweeps   []Sweep `json:"sweeps,omitempty"`
	Peak     int     `json:"peak"` // index in Cells of the highest throughput, -1 where nothing was measured
	Limit    Limit   `json:"limit"`
	Trials   []Trial `json:"trials"` // in the order of running, failed ones too
	Settings []Knob  `json:"settings"`
	// Comparisons set each value of a factor that is not the load against the
	// factor's first value: see Within.
	Comparisons []Comparison `json:"comparisons,omitempty"`
	// Contention is how response times go with waiting for CPUs, by kind; none
	// where one instance ran alone, or nothing was recorded.
	Contention []Contention `json:"contention,omitempty"`
	// Published are values that others printed of the question, beside ours.
	Published []Published `json:"published,omitempty"`
	// Scale tells how the study file's figures were scaled; nil where they stand
	// as they are.
	Scale *Scale `json:"scale,omitempty"`
	// Search tells how the loads were found, where the study left that to
	// Loadstone: each decision in its order.
	Search []Decision `json:"search,omitempty"`
	Source string     `json:"-"` // the study file's text
	Dir    string     `json:"-"` // where it was read

	seed      uint64
	published []record.Published
}

// Scale tells from which machine to which a study's figures were scaled.
type Scale struct {
	From   string   `json:"from"` // "120 CPUs and 1 TiB"
	To     string   `json:"to"`
	Data   Number   `json:"data"` // factor of the data's size, 1 where it stays
	Values []Scaled `json:"values"`
}

// Scaled is one value of a study file before and after scaling.
type Scaled struct {
	Knob     string `json:"knob"`
	Original string `json:"original"`
	Value    string `json:"value"`
}

// Decision is one step of a search for the load of saturation.
type Decision struct {
	Base string  `json:"base,omitempty"` // the other factors: "instance.cpus = 2"
	Knob string  `json:"knob"`           // "users"
	Load float64 `json:"load"`           // to be tried next; where Done, the best
	Done bool    `json:"done"`
	Why  string  `json:"why"`
}

// Fact is one line of a description.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Metric is the headline figure's name.
type Metric struct {
	Name  string `json:"name"`  // "orders a minute"
	Short string `json:"short"` // "OPM"
}

// Nominal is the figure that the amount of data at the peak stands for. More
// than that is possible: it says that there is less data than the workload's
// description means for the throughput.
type Nominal struct {
	Value    float64 `json:"value"`     // in the metric's unit
	SharePct float64 `json:"share_pct"` // of the nominal figure that the peak is
	Params   []Fact  `json:"params"`    // parameters of the workload that tell how much data there is
}

// Estimate is a figure with its interval between repeats.
type Estimate struct {
	Value float64 `json:"value"` // 0 where N is 0
	// Low and High bound the interval; both are NaN (null in JSON) where one
	// repeat gives none.
	Low    Number `json:"low"`
	High   Number `json:"high"`
	N      int    `json:"n"`      // repeats
	Method string `json:"method"` // "Student's t, 95 %", "median, 96.9 %", "one repeat: no interval"
}

// Cell is one configuration with all its repeats.
type Cell struct {
	Factors    []Factor   `json:"factors"`
	Label      string     `json:"label"`  // "users = 4"
	Trials     []int      `json:"trials"` // indices in Study.Trials that finished and count
	Throughput Estimate   `json:"throughput"`
	Types      []Latency  `json:"types"` // by transaction type, the unit last
	CPUPct     Estimate   `json:"instance_cpu_pct"`
	Limit      Limit      `json:"limit"`
	Usage      []Resource `json:"usage"`
	// Fairness tells of several instances that ran at once; nil with one.
	Fairness *Fairness `json:"fairness,omitempty"`
	// Stretches are what was done before, during and after events, over the
	// repeats; none where there were no events.
	Stretches []StretchEstimate `json:"stretches,omitempty"`
}

// Factor is a knob with its value; Num is its number where it is one, else NaN.
type Factor struct {
	Knob  string `json:"knob"`
	Value string `json:"value"`
	Num   Number `json:"num"`
}

// Latency is the response time of one transaction type, from histograms
// merged over the windows of all repeats; never averaged.
type Latency struct {
	Type  string `json:"type"`
	About string `json:"about,omitempty"`
	// Headline says that the metric counts this type.
	Headline  bool    `json:"headline,omitempty"`
	Count     int64   `json:"count"`
	PerSecond float64 `json:"per_s"`
	// MeanMs to MaxMs are response times of committed work, absent where there
	// is none; the intervals of P are 95 % between repeats (absent with fewer
	// than three): Student's t on the logarithm, with a bootstrap's variance.
	MeanMs Number      `json:"mean_ms"`
	P      []Quantile  `json:"percentiles"`
	MaxMs  Number      `json:"max_ms"`
	Curve  [][2]Number `json:"-"` // percentile spectrum for the figure: (percentile, ms)
	// ServiceP99Ms is the 99th percentile of service time, absent as in Quantile.
	ServiceP99Ms Number  `json:"service_p99_ms"`
	RolledBack   int64   `json:"rolled_back"`
	Retries      int64   `json:"retries"`
	Errors       int64   `json:"errors"`
	LimitMs      float64 `json:"limit_ms,omitempty"`
	LimitP       float64 `json:"limit_percentile,omitempty"`
}

// Quantile is a percentile with its interval.
type Quantile struct {
	Percentile float64 `json:"percentile"` // 50, 90, 95, 99, 99.9
	// Ms is absent where fewer than ten samples lie beyond the percentile.
	Ms     Number `json:"ms"`
	LowMs  Number `json:"low_ms"`
	HighMs Number `json:"high_ms"`
}

// Curve is throughput over one numeric factor (load) with the others fixed.
type Curve struct {
	Knob string `json:"knob"`
	// Lines hold a line for each combination of the other factors.
	Lines []Line `json:"lines"`
	// Published are the series of published throughputs over the load.
	Published []PublishedLine `json:"published,omitempty"`
}

// Line is one line of a Curve.
type Line struct {
	Label string `json:"label"`
	Cells []int  `json:"cells"` // by rising load
	Model *USL   `json:"model,omitempty"`
	// Knee is the least load whose throughput is within 5 % of the line's
	// highest; nil where that is the greatest load measured, or the only one.
	Knee       *Number `json:"knee,omitempty"`
	Saturation string  `json:"saturation"` // where it saturates, in words
	// Stop is the least load that broke a limit of the study, which ends a
	// search; nil where none did.
	Stop *Stop `json:"stop,omitempty"`
}

// Stop is a limit that a load broke.
type Stop struct {
	Load  Number `json:"load"`
	Label string `json:"label"` // of the configuration
	Trial int    `json:"trial"` // the first of it that broke the limit
	Limit string `json:"limit"` // "cpu", "disk latency", "response", "errors"
	Text  string `json:"text"`  // what was found, and the limit
}

// USL is a fitted Universal Scalability Law, X(N) = λN / (1 + σ(N−1) + κN(N−1)).
type USL struct {
	Lambda  float64 `json:"lambda"`
	Sigma   float64 `json:"sigma"`
	Kappa   float64 `json:"kappa"`
	PeakN   Number  `json:"peak_n"`
	R2      float64 `json:"r2"`
	Warning string  `json:"warning,omitempty"` // fewer than six loads, …
	// 95 % intervals by bootstrap; PeakN and its ends are absent where the
	// law has no peak.
	LambdaLow  Number `json:"lambda_low"`
	LambdaHigh Number `json:"lambda_high"`
	SigmaLow   Number `json:"sigma_low"`
	SigmaHigh  Number `json:"sigma_high"`
	KappaLow   Number `json:"kappa_low"`
	KappaHigh  Number `json:"kappa_high"`
	PeakNLow   Number `json:"peak_n_low"`
	PeakNHigh  Number `json:"peak_n_high"`
}

// Resource is how much of one resource was used.
type Resource struct {
	Name  string  `json:"name"`  // "instance CPU"
	Value float64 `json:"value"` // mean over the windows
	Unit  string  `json:"unit"`  // "%"
	// Load is Value as a part of what there is, 0 to 1; NaN where the most
	// is not known.
	Load Number `json:"load"`
}

// Limit is the resource that bounds the throughput, and why we say so.
type Limit struct {
	Resource string   `json:"resource"` // "CPU", "disk", "locks", "driver", "load offered", "not found"
	Summary  string   `json:"summary"`  // one sentence
	Evidence []string `json:"evidence"` // figures that speak for it, then the others
	// Decisive is how many of Evidence, from its beginning, are what the rule
	// that named Resource looks at; 0 where no rule held.
	Decisive int `json:"decisive"`
}

// Trial is one run.
type Trial struct {
	Number    int       `json:"trial"`
	Block     int       `json:"block"`
	Cell      int       `json:"cell"` // index in Study.Cells
	Label     string    `json:"label"`
	Dir       string    `json:"dir"`
	Status    string    `json:"status"`
	Reason    string    `json:"reason,omitempty"`
	Started   time.Time `json:"started"`
	Simulated bool      `json:"simulated"`
	Counts    bool      `json:"counts"` // takes part in its cell's estimates
	Gates     []Gate    `json:"gates"`
	Warnings  []string  `json:"warnings,omitempty"`
	Window    Window    `json:"window"`
	// Throughput in the metric's unit over the window.
	Throughput float64 `json:"throughput"`
	// NoisePct is half the width of the 95 % interval of Throughput within the
	// trial, in percent of it: from batch means, so that it holds for seconds
	// that go with each other. How far another repeat would differ it does not
	// tell. Absent under 16 intervals.
	NoisePct Number    `json:"noise_pct"`
	Types    []Latency `json:"types"`
	// Parts are what each of several instances did; none with one.
	Parts []Part `json:"instances,omitempty"`
	// Waited is how long each instance waited for CPUs, by kind; none where it
	// was not recorded.
	Waited []Waited `json:"waited,omitempty"`
	// Events are what happened while load ran, and Stretches what was done
	// before, during and after; none where the study has no events.
	Events    []Event   `json:"events,omitempty"`
	Stretches []Stretch `json:"stretches,omitempty"`
	// CPUs is how many CPUs all instances together may use, which CPU use is in
	// percent of. Absent where not known.
	CPUs       Number     `json:"cpus"`
	Checks     []Check    `json:"checks"`
	Timeline   Timeline   `json:"-"`
	Waits      []Wait     `json:"waits"`
	Usage      []Resource `json:"usage"`
	RestoreWay string     `json:"restore_way"`
	RestoreS   float64    `json:"restore_s"`
	// Verified says how the restored state was compared with the golden state.
	Verified string `json:"restore_verified,omitempty"`
	// Golden is the fingerprint of the golden state, of which facts show the
	// beginning; one for each instance, with commas.
	Golden string `json:"golden_fingerprint,omitempty"`
	// DatabaseBytes is the size of the databases of all instances, indexes
	// included, when the trial began, and MemoryBytes the memory that they may
	// use: 0 where not known.
	DatabaseBytes int64  `json:"database_bytes,omitempty"`
	MemoryBytes   int64  `json:"memory_bytes,omitempty"`
	DriverCPUUs   Number `json:"driver_cpu_us_per_unit"` // per unit of the metric
	LatenessP99Us Number `json:"lateness_p99_us"`
	Settings      []Knob `json:"settings"`
	Shape         []Knob `json:"shape"`
	Confined      bool   `json:"confined"`

	samples []sample // of the window, in the order of Types
	about   *record.Trial
}

// Window is the part of a trial that counts, in seconds since its epoch.
type Window struct {
	Start float64 `json:"start_s"`
	End   float64 `json:"end_s"`
	// Steady is false only where something speaks against a steady state.
	// Tested says that the window was long enough to find such a thing: Steady
	// without Tested means "too short to tell".
	Steady bool `json:"steady"`
	Tested bool `json:"tested"`
	// Passes is how many whole passes of the load's profile it holds; 0 where
	// the load is even, or none fits.
	Passes int    `json:"passes,omitempty"`
	Why    string `json:"why"` // how it was chosen, or why there is no steady state
}

// Gate is one condition that a trial must meet to be believed.
type Gate struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Found  string `json:"found"`
	Want   string `json:"want"`
}

// Check is a condition on the database.
type Check struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Found  string `json:"found"`
	Want   string `json:"want"`
	Passed bool   `json:"passed"`
}

// Wait is a state in which the database's sessions were seen.
type Wait struct {
	State string  `json:"state"` // "CPU", "Log:WALSync"
	Mean  float64 `json:"mean_sessions"`
	Pct   float64 `json:"pct"` // of all active sessions seen
}

// Knob is a setting, intended and read back.
type Knob struct {
	Name      string `json:"name"`
	Intended  string `json:"intended,omitempty"`
	Effective string `json:"effective"`
	Default   string `json:"default,omitempty"`
	Why       string `json:"why,omitempty"`
	Matches   bool   `json:"matches"`
}

// Timeline is what a trial did second by second: for figures and CSV.
type Timeline struct {
	Seconds []float64 // end of each second since the epoch
	Tracks  []Track
}

// Track is one quantity over a Timeline.
type Track struct {
	Group string // figure that shows it: "throughput", "response", "cpu", "disk", "database", "waits", "network", "memory"
	Name  string // "user", "p95 order"
	Unit  string // "%", "ms", "OPM", "MiB/s"
	// Values are as many as Seconds; NaN where absent.
	Values []float64
}
