package replay

import (
	"fmt"
	"math"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Expr is a number that a file gives as a formula of names: + - * / and
// parentheses. The zero value is 0 and stands for an entry that is not there.
type Expr struct {
	root *node
	at   *token.Token
}

// node is a constant, a name, or an operation.
type node struct {
	op          byte // '#', 'n', or + - * / and '~' for a minus in front
	value       float64
	name        string
	left, right *node
}

// set says whether the file has the entry.
func (e Expr) set() bool { return e.root != nil }

// UnmarshalYAML reads a single value.
func (e *Expr) UnmarshalYAML(n ast.Node) error {
	if _, ok := n.(ast.ScalarNode); !ok {
		return faultAt(n.GetToken(), "a number or a formula is a single value")
	}
	text := n.GetToken().Value
	root, err := parseExpr(text)
	if err != nil {
		return faultAt(n.GetToken(), "%q: %v", text, err)
	}
	e.root, e.at = root, n.GetToken()
	return nil
}

// names calls visit for every name in e.
func (e Expr) names(visit func(string)) { e.root.walk(visit) }

func (n *node) walk(visit func(string)) {
	if n == nil {
		return
	}
	if n.op == 'n' {
		visit(n.name)
	}
	n.left.walk(visit)
	n.right.walk(visit)
}

// value is e with its names taken from lookup. All names are known: check has
// seen to it.
func (e Expr) value(lookup map[string]float64) float64 {
	if e.root == nil {
		return 0
	}
	return e.root.eval(lookup)
}

// or is the value, or def where the file has none.
func (e Expr) or(def float64, lookup map[string]float64) float64 {
	if e.root == nil {
		return def
	}
	return e.root.eval(lookup)
}

func (n *node) eval(lookup map[string]float64) float64 {
	switch n.op {
	case '#':
		return n.value
	case 'n':
		v, ok := lookup[n.name]
		if !ok {
			return math.NaN()
		}
		return v
	case '~':
		return -n.left.eval(lookup)
	}
	a, b := n.left.eval(lookup), n.right.eval(lookup)
	switch n.op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	}
	return a / b
}

// exprParser reads a formula from left to right.
type exprParser struct {
	text  string
	at    int
	depth int
}

// maxExpr and maxDepth bound a formula's length and parentheses.
const (
	maxExpr  = 1000
	maxDepth = 50
)

func parseExpr(text string) (*node, error) {
	if len(text) > maxExpr {
		return nil, fmt.Errorf("a formula of %d characters, at most %d are read", len(text), maxExpr)
	}
	p := &exprParser{text: text}
	n, err := p.sum()
	if err == nil && p.peek() != 0 {
		err = fmt.Errorf("unexpected %q at character %d", p.text[p.at], p.at+1)
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// peek skips blanks and returns the next byte, or 0 at the end.
func (p *exprParser) peek() byte {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *exprParser) sum() (*node, error) { return p.chain("+-", p.product) }

func (p *exprParser) product() (*node, error) { return p.chain("*/", p.factor) }

// chain is one or more operands with operators of the same rank between them.
func (p *exprParser) chain(ops string, operand func() (*node, error)) (*node, error) {
	left, err := operand()
	for err == nil {
		op := p.peek()
		if op != ops[0] && op != ops[1] {
			return left, nil
		}
		p.at++
		var right *node
		right, err = operand()
		left = &node{op: op, left: left, right: right}
	}
	return nil, err
}

func (p *exprParser) factor() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	c := p.peek()
	switch {
	case c == '-':
		p.at++
		n, err := p.factor()
		return &node{op: '~', left: n}, err
	case c == '(':
		p.at++
		n, err := p.sum()
		if err == nil && p.peek() != ')' {
			err = fmt.Errorf("a parenthesis is not closed")
		}
		p.at++
		return n, err
	case digit(c) || c == '.':
		return p.number()
	case letter(c):
		from := p.at
		for p.at < len(p.text) && (letter(p.text[p.at]) || digit(p.text[p.at]) || p.text[p.at] == '.') {
			p.at++
		}
		return &node{op: 'n', name: p.text[from:p.at]}, nil
	case c == 0:
		return nil, fmt.Errorf("it ends where a number or a name should stand")
	}
	return nil, fmt.Errorf("unexpected %q at character %d", c, p.at+1)
}

func (p *exprParser) number() (*node, error) {
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		exponent := (c == '+' || c == '-') && (p.text[p.at-1] == 'e')
		if !digit(c) && c != '.' && c != 'e' && !(exponent && p.at > from) {
			break
		}
		p.at++
	}
	v, err := strconv.ParseFloat(p.text[from:p.at], 64)
	if err != nil || math.IsInf(v, 0) {
		return nil, fmt.Errorf("%q is not a number", p.text[from:p.at])
	}
	return &node{op: '#', value: v}, nil
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
