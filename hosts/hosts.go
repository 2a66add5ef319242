// Package hosts holds the descriptions of the published studies' hosts, for
// the twin.
package hosts

import "embed"

// Files are the host files, named after their hosts.
//
//go:embed *.yaml
var Files embed.FS
