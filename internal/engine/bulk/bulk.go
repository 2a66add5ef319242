// Package bulk is what loading has in common, whatever the product: its stages
// and their times, the order of the tables, the connections that work beside
// each other, how far it is, and the proof that the database holds what was
// generated. How rows get into a server is the engine's.
package bulk

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/fingerprint"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// The stages, as engine.LoadOptions.Progress and engine.LoadReport.StageSeconds
// name them.
const (
	StageRows    = "rows"
	StageKeys    = "keys"
	StageScripts = "scripts"
	StageVerify  = "verify"
	StageAnalyse = "analyse"
)

// Stage is a step of loading with a time of its own.
type Stage struct {
	Name string
	Do   func(context.Context) error
}

// Run goes through the stages up to the first error, and returns how many
// seconds each took.
func Run(ctx context.Context, stages ...Stage) (map[string]float64, error) {
	seconds, wall := map[string]float64{}, clock.Real{}
	for _, s := range stages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		began := wall.Now()
		if err := s.Do(ctx); err != nil {
			return nil, err
		}
		seconds[s.Name] = wall.Now().Sub(began).Seconds()
	}
	return seconds, nil
}

// Report tells what was loaded into tables, which are all of a workload's in its
// order.
func Report(size unit.Bytes, seconds map[string]float64, tables []fingerprint.Table) engine.LoadReport {
	r := engine.LoadReport{Bytes: size, StageSeconds: seconds, Fingerprint: fingerprint.Text(tables)}
	for _, t := range tables {
		r.Rows += t.Rows
	}
	return r
}

// Order returns the places of tables with the most work first, so that streams
// beside each other end at about the same time, and how many rows there are in
// all.
func Order(tables []workload.Table) (order []int, rows int64) {
	work := func(i int) int64 { return tables[i].Rows.Rows * int64(len(tables[i].Columns)) }
	for i := range tables {
		order = append(order, i)
		rows += tables[i].Rows.Rows
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(work(b), work(a)) })
	return order, rows
}

// Progress counts work done and tells it on, one call at a time.
type Progress struct {
	mu        sync.Mutex
	tell      func(stage string, done, all int64)
	stage     string
	done, all int64
}

// NewProgress returns a Progress that tells tell, which may be nil.
func NewProgress(tell func(stage string, done, all int64)) *Progress {
	if tell == nil {
		tell = func(string, int64, int64) {}
	}
	return &Progress{tell: tell}
}

// Start begins a stage; all may be an estimate.
func (p *Progress) Start(stage string, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage, p.done, p.all = stage, 0, all
	p.tell(p.stage, p.done, p.all)
}

// Add says that n more are done.
func (p *Progress) Add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.all = max(p.all, p.done)
	p.tell(p.stage, p.done, p.all)
}
