//go:build !linux

// Package libvirt runs instances as virtual machines through libvirt and QEMU,
// on Linux.
package libvirt

import (
	"context"
	"errors"
	"runtime"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// Provider makes instances on Linux only.
type Provider struct{}

// New returns the libvirt provider.
func New() provider.Provider { return Provider{} }

// Name implements provider.Provider.
func (Provider) Name() string { return "libvirt" }

// Check implements provider.Provider.
func (Provider) Check(context.Context, provider.Shape) []provider.Problem {
	return []provider.Problem{{Knob: "provider", Reason: "this machine runs " + runtime.GOOS + ", not Linux", Remedy: "run on Linux, or use an endpoint"}}
}

// Provision implements provider.Provider.
func (Provider) Provision(context.Context, provider.Request) (provider.Instance, error) {
	return nil, errors.New("libvirt instances need Linux")
}

// Hidden runs no command here.
func Hidden([]string) (code int, ok bool) { return 0, false }

// HasKVM says that there is none here.
func HasKVM() bool { return false }
