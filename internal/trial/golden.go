package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
)

// unsafe are the characters that a golden state's key may not have.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// goldenKey names the contents and everything that shapes its files: what
// changes them without changing this key would be restored wrongly.
func (p *place) goldenKey() string {
	return unsafe.ReplaceAllString(fmt.Sprintf("%s-%s-%s", p.Engine.Name(), p.Install.Version(), p.def.DataKey), "_")
}

// keeper is inst as a keeper of golden states.
func (r *run) keeper(inst provider.Instance) (provider.Snapshotter, error) {
	keep, ok := inst.(provider.Snapshotter)
	if !ok {
		return nil, fmt.Errorf("provider %s can't keep golden states", r.Provider.Name())
	}
	return keep, nil
}

// restored brings the instance's golden state back; one that is missing is loaded
// first, and one that turns out to be damaged is loaded again, once.
func (p *place) restored(ctx context.Context) error {
	keep, err := p.keeper(p.inst)
	if err != nil {
		return err
	}
	err = p.restore(ctx, keep)
	if !errors.Is(err, provider.ErrDamaged) {
		return err
	}
	p.warn(err.Error())
	if err := keep.Remove(ctx, p.goldenKey()); err != nil {
		return err
	}
	return p.restore(ctx, keep)
}

// restore brings the golden state back and verifies it.
func (p *place) restore(ctx context.Context, keep provider.Snapshotter) error {
	golden, err := p.golden(ctx, keep)
	if err != nil {
		return err
	}
	var done provider.Restored
	err = p.stage("restore", func() (err error) {
		done, err = keep.Restore(ctx, golden.Key)
		return err
	})
	if err != nil {
		return err
	}
	p.rec.Golden = golden
	p.rec.Restore = record.Restore{
		Way: done.Way, Seconds: done.Took.Seconds(), VerifyS: done.Verify.Seconds(),
		Digest: done.Digest, Verified: done.Verified, Bytes: int64(done.Bytes),
	}
	return p.writeInstances()
}

// golden returns the description of the golden state in keep; where there is
// none yet it is loaded first, in an instance of its own that no shape
// confines.
func (p *place) golden(ctx context.Context, keep provider.Snapshotter) (about record.Golden, err error) {
	text, found, err := keep.Find(ctx, p.goldenKey())
	if err != nil {
		return about, fmt.Errorf("look for golden state %s: %w", p.goldenKey(), err)
	}
	if found {
		if err := json.Unmarshal(text, &about); err != nil {
			return about, fmt.Errorf("golden state %s has a broken description: %w", p.goldenKey(), err)
		}
		return about, nil
	}
	loading, err := p.Provider.Provision(ctx, provider.Request{Name: "load", Cache: p.cache()})
	if err != nil {
		return about, fmt.Errorf("provision an instance to load: %w", err)
	}
	defer func() { err = errors.Join(err, p.release(ctx, loading)) }()
	if err := p.load(ctx, loading, &about); err != nil {
		return about, err
	}
	if text, err = json.MarshalIndent(about, "", "  "); err != nil {
		return about, err
	}
	if keep, err = p.keeper(loading); err != nil {
		return about, err
	}
	save := keep.Save
	if last, ok := keep.(provider.LastSaver); ok {
		save = last.SaveLast
	}
	return about, p.stage("save golden state", func() error { return save(ctx, p.goldenKey(), text) })
}

// load makes a new database in inst and fills it. The server runs without
// durability meanwhile: a load that does not end is thrown away as a whole.
func (p *place) load(ctx context.Context, inst provider.Instance, about *record.Golden) error {
	machine, err := p.machine(inst)
	if err != nil {
		return err
	}
	if err := p.stage("create", func() error { return p.Install.Create(ctx, machine) }); err != nil {
		return err
	}
	db, err := p.Install.Start(ctx, machine, engine.Config{Connections: 64, Durable: false})
	if err != nil {
		return err
	}
	var report engine.LoadReport
	err = p.stage("load", func() (err error) {
		report, err = db.Load(ctx, p.def, engine.LoadOptions{Progress: p.loading})
		return err
	})
	*about = record.Golden{
		Key: p.goldenKey(), Created: p.Clock.Now().UTC().Round(time.Second), Rows: report.Rows, Bytes: int64(report.Bytes),
		Fingerprint: report.Fingerprint, StageSeconds: report.StageSeconds,
	}
	return errors.Join(err, p.stopServer(ctx, db))
}

// loading tells how far loading is.
func (r *run) loading(stage string, done, all int64) {
	part := -1.0
	if all > 0 {
		part = float64(done) / float64(all)
	}
	r.tell(Progress{Stage: "load: " + stage, Part: part})
}
