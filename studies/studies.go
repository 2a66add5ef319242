// Package studies holds the ready-made studies, so that a binary alone can
// run them by name.
package studies

import (
	"embed"
	"io/fs"
	"path"
)

// Files are the study files, by path. Those that follow a published study lie
// in a folder named after it.
//
//go:embed *.yaml */*.yaml
var Files embed.FS

// replay is what a folder's description of the paper for the simulator is
// named: it lies beside the studies and is none.
const replay = "replay.yaml"

// Paths lists the study files, in lexical order.
func Paths() ([]string, error) {
	var paths []string
	err := fs.WalkDir(Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Base(name) != replay {
			paths = append(paths, name)
		}
		return err
	})
	return paths, err
}
