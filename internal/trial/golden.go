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
func (r *run) goldenKey() string {
	return unsafe.ReplaceAllString(fmt.Sprintf("%s-%s-%s", r.Engine.Name(), r.Install.Version(), r.def.DataKey), "_")
}

// golden returns the description of the golden state that inst can restore;
// where there is none yet it is loaded first, in an instance of its own that
// no shape confines.
func (r *run) golden(ctx context.Context, inst provider.Instance) (about record.Golden, err error) {
	keep, ok := inst.(provider.Snapshotter)
	if !ok {
		return about, fmt.Errorf("provider %s can't keep golden states", r.Provider.Name())
	}
	text, found, err := keep.Find(ctx, r.goldenKey())
	if err != nil {
		return about, fmt.Errorf("look for golden state %s: %w", r.goldenKey(), err)
	}
	if found {
		if err := json.Unmarshal(text, &about); err != nil {
			return about, fmt.Errorf("golden state %s has a broken description: %w", r.goldenKey(), err)
		}
		return about, nil
	}
	loading, err := r.Provider.Provision(ctx, provider.Request{Name: "load", Cache: r.Cache})
	if err != nil {
		return about, fmt.Errorf("provision an instance to load: %w", err)
	}
	defer func() { err = errors.Join(err, r.release(ctx, loading)) }()
	if err := r.load(ctx, loading, &about); err != nil {
		return about, err
	}
	if text, err = json.MarshalIndent(about, "", "  "); err != nil {
		return about, err
	}
	keep, ok = loading.(provider.Snapshotter)
	if !ok {
		return about, fmt.Errorf("provider %s can't keep golden states", r.Provider.Name())
	}
	return about, r.stage("save golden state", func() error { return keep.Save(ctx, r.goldenKey(), text) })
}

// load makes a new database in inst and fills it. The server runs without
// durability meanwhile: a load that does not end is thrown away as a whole.
func (r *run) load(ctx context.Context, inst provider.Instance, about *record.Golden) error {
	machine, ok := inst.(provider.Machine)
	if !ok {
		return fmt.Errorf("provider %s can't run programs in its instances", r.Provider.Name())
	}
	if err := r.stage("create", func() error { return r.Install.Create(ctx, machine) }); err != nil {
		return err
	}
	db, err := r.Install.Start(ctx, machine, engine.Config{Connections: 64, Durable: false})
	if err != nil {
		return err
	}
	var report engine.LoadReport
	err = r.stage("load", func() (err error) {
		report, err = db.Load(ctx, r.def, engine.LoadOptions{Progress: func(stage string, done, all int64) {
			part := -1.0
			if all > 0 {
				part = float64(done) / float64(all)
			}
			r.tell(Progress{Stage: "load: " + stage, Part: part})
		}})
		return err
	})
	*about = record.Golden{
		Key: r.goldenKey(), Created: r.Clock.Now().UTC().Round(time.Second), Rows: report.Rows, Bytes: int64(report.Bytes),
		Fingerprint: report.Fingerprint, StageSeconds: report.StageSeconds,
	}
	return errors.Join(err, r.stop(ctx, db))
}

// restore brings the golden state back and verifies it.
func (r *run) restore(ctx context.Context, inst provider.Instance, golden record.Golden) error {
	keep, ok := inst.(provider.Snapshotter)
	if !ok {
		return fmt.Errorf("provider %s can't restore golden states", r.Provider.Name())
	}
	var done provider.Restored
	err := r.stage("restore", func() (err error) {
		done, err = keep.Restore(ctx, golden.Key)
		return err
	})
	if err != nil {
		return err
	}
	return r.update(func(i *record.Instance) {
		i.Golden = golden
		i.Restore = record.Restore{
			Way: done.Way, Seconds: done.Took.Seconds(), VerifyS: done.Verify.Seconds(),
			Digest: done.Digest, Verified: done.Verified, Bytes: int64(done.Bytes),
		}
	})
}
