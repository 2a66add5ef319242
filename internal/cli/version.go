package cli

import (
	"runtime"
	"runtime/debug"
)

// version is set when a release is built (see the Makefile).
var version = ""

// programVersion is what records carry: the release, else what Go's build
// information says.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

type versionCommand struct {
	JSON bool `help:"Print as JSON."`
}

// Run prints the version.
func (c versionCommand) Run(e *env) error {
	out := struct {
		Loadstone string `json:"loadstone"`
		Go        string `json:"go"`
		Platform  string `json:"platform"`
	}{programVersion(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if c.JSON {
		return e.json(out)
	}
	e.printf("loadstone %s (%s, %s)\n", out.Loadstone, out.Go, out.Platform)
	return nil
}
