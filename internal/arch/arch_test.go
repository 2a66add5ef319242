package arch_test

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/loadstone-perf/loadstone/"

// rule says what the packages below a folder of internal/ may import.
type rule struct {
	folder string
	ours   []string // folders of internal/ that are allowed, besides itself
	never  []string // import paths of others that are not, by prefix
}

// everything stands for no rule: the running side's top.
var everything = []string{"*"}

var drivers = []string{"database/sql", "github.com/jackc/pgx", "github.com/go-sql-driver", "modernc.org/sqlite"}

var rules = []rule{
	{"unit", nil, drivers},
	{"rng", nil, drivers},
	{"clock", nil, drivers},
	{"stats", []string{"unit"}, drivers},
	{"record", []string{"unit"}, append([]string{"net"}, drivers...)},
	{"observe", []string{"clock", "unit", "record"}, drivers},
	{"workload", []string{"unit", "rng"}, drivers},
	{"engine", []string{"workload", "observe", "unit", "clock"}, nil},
	{"provider", []string{"unit", "observe", "clock"}, drivers},
	{"provider/twin", []string{"provider", "twin", "unit"}, drivers},
	{"drive", []string{"workload", "clock", "rng", "record"}, append([]string{"net", "os/exec"}, drivers...)},
	{"twin", []string{"workload", "clock", "rng", "unit"}, append([]string{"net", "os/exec"}, drivers...)},
	{"study", []string{"unit", "rng"}, append([]string{"os", "os/exec", "net"}, drivers...)},
	{"analyse", []string{"record", "stats", "unit"}, append([]string{"net", "os/exec"}, drivers...)},
	{"report", []string{"analyse", "unit"}, append([]string{"net", "os/exec"}, drivers...)},
	{"trial", []string{"study", "provider", "engine", "workload", "drive", "observe", "record", "clock", "unit", "rng", "stats", "twin"}, drivers},
	{"catalog", everything, drivers},
	{"cli", everything, drivers},
	{"arch", nil, drivers},
}

// pkg is what `go list -json` prints of a package.
type pkg struct {
	ImportPath string
	Imports    []string
}

func TestImportRulesHold(t *testing.T) {
	for _, p := range list(t) {
		folder, below := strings.CutPrefix(p.ImportPath, module+"internal/")
		if !below {
			continue
		}
		i := slices.IndexFunc(rules, func(r rule) bool { return r.folder == folder })
		if i < 0 { // a folder below has that of the one above, or its own
			folder, _, _ = strings.Cut(folder, "/")
			i = slices.IndexFunc(rules, func(r rule) bool { return r.folder == folder })
		}
		if i < 0 {
			t.Errorf("internal/%s has no import rule: add one", folder)
			continue
		}
		for _, fault := range broken(rules[i], p) {
			t.Error(fault)
		}
	}
}

func TestARuleThatIsBrokenIsSeen(t *testing.T) {
	r := rule{"drive", []string{"workload"}, []string{"net"}}
	got := broken(r, pkg{module + "internal/drive", []string{
		"context", "net", "net/http", module + "internal/workload", module + "internal/engine/postgres", module + "internal/drive/x",
	}})
	if len(got) != 3 {
		t.Errorf("%d faults %q, want 3: net, net/http and engine", len(got), got)
	}
}

func broken(r rule, p pkg) (faults []string) {
	for _, imp := range p.Imports {
		if inner, ours := strings.CutPrefix(imp, module+"internal/"); ours {
			inner, _, _ = strings.Cut(inner, "/")
			if inner != r.folder && !slices.Contains(r.ours, inner) && !slices.Contains(r.ours, "*") {
				faults = append(faults, p.ImportPath+" may not import "+imp)
			}
		}
		for _, no := range r.never {
			if imp == no || strings.HasPrefix(imp, no+"/") {
				faults = append(faults, p.ImportPath+" may not import "+imp)
			}
		}
	}
	return faults
}

func list(t *testing.T) (all []pkg) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}
