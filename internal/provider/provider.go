// Package provider is where an instance lives: a native host, a container, a
// virtual machine. A provider makes an instance of the shape that is asked
// for, reads back what it set, and takes everything away again.
//
// What more an instance can do is found by assertion: Machine, Snapshotter,
// CounterSource.
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
	Memory    unit.Bytes // limit
	CPUShares int        // weight in the kernel's cgroup v1 scale, 1024 is normal
}

// Request asks for one instance.
type Request struct {
	Name  string // unique among the instances of a trial
	Shape Shape
	// Cache is the directory under which instances and golden states live.
	Cache string
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
