package trial

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// attach makes the instance's database on the server that runs already: a
// working copy of the golden state, which is loaded first where there is none,
// or, without consent to that, the endpoint's own database as it is.
func (p *place) attach(ctx context.Context) error {
	c := p.serverConfig()
	if !p.config.Endpoint.Load {
		return p.use(ctx, c)
	}
	keep, ok := p.Server.(engine.Keeper)
	if !ok {
		return fmt.Errorf("%s can't keep golden states on a server that runs already", p.Engine.Name())
	}
	g, err := p.built(ctx, keep)
	if err != nil {
		return err
	}
	p.rec.Golden = goldenRecord(g)
	err = p.stage("restore", func() (err error) {
		var done engine.Copied
		p.db, done, err = keep.Copy(ctx, p.def, c)
		p.rec.Restore = record.Restore{
			Way: done.Way, Seconds: done.Took.Seconds(), VerifyS: done.Verify.Seconds(),
			Digest: done.Digest, Verified: done.Verified, Bytes: int64(done.Bytes),
		}
		p.named = done.Name
		return err
	})
	if err != nil {
		p.db = nil // an interface that holds a nil is not nil
		return err
	}
	return p.writeInstances()
}

// built finds the golden state, or loads it.
func (p *place) built(ctx context.Context, keep engine.Keeper) (engine.Golden, error) {
	g, ok, err := keep.Find(ctx, p.def)
	if err != nil || ok {
		return g, err
	}
	err = p.stage("load", func() (err error) {
		g, err = keep.Build(ctx, p.def, engine.LoadOptions{Progress: p.loading})
		return err
	})
	return g, err
}

// use takes the endpoint's own database. What the checks find there now is
// where they count from.
func (p *place) use(ctx context.Context, c engine.Config) error {
	db, g, err := p.Server.Use(ctx, p.def, c)
	if err != nil {
		return err
	}
	p.db, p.named = db, g.Name
	p.rec.Golden = goldenRecord(g)
	p.warn("not restored before each repeat: this trial began with what earlier work had left in database " + g.Name + ", because the study does not allow Loadstone to make databases there (load: allowed)")
	err = p.stage("check before", func() error {
		p.base, err = baseline(ctx, db, p.def)
		return err
	})
	return errors.Join(err, p.writeInstances())
}

func goldenRecord(g engine.Golden) record.Golden {
	return record.Golden{
		Key: g.Name, Created: g.Created, Rows: g.Report.Rows, Bytes: int64(g.Report.Bytes),
		Fingerprint: g.Report.Fingerprint, StageSeconds: g.Report.StageSeconds,
	}
}

// baseline is, for each check of def that counts the driver's work, how much
// of it the database holds already. A check that does not hold beforehand is
// an error: what it found afterwards would say nothing about the trial.
func baseline(ctx context.Context, db engine.Database, def *workload.Definition) ([]int64, error) {
	checks, err := Checks(ctx, db, def, workload.Tally{})
	if err != nil {
		return nil, fmt.Errorf("check the database before the trial: %w", err)
	}
	base := make([]int64, len(checks))
	for i, c := range checks {
		switch {
		case counts(def, def.Checks[i]):
			base[i] = c.Found - c.Least
		case !c.Passed:
			return nil, fmt.Errorf("the database does not hold %q before the trial (found %d): it needs to be loaded anew", c.About, c.Found)
		}
	}
	return base, nil
}

// counts says whether what c wants depends on what the driver did.
func counts(def *workload.Definition, c workload.Check) bool {
	if c.Want == nil {
		return false
	}
	work := workload.Tally{Committed: map[string]int64{}, RolledBack: map[string]int64{}}
	for _, t := range def.Transactions {
		work.Committed[t.Name], work.RolledBack[t.Name] = 1e6, 1e6
	}
	least, most := c.Want(workload.Tally{})
	leastThen, mostThen := c.Want(work)
	return least != leastThen || most != mostThen
}

// counted moves the bounds of checks by what the database held beforehand.
func (p *place) counted() {
	for i, b := range p.base {
		c := &p.rec.Checks[i]
		c.Least, c.Most = c.Least+b, c.Most+b
		c.Passed = c.Least <= c.Found && c.Found <= c.Most
	}
}

// salt makes users draw anew on a database that was not restored, on which the
// same choices were made before: names that are taken would be chosen again.
// It follows from what the database holds.
func (p *place) salt() uint64 {
	if !slices.ContainsFunc(p.base, func(n int64) bool { return n != 0 }) {
		return 0
	}
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, p.base) // never fails
	return h.Sum64()
}

// product describes what is under test.
func (r *run) product() record.Engine {
	if _, ok := r.Provider.(Model); ok {
		return record.Engine{Name: r.Engine.Name(), Origin: "a model of one: no server ran"}
	}
	if r.Server == nil {
		return record.Engine{Name: r.Engine.Name(), Version: r.Install.Version(), Origin: r.Install.Origin(), InProcess: engine.Inside(r.Engine)}
	}
	a := r.Server.About()
	return record.Engine{Name: r.Engine.Name(), Version: a.Version, Origin: fmt.Sprintf("running already at %s, encryption: %s", a.Address.Where, a.Address.Encryption)}
}

// unobserved says why the host's counters are not about the server, "" where
// they are.
func (r *run) unobserved() string {
	if r.Server == nil {
		return ""
	}
	return r.Server.About().NotHere
}

// warnDurability tells of settings without which a server that is not ours
// may lose what it committed.
func (p *place) warnDurability() {
	if p.Server == nil {
		return
	}
	for _, k := range p.rec.Setting {
		if slices.Contains([]string{"fsync", "synchronous_commit", "full_page_writes"}, k.Name) && k.Effective == "off" {
			p.warn(fmt.Sprintf("%s: the server runs with %s = off: what it commits may not survive a crash", p.rec.Name, k.Name))
		}
	}
}
