//go:build !linux

// Package native runs instances as plain processes of this machine. It needs
// Linux: control groups are what confines an instance and counts what it
// uses.
package native

import (
	"context"
	"errors"
	"runtime"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// New returns a provider that says why it can't be had here.
func New() provider.Provider { return elsewhere{} }

// Sweep has nothing to remove where no instance can be made.
func Sweep(string) ([]string, error) { return nil, nil }

type elsewhere struct{}

func (elsewhere) Name() string { return "native" }

func (elsewhere) Check(context.Context, provider.Shape) []provider.Problem {
	return []provider.Problem{{
		Knob:   "provider",
		Reason: "the native provider needs Linux, this is " + runtime.GOOS,
		Remedy: "run Loadstone on a Linux machine",
	}}
}

func (elsewhere) Provision(context.Context, provider.Request) (provider.Instance, error) {
	return nil, errors.New("the native provider needs Linux")
}
