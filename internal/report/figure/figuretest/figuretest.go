// Package figuretest is the conformance suite of figures: each is drawn from
// inputs that everything must survive, must be well-formed, finite, bounded in
// size and the same twice, and is compared with a golden picture.
package figuretest

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden pictures instead of comparing with them")

// Inputs are what a figure must be drawn from, each by a function that
// returns the SVG.
type Inputs struct {
	Empty, OnePoint, Ordinary, Gaps, AllZero, Huge, Million, Hostile func() string
}

// Attack is a text that leaves what holds it where it is not escaped, for
// Inputs.Hostile.
const Attack = `"'><script>owned()</script></text></svg><img src=x onerror=owned()> ]]>&amp;` + "\x00\x1b"

// sizeBound is the most that a picture may weigh, in bytes.
const sizeBound = 250_000

// Run checks every input and compares each picture with testdata/NAME.svg.
func Run(t *testing.T, in Inputs) {
	t.Helper()
	for _, c := range []struct {
		name string
		draw func() string
	}{
		{"empty", in.Empty}, {"one-point", in.OnePoint}, {"ordinary", in.Ordinary}, {"gaps", in.Gaps},
		{"all-zero", in.AllZero}, {"huge", in.Huge}, {"million", in.Million}, {"hostile", in.Hostile},
	} {
		t.Run(c.name, func(t *testing.T) {
			svg := c.draw()
			if again := c.draw(); again != svg {
				t.Error("drawn twice, the pictures differ")
			}
			Check(t, svg)
			golden(t, filepath.Join("testdata", c.name+".svg"), svg)
		})
	}
}

var notNumber = regexp.MustCompile(`(NaN|Inf)`)

// Check sees that svg is well-formed, holds no figures that are none and no
// element that runs or loads anything, says what it shows, and is bounded.
func Check(t *testing.T, svg string) {
	t.Helper()
	if len(svg) > sizeBound {
		t.Errorf("%d bytes, more than %d", len(svg), sizeBound)
	}
	allowed := map[string]bool{"svg": true, "g": true, "path": true, "rect": true, "circle": true, "text": true, "title": true}
	d := xml.NewDecoder(strings.NewReader(svg))
	roots, depth := 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				roots++
				checkRoot(t, e)
			}
			depth++
			if !allowed[e.Name.Local] {
				t.Errorf("element %s", e.Name.Local)
			}
			checkAttributes(t, e)
		case xml.EndElement:
			depth--
		}
	}
	if roots != 1 {
		t.Errorf("%d roots", roots)
	}
}

func checkRoot(t *testing.T, e xml.StartElement) {
	t.Helper()
	has := map[string]string{}
	for _, a := range e.Attr {
		has[a.Name.Local] = a.Value
	}
	if e.Name.Local != "svg" || has["role"] != "img" || has["viewBox"] == "" || len(has["aria-label"]) < 5 {
		t.Errorf("the root is %s with %v", e.Name.Local, has)
	}
}

func checkAttributes(t *testing.T, e xml.StartElement) {
	t.Helper()
	for _, a := range e.Attr {
		name := a.Name.Local
		if strings.HasPrefix(name, "on") || name == "href" || name == "style" {
			t.Errorf("attribute %s of %s", name, e.Name.Local)
		}
		if name != "aria-label" && name != "data-n" && notNumber.MatchString(a.Value) {
			t.Errorf("%s of %s is %.60q", name, e.Name.Local, a.Value)
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if string(want) != got {
		t.Errorf("differs from %s (run with -update and look at the picture); got %d bytes, want %d", path, len(got), len(want))
	}
}

// Million returns a million times and values: a slow wave with fast noise and
// a single spike.
func Million() (xs, ys []float64) {
	const n = 1_000_000
	xs, ys = make([]float64, n), make([]float64, n)
	state := uint64(1)
	for i := range n {
		state = state*6364136223846793005 + 1442695040888963407
		xs[i] = float64(i) / 1000
		ys[i] = 50 + 30*math.Sin(float64(i)/1e5) + float64(state>>40)/float64(1<<24)*10
	}
	ys[n/2] = 400
	return xs, ys
}
