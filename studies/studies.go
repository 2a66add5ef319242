// Package studies holds the ready-made studies, so that a binary alone can
// run them by name.
package studies

import "embed"

// Files are the study files, by name.
//
//go:embed *.yaml
var Files embed.FS
