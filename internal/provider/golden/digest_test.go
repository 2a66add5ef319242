//go:build linux

package golden

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSamplesLieInTheFilesAndSpreadEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 1<<30), 1, 8).Draw(t, "sizes")
		files := entries{{path: "first", size: int64(wholeBound) + 1}}
		for _, s := range sizes {
			files = append(files, entry{path: "x", size: s})
		}
		parts, covers := plan(files)
		if !strings.HasPrefix(covers, "sizes of ") {
			t.Fatalf("covers %q", covers)
		}
		for n, spans := range parts {
			for i, s := range spans {
				if s.from < 0 || s.to > files[n].size || s.from >= s.to || i > 0 && s.from < spans[i-1].to {
					t.Fatalf("file %d of %d bytes: %v", n, files[n].size, spans)
				}
			}
			// Every stretch has a sample, so none of this many is without.
			stretch := int64(files.bytes()) / sampleCount
			if files[n].size > 2*stretch && len(spans) == 0 {
				t.Fatalf("file %d of %d bytes has no sample", n, files[n].size)
			}
		}
	})
}
