//go:build linux

package native

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// logsOn is where Loadstone's directories on a volume for logs are; "" where
// there is no volume.
func logsOn(volume string) string {
	if volume == "" {
		return ""
	}
	return filepath.Join(volume, "loadstone")
}

// makeLogs makes the directory for the database's log, where one is asked for.
func (i *Instance) makeLogs(ctx context.Context, name string) (err error) {
	if dir := logsOn(i.shape.LogVolume); dir != "" {
		if i.logs, err = home.New(ctx, i.clk, instances(dir), name, i.user); err != nil {
			return err
		}
		return i.home.Announce(func(m *home.Mark) { m.Elsewhere = append(m.Elsewhere, i.logs.Dir) })
	}
	return nil
}

// proveLogs looks whether the instance's user can write where the log will be:
// a volume may be closed to it, or read-only.
func (i *Instance) proveLogs(ctx context.Context) error {
	if i.logs == nil {
		return nil
	}
	out, err := i.Command(ctx, "/bin/sh", "-c", `: >"$0/probe" && rm "$0/probe"`, i.LogDir()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("instance.log_volume: %s can't write in %s: %w: %s", i.user.Name, i.LogDir(), err, firstLine(out))
	}
	return nil
}

// LogDir implements provider.Volumes.
func (i *Instance) LogDir() string {
	if i.logs == nil {
		return ""
	}
	return i.logs.Data()
}

// volumes reads back where the instance's files are, for the volumes that were
// asked for.
func (i *Instance) volumes() (knobs []provider.Knob) {
	if v := i.shape.DataVolume; v != "" {
		knobs = append(knobs, home.Volume("instance.data_volume", v, i.Dir()))
	}
	if v := i.shape.LogVolume; v != "" {
		knobs = append(knobs, home.Volume("instance.log_volume", v, i.LogDir()))
	}
	return knobs
}
