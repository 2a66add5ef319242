package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
)

//go:embed page.html
var pageTemplate string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// pageView is what the template is given.
type pageView struct {
	document
	Policy string // Content-Security-Policy
	Style  template.CSS
	Script template.JS
}

// renderPage renders d as HTML. The page's policy forbids everything but its
// own style and script, by their hashes: even a text that got past the
// escaping could not run or load anything.
func renderPage(d document) ([]byte, error) {
	d = d.marked()
	t, err := template.New("page").Funcs(template.FuncMap{
		// Figures escape their texts themselves.
		"svg":        func(s string) template.HTML { return template.HTML(s) },
		"paragraphs": func(s string) []string { return strings.Split(s, "\n") },
	}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("report: page template: %w", err)
	}
	var buf bytes.Buffer
	view := pageView{document: d, Style: template.CSS(pageStyle), Script: template.JS(pageScript)}
	view.Policy = fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		hash(pageStyle), hash(pageScript))
	if err := t.Execute(&buf, view); err != nil {
		return nil, fmt.Errorf("report: page: %w", err)
	}
	return printable(buf.Bytes()), nil
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// printable replaces the control characters that HTML forbids.
func printable(page []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if visible(r) || r == '\n' || r == '\t' {
			return r
		}
		return '\uFFFD'
	}, page)
}

// visible is false for control characters, and for those that change the
// direction of the text around them: a name could make other words read
// backwards.
func visible(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
		return false
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return false
	}
	return true
}
