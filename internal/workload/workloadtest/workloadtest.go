// Package workloadtest is the suite that every workload passes: its
// definition is well-formed, its rows are the same whoever makes them, fit
// their columns and refer to rows that exist, and its users do what it says.
//
// It needs no database: statements meet a connection that the workload's test
// brings, which answers as a database might.
package workloadtest

import (
	"maps"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Options tell the suite about a workload. All fields but With, Update,
// Units, Think and SameData are needed.
type Options struct {
	// Small are parameters that give a database of at most some 100,000 rows:
	// the suite holds it in memory.
	Small map[string]string
	// Data has another value for every parameter that changes what is loaded,
	// Behaviour one for every other parameter.
	Data, Behaviour map[string]string
	// With has, by parameter, what else must change where that takes its value
	// of Data, since not all values go together. It may be nil.
	With map[string]map[string]string
	// Conn returns a connection that answers every statement of d plausibly
	// and without allocating. It is called once for each user.
	Conn func(d *workload.Definition) workload.Conn
	// Golden is the file that holds the fingerprints of generated rows;
	// Update rewrites it.
	Golden string
	Update bool
	// Units is how many units the scripts play; 0 means 10,000.
	Units int
	Think Think
	// SameData leaves out the tests that make all rows: another run makes the
	// same.
	SameData bool
}

// Think states a think time: with Params, users wait Mean a unit on average.
// The zero Think means that there is nothing to test.
type Think struct {
	Params map[string]string
	Mean   time.Duration
}

// seed is the seed of all generated data in the suite.
const seed = 20_090_101

// Run runs the suite on kind.
func Run(t *testing.T, kind workload.Kind, o Options) {
	if o.Units == 0 {
		o.Units = 10_000
	}
	s := suite{kind: kind, Options: o}
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"ParametersHaveValidDefaults", s.parameters},
		{"DefinitionIsWellFormed", s.definition},
		{"StatementsUseTheirParameters", s.statements},
		{"ScriptsDefineWhatIsCalled", s.scripts},
		{"ChecksAreComplete", s.checks},
		{"TablesReferToWhatExists", s.tables},
		{"DataKeyFollowsTheData", s.dataKey},
		{"UsersRepeat", s.repeat},
		{"MixIsTheStatedOne", s.mix},
		{"AccessIsWhatTransactionsDo", s.access},
		{"FailedStepsDoNotStopUsers", s.failures},
		{"UsersDoNotAllocate", s.allocations},
		{"ThinkTimeHasTheStatedMean", s.think},
	} {
		t.Run(test.name, test.run)
	}
	if s.SameData {
		return
	}
	t.Run("GeneratedBytesAreTheVersions", s.golden)
	t.Run("RowsDependOnNothingElse", s.deterministic)
	t.Run("ValuesFitTheirColumns", s.fit)
	t.Run("KeysAreUniqueAndReferencesHold", s.keys)
}

type suite struct {
	kind workload.Kind
	Options
}

// define makes the definition with the given parameters over Small.
func (s suite) define(t *testing.T, texts ...map[string]string) *workload.Definition {
	t.Helper()
	all := maps.Clone(s.Small)
	for _, m := range texts {
		maps.Copy(all, m)
	}
	return s.exactly(t, all, seed)
}

// exactly makes the definition with these parameters and no others.
func (s suite) exactly(t *testing.T, texts map[string]string, seed uint64) *workload.Definition {
	t.Helper()
	v, err := unit.NewValues(s.kind.Params, texts)
	if err != nil {
		t.Fatalf("parameters %v: %v", texts, err)
	}
	d, err := s.kind.New(v, seed)
	if err != nil {
		t.Fatalf("parameters %v: %v", texts, err)
	}
	return d
}

// variants are the definitions that differ in form: every single Data value
// over Small, and Small itself.
func (s suite) variants(t *testing.T) map[string]*workload.Definition {
	t.Helper()
	out := map[string]*workload.Definition{"small": s.define(t)}
	for name, text := range s.Data {
		out[name+"="+text] = s.define(t, map[string]string{name: text}, s.With[name])
	}
	return out
}

// stream is the random stream of a user in the suite.
func stream(user int) rng.Stream { return rng.At(seed, rng.Name("user"), uint64(user)) }
