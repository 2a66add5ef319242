package study

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// knob is one entry of the table that parser and schema share: a fixed name
// in the study file that takes one value.
type knob struct {
	unit.Param                    // Name is the dotted path
	also       func(string) error // what Param.Check cannot say; nil where nothing
	shape      string             // what is allowed, where also says more than Param.Shape
	pattern    string             // regular expression for the schema, "" from Kind
	fixed      string             // why the knob may not vary; "" where it may
	// same is a text that is equal for equal values; nil compares by Kind.
	same func(text string) string
	// set stores text, which was found to be right, or the default; nil where
	// the knob is read apart.
	set func(s *Study, c *Config, text string)
}

// allowed says in words what k takes.
func (k knob) allowed() string {
	if k.shape != "" {
		return k.shape
	}
	return k.Shape()
}

// check says what is wrong with text.
func (k knob) check(text string) error {
	if err := k.Check(text); err != nil {
		return err
	}
	if k.also != nil {
		return k.also(text)
	}
	return nil
}

// chosen are the sections that name one of several offers; what else they
// take depends on that.
func chosen() []string { return []string{"workload", "engine", "provider"} }

// sections are all sections but vary.
func sections() []string {
	return append(chosen(), "instance", "driver", "run", "limits", "saturate", "scale", "needs")
}

// searchable are the knobs whose value may be searched for.
func searchable() []string { return []string{"users", "rate", "instances"} }

// saturate is the text that asks for the search.
const saturate = "saturate"

const settingsPrefix = "engine.settings."

// Defaults that depend on other knobs, so that the table cannot say them.
const (
	defaultUsers       = "1"       // where neither users nor rate is given
	defaultArrivals    = "poisson" // where rate is given
	defaultConnections = "64"      // where rate is given
)

// Patterns of texts. The schema and the checks use the same.
const (
	namePattern    = `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`
	versionPattern = `^(>=|<=|>|<|=)? *[0-9]+(\.[0-9]+)*( *, *(>=|<=|>|<|=)? *[0-9]+(\.[0-9]+)*)*$`
	ratePattern    = `^[0-9]+(\.[0-9]+)? */ *(s|min|h)$`
	boundPattern   = `^[0-9]+(\.[0-9]+)? */ *(s|min|h)$|^[0-9]+$`
	cpuSetPattern  = `^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$`
	environPattern = `^[A-Za-z_][A-Za-z0-9_]{0,127}$`
	settingPattern = `^[A-Za-z_][A-Za-z0-9_.$-]{0,127}$`
)

var (
	versionText = regexp.MustCompile(versionPattern)
	settingName = regexp.MustCompile(settingPattern)
	studyName   = regexp.MustCompile(namePattern)
	environName = regexp.MustCompile(environPattern)

	percentileName = regexp.MustCompile(percentilePattern)
)

// knobs returns the table, in the order of the guide.
func knobs() []knob {
	return slices.Concat(headKnobs(), choiceKnobs(), endpointKnobs(), instanceKnobs(), guestKnobs(), driverKnobs(),
		loadKnobs(), searchKnobs(), runKnobs(), limitKnobs(), scaleKnobs(), needKnobs())
}

func headKnobs() []knob {
	return []knob{
		{Param: unit.Param{Name: "study", About: "Name of the study; names its directory of results."},
			also: func(t string) error {
				if !studyName.MatchString(t) {
					return fmt.Errorf("%q is not a name", t)
				}
				return nil
			},
			shape: "letters, digits, - and _, at most 64", pattern: namePattern,
			fixed: "it names the whole study",
			set:   func(s *Study, _ *Config, t string) { s.Name = t }},
		{Param: unit.Param{Name: "question", About: "What the study is to answer, in a sentence; stands on top of the report."},
			fixed: "it is asked of the whole study",
			set:   func(s *Study, _ *Config, t string) { s.Question = t }},
	}
}

func choiceKnobs() []knob {
	return []knob{
		{Param: unit.Param{Name: "workload.name", About: "Which workload the users run."},
			set: func(_ *Study, c *Config, t string) { c.Workload.Name = t }},
		{Param: unit.Param{Name: "engine.name", About: "Which database product is under test."},
			set: func(_ *Study, c *Config, t string) { c.Engine.Name = t }},
		{Param: unit.Param{Name: "engine.version", About: "Which versions of the product will do; left out, any."},
			also: func(t string) error {
				if t != "" && !versionText.MatchString(t) {
					return fmt.Errorf("%q is not a version", t)
				}
				return nil
			},
			shape: `a version such as 16 or "16.2", or bounds such as ">=15" or ">=15,<17"`, pattern: versionPattern,
			set: func(_ *Study, c *Config, t string) { c.Version = t }},
		{Param: unit.Param{Name: "provider.name", About: "Where instances live."},
			set: func(_ *Study, c *Config, t string) { c.Provider.Name = t }},
		{Param: unit.Param{Name: "instances", Kind: unit.Int, Default: "1", Min: "1", Max: "64", About: "How many databases are driven at once, each by users of its own."},
			set: func(_ *Study, c *Config, t string) { c.Instances = int(number(t)) }},
		{Param: unit.Param{Name: countKnob, Kind: unit.Int, Default: "1", Min: "0", Max: "64", About: "How many instances a group has."}},
	}
}

func loadKnobs() []knob {
	return []knob{
		{Param: unit.Param{Name: "users", Kind: unit.Int, Min: "1", Max: "100000", About: "Closed loop: how many users work at once on each instance, each starting its next piece of work when the last has ended; 1 where neither users nor rate is given."},
			set: func(_ *Study, c *Config, t string) { c.Load.Users = int(number(t)) }},
		{Param: unit.Param{Name: "rate", About: "Open loop: how many pieces of work arrive at each instance, whether the database keeps up or not."},
			also: func(t string) error {
				if t == "" {
					return nil
				}
				_, err := parseRate(t)
				return err
			},
			shape: "a number a unit of time (s, min, h), such as 200/s", pattern: ratePattern,
			same: func(t string) string {
				if r, err := parseRate(t); err == nil {
					return fmt.Sprint(r)
				}
				return t
			},
			set: func(_ *Study, c *Config, t string) { c.Load.RatePerS, _ = parseRate(t) }},
		{Param: unit.Param{Name: "arrivals", Allowed: []string{"poisson", "constant"}, About: "Open loop: gaps between arrivals; poisson where left out."},
			set: func(_ *Study, c *Config, t string) { c.Load.Arrivals = t }},
		{Param: unit.Param{Name: "connections", Kind: unit.Int, Min: "1", Max: "100000", About: "Connections to each database, shared where there are more users; left out, one for each user, or 64 in open loop."},
			set: func(_ *Study, c *Config, t string) { c.Load.Connections = int(number(t)) }},
		{Param: unit.Param{Name: "profile_repeat", Kind: unit.Bool, Default: "true", About: "Whether the profile begins anew after its last phase; else that phase lasts until the end."},
			fixed: "the profile is one for all cells"},
	}
}

// searchKnobs say how the load is searched for; readSearch stores them.
func searchKnobs() []knob {
	const fixed = "one search finds the load of all cells"
	bound := func(name, about string) knob {
		return knob{Param: unit.Param{Name: name, About: about},
			also: func(t string) error {
				if _, err := parseRate(t); t == "" || err == nil {
					return nil
				} else if strings.Contains(t, "/") {
					return err
				}
				return unit.Param{Kind: unit.Int, Min: "1"}.Check(t)
			},
			shape: "a whole number of users or instances, or a rate such as 100/s", pattern: boundPattern, fixed: fixed}
	}
	return []knob{
		bound("saturate.from", "Load with which the search begins; left out, 1 user or instance. A rate has no default."),
		bound("saturate.to", "Load that the search does not pass; left out, 1024 users, 16 instances or 1024 times the first rate."),
		{Param: unit.Param{Name: "saturate.gain", Kind: unit.Share, Default: "3%", Min: "0.1%", Max: "50%", About: "How much more throughput a doubled load must bring for the next doubling."},
			fixed: fixed},
		// Six loads are the least from which a scaling model is fitted.
		{Param: unit.Param{Name: "saturate.loads", Kind: unit.Int, Default: "6", Min: "6", Max: "16", About: "How many different loads are tried at least."},
			fixed: fixed},
	}
}

func runKnobs() []knob {
	return []knob{
		{Param: unit.Param{Name: "run.ramp", Kind: unit.Time, Default: "0s", Min: "0s", Max: "1d", About: "Time over which the users start, evenly spread."},
			set: func(_ *Study, c *Config, t string) { c.Run.Ramp, _ = unit.ParseDuration(t) }},
		{Param: unit.Param{Name: "run.warmup", Kind: unit.Time, Default: "30s", Min: "0s", Max: "1d", About: "Time under full load before measuring begins."},
			set: func(_ *Study, c *Config, t string) { c.Run.Warmup, _ = unit.ParseDuration(t) }},
		{Param: unit.Param{Name: "run.measure", Kind: unit.Time, Default: "60s", Min: "1s", Max: "7d", About: "Time that is measured; at least, where it depends on what is seen."},
			set: func(_ *Study, c *Config, t string) { c.Run.Measure, _ = unit.ParseDuration(t) }},
		{Param: unit.Param{Name: "run.measure.max", Kind: unit.Time, Min: "1s", Max: "7d", About: "Time that is measured at most; left out in a section measure, ten times min."},
			set: func(_ *Study, c *Config, t string) { c.Run.MeasureMax, _ = unit.ParseDuration(t) }},
		// An interval of 0.01 % would take hours where throughput is steadiest;
		// one of more than half the mean tells nothing.
		{Param: unit.Param{Name: "run.measure.precision", Kind: unit.Share, Min: "0.01%", Max: "50%", About: "Measuring ends when the 95 % interval of throughput is the mean ± this; left out, none."},
			set: func(_ *Study, c *Config, t string) { c.Run.PrecisionPct, _ = unit.ParsePercent(t) }},
		{Param: unit.Param{Name: "run.measure.checkpoints", Kind: unit.Int, Min: "0", Max: "1000", About: "How many whole checkpoint cycles are measured at least; left out, none."},
			set: func(_ *Study, c *Config, t string) { c.Run.Checkpoints = int(number(t)) }},
		{Param: unit.Param{Name: "run.repeats", Kind: unit.Int, Default: "3", Min: "1", Max: "1000", About: "How often each configuration runs: once in each block, in random order. One repeat gives no interval."},
			fixed: "every configuration is repeated alike, or the blocks would not be complete",
			set:   func(s *Study, _ *Config, t string) { s.Repeats = int(number(t)) }},
		{Param: unit.Param{Name: "run.retries", Kind: unit.Int, Default: "2", Min: "0", Max: "10", About: "How often a trial is run again whose machine others used too much (limits.other_cpu, limits.steal); in all, at most half as often as there are trials."},
			fixed: "what disturbs a machine disturbs all configurations alike",
			set:   func(s *Study, _ *Config, t string) { s.Retries = int(number(t)) }},
		{Param: unit.Param{Name: "run.restore", Default: "each", Allowed: []string{"each"}, About: "When the golden state of the database is restored: before each trial."},
			fixed: "repeats are only comparable where each begins from the same state",
			set:   func(_ *Study, c *Config, t string) { c.Run.Restore = t }},
		{Param: unit.Param{Name: "run.seed", Kind: unit.Int, Default: "1", Min: "0", About: "Where all randomness begins: the same seed repeats the same order and the same work."},
			fixed: "each trial has a seed of its own, made from the study's",
			set:   func(s *Study, _ *Config, t string) { s.Seed = uint64(number(t)) }},
	}
}

// limitKnobs are all limits but those of response times, which have names of
// the workload's.
func limitKnobs() []knob {
	const fixed = "limits judge all results alike"
	return []knob{
		{Param: unit.Param{Name: "limits.errors", Kind: unit.Share, Default: "1%", Min: "0%", Max: "100%", About: "How many transactions may fail before a result is invalid."},
			fixed: fixed,
			set:   func(s *Study, _ *Config, t string) { s.Limits.ErrorsPct, _ = unit.ParsePercent(t) }},
		{Param: unit.Param{Name: "limits.cpu", Kind: unit.Share, Min: "1%", Max: "100%", About: "How much of its CPUs an instance may use; left out, no limit."},
			fixed: fixed,
			set:   func(s *Study, _ *Config, t string) { s.Limits.CPUPct, _ = unit.ParsePercent(t) }},
		{Param: unit.Param{Name: "limits.other_cpu", Kind: unit.Share, Default: "10%", Min: "1%", Max: "100%", About: "How much of the machine's CPU processes that are not part of the study may use before a result is invalid."},
			fixed: fixed,
			set:   func(s *Study, _ *Config, t string) { s.Limits.OtherCPUPct, _ = unit.ParsePercent(t) }},
		{Param: unit.Param{Name: "limits.steal", Kind: unit.Share, Default: "2%", Min: "1%", Max: "100%", About: "How much of the machine's CPU a hypervisor may give to others before a result is invalid."},
			fixed: fixed,
			set:   func(s *Study, _ *Config, t string) { s.Limits.StealPct, _ = unit.ParsePercent(t) }},
		{Param: unit.Param{Name: "limits.disk_latency", Kind: unit.Time, Min: "1us", Max: "1h", About: "How long a disk request may take on average; left out, no limit."},
			fixed: fixed,
			set:   func(s *Study, _ *Config, t string) { s.Limits.DiskLatency, _ = unit.ParseDuration(t) }},
	}
}

// number and float read texts that were found to be right; "" is 0.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func float(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

const mostRate = 1e7 // a second

// parseRate reads a rate such as 200/s, in pieces of work a second.
func parseRate(text string) (perSecond float64, err error) {
	count, per, ok := strings.Cut(text, "/")
	seconds := map[string]float64{"s": 1, "min": 60, "h": 3600}[strings.TrimSpace(per)]
	n, err := strconv.ParseFloat(strings.TrimSpace(count), 64)
	switch {
	case !ok || seconds == 0 || err != nil || strings.ContainsAny(count, "xXpPeE_+iInN"):
		return 0, fmt.Errorf("%q is not a rate", text)
	case n <= 0:
		return 0, fmt.Errorf("%s is out of range: a rate is more than 0", text)
	case n/seconds > mostRate:
		return 0, fmt.Errorf("%s is out of range: at most %.0f/s", text, mostRate)
	}
	return n / seconds, nil
}

// canonical returns a text that is equal for equal values of kind k: 1GiB and
// 1024MiB, 1 and 01.
func canonical(k unit.Kind, text string) string {
	switch k {
	case unit.Int:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case unit.Float:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	case unit.Size, unit.SizeName:
		if b, err := unit.ParseBytes(text); err == nil {
			return b.String()
		}
	case unit.Time:
		if d, err := unit.ParseDuration(text); err == nil {
			return d.String()
		}
	case unit.Share:
		if f, err := unit.ParsePercent(text); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	return text
}
