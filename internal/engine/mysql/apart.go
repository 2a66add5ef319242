package mysql

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// LogApart implements engine.Equipped: InnoDB's redo log. There is no binary
// log, and Aria's log, of the product's own tables, stays with the data.
func (product) LogApart() bool { return true }

// LargePages implements engine.Equipped: the setting large_pages.
func (product) LargePages() bool { return true }

// The names of the settings behind engine.Config.LogDir and LargePages.
const (
	settingLogDir = "innodb_log_group_home_dir"
	settingPages  = "large_pages"
)

// equipment are the settings behind what an instance has.
func equipment(c engine.Config) (chosen []choice) {
	if c.LogDir != "" {
		chosen = append(chosen, choice{settingLogDir, c.LogDir, "instance.log_volume"})
	}
	if c.LargePages != "" {
		chosen = append(chosen, choice{settingPages, strings.ToUpper(c.LargePages), "instance.large_pages"})
	}
	return chosen
}

// saidTwice says that a study sets what its instance says already.
func saidTwice(name string, c engine.Config) error {
	for _, e := range equipment(c) {
		if e.name == name {
			return fmt.Errorf("setting %s: %s says it already", name, e.why)
		}
	}
	return nil
}

// moveLog moves the redo log to dir: files ib_logfile…, from MySQL 8.0.30 on a
// directory #innodb_redo. Where it is there already, as after a crash, nothing
// happens.
func moveLog(ctx context.Context, m engine.Machine, dir string) error {
	const script = `for f in "$1"/ib_logfile* "$1"/\#innodb_redo; do
  [ -e "$f" ] || continue
  mv "$f" "$2" || exit
done`
	if _, err := daemon.Run(m.Command(ctx, "sh", "-c", script, "sh", dataDir(m), dir)); err != nil {
		return fmt.Errorf("move the redo log to %s: %w", dir, err)
	}
	return nil
}

// logSetting reads back in which directories a redo log is.
func (s *server) logSetting(ctx context.Context) (engine.Setting, error) {
	const script = `for d in "$@"; do
  for f in "$d"/ib_logfile0 "$d"/\#innodb_redo; do
    [ -e "$f" ] && echo "$d"
  done
done; true`
	at, err := daemon.Run(s.machine.Command(ctx, "sh", "-c", script, "sh", s.logDir, dataDir(s.machine)))
	if err != nil {
		return engine.Setting{}, fmt.Errorf("look where the redo log is: %w", err)
	}
	return engine.Setting{
		Name: "redo_log", Intended: path.Clean(s.logDir), Effective: strings.ReplaceAll(at, "\n", ", "),
		Default: "in the data directory", Why: "instance.log_volume", Matches: at == s.logDir,
	}, nil
}

// pages is how much of the server's memory is in large pages, as its kernel
// says. The setting large_pages does not tell, because a server that can't have
// any takes ordinary ones.
func (s *server) pages(ctx context.Context) (unit.Bytes, error) {
	const script = `read -r p <"$1" && grep -E '^(Size|KernelPageSize):' "/proc/$p/smaps"`
	out, err := daemon.Run(s.machine.Command(ctx, "sh", "-c", script, "sh", path.Join(dataDir(s.machine), pidFile)))
	if err != nil {
		return 0, fmt.Errorf("look for the server's large pages: %w", err)
	}
	return inLargePages(out)
}

// largePage is above which a page is large: 64 KiB is the largest ordinary size
// of page that Linux has.
const largePage = 64 * unit.KiB

// inLargePages adds up the mappings with large pages among lines such as
// "Size: 4 kB" and "KernelPageSize: 4 kB", which follow each other for every
// mapping (proc_pid_smaps(5)). A mapping counts whole: its pages are reserved.
func inLargePages(smaps string) (sum unit.Bytes, err error) {
	var size unit.Bytes
	for line := range strings.Lines(smaps) {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != "kB" {
			return 0, fmt.Errorf("%q is no size of a mapping", line)
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("size of a mapping: %w", err)
		}
		switch kb := unit.Bytes(n) * unit.KiB; {
		case f[0] == "Size:":
			size = kb
		case kb > largePage:
			sum += size
		}
	}
	return sum, nil
}

// pool is the least that must be in large pages: the buffer pool, as far as its
// size was chosen.
func (s *server) pool() unit.Bytes {
	for _, c := range s.chosen {
		if c.name == "innodb_buffer_pool_size" {
			if n, ok := number(c.value); ok {
				return unit.Bytes(n)
			}
		}
	}
	return 1
}

// pagesSetting compares the server's pages with what was asked for.
func (s *server) pagesSetting(ctx context.Context) (engine.Setting, error) {
	got, err := s.pages(ctx)
	if err != nil {
		return engine.Setting{}, err
	}
	out := engine.Setting{Name: "memory_in_large_pages", Effective: got.Human(), Default: "none", Why: "instance.large_pages"}
	if out.Intended = "none"; s.largePages == "on" {
		out.Intended, out.Matches = "the buffer pool, "+s.pool().Human(), got >= s.pool()
	} else {
		out.Matches = got == 0
	}
	return out, nil
}

// provePages fails where the server's pages are not those that were asked for.
func (s *server) provePages(ctx context.Context) error {
	if s.largePages == "" {
		return nil
	}
	p, err := s.pagesSetting(ctx)
	if err == nil && !p.Matches {
		err = fmt.Errorf("instance.large_pages: the server has %s in large pages, and should have %s: reserve as many as its buffers need, and no other server's (sysctl -w vm.nr_hugepages=N)", p.Effective, p.Intended)
	}
	return err
}

// equipped reads back what the instance has, beside the settings.
func (s *server) equipped(ctx context.Context) (out []engine.Setting, err error) {
	if s.logDir != "" {
		log, err := s.logSetting(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, log)
	}
	if s.largePages != "" {
		pages, err := s.pagesSetting(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, pages)
	}
	return out, nil
}
