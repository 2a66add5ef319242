package study

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on what is read, far beyond any study that a person writes.
const (
	maxSource = 64 << 10 // bytes
	maxDepth  = 64       // of brackets within brackets
	maxFaults = 100      // that are reported
)

// shape is what a node is.
type shape uint8

const (
	absent  shape = iota // null or nothing
	scalar               // text
	list                 // items
	section              // pairs
	refused              // a fault was reported already
)

// node is a part of the file with its place.
type node struct {
	shape        shape
	line, column int    // from 1, in characters
	found        string // as it stands in the file
	text         string // of a scalar, without quotes
	from         string // text before it was scaled, "" where it was not
	items        []*node
	pairs        []pair
}

// pair is one entry of a section.
type pair struct{ key, value *node }

// tree reads the source as one YAML document whose top is a section, or
// reports why it is none and returns nil.
func (c *checker) tree(src []byte) *node {
	text, ok := c.text(src)
	if !ok {
		return nil
	}
	file, err := parseYAML(text)
	if err != nil {
		c.syntax(err)
		return nil
	}
	var body ast.Node
	for _, d := range file.Docs {
		switch {
		case d.Body == nil:
		case d.Body.Type() == ast.CommentType:
		case d.Body.Type() == ast.DirectiveType:
			c.node(d.Body) // reports it
			return nil
		case body != nil:
			at := d.Body.GetToken()
			if d.Start != nil {
				at = d.Start
			}
			c.fault(nodeAt(at, d.Body), "a second document begins here: a study file holds one study", "")
			return nil
		default:
			body = d.Body
		}
	}
	if body == nil {
		c.fault(&node{line: 1, column: 1}, "the file is empty", "a study: see the guide on writing one")
		return nil
	}
	root := c.node(body)
	switch root.shape {
	case section:
		return root
	case refused:
		return nil
	}
	c.fault(root, "a study file is a section of knobs, not "+root.what(), "lines such as study: NAME")
	return nil
}

// text bounds and cleans the source: UTF-8, line feeds alone, no byte order
// mark. It fills c.lines.
func (c *checker) text(src []byte) (string, bool) {
	if len(src) > maxSource {
		c.fault(&node{line: 1, column: 1}, fmt.Sprintf("the file has %d bytes: too much for a study", len(src)),
			fmt.Sprintf("at most %d bytes", maxSource))
		return "", false
	}
	text := strings.TrimPrefix(string(src), "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	c.lines = strings.Split(strings.ToValidUTF8(text, "\ufffd"), "\n")
	depth := 0
	line, column := 1, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		column++
		at := &node{line: line, column: column, found: "?"}
		switch {
		case r == utf8.RuneError && size == 1:
			c.fault(at, fmt.Sprintf("byte 0x%02x is not valid UTF-8", text[i]), "UTF-8 text")
			return "", false
		case r == '\n':
			line, column = line+1, 0
		case r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\ufeff':
			c.fault(at, fmt.Sprintf("control character %U may not stand in a study file", r), "")
			return "", false
		case r == '[' || r == '{':
			depth++
		case r == ']' || r == '}':
			depth--
		}
		if depth > maxDepth {
			c.fault(at, "too many brackets within brackets", fmt.Sprintf("at most %d", maxDepth))
			return "", false
		}
		i += size
	}
	return text, true
}

// parseYAML parses text. Duplicate keys are let through, because we report
// them together with all other faults.
func parseYAML(text string) (file *ast.File, err error) {
	// The library has panicked on malformed input before; a file that breaks
	// it is a file with an error, and must not end the program.
	defer func() {
		if r := recover(); r != nil {
			file, err = nil, fmt.Errorf("not readable as YAML: %v", r)
		}
	}()
	return parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
}

// syntax reports a YAML syntax error.
func (c *checker) syntax(err error) {
	at, message := &node{line: 1, column: 1}, err.Error()
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil {
		at, message = nodeAt(e.GetToken(), nil), e.GetMessage()
	}
	allowed := ""
	switch {
	case strings.HasPrefix(message, "invalid header option"):
		message, allowed = "unquoted > or | begins a block of text", `quotes around such text: ">=15"`
	case strings.Contains(message, "character '\t'"), strings.Contains(message, "tab character"):
		message, allowed = "a tab may not indent", "spaces"
	case strings.HasPrefix(message, "mapping value is not allowed"):
		allowed = "one key: value on a line, entries of a section indented alike, and quotes around text that has a colon"
	}
	c.fault(at, "YAML: "+message, allowed)
}

// nodeAt returns a node for tok's place; n, where there is one, tells what it
// is.
func nodeAt(tok *token.Token, n ast.Node) *node {
	out := &node{line: 1, column: 1}
	if tok == nil {
		return out
	}
	if tok.Position != nil {
		out.line, out.column = tok.Position.Line, tok.Position.Column
	}
	out.found = strings.TrimSpace(tok.Origin)
	if _, ok := n.(*ast.NullNode); ok && tok.Value == "null" && out.found == "null" {
		out.found = "" // most often there is nothing at all
	}
	return out
}

// node converts n and all below it.
func (c *checker) node(n ast.Node) *node {
	out := nodeAt(n.GetToken(), n)
	refuse := func(what, allowed string) {
		out.shape = refused
		c.fault(out, what, allowed)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		out = c.mapping(n)
	case *ast.MappingValueNode:
		out = c.mapping(ast.Mapping(n.GetToken(), false, n))
	case *ast.SequenceNode:
		out.shape = list
		for _, v := range n.Values {
			out.items = append(out.items, c.node(v))
		}
	case *ast.NullNode:
		out.shape = absent
	case *ast.LiteralNode:
		out.shape, out.text = scalar, strings.TrimSpace(n.Value.Value)
	case *ast.AnchorNode, *ast.AliasNode:
		refuse("anchors and aliases (& and *) are not part of study files", "the value itself, or quotes around text that begins so")
	case *ast.TagNode:
		refuse("tags (!) are not part of study files", "the value alone, or quotes around text that begins so")
	case *ast.DirectiveNode:
		refuse("directives (%) are not part of study files", "")
	case ast.ScalarNode:
		out.shape, out.text = scalar, n.GetToken().Value
	default:
		refuse("a "+n.Type().YAMLName()+" is not part of study files", "")
	}
	return out
}

// mapping converts a section, keeping the first of duplicate keys.
func (c *checker) mapping(n *ast.MappingNode) *node {
	out := nodeAt(n.GetToken(), nil)
	out.shape = section
	seen := map[string]*node{}
	for i, v := range n.Values {
		key := nodeAt(v.Key.GetToken(), nil)
		if i == 0 && !n.IsFlowStyle {
			// The token of a block is its first colon; its place is the first key.
			out.line, out.column, out.found = key.line, key.column, key.found
		}
		if _, ok := v.Key.(ast.ScalarNode); !ok || v.Key.IsMergeKey() {
			c.fault(key, "only plain names may be keys: merge keys (<<) and complex keys (?) are not part of study files", "")
			continue
		}
		key.shape, key.text = scalar, v.Key.GetToken().Value
		value := c.node(v.Value)
		if first, ok := seen[key.text]; ok {
			c.fault(key, fmt.Sprintf("%q stands here twice: first in line %d", key.text, first.line), "")
			continue
		}
		seen[key.text] = key
		out.pairs = append(out.pairs, pair{key, value})
	}
	return out
}

// what names the shape of n for messages.
func (n *node) what() string {
	switch n.shape {
	case scalar:
		return fmt.Sprintf("the text %q", n.text)
	case list:
		return "a list"
	case section:
		return "a section"
	}
	return "nothing"
}
