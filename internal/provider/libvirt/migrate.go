//go:build linux

package libvirt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/digitalocean/go-libvirt"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Migrating on one machine: libvirt refuses to migrate a guest to the host on
// which it is, which it knows by its UUID. So there is a second daemon of our
// own, beside the first, with a UUID of its own, and the two do what they would
// do between machines: the first one's emulator sends the guest's memory while
// it runs, page by page and again what has changed, stops it, sends the rest,
// and the second one's lets it run on. The memory goes over a Unix socket, the
// disks are the same files, and the network between host and guest is a second
// device with the address of the first: when the first goes with its emulator,
// the kernel's route to the guest is the second's.

// restBound is how long the port to the guest may take to come to rest before a
// migration.
const restBound = 10 * time.Second

// travel is what of an instance changes when it migrates.
type travel struct {
	mu     sync.RWMutex // guards Instance.conn and .domain against who only counts
	moves  atomic.Int64 // how often it has migrated
	moving atomic.Bool
	next   *libvirt.Libvirt // the daemon to migrate to; nil until ready
	to     daemon
}

// where is the daemon and the domain that the guest is in.
func (i *Instance) where() (*libvirt.Libvirt, libvirt.Domain) {
	i.travel.mu.RLock()
	defer i.travel.mu.RUnlock()
	return i.conn, i.domain
}

// errNotOurs says why a guest can't migrate.
var errNotOurs = errors.New("the guest is managed by the system's libvirt, and migrating on one machine takes two daemons of Loadstone's own")

// ReadyToMigrate implements provider.Migrator: it starts the daemon that the
// guest goes to.
func (i *Instance) ReadyToMigrate(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.readyToMigrate(ctx)
}

func (i *Instance) readyToMigrate(ctx context.Context) (err error) {
	t := &i.travel
	if t.next != nil {
		return nil
	}
	if !i.daemon.own {
		return errNotOurs
	}
	dir := filepath.Join(guests(i.cache), "libvirt")
	if strings.HasPrefix(i.daemon.socket, dir+string(filepath.Separator)) {
		dir += "-2"
	}
	sum := sha256.Sum256([]byte(dir))
	id := hex.EncodeToString(sum[:16])
	uuid := fmt.Sprintf("host_uuid = \"%s-%s-%s-%s-%s\"", id[:8], id[8:12], id[12:16], id[16:20], id[20:])
	if t.to, err = privateDaemon(ctx, i.clk, dir, []string{uuid}); err != nil {
		return err
	}
	t.next, err = t.to.connect()
	return err
}

// Migrate implements provider.Migrator. What else asks something of the guest
// over its port waits meanwhile; sessions over the network do not. The downtime
// is what the emulators say of each other. Where ctx ends first, the guest stays
// where it is.
func (i *Instance) Migrate(ctx context.Context) (done provider.Moved, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || !i.running || i.link == nil {
		return done, errors.New("migrate: the guest does not run")
	}
	if err := i.readyToMigrate(ctx); err != nil {
		return done, fmt.Errorf("migrate: %w", err)
	}
	began := i.clk.Now()
	f := i.link.ferry
	rest, cancel := context.WithTimeout(ctx, restBound)
	err = f.hold(rest, i.clk)
	cancel()
	if err != nil {
		return done, fmt.Errorf("migrate: %w", err)
	}
	i.travel.moving.Store(true)
	defer i.travel.moving.Store(false)
	p := i.planThere()
	log := filepath.Join(filepath.Dir(filepath.Dir(i.travel.to.socket)), "log", "qemu", p.name+".log")
	err = i.home.Announce(func(m *home.Mark) { m.Elsewhere = append(m.Elsewhere, log) })
	var port net.Conn
	if err == nil {
		port, err = i.perform(ctx, p)
	}
	if err != nil {
		f.release()
		return done, fmt.Errorf("migrate: %w", err)
	}
	dom, err := i.travel.next.DomainLookupByName(p.name)
	if err != nil {
		f.board(port)
		return done, fmt.Errorf("migrate: the guest is under neither of the daemons: %w", err)
	}
	done.Downtime, done.Bytes, err = moved(i.travel.next, dom)
	i.arrive(p, dom)
	f.board(port)
	done.Took = i.clk.Now().Sub(began)
	return done, errors.Join(err, i.home.Announce(func(m *home.Mark) { m.Container, m.Engine = p.name, i.daemon.socket }))
}

// planThere is the plan of the machine at the place to which it goes: what two
// emulators can't have at once has other names there.
func (i *Instance) planThere() *plan {
	p := *i.plan
	n := i.travel.moves.Load() + 1
	p.name = fmt.Sprintf("%s%s-%d", namePrefix, i.home.ID, n)
	p.channel, p.console = filepath.Join(i.vm(), fmt.Sprintf("agent-%d", n)), filepath.Join(i.vm(), fmt.Sprintf("console-%d", n))
	if p.tap != "" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", p.owner, n))
		p.tap = "ls" + hex.EncodeToString(sum[:5])
	}
	return &p
}

// describeThere is the running machine as the other daemon shall have it, but for
// its own name, which libvirt takes apart: p differs from i.plan only in names.
func (i *Instance) describeThere(p *plan) (string, error) {
	text, err := i.conn.DomainGetXMLDesc(i.domain, libvirt.DomainXMLMigratable|libvirt.DomainXMLSecure)
	if err != nil {
		return "", err
	}
	for _, name := range [][2]string{{i.plan.channel, p.channel}, {i.plan.console, p.console}, {i.plan.tap, p.tap}} {
		from, to := escape(name[0]), escape(name[1])
		text = strings.NewReplacer("'"+from+"'", "'"+to+"'", `"`+from+`"`, `"`+to+`"`).Replace(text)
	}
	return text, nil
}

// perform lets the two daemons move the guest. Meanwhile it connects to the port
// of the new emulator: one that nobody is connected to would tell the guest that
// its host is gone. After an error the guest is where it was.
func (i *Instance) perform(ctx context.Context, p *plan) (net.Conn, error) {
	description, err := i.describeThere(p)
	if err != nil {
		return nil, err
	}
	// Paths of sockets may have 107 bytes only, and daemons know no other way.
	dir, err := os.MkdirTemp("", "loadstone-migrate-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Symlink(i.travel.to.socket, filepath.Join(dir, "daemon")); err != nil {
		return nil, err
	}
	at, dom := i.conn, i.domain
	over := make(chan error, 1)
	go func() {
		_, err := at.DomainMigratePerform3Params(dom, libvirt.OptString{"qemu+unix:///system?socket=" + filepath.Join(dir, "daemon")}, []libvirt.TypedParam{
			worded("migrate_uri", "unix://"+filepath.Join(dir, "memory")), worded("destination_name", p.name), worded("destination_xml", description),
		}, nil, libvirt.MigrateLive|libvirt.MigratePeer2peer|libvirt.MigrateUnsafe)
		over <- err
	}()
	looking, found := context.WithCancel(context.WithoutCancel(ctx))
	ports := make(chan net.Conn, 1)
	go func() { ports <- i.dialPort(looking, p.channel) }()
	select {
	case err = <-over:
	case <-ctx.Done():
		err = i.abort(ctx, at, dom, over)
	}
	found()
	port := <-ports
	if err == nil && port == nil {
		err = errors.New("the guest went over before anybody was connected to its port, and takes its host for gone")
	}
	if err != nil && port != nil {
		_ = port.Close()
	}
	return port, err
}

// abort ends a migration. One that has got too far succeeds: then there is no
// error.
func (i *Instance) abort(ctx context.Context, at *libvirt.Libvirt, dom libvirt.Domain, over <-chan error) error {
	for {
		_ = at.DomainAbortJob(dom) // it may not have begun yet, or have ended
		select {
		case err := <-over:
			if err != nil {
				err = errors.Join(context.Cause(ctx), err)
			}
			return err
		default:
			_ = cgroup.Pause(context.WithoutCancel(ctx), i.clk)
		}
	}
}

func worded(name, text string) libvirt.TypedParam {
	return libvirt.TypedParam{Field: name, Value: *libvirt.NewTypedParamValueString(text)}
}

// dialPort connects to the port at path as soon as there is one; nil where ctx
// ends first.
func (i *Instance) dialPort(ctx context.Context, path string) net.Conn {
	for {
		if conn, err := dialShort(path); err == nil {
			return conn
		}
		if cgroup.Pause(ctx, i.clk) != nil {
			return nil
		}
	}
}

// arrive notes that the guest is at p now, under the other daemon.
func (i *Instance) arrive(p *plan, dom libvirt.Domain) {
	t := &i.travel
	t.mu.Lock()
	left := i.conn
	i.conn, i.domain = t.next, dom
	t.moves.Add(1)
	t.mu.Unlock()
	i.daemon, i.plan = t.to, p
	t.next, t.to = nil, daemon{}
	_ = left.Disconnect()
}

// moved is what the emulators say of the migration that brought dom here: how
// long the guest stood still, and how much was sent.
func moved(conn *libvirt.Libvirt, dom libvirt.Domain) (downtime time.Duration, bytes unit.Bytes, err error) {
	_, params, err := conn.DomainGetJobStats(dom, libvirt.DomainJobStatsCompleted)
	if err != nil {
		return 0, 0, fmt.Errorf("what the migration took: %w", err)
	}
	values := whole(params)
	return time.Duration(values["downtime"]) * time.Millisecond, unit.Bytes(values["data_processed"]), nil
}

// follower is a source of counters that goes on where the guest does: when it
// has migrated, it reads from the new emulator, and totals go on from where the
// old one's were last read. A reading that fails while the guest migrates is
// left empty.
type follower struct {
	inst *Instance
	make func() (observe.Source, error)

	in         observe.Source
	from       []int // for each of our columns, where it is in in's; -1 for none
	moves      int64
	values     []float64
	base, last []float64
	columns    []observe.Column
}

// follow returns a source that make makes, and makes anew for each emulator.
func (i *Instance) follow(make func() (observe.Source, error)) (*follower, error) {
	f := &follower{inst: i, make: make, moves: i.travel.moves.Load()}
	in, err := make()
	if err != nil {
		return nil, err
	}
	f.columns = in.Columns()
	f.base, f.last = zeros(len(f.columns)), zeros(len(f.columns))
	f.attach(in)
	return f, nil
}

func zeros(n int) []float64 { return make([]float64, n) }

// attach reads from in from now on.
func (f *follower) attach(in observe.Source) {
	f.in, f.from = in, nil
	there := in.Columns()
	f.values = zeros(len(there))
	for _, c := range f.columns {
		f.from = append(f.from, slices.IndexFunc(there, func(x observe.Column) bool { return x.Name == c.Name }))
	}
}

// Name implements observe.Source.
func (f *follower) Name() string { return f.in.Name() }

// Columns implements observe.Source.
func (f *follower) Columns() []observe.Column { return f.columns }

// Read implements observe.Source.
func (f *follower) Read(ctx context.Context, out []float64) error {
	moves := f.inst.travel.moves.Load()
	err := f.catchUp(moves)
	if err == nil {
		err = f.in.Read(ctx, f.values)
	}
	moved := f.inst.travel.moves.Load() != moves
	if err != nil && !moved && !f.inst.travel.moving.Load() {
		return err
	}
	for n, at := range f.from {
		out[n] = math.NaN()
		if err != nil || at < 0 {
			continue
		}
		out[n] = f.values[at]
		if f.columns[n].Total {
			out[n] = f.goneOn(n, out[n])
		}
	}
	return nil
}

// goneOn is what total n, which is v in this emulator, is over all that the guest
// was in. One that falls within an emulator is a reading of one that is about to
// end, and no reading.
func (f *follower) goneOn(n int, v float64) float64 {
	if math.IsNaN(v) || v < f.last[n] {
		return math.NaN()
	}
	f.last[n] = v
	return f.base[n] + v
}

// catchUp goes over to the emulator that the guest is in after so many moves.
func (f *follower) catchUp(moves int64) error {
	if moves == f.moves {
		return nil
	}
	in, err := f.make()
	if err != nil {
		return err
	}
	f.moves = moves
	for n := range f.base {
		f.base[n], f.last[n] = f.base[n]+f.last[n], 0
	}
	f.attach(in)
	return nil
}
