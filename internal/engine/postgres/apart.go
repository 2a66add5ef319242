package postgres

import (
	"context"
	"fmt"
	"path"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
)

// LogApart implements engine.Equipped.
func (product) LogApart() bool { return true }

// LargePages implements engine.Equipped: the setting huge_pages.
func (product) LargePages() bool { return true }

// moveLog moves the cluster's write-ahead log to a directory below dir, with a
// link in its place: what initdb --waldir makes. Where it is there already, as
// after a crash, nothing happens.
func moveLog(ctx context.Context, m engine.Machine, dir string) error {
	const script = `if [ -L "$1" ]; then [ "$(readlink "$1")" = "$2" ]; exit; fi
mv "$1" "$2" && ln -s "$2" "$1"`
	if _, err := daemon.Run(m.Command(ctx, "sh", "-c", script, "sh", path.Join(dataDir(m), "pg_wal"), path.Join(dir, "pg_wal"))); err != nil {
		return fmt.Errorf("move the write-ahead log to %s: %w", dir, err)
	}
	return nil
}

// logSetting reads back where the write-ahead log is.
func (s *server) logSetting(ctx context.Context) (engine.Setting, error) {
	at, err := daemon.Run(s.machine.Command(ctx, "readlink", path.Join(dataDir(s.machine), "pg_wal")))
	if err != nil {
		return engine.Setting{}, fmt.Errorf("look where the write-ahead log is: %w", err)
	}
	want := path.Join(s.logDir, "pg_wal")
	return engine.Setting{
		Name: "pg_wal", Intended: want, Effective: at, Default: "in the data directory", Why: "instance.log_volume", Matches: at == want,
	}, nil
}
