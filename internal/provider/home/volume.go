//go:build linux

package home

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
)

// Volume reads back whether dir, a directory of an instance, is on the volume
// that knob asked for, and tells what file system that is.
func Volume(knob, volume, dir string) provider.Knob {
	disk := observe.Machine(dir).Disk
	k := provider.Knob{Name: knob, Intended: volume, Effective: fmt.Sprintf("%s (%s on %s)", volume, disk.FileSystem, disk.Device)}
	if k.Matches = strings.HasPrefix(dir, filepath.Clean(volume)+"/"); !k.Matches {
		k.Effective = dir
	}
	return k
}
