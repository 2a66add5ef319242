//go:build linux

package libvirt

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/digitalocean/go-libvirt"
	"golang.org/x/sys/unix"
	"libvirt.org/go/libvirtxml"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/golden"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// mark is what our metadata says of a domain's owner.
type mark struct {
	Home  string `xml:"home"`
	Owner struct {
		PID   int    `xml:"pid,attr"`
		Start uint64 `xml:"start,attr"`
		Boot  string `xml:"boot,attr"`
		Space string `xml:"space,attr"`
	} `xml:"owner"`
}

// metadata is the mark of a domain of the instance in dir.
func metadata(dir string, o home.Owner) string {
	owner := ""
	if o.PID != 0 {
		owner = fmt.Sprintf(`<owner pid="%d" start="%d" boot="%s" space="%s"/>`, o.PID, o.StartTime, escape(o.Boot), escape(o.Space))
	}
	return fmt.Sprintf(`<loadstone xmlns="%s"><home>%s</home>%s</loadstone>`, namespace, escape(dir), owner)
}

// machine is a domain of ours.
type machine struct {
	domain libvirt.Domain
	home   string // the instance's directory
	owner  home.Owner
}

// machineOf reads the mark of a domain; ok is false for one that is not
// Loadstone's.
func machineOf(conn *libvirt.Libvirt, dom libvirt.Domain) (m machine, ok bool) {
	if !strings.HasPrefix(dom.Name, namePrefix) {
		return m, false
	}
	text, err := conn.DomainGetXMLDesc(dom, 0)
	if err != nil {
		return m, false
	}
	var d libvirtxml.Domain
	if d.Unmarshal(text) != nil || d.Metadata == nil || !strings.Contains(d.Metadata.XML, namespace) {
		return m, false
	}
	var k mark
	if xml.Unmarshal([]byte(d.Metadata.XML), &k) != nil || k.Home == "" {
		return m, false
	}
	o := k.Owner
	return machine{dom, k.Home, home.Owner{PID: o.PID, StartTime: o.Start, Boot: o.Boot, Space: o.Space}}, true
}

// machines lists the domains that any Loadstone made.
func machines(conn *libvirt.Libvirt) (all []machine, err error) {
	domains, _, err := conn.ConnectListAllDomains(1, 0)
	if err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	for _, dom := range domains {
		if m, ok := machineOf(conn, dom); ok {
			all = append(all, m)
		}
	}
	return all, nil
}

// orphaned says whether the machine's directory is gone, and its owner is known
// not to run.
func (m machine) orphaned() bool {
	if _, err := os.Stat(m.home); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	runs, known := m.owner.Runs()
	return known && !runs
}

// sweep removes what dead owners left: domains, directories, unfinished golden
// states and images. It touches nothing whose owner lives, and nothing without a
// mark.
func (i *Instance) sweep(ctx context.Context) error {
	all, err := machines(i.conn)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range all {
		if m.orphaned() {
			errs = append(errs, destroy(ctx, i.clk, i.conn, m.domain))
		}
	}
	_, err = home.Sweep(ctx, i.clk, guests(i.cache), cleaner(i.clk, i.conn, all))
	_, goldenErr := golden.Sweep(guests(i.cache))
	for _, l := range unfinishedImages(i.cache) {
		if err := l.Remove(ctx); !errors.Is(err, provider.ErrOwned) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(append(errs, err, goldenErr)...); err != nil {
		return fmt.Errorf("removing what an earlier run left: %w", err)
	}
	return nil
}

// cleaner is what removes a dead owner's instance outside of its directory. conn
// is nil where no daemon answers; then there is nobody but the emulator itself.
func cleaner(clk clock.Clock, conn *libvirt.Libvirt, all []machine) home.Clean {
	return func(ctx context.Context, dir string, m home.Mark, sameBoot bool) ([]string, error) {
		removed, err := home.RemoveSockets(filepath.Join(dir, "data"), m.UID)
		if err != nil || !sameBoot {
			return removed, err
		}
		n := slices.IndexFunc(all, func(m machine) bool { return m.home == dir })
		if n >= 0 && conn != nil {
			if err := destroy(ctx, clk, conn, all[n].domain); err != nil {
				return removed, err
			}
			removed = append(removed, "machine "+all[n].domain.Name)
		}
		err = endEmulator(ctx, clk, namePrefix+m.ID)
		if err == nil && m.Container != "" { // where it has migrated, its name is another
			err = endEmulator(ctx, clk, m.Container)
		}
		return removed, err
	}
}

// endEmulator kills the emulator of the machine with this name, which may have
// outlived its daemon, and waits until it is gone.
func endEmulator(ctx context.Context, clk clock.Clock, name string) error {
	for {
		pid, there := emulatorOf(name)
		if !there {
			return nil
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end emulator %d of %s: %w", pid, name, err)
		}
		if err := cgroup.Pause(ctx, clk); err != nil {
			return fmt.Errorf("emulator %d of %s does not end: %w", pid, name, err)
		}
	}
}

// Leftovers implements provider.Cleaner. It starts no daemon: where none
// answers, only emulators can be left of machines, and they are found by their
// names.
func (p Provider) Leftovers(ctx context.Context, cache string) ([]provider.Leftover, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return nil, fmt.Errorf("leftovers: %w", err)
	}
	if !exists(guests(cache)) {
		return nil, nil
	}
	var all []machine
	conn, err := p.answering(cache)
	if err == nil && conn != nil {
		defer func() { _ = conn.Disconnect() }()
		all, err = machines(conn)
	}
	if err != nil {
		return nil, fmt.Errorf("leftovers in %s: %w", guests(cache), err)
	}
	dead, err := home.Find(ctx, p.clk, guests(cache))
	if err != nil {
		return nil, fmt.Errorf("leftovers in %s: %w", guests(cache), err)
	}
	var found []provider.Leftover
	for _, d := range dead {
		found = append(found, p.instance(d, cache, all))
	}
	for _, m := range all {
		if m.orphaned() {
			found = append(found, p.orphan(m, cache))
		}
	}
	states, err := golden.Unfinished(guests(cache))
	if err != nil {
		return nil, fmt.Errorf("leftovers in %s: %w", guests(cache), err)
	}
	return append(append(found, states...), unfinishedImages(cache)...), nil
}

// answering connects to the daemon that has the machines of a cache; nil where
// none answers.
func (p Provider) answering(cache string) (*libvirt.Libvirt, error) {
	d, ok := runningDaemon(filepath.Join(guests(cache), "libvirt"))
	if !ok {
		return nil, nil
	}
	return d.connect()
}

// instance describes what a dead owner left.
func (p Provider) instance(d home.Dead, cache string, all []machine) provider.Leftover {
	parts := home.Sockets(filepath.Join(d.Dir, "data"), d.Mark.UID)
	name := namePrefix + d.Mark.ID
	for _, m := range all {
		if m.home == d.Dir {
			parts = append(parts, "virtual machine "+m.domain.Name)
		}
	}
	if pid, there := emulatorOf(name); there && !d.Half {
		parts = append(parts, fmt.Sprintf("process %d", pid))
	}
	l := d.Leftover(p.clk, "instance", parts, nil)
	l.Remove = func(ctx context.Context) error {
		conn, err := p.answering(cache)
		if err != nil {
			return err
		}
		var now []machine
		if conn != nil {
			defer func() { _ = conn.Disconnect() }()
			if now, err = machines(conn); err != nil {
				return err
			}
		}
		return d.Remove(ctx, p.clk, cleaner(p.clk, conn, now))
	}
	return l
}

// orphan describes a machine whose instance's directory is gone.
func (p Provider) orphan(m machine, cache string) provider.Leftover {
	return provider.Leftover{
		Kind: "virtual machine", What: m.domain.Name, Owner: provider.Owner{PID: m.owner.PID, Started: m.owner.Started()},
		Why: m.owner.Ended() + ", and its directory " + m.home + " is gone",
		Remove: func(ctx context.Context) error {
			if !m.orphaned() {
				return fmt.Errorf("machine %s: %w", m.domain.Name, provider.ErrOwned)
			}
			ctx, cancel := context.WithTimeout(ctx, home.SweepBound)
			defer cancel()
			conn, err := p.answering(cache)
			if err != nil {
				return err
			}
			if conn != nil {
				defer func() { _ = conn.Disconnect() }()
				if err := destroy(ctx, p.clk, conn, m.domain); err != nil {
					return err
				}
			}
			return endEmulator(ctx, p.clk, m.domain.Name)
		},
	}
}

// makingImage begins the names of directories in which images are made, under
// the lock of the image's name.
const (
	makingImage = ".making-"
	lockOfImage = ".lock-"
)

// unfinishedImages lists the images that a dead owner did not finish.
func unfinishedImages(cache string) (found []provider.Leftover) {
	dirs, _ := filepath.Glob(filepath.Join(images(cache), makingImage+"*"))
	for _, dir := range dirs {
		name := strings.TrimPrefix(filepath.Base(dir), makingImage)
		if !home.HoldsOnly(dir, "out", "stage") {
			continue
		}
		free, err := whileUnlocked(cache, name, func() error { return nil })
		if !free || err != nil {
			continue
		}
		l := provider.Leftover{Kind: "unfinished image", What: dir, Why: "nobody holds the lock under which it was made", Bytes: home.SizeOf(dir)}
		if info, err := os.Stat(dir); err == nil {
			l.Since = info.ModTime()
		}
		l.Remove = func(context.Context) error {
			free, err := whileUnlocked(cache, name, func() error { return home.RemoveTree(dir) })
			if err == nil && !free {
				err = fmt.Errorf("%s: %w", dir, provider.ErrOwned)
			}
			return err
		}
		found = append(found, l)
	}
	return found
}

// whileUnlocked calls do while it holds the lock of an image; free is false
// where somebody else does.
func whileUnlocked(cache, name string, do func() error) (free bool, err error) {
	f, err := os.OpenFile(filepath.Join(images(cache), lockOfImage+name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, nil
	}
	return true, do()
}

// Stored implements provider.Storer: golden states of guests, and images.
func (p Provider) Stored(ctx context.Context, cache string) ([]provider.Leftover, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return nil, fmt.Errorf("golden states: %w", err)
	}
	inUse := func(ctx context.Context) (bool, error) { return home.Living(ctx, p.clk, guests(cache)) }
	found, err := golden.Store{Clock: p.clk, Cache: guests(cache)}.Stored(ctx, inUse)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, pattern := range []string{"root-*.ext4", "data-*.ext4", "init-*.cpio"} {
		some, _ := filepath.Glob(filepath.Join(images(cache), pattern))
		paths = append(paths, some...)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		found = append(found, provider.Leftover{
			Kind: "image", What: path, Since: info.ModTime(), Bytes: home.SizeOf(path),
			Why: "it is kept for the next run, which would make it again",
			Remove: func(ctx context.Context) error {
				if used, err := inUse(ctx); err != nil || used {
					return errors.Join(err, fmt.Errorf("image %s: %w", path, provider.ErrOwned))
				}
				return removeIfThere(path)
			},
		})
	}
	return found, nil
}
