package compose

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// Bounds of what is read: Compose files are written by hand, and aliases can
// make a small text grow without end.
const (
	MaxSize  = 1 << 20 // bytes of a file
	maxNodes = 100_000 // values of a file, aliases followed
	maxDepth = 100
	maxWork  = 16 << 20 // bytes that a project's variables, aliases and merged values stand for
	perNode  = 16       // of those, for a value or a name
)

// Kind is the form of a Node.
type Kind int

// The forms.
const (
	Scalar Kind = iota
	List
	Map
)

// Node is a value with its place.
type Node struct {
	Kind    Kind
	Text    string   // of a scalar, variables filled in
	Null    bool     // a scalar that says nothing
	Members []Member // of a map, in order, names unique
	Items   []*Node  // of a list
	Doc     *jsonc.Document
	Start   int // offsets in Doc
	End     int
	tag     string // "!reset", "!override"
	bad     string // why Compose refuses its variables
	index   map[string]int
}

// Member is one name and value of a map.
type Member struct {
	Name       string
	Start, End int // of the name
	Value      *Node
}

// Get returns the value of name; nil when n is nil, no map, or has none.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	if i := n.find(name); i >= 0 {
		return n.Members[i].Value
	}
	return nil
}

// find returns the place of a name among the members, -1 when there is none.
// Large maps get an index: a file may hold 100,000 names.
func (n *Node) find(name string) int {
	if len(n.Members) <= 32 {
		return slices.IndexFunc(n.Members, func(m Member) bool { return m.Name == name })
	}
	if len(n.index) != len(n.Members) {
		n.index = make(map[string]int, len(n.Members))
		for i, m := range n.Members {
			n.index[m.Name] = i
		}
	}
	if i, ok := n.index[name]; ok {
		return i
	}
	return -1
}

// String returns a scalar's text, "" for anything else.
func (n *Node) String() string {
	if n == nil || n.Kind != Scalar {
		return ""
	}
	return n.Text
}

// Varies reports whether a scalar is written with a variable.
func (n *Node) Varies() bool {
	return n != nil && n.Kind == Scalar && bytes.ContainsRune(n.Doc.Src[n.Start:n.End], '$')
}

// True reports whether n is a scalar that YAML or Compose takes for true.
func (n *Node) True() bool {
	switch strings.ToLower(n.String()) {
	case "true", "yes", "on", "y", "1":
		return true
	}
	return false
}

// Scalars returns the scalars of a list, or n itself when it is one.
func (n *Node) Scalars() []*Node {
	if n == nil {
		return nil
	}
	if n.Kind == Scalar && !n.Null {
		return []*Node{n}
	}
	var out []*Node
	for _, i := range n.Items {
		if i.Kind == Scalar {
			out = append(out, i)
		}
	}
	return out
}

// Problem is why a file cannot be used.
type Problem struct {
	Doc        *jsonc.Document
	Start, End int
	Message    string
}

// converter turns the parser's nodes into ours.
type converter struct {
	doc    *jsonc.Document
	env    variables
	count  int
	err    error
	within map[*yaml.Node]bool // aliases being followed
	twice  []Problem
	places map[*yaml.Node][2]int
	// last is a column that was looked for, and where it is: the next one is
	// mostly further on in the same line.
	last struct{ line, column, offset int }
}

// parse reads the first document of a file. A nil Node with no problem means
// that the file is empty. twice are names that a map has more than once: the
// last one counts.
func parse(doc *jsonc.Document, env variables) (n *Node, problem *Problem, twice []Problem) {
	fail := func(line int, message string) *Problem {
		p := &Problem{Doc: doc, Message: message}
		if line > 0 {
			p.Start = doc.LineStart(line)
			p.End = p.Start + len(bytes.TrimRight(doc.Src[p.Start:doc.LineStart(line+1)], "\r\n"))
		}
		return p
	}
	if len(doc.Src) > MaxSize {
		return nil, fail(0, fmt.Sprintf("the file is larger than %d bytes", MaxSize)), nil
	}
	root, err := decode(doc.Src)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil, nil
	case err != nil:
		return nil, fail(lineOf(err), message(err)), nil
	}
	c := &converter{doc: doc, env: env, within: map[*yaml.Node]bool{}, places: map[*yaml.Node][2]int{}}
	n = c.node(root, 0)
	if c.err != nil {
		return nil, fail(0, c.err.Error()), nil
	}
	return n, nil, c.twice
}

// WellFormed returns what keeps src from being YAML, with its line, or nil. An
// empty file is well formed.
func WellFormed(src []byte) error {
	_, err := decode(src)
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("line %d: %s", max(1, lineOf(err)), message(err))
}

// decode runs the parser. A panic in it is an error like any other: the file is
// somebody else's.
func decode(src []byte) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	root = &yaml.Node{}
	all := yaml.NewDecoder(bytes.NewReader(src))
	if err := all.Decode(root); err != nil {
		return nil, err
	}
	for { // Compose merges further documents
		var more yaml.Node
		if err := all.Decode(&more); err != nil {
			if errors.Is(err, io.EOF) {
				return root, nil
			}
			return nil, err
		}
		if len(more.Content) > 0 && more.Content[0].Tag != "!!null" {
			return nil, fmt.Errorf("yaml: line %d: a second document, which Compose merges with the first: write one", more.Content[0].Line)
		}
	}
}

func message(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text, _, _ = strings.Cut(text, "\n")
	return "not well-formed YAML: " + text
}

// lineOf finds the line that a parser's error names.
func lineOf(err error) int {
	var line int
	text := err.Error()
	if at := strings.Index(text, "line "); at >= 0 {
		fmt.Sscanf(text[at:], "line %d", &line)
	}
	return line
}

// place returns the offsets of a node.
func (c *converter) place(n *yaml.Node) (start, end int) {
	at, ok := c.places[n]
	if !ok {
		at[0], at[1] = c.find(n)
		c.places[n] = at
	}
	return at[0], at[1]
}

// find works out the offsets of a node. Columns count characters.
func (c *converter) find(n *yaml.Node) (start, end int) {
	column := 1
	start = c.doc.LineStart(n.Line)
	if c.last.line == n.Line && c.last.column <= n.Column {
		column, start = c.last.column, c.last.offset
	}
	for ; column < n.Column && start < len(c.doc.Src); column++ {
		_, size := utf8.DecodeRune(c.doc.Src[start:])
		start += size
	}
	c.last.line, c.last.column, c.last.offset = n.Line, column, start
	line := bytes.TrimRight(c.doc.Src[start:max(start, c.doc.LineStart(n.Line+1))], " \t\r\n")
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && len(line) > 1:
		if at := closing(line); at > 0 {
			return start, start + at + 1
		}
	case n.Kind == yaml.ScalarNode && n.Style == 0 && bytes.HasPrefix(c.doc.Src[start:], []byte(n.Value)):
		return start, start + len(n.Value)
	case n.Style&yaml.FlowStyle != 0:
		return start, start + flowEnd(line)
	}
	return start, start + len(line)
}

// flowEnd is the length of the flow map or list that line starts with: all of it
// when that ends in a later line.
func flowEnd(line []byte) int {
	depth := 0
	for at := 0; at < len(line); at++ {
		switch line[at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		case '"', '\'':
			if !bytes.ContainsRune([]byte("{[,: \t"), rune(line[max(0, at-1)])) {
				continue // inside a plain word: it's
			}
			end := closing(line[at:])
			if end <= 0 {
				return len(line)
			}
			at += end
		}
	}
	return len(line)
}

// closing finds the quote that ends the text at the start of line.
func closing(line []byte) int {
	quote := line[0]
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && quote == '"':
			i++
		case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
			i++
		case line[i] == quote:
			return i
		}
	}
	return -1
}

func (c *converter) node(n *yaml.Node, depth int) *Node {
	if c.count++; c.count > maxNodes || depth > maxDepth {
		if c.err == nil {
			c.err = errors.New("too many or too deeply nested values")
		}
		return nil
	}
	if c.err != nil || !c.env.work.Spend(perNode+len(n.Value)/16) {
		return nil
	}
	switch n.Kind {
	case yaml.DocumentNode, yaml.StreamNode:
		if len(n.Content) == 0 {
			return nil
		}
		return c.node(n.Content[0], depth)
	case yaml.AliasNode:
		if n.Alias == nil || c.within[n.Alias] {
			return nil
		}
		c.within[n.Alias] = true
		defer delete(c.within, n.Alias)
		return c.node(n.Alias, depth+1)
	}
	out := &Node{Doc: c.doc, tag: n.Tag}
	out.Start, out.End = c.place(n)
	switch n.Kind {
	case yaml.MappingNode:
		out.Kind = Map
		c.members(out, n, depth)
	case yaml.SequenceNode:
		out.Kind = List
		for _, i := range n.Content {
			if item := c.node(i, depth+1); item != nil {
				out.Items = append(out.Items, item)
			}
		}
	default:
		env := c.env
		env.refused = &out.bad
		text := textOf(n)
		out.Text = interpolate(text, env)
		if bad := badVariable(text); bad != "" {
			out.bad = fmt.Sprintf("%q is no variable; write $$ for a dollar sign", bad)
		}
		out.Null = n.Tag == "!!null" || n.Tag == "!reset" && n.Value == ""
	}
	return out
}

// textOf returns what a scalar says, of an alias what it stands for: !!binary is base64 of it.
func textOf(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if n.ShortTag() == "!!binary" {
		if text, err := base64.StdEncoding.DecodeString(n.Value); err == nil {
			return string(text)
		}
	}
	return n.Value
}

// members converts a map. "<<" lays other maps below it.
func (c *converter) members(out *Node, n *yaml.Node, depth int) {
	var below []*Node
	first := make(map[string]int, len(n.Content)/2) // line of each name
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		start, end := c.place(key) // before its value, which stands behind
		value := c.node(n.Content[i+1], depth+1)
		name := textOf(key)
		if line, ok := first[name]; ok && key.Kind == yaml.ScalarNode && len(c.within) == 0 {
			c.twice = append(c.twice, Problem{c.doc, start, end, fmt.Sprintf("%q is given twice, first in line %d", name, line)})
		} else if key.Kind == yaml.ScalarNode {
			first[name] = key.Line
		}
		if value == nil {
			continue
		}
		if name == "<<" && key.Kind == yaml.ScalarNode {
			below = append(below, value)
			below = append(below, value.Items...)
			continue
		}
		out.put(Member{name, start, end, value})
	}
	for _, b := range below {
		for _, m := range b.Members {
			if out.Get(m.Name) == nil {
				out.put(m)
			}
		}
	}
}

// put replaces the member of that name or appends it.
func (n *Node) put(m Member) {
	if i := n.find(m.Name); i >= 0 {
		n.Members[i] = m
		return
	}
	n.Members = append(n.Members, m)
	if n.index != nil {
		n.index[m.Name] = len(n.Members) - 1
	}
}
