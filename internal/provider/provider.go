// Package provider is where an instance lives: a native host, a container, a
// virtual machine. A provider makes an instance of the shape that is asked
// for, reads back what it set, and takes everything away again.
//
// What more an instance can do is found by assertion: Machine, Snapshotter,
// CounterSource, Warner. What more a provider can do is, too: Noter, Cleaner,
// Storer.
package provider

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Provider makes instances.
type Provider interface {
	Name() string
	// Check says why instances of this shape can't be had here; nothing is
	// started. Each problem names the knob and the remedy.
	Check(ctx context.Context, s Shape) []Problem
	Provision(ctx context.Context, r Request) (Instance, error)
}

// Virtualizer is a provider whose instances may be virtual machines. Where
// they are, Shape.LargePages tells guest and host apart.
type Virtualizer interface{ Virtual() bool }

// Volumes is an instance with a directory for the database's log apart from
// Machine.Dir: it belongs to the same user, is on Shape.LogVolume, is empty,
// and goes away with the instance.
type Volumes interface{ LogDir() string }

// Noter is a provider that knows what a reader of a plan should know of its
// instances of a shape here, beside the problems of Check.
type Noter interface {
	Notes(ctx context.Context, s Shape) []string
}

// Warner is an instance that knows what a reader of its figures should know,
// such as that its processor is emulated.
type Warner interface{ Warnings() []string }

// Problem is a reason why something can't be had on this machine.
type Problem struct {
	Knob   string // "instance.cpus"
	Reason string
	Remedy string
}

// Shape is the size and place of an instance. Zero fields are not confined.
type Shape struct {
	CPUs      float64    // CPU time as a number of CPUs (a quota)
	CPUSet    string     // which CPUs, as the kernel lists them: "0-1,4"
	Mems      string     // which NUMA nodes memory comes from, as the kernel lists them: "0"
	Memory    unit.Bytes // limit; swap is kept out, too
	CPUShares int        // weight in the kernel's cgroup v1 scale, 1024 is normal
	// What the instance may do in a second on the disk that holds its
	// directory. The kernel limits requests to the device, not to files:
	// what the page cache answers is free.
	ReadBytesPS, WriteBytesPS unit.Bytes
	ReadOpsPS, WriteOpsPS     int
	// Reservation is CPU time that is kept for the instance even where others
	// want it, as a number of CPUs. Control groups have no such thing.
	Reservation float64
	// Topology is what a guest sees; the zero value leaves it to the provider.
	Topology Topology
	// VirtualNUMA is how many NUMA nodes a guest sees.
	VirtualNUMA int
	// LargePages are LargePagesOff, LargePagesGuest, LargePagesHost or
	// LargePagesBoth; "" leaves them to the provider.
	LargePages string
	// LatencySensitivity is "normal" or "high"; "" leaves it to the provider.
	LatencySensitivity string
	// DiskAdapter and NetworkAdapter are devices of a guest, by the provider's
	// names: "virtio-blk", "virtio-scsi", "pvscsi", "e1000".
	DiskAdapter, NetworkAdapter string
	// DataVolume is a directory, most likely on another file system, that holds
	// the instance's files instead of Request.Cache; LogVolume one for the
	// database's log apart. Both are absolute paths on the instances' host.
	DataVolume, LogVolume string
}

// Topology is how many sockets, cores of a socket and threads of a core a
// guest sees.
type Topology struct{ Sockets, Cores, Threads int }

// What Shape.LargePages may be: whether the engine's buffers are in large
// pages (of a guest, where there is one), and whether the host backs the
// instance's memory by large pages.
const (
	LargePagesOff   = "off"
	LargePagesGuest = "guest"
	LargePagesHost  = "host"
	LargePagesBoth  = "both"
)

// Request asks for one instance.
type Request struct {
	Name  string // unique among the instances of a trial
	Shape Shape
	// Image names the container image to run in; "" is the provider's own.
	// Providers that have no images refuse one.
	Image string
	// Cache is the directory under which instances and golden states live.
	Cache string
	// Golden is the key of a golden state that will be restored next. A
	// provider may begin with it, so that Restore finds it done; most do not
	// look at it. It need not be there.
	Golden string
}

// Instance is a place for one database server.
type Instance interface {
	// Close ends whatever runs in the instance and removes it. It is
	// idempotent and safe after half a provision.
	Close(ctx context.Context) error
}

// Machine is an instance that runs programs: see engine.Machine.
type Machine interface {
	Command(ctx context.Context, name string, args ...string) *exec.Cmd
	Dir() string
	Capacity() (cpus float64, memory unit.Bytes)
}

// Shaped is an instance that can read its shape back.
type Shaped interface {
	// Effective reads every knob back from where the system keeps it.
	Effective(ctx context.Context) ([]Knob, error)
}

// Knob is one knob, asked for and read back.
type Knob struct {
	Name      string
	Intended  string // "" where nobody asked
	Effective string
	Matches   bool
}

// Snapshotter keeps golden states of an instance's directory. A key is made
// of letters, digits, dots, dashes and underscores, and begins with no dot.
type Snapshotter interface {
	// Find returns the description that was saved with key, or ok false.
	Find(ctx context.Context, key string) (about []byte, ok bool, err error)
	// Save keeps the directory, which no process may have open, under key.
	// It is whole or not there at all, even after a crash.
	Save(ctx context.Context, key string, about []byte) error
	// Restore replaces the directory's contents by the state under key and
	// verifies them.
	// Its error is ErrDamaged where the state is not what was saved.
	Restore(ctx context.Context, key string) (Restored, error)
	// Remove removes the state under key; it is no error if there is none.
	Remove(ctx context.Context, key string) error
}

// LastSaver is a Snapshotter that saves faster where nothing but Close follows.
type LastSaver interface {
	// SaveLast is Save; afterwards the instance can only be closed.
	SaveLast(ctx context.Context, key string, about []byte) error
}

// ErrDamaged says that a golden state is not what was saved.
var ErrDamaged = errors.New("the golden state is damaged: remove it, it will be built again")

// Restored tells how a golden state was restored.
type Restored struct {
	Way      string        // "reflink", "overlay", "copy"
	Took     time.Duration // the copy
	Verify   time.Duration // the verification
	Digest   string        // of the files, the same as when saved
	Verified string        // what the digest covers: "all 61 MiB", "sizes of 1,210 files and 256 MiB of samples"
	Bytes    unit.Bytes
}

// CounterSource is an instance with counters of its own.
type CounterSource interface{ Sources() []observe.Source }
