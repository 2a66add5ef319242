// Package report shows the results of a study: as one self-contained HTML
// page with its figures' data beside it, as text for a terminal, and as JSON.
//
// The steps, a group of files each: what is said is put together once, as a
// document of sections with text, tables and figures (build*.go); the page and
// the text are two renderings of that document (page.go, text.go), so both say
// the same in the same order; every figure's data is a CSV file (data.go).
//
// It computes no results: a figure that is not in analyse.Study is not in the
// report. Where the study is not valid, no key figures are shown, and every
// figure's caption says so.
package report

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

// HTML returns the report as a page that needs nothing else to be read, and
// the CSV files behind its figures and tables by name ("throughput.csv"); the
// page's links expect them in data/ beside it. The same study makes the same
// bytes.
func HTML(s *analyse.Study) (page []byte, data map[string][]byte, err error) {
	b := build(s)
	page, err = renderPage(b.doc)
	return page, b.data, err
}

// Text returns the report for a terminal of width columns (80 where it is
// below 40), with ANSI colours where colour is set. Control characters in the
// study's texts are replaced: they cannot reach the terminal.
func Text(s *analyse.Study, width int, colour bool) string {
	return renderText(build(s).doc, width, colour)
}

// JSON returns s in the form of report.json. It is an error, with the place
// of the value, where a number that must be there is NaN or infinite.
func JSON(s *analyse.Study) ([]byte, error) {
	if at := notFinite(reflect.ValueOf(s), "study"); at != "" {
		return nil, fmt.Errorf("report.json: %s is not a finite number", at)
	}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("report.json: %w", err)
	}
	return append(out, '\n'), nil
}

// notFinite returns the place of the first float64 that JSON cannot hold, ""
// where there is none. analyse.Number may be absent; fields that are not
// printed may hold anything.
func notFinite(v reflect.Value, place string) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return notFinite(v.Elem(), place)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if at := notFinite(v.Index(i), fmt.Sprintf("%s[%d]", place, i)); at != "" {
				return at
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || f.Tag.Get("json") == "-" {
				continue
			}
			if at := notFinite(v.Field(i), place+"."+f.Name); at != "" {
				return at
			}
		}
	case reflect.Float64:
		if _, mayBeAbsent := v.Interface().(analyse.Number); !mayBeAbsent && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)) {
			return place
		}
	}
	return ""
}
