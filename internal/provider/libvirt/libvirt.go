//go:build linux

// Package libvirt runs instances as virtual machines of this machine, through
// libvirt and QEMU: on its processors where it has KVM, else emulated in
// software, which is many times slower and is said wherever figures are.
//
// # What an instance is
//
// One transient domain with
//
//	a root disk   the database servers of this machine's packages and what they
//	              need, read-only, shared by all machines (image.go)
//	a data disk   a qcow2 overlay of its own; mounted in the guest at
//	              Machine.Dir, which is the same path as on the host
//	a port        virtio-serial, over which an agent in the guest is asked to
//	              run commands, to count, to tell of sockets (package guest)
//	a network     a device on the host with only this guest at its other end
//
// and a directory of package home below CACHE/guests, whose vm/ holds what QEMU
// uses. The guest's kernel is a distribution's; its first process is this
// program itself.
//
// # How engines reach a server
//
// When a server in the guest makes a Unix socket in its directory, the same path
// appears on the host. Connections to it go over the guest's network adapter to
// the agent, which joins them to the server's socket: the adapter and the
// guest's network stack are part of what is measured, as is the agent's
// forwarding. Where the host can make no network device, connections go over the
// serial port, and the instance's shape says so.
//
// # How an instance dies with Loadstone
//
// The agent powers the guest off when the host's end of the port is closed,
// which the kernel does when Loadstone ends in any way. What is left where the
// guest hangs is found by its mark when the next instance is made. Domains
// without that mark are never touched.
package libvirt

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt/guest"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

const (
	// closeBound is how long an instance may take to go away.
	closeBound = 60 * time.Second
	// bootBound is how long a guest may take until its agent answers; emulated
	// on a busy machine it takes half a minute.
	bootBound = 3 * time.Minute
	// haltBound is how long a guest may take to make its disk safe.
	haltBound = 2 * time.Minute
)

// Provider makes instances in virtual machines of this machine.
type Provider struct{ clk clock.Clock }

// New returns the libvirt provider.
func New() provider.Provider { return Provider{clk: clock.Real{}} }

// Name implements provider.Provider.
func (Provider) Name() string { return "libvirt" }

// Instance is one virtual machine. It implements provider.Instance, Machine,
// Shaped, Snapshotter and CounterSource.
type Instance struct {
	clk    clock.Clock
	shape  provider.Shape
	image  string
	cache  string
	daemon daemon
	home   *home.Home
	user   home.Account
	plan   *plan
	token  string
	self   string // this program

	conn    *libvirt.Libvirt
	domain  libvirt.Domain
	running bool
	moved   string // where the data disk is, if it was moved
	link    *link  // to the guest's agent; nil while it does not run
	facts   guest.Facts
	gate    *gate
	travel  travel
	fresh   fresh

	// mu serialises what starts and stops the guest, and guards closed.
	mu     sync.Mutex
	closed bool
}

// nameRule limits Request.Name to what is safe in paths and names of domains.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// guests is where all that is libvirt's in a cache is.
func guests(cache string) string { return filepath.Join(cache, "guests") }

// answers says whether the system's libvirt does.
func answers() bool {
	_, ok := systemDaemon()
	return ok
}

// Provision implements provider.Provider. It first removes what dead owners
// left. The shape is read back before it returns; a knob that did not take is
// an error.
func (p Provider) Provision(ctx context.Context, r provider.Request) (provider.Instance, error) {
	inst, err := p.provision(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("libvirt instance %q: %w", r.Name, err)
	}
	return inst, nil
}

func (p Provider) provision(ctx context.Context, r provider.Request) (*Instance, error) {
	if !nameRule.MatchString(r.Name) {
		return nil, errors.New("the name is not 1 to 64 letters, digits, dots, dashes and underscores")
	}
	if err := cgroup.AsError(p.Check(ctx, r.Shape)); err != nil {
		return nil, err
	}
	cache, err := filepath.Abs(r.Cache)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	who, err := home.Unprivileged()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program: %w", err)
	}
	i := &Instance{clk: p.clk, shape: r.Shape, image: r.Image, fresh: fresh{wanted: r.Golden}, cache: cache, user: who, self: self}
	if err := i.make(ctx, r.Name); err != nil {
		return nil, errors.Join(err, i.Close(ctx))
	}
	return i, nil
}

// make goes through the steps of provisioning; Close undoes any number of them.
// Each step that leaves something behind was announced in owner.json before, so
// that a crash in between leaves nothing unknown.
func (i *Instance) make(ctx context.Context, name string) error {
	if err := os.MkdirAll(guests(i.cache), 0o755); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	for _, step := range []func() error{
		func() (err error) { i.plan, err = i.prepare(ctx); return err },
		func() (err error) {
			i.daemon, err = findDaemon(ctx, i.clk, filepath.Join(guests(i.cache), "libvirt"))
			return err
		},
		func() (err error) { i.conn, err = i.daemon.connect(); return err },
		func() error { return i.sweep(ctx) },
		func() (err error) { i.home, err = home.New(ctx, i.clk, guests(i.cache), name, i.user); return err },
		func() error {
			return i.home.Announce(func(m *home.Mark) { m.Container, m.Engine = namePrefix+i.home.ID, i.daemon.socket })
		},
		func() error { return i.announce(i.diskPath()) },
		func() error { return i.announceLogs() },
		func() error { return i.files(ctx) },
		func() error { return i.start(ctx) },
		func() error { return i.prove(ctx) },
		func() error { i.fresh.proven(); return nil },
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// prepare makes what machines share: images, and the plan without what is this
// machine's own.
func (i *Instance) prepare(ctx context.Context) (*plan, error) {
	room, err := (cgroup.Layout{}).Room()
	if err != nil {
		return nil, err
	}
	p := &plan{shape: i.shape, kvm: HasKVM(), memory: memoryOf(i.shape), vcpus: vcpusOf(i.shape, len(room.CPUs))}
	p.pins = pinsOf(i.shape, p.vcpus)
	if p.emulator, err = emulator(); err != nil {
		return nil, err
	}
	k, err := findKernel()
	if err != nil {
		return nil, err
	}
	p.kernel = k.image
	if p.initramfs, err = initramfs(ctx, i.clk, i.cache, i.self, k); err != nil {
		return nil, err
	}
	if i.image != "" {
		p.root = i.image
		if _, err := os.Stat(p.root); err != nil {
			return nil, fmt.Errorf("image %q: %w", i.image, err)
		}
		return p, nil
	}
	p.root, err = rootImage(ctx, i.clk, i.cache, i.user)
	return p, err
}

// files makes the machine's own files and completes the plan.
func (i *Instance) files(ctx context.Context) error {
	vm := i.vm()
	if err := os.Mkdir(vm, 0o711); err != nil {
		return err
	}
	p := i.plan
	p.name, p.owner, p.maker = namePrefix+i.home.ID, i.home.Dir, i.home.Mark.Owner
	p.channel, p.console = filepath.Join(vm, "agent"), filepath.Join(vm, "console")
	p.data = i.diskPath()
	if hasTap() {
		sum := sha256.Sum256([]byte(p.owner))
		p.hostAddress = addressOf(binary.BigEndian.Uint16(sum[:]))
		p.tap = "ls" + hex.EncodeToString(sum[2:7])
	}
	var secret [16]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return err
	}
	i.token = hex.EncodeToString(secret[:])
	if err := i.firstDisk(ctx); err != nil {
		return err
	}
	var err error
	i.gate, err = openGate(filepath.Join(vm, "exec"), i.stream)
	return err
}

// vm is the directory of what QEMU uses.
func (i *Instance) vm() string { return filepath.Join(i.home.Dir, "vm") }

// diskPath is where the data disk's overlay is.
func (i *Instance) diskPath() string {
	if v := i.shape.DataVolume; v != "" {
		return filepath.Join(v, namePrefix+i.home.ID+".qcow2")
	}
	return filepath.Join(i.vm(), "data.qcow2")
}

// announce writes down a disk that is about to be made, with what is beside it
// for a moment, unless it goes away with the instance's directory.
func (i *Instance) announce(disk string) error {
	if below(disk, i.home.Dir) {
		return nil
	}
	return i.home.Announce(func(m *home.Mark) { m.Elsewhere = append(m.Elsewhere, disk, disk+newDisk) })
}

// announceLogs writes down the log that each of our own daemons keeps of a machine
// for ever.
func (i *Instance) announceLogs() error {
	if !i.daemon.own {
		return nil
	}
	return i.home.Announce(func(m *home.Mark) {
		for _, daemon := range []string{"libvirt", "libvirt-2"} {
			m.Elsewhere = append(m.Elsewhere, filepath.Join(guests(i.cache), daemon, "log", "qemu", namePrefix+i.home.ID+".log"))
		}
	})
}

// addressOf is the host's address on the n-th network of four addresses in
// 198.18.0.0/15, which is reserved for benchmarks (RFC 2544); the guest has the
// next one.
func addressOf(n uint16) string {
	at := uint32(198)<<24 | uint32(18)<<16 | uint32(n&0x7fff)<<2
	return net.IPv4(byte(at>>24), byte(at>>16), byte(at>>8), byte(at)+1).String()
}

// guestAddress is the guest's address on the network with the host.
func guestAddress(host string) string {
	ip := net.ParseIP(host).To4()
	return net.IPv4(ip[0], ip[1], ip[2], ip[3]+1).String()
}

// start starts the domain and waits for the agent.
func (i *Instance) start(ctx context.Context) error {
	text, err := i.plan.describe()
	if err != nil {
		return fmt.Errorf("describe the machine: %w", err)
	}
	i.domain, err = i.conn.DomainCreateXML(text, 0)
	if err != nil {
		return fmt.Errorf("start the machine: %w", err)
	}
	i.running = true
	config := guest.Config{Dir: i.Dir(), User: i.user.Name, UID: i.user.UID, GID: i.user.GID, Hostname: hostname(i.home.Mark.Name), LargePages: i.largePages()}
	if i.plan.hostAddress != "" {
		config.Address, config.Token = guestAddress(i.plan.hostAddress)+"/30", i.token
	}
	l, err := openLink(i.plan.channel, config)
	if err != nil {
		return err
	}
	i.mu.Lock()
	i.link = l
	i.mu.Unlock()
	bound, cancel := context.WithTimeout(ctx, bootBound)
	defer cancel()
	if i.facts, err = l.settle(bound, config); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the guest does not come up: %w; its console says:\n%s", err, tail(i.plan.console))
	}
	l.mirror(i.Dir())
	return nil
}

// hostname is what the guest calls itself: letters, digits and dashes.
func hostname(name string) string {
	return regexp.MustCompile(`[^A-Za-z0-9-]`).ReplaceAllString(name, "-")
}

// largePages is how much of its memory the guest lets programs take in large
// pages: all but what the kernel and programs need besides.
func (i *Instance) largePages() int64 {
	if l := i.shape.LargePages; l == provider.LargePagesGuest || l == provider.LargePagesBoth {
		return int64(i.plan.memory) * 3 / 4
	}
	return 0
}

// prove reads the shape back and runs a first command.
func (i *Instance) prove(ctx context.Context) error {
	knobs, err := i.Effective(ctx)
	if err != nil {
		return err
	}
	if err := cgroup.AllMatch(knobs); err != nil {
		return err
	}
	out, err := i.Command(ctx, "/bin/sh", "-c", "id -u && : >probe && rm probe").CombinedOutput()
	if err != nil {
		return fmt.Errorf("a first command in the guest failed: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if got := strings.TrimSpace(string(out)); got != fmt.Sprint(i.user.UID) {
		return fmt.Errorf("a first command in the guest ran as user %s, not %d", got, i.user.UID)
	}
	return nil
}

// Dir implements provider.Machine: a path in the guest; on the host there are
// only the sockets of servers.
func (i *Instance) Dir() string { return i.home.Data() }

// Confined says whether the machine's limits are any that were asked for.
func (i *Instance) Confined() bool { return i.shape != provider.Shape{} }

// Close implements provider.Instance. It takes at most closeBound, whether or
// not ctx has ended.
func (i *Instance) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBound)
	defer cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil
	}
	if err := i.close(ctx); err != nil {
		return fmt.Errorf("close instance: %w", err)
	}
	i.closed = true
	return nil
}

func (i *Instance) close(ctx context.Context) error {
	if i.link != nil {
		i.link.close()
	}
	if i.gate != nil {
		i.gate.close()
	}
	if i.running {
		if err := destroy(ctx, i.clk, i.conn, i.domain); err != nil {
			return err
		}
		i.running = false
	}
	if i.travel.next != nil {
		_ = i.travel.next.Disconnect()
		i.travel.next = nil
	}
	if i.conn != nil {
		_ = i.conn.Disconnect()
		i.conn = nil
	}
	if i.home == nil {
		return nil
	}
	for _, path := range append([]string{i.diskPath(), i.moved}, i.home.Mark.Elsewhere...) {
		if path != "" {
			if err := removeIfThere(path); err != nil {
				return err
			}
		}
	}
	return i.home.Remove()
}

// destroy ends a domain; it is no error if it has ended.
func destroy(ctx context.Context, clk clock.Clock, conn *libvirt.Libvirt, dom libvirt.Domain) error {
	for {
		err := conn.DomainDestroyFlags(dom, 0)
		if err == nil || libvirt.IsNotFound(err) {
			return nil
		}
		if _, gone := conn.DomainLookupByUUID(dom.UUID); libvirt.IsNotFound(gone) {
			return nil
		}
		if cgroup.Pause(ctx, clk) != nil {
			return fmt.Errorf("end the machine: %w", err)
		}
	}
}

// Capacity implements provider.Machine: what was asked for, at most what the
// machine has.
func (i *Instance) Capacity() (cpus float64, memory unit.Bytes) {
	cpus = float64(i.plan.vcpus)
	if i.shape.CPUs > 0 {
		cpus = min(cpus, i.shape.CPUs)
	}
	if set, _ := parseList(i.shape.CPUSet); len(set) > 0 {
		cpus = min(cpus, float64(len(set)))
	}
	return cpus, i.plan.memory
}
