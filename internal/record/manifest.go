// Package record is the waist of Loadstone: what a trial leaves behind. To the
// left of it things run and write records; to the right of it records are
// only read. Formats are described in docs/formats and stay readable for ever.
//
// A result directory holds study.yaml (as given), study.json (Study) and
// trials/NNN-…/, one a trial: manifest.json (Trial), host.csv, driver.csv,
// and instance-1/… with series.csv, histograms.hlog and counters. Every file is
// written whole, or is a log of lines of which each complete one is valid. A
// trial counts as finished only when its manifest says so, and the manifest is
// written last.
package record

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Format is the version of the formats that this package writes.
const Format = 1

// Study describes a result directory: study.json.
type Study struct {
	Format    int       `json:"format"`
	Loadstone string    `json:"loadstone"` // version of the program
	Name      string    `json:"name"`
	Question  string    `json:"question,omitempty"`
	File      string    `json:"file"` // base name of the study file
	Seed      uint64    `json:"seed"`
	Created   time.Time `json:"created"`
	Simulated bool      `json:"simulated"`
	Machine   Machine   `json:"machine"`
	Plan      []Planned `json:"plan"`
	Limits    Limits    `json:"limits"`
	// Scale tells how the study file's figures were scaled for this machine; nil
	// where they stand as they are.
	Scale *Scale `json:"scale,omitempty"`
	// Search tells how the loads in Plan were found, where the study left that
	// to Loadstone: each decision in its order.
	Search []Decision `json:"search,omitempty"`
	// Published are values that others printed of the same question, in the
	// order of the study file. Nothing that ran depends on them.
	Published []Published `json:"published,omitempty"`
}

// Published is a value that somebody else printed of a study's question.
type Published struct {
	Series string `json:"series"` // what was measured there
	Metric string `json:"metric"` // "throughput", "p95", "host_cpu": see study.PublishedMetrics
	// At is the configuration, by the knobs that vary; none is the study as a
	// whole. Where there is an Against, the value is a ratio of At to Against.
	At      []Place `json:"at,omitempty"`
	Against []Place `json:"against,omitempty"`
	CPUPct  float64 `json:"cpu_pct,omitempty"` // of a ratio at equal use of the CPUs
	Value   float64 `json:"value,omitempty"`
	Bound   string  `json:"bound,omitempty"` // "above", "below": Value is a bound
	Says    string  `json:"says,omitempty"`  // in words, in place of Value
	Unit    string  `json:"unit,omitempty"`  // as printed; "" for ratios and words
	Source  string  `json:"source"`          // table, figure or page
}

// Place is a knob's value: as Plan has it, and as it stands in the study file.
type Place struct {
	Knob   string `json:"knob"`
	Value  string `json:"value"`
	Stated string `json:"stated"`
}

// Scale tells from which machine to which a study's figures were scaled.
type Scale struct {
	From   Size     `json:"from"`
	To     Size     `json:"to"`
	Data   float64  `json:"data,omitempty"` // factor of the data's size, 1 where it stays
	Values []Scaled `json:"values"`
}

// Size is how large a machine is, as far as scaling goes.
type Size struct {
	CPUs     float64 `json:"cpus"`
	MemBytes int64   `json:"mem_bytes"`
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

// Planned is one trial of the plan, in the order of running.
type Planned struct {
	Trial   int      `json:"trial"` // from 1
	Block   int      `json:"block"` // from 1: each block holds every cell once
	Cell    int      `json:"cell"`  // from 1: one configuration
	Factors []Factor `json:"factors"`
	Seed    uint64   `json:"seed"`
	Dir     string   `json:"dir"` // below trials/
}

// Factor is a knob that the study varies, with its value in a trial.
type Factor struct {
	Knob  string `json:"knob"` // path in the study file: "users", "instance.cpus"
	Value string `json:"value"`
}

// Limits are what the study allows before a load counts as too much, or a
// trial as not to be believed.
type Limits struct {
	ErrorsPct float64 `json:"errors_pct"` // of all transactions
	// CPUPct, DiskLatencyS and Response bound a load; 0, and an empty
	// Response, is no limit.
	CPUPct       float64         `json:"cpu_pct,omitempty"`        // of what the instance may use
	DiskLatencyS float64         `json:"disk_latency_s,omitempty"` // mean of a request
	Response     []ResponseLimit `json:"response,omitempty"`
	// OtherCPUPct and StealPct bound what disturbs a trial, in percent of the
	// machine's CPUs; 0 is the default: 10 for other processes, 2 for steal.
	OtherCPUPct float64 `json:"other_cpu_pct,omitempty"`
	StealPct    float64 `json:"steal_pct,omitempty"`
}

// ResponseLimit bounds a percentile of a type's response times.
type ResponseLimit struct {
	Type       string  `json:"type"`
	Percentile float64 `json:"percentile"` // between 0 and 100
	MaxS       float64 `json:"max_s"`
}

// Machine describes where a study ran.
type Machine struct {
	Host       string   `json:"host"`
	OS         string   `json:"os"`
	Kernel     string   `json:"kernel"`
	Arch       string   `json:"arch"`
	CPUModel   string   `json:"cpu_model"`
	Sockets    int      `json:"sockets"`
	Cores      int      `json:"cores"`
	Threads    int      `json:"threads"`
	MHz        float64  `json:"mhz,omitempty"`
	NUMANodes  int      `json:"numa_nodes"`
	Caches     []string `json:"caches,omitempty"`
	MemBytes   int64    `json:"mem_bytes"`
	SwapBytes  int64    `json:"swap_bytes"`
	Hypervisor string   `json:"hypervisor,omitempty"` // "" on bare metal
	Governor   string   `json:"governor,omitempty"`
	Disk       Disk     `json:"disk"` // that holds the instances
	HugePages  string   `json:"huge_pages,omitempty"`
	Cgroup     string   `json:"cgroup"` // "v1", "v2" or "none"
	ClockRes   string   `json:"clock_source,omitempty"`
}

// Disk describes the device and file system that hold the instances.
type Disk struct {
	Path       string  `json:"path"`
	FileSystem string  `json:"file_system"`
	Device     string  `json:"device"`
	SizeBytes  int64   `json:"size_bytes"`
	FreeBytes  int64   `json:"free_bytes"`
	Rotational bool    `json:"rotational"`
	FsyncUs    float64 `json:"fsync_us,omitempty"` // median of small synced appends, measured before the study
}

// Status is where a trial stands.
type Status string

// The statuses of a trial. One that is Running while no process works on it
// was cut short.
const (
	Running  Status = "running"
	Finished Status = "finished"
	Failed   Status = "failed"  // Reason says why
	Aborted  Status = "aborted" // by the user
	// Disturbed trials finished, but something outside the study took the
	// machine meanwhile: Reason says what. They are run again.
	Disturbed Status = "disturbed"
)

// Trial is a trial's manifest.json.
type Trial struct {
	Format    int    `json:"format"`
	Loadstone string `json:"loadstone"`
	Planned
	Status    Status    `json:"status"`
	Reason    string    `json:"reason,omitempty"`
	Simulated bool      `json:"simulated"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`
	Epoch     time.Time `json:"epoch,omitzero"` // zero of all times below and in the series
	Phases    Phases    `json:"phases"`
	Workload  Workload  `json:"workload"`
	Engine    Engine    `json:"engine"`
	Provider  string    `json:"provider"`
	Load      Load      `json:"load"`
	// Seat is where the driver ran.
	Seat      Seat       `json:"driver_cpus,omitzero"`
	Instances []Instance `json:"instances"`
	// Events are what happened to instances while load ran, by their beginnings.
	Events   []Event  `json:"events,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// StageSeconds is the wall time of each stage: provision, restore, start,
	// drive, check, release.
	StageSeconds map[string]float64 `json:"stage_seconds,omitempty"`
	// Files lists the logs of the trial as they were when it ended.
	Files []File `json:"files,omitempty"`
}

// File is one log of a trial, as the writer left it.
type File struct {
	Name   string `json:"name"` // below the trial's directory, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hexadecimal
}

// Phases are seconds since the epoch.
type Phases struct {
	RampEnd    float64 `json:"ramp_end_s"`
	WarmupEnd  float64 `json:"warmup_end_s"`  // as the study asked; the analysis may cut later
	MeasureEnd float64 `json:"measure_end_s"` // the driver stopped starting work
}

// Workload describes what was run.
type Workload struct {
	Name    string            `json:"name"`
	Version int               `json:"version"`
	DataKey string            `json:"data_key"`
	Params  map[string]string `json:"params"`
	Unit    string            `json:"unit,omitempty"`
	Metric  Metric            `json:"metric"`
	Types   []TxType          `json:"types"`
}

// Metric is the headline figure: see workload.Metric.
type Metric struct {
	Name          string  `json:"name"`
	Short         string  `json:"short"`
	Series        string  `json:"series"`
	PerSeconds    float64 `json:"per_s"`
	WithRollbacks bool    `json:"with_rollbacks"`
	// Nominal is the figure that the amount of data stands for; 0 where the
	// workload states none.
	Nominal float64 `json:"nominal,omitempty"`
	// Beside names the parameters that belong beside the figure.
	Beside []string `json:"beside,omitempty"`
}

// TxType is a type of transaction.
type TxType struct {
	Name           string  `json:"name"`
	About          string  `json:"about,omitempty"`
	Share          float64 `json:"share_pct,omitempty"`
	ShareTolerance float64 `json:"share_tolerance_points,omitempty"`
	LimitSeconds   float64 `json:"limit_s,omitempty"`
	Percentile     float64 `json:"percentile,omitempty"`
	// Binding limits are part of what a valid trial is.
	Binding bool `json:"binding,omitempty"`
	// Extra types are sent by users that the workload itself added.
	Extra bool `json:"extra,omitempty"`
}

// Engine describes the server program.
type Engine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Origin  string `json:"origin"`
	// InProcess says that the database ran inside the driver's own process: the
	// driver's counters hold what both used, and the instance's hold nothing.
	InProcess bool `json:"in_process,omitempty"`
}

// Load is what the driver of each instance was asked to do. Where groups have
// loads of their own, Users, Extra, RatePerS and Connections are those of the
// first group: see Instance.Drive.
type Load struct {
	Users int `json:"users,omitempty"`
	// Extra is how many users the workload itself added, as sessions of a
	// market: see workload.Run.
	Extra       int     `json:"extra,omitempty"`
	RatePerS    float64 `json:"rate_per_s,omitempty"` // open loop
	Arrivals    string  `json:"arrivals,omitempty"`   // "constant", "poisson"
	Connections int     `json:"connections,omitempty"`
	RampSeconds float64 `json:"ramp_s"`
	WarmupS     float64 `json:"warmup_s"`
	MeasureS    float64 `json:"measure_s"` // where measure_max_s is given, at least
	// Measuring went on until the 95 % interval of throughput was within
	// PrecisionPct of its mean and Checkpoints whole cycles had passed, at most
	// for MeasureMaxS.
	MeasureMaxS  float64 `json:"measure_max_s,omitempty"`
	PrecisionPct float64 `json:"precision_pct,omitempty"`
	Checkpoints  int     `json:"checkpoints,omitempty"`
	// Profile is the load over time from the end of the ramp on, cycling.
	Profile []Phase `json:"profile,omitempty"`
}

// Phase is one part of a Load's profile.
type Phase struct {
	Seconds float64 `json:"s"`
	LoadPct float64 `json:"load_pct"`
}

// Seat is which CPUs the driver had while it drove.
type Seat struct {
	Intended string `json:"intended,omitempty"` // "0-1"; "" where nobody asked
	CPUs     string `json:"cpus"`               // read back
	// Shared says who else may have run there: "all instances", "the hardware
	// threads of instances"; "" where nobody of the study did.
	Shared string `json:"shared,omitempty"`
}

// Drive is what the driver of one instance was asked to do.
type Drive struct {
	Users       int     `json:"users,omitempty"`
	Extra       int     `json:"extra,omitempty"` // beside them: see Load
	RatePerS    float64 `json:"rate_per_s,omitempty"`
	Connections int     `json:"connections,omitempty"`
}

// Instance is one database of a trial. Its directory is instance-1 and so on,
// by its place among the instances, whatever its name.
type Instance struct {
	Name string `json:"name"` // "instance-1", or after its group: "small-1"
	// Group is the group of instances that are alike; "" where the study names
	// none. Drive is the instance's own load, and Params are the parameters of
	// the workload that differ from Trial.Workload's. Records before groups
	// were known have none of the three: Trial.Load was each instance's.
	Group   string            `json:"group,omitempty"`
	Drive   Drive             `json:"load,omitzero"`
	Params  map[string]string `json:"params,omitempty"`
	Shape   []Knob            `json:"shape"`
	Setting []Knob            `json:"settings"`
	// Confined says that the instance had a cgroup of its own.
	Confined bool        `json:"confined"`
	Restore  Restore     `json:"restore"`
	Golden   Golden      `json:"golden"`
	Checks   []Check     `json:"checks"`
	Totals   []Totals    `json:"totals"`
	Opened   float64     `json:"connect_s"` // time to open all connections
	Errors   []ErrorSeen `json:"errors,omitempty"`
	Driver   Driver      `json:"driver"`
	// Warnings are what the provider says of every figure of the instance.
	Warnings []string `json:"warnings,omitempty"`
}

// Driver counts what the load generator met beside the transactions.
type Driver struct {
	Connections int     `json:"connections"` // that were opened at the start
	PoolWaits   int64   `json:"pool_waits"`  // transactions that waited for a connection
	PoolWaitS   float64 `json:"pool_wait_s"` // how long, in sum
	Reopened    int64   `json:"reopened"`    // connections that were lost and opened anew
	Aborted     int64   `json:"aborted"`     // transactions cut off after the drain or by the user
	Unserved    int64   `json:"unserved"`    // open loop: arrivals that no user had begun when measuring ended
	Clamped     int64   `json:"clamped"`     // times over one hour, recorded as one hour
	LastEndS    float64 `json:"last_end_s"`  // when the last transaction ended, since the epoch
	EndedEarly  int     `json:"ended_early"` // users that stopped before the end
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

// Restore tells how the initial state came back.
type Restore struct {
	Way      string  `json:"way"`
	Seconds  float64 `json:"s"`
	VerifyS  float64 `json:"verify_s"`
	Digest   string  `json:"digest"`
	Verified string  `json:"verified"`
	Bytes    int64   `json:"bytes"`
}

// Golden describes the golden state behind a restore.
type Golden struct {
	Key          string             `json:"key"`
	Created      time.Time          `json:"created"`
	Rows         int64              `json:"rows"`
	Bytes        int64              `json:"bytes"`
	Fingerprint  string             `json:"fingerprint"`
	StageSeconds map[string]float64 `json:"stage_seconds"`
}

// Check is a condition tested after the run.
type Check struct {
	Name   string `json:"name"`
	Clause string `json:"clause,omitempty"`
	About  string `json:"about"`
	Found  int64  `json:"found"`
	Least  int64  `json:"least"`
	Most   int64  `json:"most"`
	Passed bool   `json:"passed"`
}

// Totals count one transaction type over the whole run.
type Totals struct {
	Type       string           `json:"type"`
	Committed  int64            `json:"committed"`
	RolledBack int64            `json:"rolled_back"`
	Retries    int64            `json:"retries"`
	Errors     map[string]int64 `json:"errors,omitempty"` // by class
}

// ErrorSeen is a sample of the errors of one type and class: the text of the
// first, and the number of all attempts that ended so, retried ones too.
type ErrorSeen struct {
	Type  string  `json:"type"`
	Class string  `json:"class"`
	Text  string  `json:"text"`
	At    float64 `json:"at_s"`
	Count int64   `json:"count"`
}

// Interval is what a driver saw between two times since the epoch. Work
// counts where it ended.
type Interval struct {
	Start, End time.Duration
	Types      []Series // in the order of Workload.Types, the unit's last
	// InFlight is the number of units under way at End, and Backlog how many
	// arrivals wait for a user to serve them (open loop).
	InFlight, Backlog int64
	// IdleSum is the time that users of a closed loop were left idle by the
	// profile of the load, in microseconds, all users added up: neither response
	// nor think time, but part of Little's law.
	IdleSum int64
	// Late is how much later than it could the driver began work: after the
	// intended start where a user was free to keep it. A wait for a user or a
	// connection is not the driver's lateness (it is in the response time and
	// in Backlog). nil where nothing of the kind began, as in closed loop
	// without think time.
	Late *hdrhistogram.Histogram
}

// Series counts one type in an Interval. Histograms are in microseconds, 1 µs
// to 1 h, three significant digits; nil where nothing was recorded.
type Series struct {
	Committed, RolledBack int64
	Retries               int64 // attempts beyond the first
	// Errors counts work that ended by an error, by workload.Class: what a
	// retry mended is only in Retries.
	Errors []int64
	// ResponseSum is the exact sum of response times of committed and
	// rolled-back work, and ThinkSum that of the keying time before and the
	// think time after it, as planned, in microseconds: for Little's law.
	ResponseSum, ThinkSum int64
	Response              *hdrhistogram.Histogram // of committed work, from the intended start
	Service               *hdrhistogram.Histogram // of committed work, from the actual start
	Undone                *hdrhistogram.Histogram // response of rolled-back work
	// P50, P95, P99 and Max are of Response, in microseconds: filled in where
	// an Interval is read back, whose histograms are nil.
	P50, P95, P99, Max int64
}
