//go:build !linux

package trial

import (
	"errors"
	"runtime"
)

// FindCPUs counts the CPUs of this machine; this system does not tell how they
// lie.
func FindCPUs() (CPUs, error) {
	var all CPUs
	for n := range runtime.NumCPU() {
		all.Allowed = append(all.Allowed, n)
	}
	return all, nil
}

var errPin = errors.New("the driver can't be kept to CPUs of its own on this system")

func pin([]int) (undo func() error, err error) { return nil, errPin }

func pinned([]int) (string, error) { return "", errPin }
