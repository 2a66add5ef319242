//go:build !linux

// Package container runs instances as containers of this machine. It needs
// Linux: control groups are what confines an instance and counts what it
// uses, and elsewhere they are inside of a virtual machine.
package container

import (
	"context"
	"errors"
	"runtime"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// New returns a provider that says why it can't be had here.
func New() provider.Provider { return elsewhere{} }

type elsewhere struct{}

func (elsewhere) Name() string { return "container" }

func (elsewhere) Check(context.Context, provider.Shape) []provider.Problem {
	return []provider.Problem{{
		Knob:   "provider",
		Reason: "the container provider needs Linux, this is " + runtime.GOOS,
		Remedy: "run Loadstone on a Linux machine",
	}}
}

func (elsewhere) Provision(context.Context, provider.Request) (provider.Instance, error) {
	return nil, errors.New("the container provider needs Linux")
}
